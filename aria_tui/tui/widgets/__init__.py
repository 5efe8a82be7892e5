"""Widgets: a frozen snapshot in, lines on the screen and messages out. None of them calls a service."""
