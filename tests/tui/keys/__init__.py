"""What each key does, place by place: ``test_keys.py`` presses them."""
