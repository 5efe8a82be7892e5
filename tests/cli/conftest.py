"""These tests share one Hub."""

from tests.cli.one_hub import hub, one_hub

__all__ = ["hub", "one_hub"]
