"""Two languages: every marked text is translated, none is left over, numbers and dates have the language's form."""

from __future__ import annotations

import re
import string
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from aria_tui import locale
from aria_tui.errors import NotFound
from aria_tui.locale import catalogue, formats
from tests.tui.conftest import configured, until


def fields(text: str) -> set[str]:
    """The names between braces."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_every_marked_text_is_in_the_catalogue_and_translated_and_nothing_else_is() -> None:
    marked = {key[0] if isinstance(key, tuple) else key for key in catalogue.marked()}
    known = {m.id[0] if isinstance(m.id, tuple) else m.id: m for m in catalogue.catalogue("pt_BR") if m.id}
    assert not marked - set(known), "new texts: python -m aria_tui.locale.catalogue, then translate them"
    assert not set(known) - marked, "unused texts: python -m aria_tui.locale.catalogue"
    empty = [m.id for m in known.values() if not (all(m.string) if isinstance(m.string, tuple) else m.string)]
    assert not empty, f"not translated: {empty}"
    assert not [m.id for m in known.values() if m.fuzzy]


def test_texts_are_found_wherever_they_stand(tmp_path: Any) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "module.py").write_text(
        "x = f\"{_('in an f-string')} {ngettext('{n} row', '{n} rows', n)}\"\ny = _('joined '\n    'text')\n_(name)\n"
    )
    places = ["inner/module.py"]
    assert catalogue.marked(tmp_path) == {
        "in an f-string": places, ("{n} row", "{n} rows"): places, "joined text": places,
    }  # fmt: skip


def test_translations_have_the_same_fields_as_the_texts() -> None:
    for message in catalogue.catalogue("pt_BR"):
        ids = message.id if isinstance(message.id, tuple) else (message.id,)
        strings = message.string if isinstance(message.string, tuple) else (message.string,)
        for given, translated in zip(ids, strings, strict=True):
            if given and not re.search(r"[{}]\W", given.replace("{n}", "")):
                assert fields(translated) == fields(given), given
            assert re.findall(r"%\(\w+\)s", translated) == re.findall(r"%\(\w+\)s", given), given


def test_the_compiled_catalogue_is_the_committed_one() -> None:
    assert catalogue.po_file("pt_BR").with_suffix(".mo").read_bytes() == catalogue.mo_bytes("pt_BR")


def test_numbers_money_dates_and_ages_in_both_languages() -> None:
    today, now = date(2026, 11, 30), datetime(2026, 11, 30, 8, 4, tzinfo=UTC)
    said = {}
    for language in "en", "pt_BR":
        locale.use(language)
        said[language] = (
            formats.number(1234.5, 1), formats.money(Decimal("3200"), "BRL"), formats.money("19.99", "USD"),
            formats.percent(0.992), formats.long_day(today), formats.short_day(date(2026, 12, 3), today),
            formats.due("2026-12-01", today), formats.due("2026-11-29", today), formats.due("2026-11-28", today),
            formats.age("2026-11-30T06:00:00Z", now), formats.when("2026-11-29T21:40:00Z", now),
        )  # fmt: skip
    assert said["en"] == (
        "1,234.5", "R$ 3,200", "US$ 19.99", "99.2 %", "Monday 30 November", "Thu 3 Dec", "tomorrow", "1 day late",
        "2 days late", "2 h", "Sun 29 Nov 21:40",
    )  # fmt: skip
    assert said["pt_BR"] == (
        "1.234,5", "R$ 3.200", "US$ 19,99", "99,2 %", "segunda-feira, 30 de novembro", "qui 3 dez", "amanhã",
        "1 dia de atraso", "2 dias de atraso", "2 h", "dom 29 nov 21:40",
    )  # fmt: skip


@pytest.mark.case("Z02")
def test_odd_values_are_given_back_and_ages_are_never_negative() -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    assert formats.money("NaN", "BRL") == "NaN BRL"
    assert formats.money("12,5", "BRL") == "12,5 BRL"
    assert formats.age("2026-12-30T06:00:00Z", now) == "now"
    assert formats.due("soon", now.date()) == "soon"
    assert formats.duration(timedelta(days=3).total_seconds()) == "3 d"


async def test_the_dashboard_speaks_portuguese(dashboard: Any) -> None:
    locale.use("pt_BR")
    async with dashboard(config=configured(away=True)) as running:
        await running.assistant.create_task("Pagar DAS", due="2030-01-01")
        running.app.live.ask("queue")
        await running.sees("Resumo", "Tarefas", "Fila", "Hub fora do ar", "1 à espera", "Sincronizar", "s sincronizar")
        await running.keys("t")
        await running.sees("Nova tarefa", "Título", "Prazo")


async def test_errors_and_the_toolkit_s_own_words_are_portuguese_too(dashboard: Any) -> None:
    locale.use("pt_BR")
    async with dashboard(config=configured(away=True)) as running:
        running.app.live.assistant.queue_retry = _fails(NotFound("there is no operation #7 in the queue"))
        await running.keys("4", "A")
        await running.told("não há operação #7 na fila")
        await running.keys("ctrl+p")
        await until(lambda: running.app.screen.query("CommandInput"), "the palette")
        await running.text("zzzz")
        await running.sees("nenhum comando tem tudo isso")
        await running.keys("escape", "c")
        await until(lambda: running.app.screen.query("#url"), "the form")
        running.app.screen.query_one("#url").value = "http://me:secret@127.0.0.1:1"
        await running.keys("ctrl+s")
        await running.sees("o url do Hub tem um nome de usuário ou senha")


def _fails(error: Exception) -> Any:
    async def call(*_arguments: Any) -> None:
        raise error

    return call
