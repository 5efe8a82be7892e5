"""The dashboard. The only package that knows Textual; everything it shows comes from ``aria_tui.assistant``."""
