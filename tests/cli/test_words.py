"""The sentences of the command line, from values: counts in their right number, nothing said twice, no wrong state."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aria_tui import locale
from aria_tui.cli.words import hub_line, queue_line, reason
from aria_tui.errors import HubUnavailable
from aria_tui.models import HubState, HubStatus, QueueItem, QueueStatus
from aria_tui.wording import unavailable


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    locale.use("en")
    yield
    locale.use("en")


def item(code: str, sentence: str = "", **arguments: str) -> QueueItem:
    return QueueItem(
        id=1, operation="create_task", payload="{}", created_at="2026-11-30T08:00:00Z", reason=sentence,
        reason_code=code, reason_args=arguments,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("state", "why", "line"),
    [
        ("offline", "connection refused", "Hub offline · http://h · connection refused"),
        ("not_the_hub", "unexpected answer (login page?)", "not the Hub: unexpected answer (login page?) · http://h"),
        ("not_the_hub", "redirected to http://x", "not the Hub: redirected to http://x · http://h"),
        ("refused", "token refused", "Hub refused: token · http://h"),
        ("refused", "the token lacks the right for this",
         "Hub refused: token · http://h · the token lacks the right for this"),
        ("unknown", "token_command printed nothing", "Hub unknown · http://h · token_command printed nothing"),
    ],
)  # fmt: skip
def test_a_hubs_state_and_its_reason_are_said_once(state: HubState, why: str, line: str) -> None:
    assert hub_line(HubStatus(state=state, url="http://h", reason=why)) == line


def test_what_can_not_be_had_is_named_with_the_reason() -> None:
    away = HubUnavailable("offline", "no answer in 3 s")
    assert unavailable(away, "tasks") == "Hub offline — task list unavailable: no answer in 3 s"
    assert unavailable(away) == "Hub offline: no answer in 3 s"
    portal = HubUnavailable("not_the_hub", "unexpected answer (login page?)")
    assert unavailable(portal, "insights") == (
        "not the Hub: unexpected answer (login page?) — insight list unavailable"
    )
    locale.use("pt_BR")
    assert "recusada" in unavailable(HubUnavailable("offline", "connection refused"), "tasks")


def test_counts_stand_in_their_number() -> None:
    one = queue_line(QueueStatus(pending_total=1, dead_letters=1, conflicts=1, held=1))
    assert one == "QUEUE: 1 waiting · 1 dead letter · 1 conflict · needs attention: 2 · 1 for another Hub"
    two = queue_line(QueueStatus(pending_total=2, dead_letters=2, conflicts=2))
    assert two == "QUEUE: 2 waiting · 2 dead letters · 2 conflicts · needs attention: 4"


def test_why_a_queue_is_paused() -> None:
    refused = QueueStatus(pending_total=1, paused=True, items=(item("paused", why="token refused"),))
    assert "paused: sign-in needed" in queue_line(refused)
    restored = QueueStatus(pending_total=1, paused=True, items=(item("paused", "paused: …; run `aria queue verify`"),))
    assert "paused: the Hub was restored; run `aria queue verify`" in queue_line(restored)
    assert queue_line(QueueStatus(paused=True)) == "QUEUE: 0 waiting · paused", "why isn't known where nothing waits"


def test_a_rows_reason_in_the_users_language() -> None:
    refused = item("paused", "sign-in needed: token refused", why="token refused")
    assert reason(refused) == "sign-in needed: token refused"
    locale.use("pt_BR")
    assert "recusado" in reason(refused)
