"""ARIA TUI: a dashboard over an offline queue that loses nothing.

Importing the package costs nothing: the version is a literal, and every part is imported by whoever uses it.
"""

__version__ = "0.1.0"
