"""One running Hub for all tests of a folder: each test has an account of its own at it, so it finds it empty."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from aria_tui.hub.server import manage
from tests.helpers.hub import HubProcess

_numbers = count(1)


@pytest.fixture(scope="session")
def one_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """The process; whoever stops it may leave it so."""
    process = HubProcess(tmp_path_factory.mktemp("hub"))
    try:
        yield process
    finally:
        process.close()


@pytest.fixture
def hub(one_hub: HubProcess) -> HubProcess:
    """A running Hub with a token, in the place of the suite's one Hub a test."""
    one_hub.account = f"account-{next(_numbers)}"
    made = manage.create_token(one_hub.database, account=one_hub.account, name="test", scope="write")
    one_hub.token = str(made["token"])
    if one_hub.process is None or one_hub.process.poll() is not None:
        one_hub.close()
        one_hub.start()
    return one_hub
