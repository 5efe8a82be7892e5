"""In Portuguese the command line says in Portuguese what the layers below say in English; JSON stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from aria_tui import locale
from aria_tui.cli import said
from aria_tui.models import HubStatus, SyncReport
from aria_tui.outbox import reasons, views
from aria_tui.outbox.syncer import sentence
from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess


@pytest.fixture
def portuguese() -> Iterator[None]:
    locale.use("pt_BR")
    yield
    locale.use("en")


REASONS = [*reasons.SENTENCES.values(), reasons.NOT_THE_HUB, reasons.RESTORED, reasons.DEAD, reasons.CONFLICT]


@pytest.mark.parametrize("template", [*REASONS, reasons.DELIVERED])
def test_each_reason_of_a_row_is_said(portuguese: None, template: str) -> None:
    made = re.sub(r"\{(\w+)\}", lambda name: {"outcome": "applied"}.get(name[1], f"<{name[1]}>"), template)
    words = said.in_words(made)
    assert words != made and all(name in words for name in re.findall("<.*?>", made)), words


@pytest.mark.parametrize("why", ["unexpected answer (login page?)", "TLS: certificate for: another (name)"])
def test_a_reason_with_brackets_and_colons_is_said_to_its_end(portuguese: None, why: str) -> None:
    words = said.in_words(f"queued (#12): not the Hub since 2026-12-01T03:16:47.049Z: {why}")
    assert re.fullmatch(r"na fila \(#12\): não é o Hub desde [^:]*\d\d:\d\d: .+", words) and "2026-12" not in words, (
        words
    )
    assert "unexpected" not in words


def report(**fields: object) -> SyncReport:
    made = SyncReport(**fields)  # type: ignore[arg-type]
    return SyncReport(**{**fields, "sentence": sentence(made)})  # type: ignore[arg-type]


REPORTS = (
    (report(), "nothing to send", "nada a enviar"),
    (report(synced=1), "1 delivered", "1 entregue"),
    (report(synced=2, superseded=1, stopped=True), "2 delivered, 1 superseded by newer ones (stopped)",
     "2 entregues, 1 superada por uma mais nova (parada)"),
    (report(dead_letters=2, conflicts=1, remaining=3, hub=HubStatus(state="offline", reason="connection refused")),
     "0 delivered, 2 rejected, 1 in conflict, 3 still waiting (connection refused)",
     "0 entregue, 2 rejeitadas, 1 em conflito, 3 ainda à espera (conexão recusada)"),
    (report(remaining=1, stopped=True, hub=HubStatus(state="online")), "0 delivered, 1 still waiting (stopped)",
     "0 entregue, 1 ainda à espera (parada)"),
    (SyncReport(sentence="another program goes on sending"), "another program goes on sending",
     "outro programa continua enviando"),
)  # fmt: skip


@pytest.mark.parametrize(("made", "english", "in_portuguese"), REPORTS)
def test_how_a_sync_ended(made: SyncReport, english: str, in_portuguese: str) -> None:
    assert said.sync_end(made) == english == made.sentence
    locale.use("pt_BR")
    try:
        assert said.sync_end(made) == in_portuguese
    finally:
        locale.use("en")


def test_how_a_row_ended_is_said_in_portuguese() -> None:
    locale.use("pt_BR")
    try:
        kept = [words for words in views._WORDS.values() if said.outcome(words) == words]
    finally:
        locale.use("en")
    assert not kept


def test_a_day_with_the_hub_away_and_back_in_portuguese(aria: Aria, hub: HubProcess) -> None:
    aria.use(hub.url, hub.token)
    aria.env["LANG"] = "pt_BR.UTF-8"
    assert aria("task", "add", "um").ok().out == "salvo no Hub\n"
    hub.stop()
    assert aria("task", "add", "dois").ok().out == "na fila (#2): Hub fora do ar\n"
    assert aria("task", "add", "dois", "--json").ok().json["message"] == "queued (#3): Hub offline"
    assert aria("task", "add", "três", "--offline").ok().out == "na fila (#4)\n"
    assert "Hub fora do ar desde " in aria("queue", "list").ok().out.splitlines()[0]
    row = aria("queue", "show", "2").ok().out
    assert re.search(r"^reason: +Hub fora do ar desde \d\d:\d\d$", row, re.MULTILINE), row
    assert "desde" not in aria("queue", "show", "2", "--json").ok().out
    done = aria("sync")
    assert (done.status, done.out) == (3, "0 entregue, 3 ainda à espera (conexão recusada)\n")
    for arguments, words in (
        (("queue", "show", "99"), "aria: não há operação #99 na fila\n"),
        (("task", "done", "zz"), "aria: nenhuma tarefa conhecida tem um id que comece por 'zz'\n"),
        (("task", "add", ""), "aria: title: não pode ficar vazio\n"),
        (("task", "add", "x", "--priority", "alta"), "'alta' não é nenhuma de urgent, high, medium, low"),
    ):
        done = aria(*arguments)
        assert done.status in (1, 2) and words in done.err, done
    hub.start()
    assert aria("sync").ok().out == "3 entregues\n"
    assert "aplicada" in aria("queue", "list", "--journal").ok().out
    assert re.search(r"^reason: +entregue às \d\d:\d\d$", aria("queue", "show", "2").ok().out, re.MULTILINE)
