"""``aria config``: typed, told by file and line, never a secret in any output."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import msgspec
import pytest

from aria_tui import config
from aria_tui.cli.config import TEMPLATE
from aria_tui.errors import ConfigError
from tests.helpers.aria import Aria


def keys_of(kind: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def test_init_writes_a_private_commented_file_that_means_the_defaults(aria: Aria) -> None:
    aria("config", "init").ok()
    file = aria.home / "config.toml"
    assert file.stat().st_mode & 0o777 == 0o600 and aria.home.stat().st_mode & 0o777 == 0o700
    assert config.load(file, {}) == config.Config()
    assert "fine" in aria("config", "check").ok().out
    again = aria("config", "init")
    assert again.status == 1 and "--force" in again.err
    file.write_text("[ui]\ntheme = 'mine'\n")
    aria("config", "init", "--force").ok()
    assert (aria.home / "config.toml.old").read_text() == "[ui]\ntheme = 'mine'\n"
    assert aria("config", "path").ok().out == f"{file}\n"


def test_the_template_knows_every_key_and_each_of_its_lines_is_right() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    lines = [re.sub(r"^# (\w+ = )", r"\1", line) for line in text.splitlines()]
    whole = config.parse("\n".join(lines))
    tables = tomllib.loads("\n".join(lines))
    for table in msgspec.structs.fields(config.Config):
        if table.name == "sources":  # a user's own, by any name
            continue
        kind = type(getattr(whole, table.name))
        assert keys_of(kind) == set(tables[table.name]) | ({"keys"} if table.name == "ui" else set()), table.name


def test_the_schema_takes_what_the_program_takes_and_refuses_what_it_refuses(aria: Aria) -> None:
    aria("config", "init").ok()
    schema = json.loads((aria.home / "config.schema.json").read_text())
    assert json.loads(aria("config", "schema").ok().out) == schema
    check = jsonschema.Draft202012Validator(schema)
    lines = [re.sub(r"^# (\w+ = )", r"\1", line) for line in TEMPLATE.read_text(encoding="utf-8").splitlines()]
    assert check.is_valid(tomllib.loads("\n".join(lines)))
    for text in ("[hub]\nurll = 'x'\n", "[ui]\nlanguage = 'klingon'\n", "[queue]\nlimit = 0\n"):
        assert not check.is_valid(tomllib.loads(text))
        with pytest.raises(ConfigError):
            config.parse(text)
    assert "embedded" in schema["$defs"]["HubConfig"]["properties"]["url"]["description"]


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("[hub]\n\nurll = 'x'\n", 3, "'url'"),
        ("[huub]\nurl = 'x'\n", 1, "'hub'"),
        ("[ui]\noffline_tasks = 'last'\n", 2, "offline_tasks"),
        ("[queue]\nlimit = 0\n", 2, "limit"),
        ("[sync]\nautomatic = 'yes'\n", 2, "automatic"),
        ("[hub]\nurl = [\n", 2, "TOML"),
        ("[[calendar.sources]]\npaht = 'x'\n", 2, "'path'"),
        ("[finance]\nkind = 'csv'\n", 2, "known here: http, file, hledger, firefly"),
        ("[queue]\nlimit = 7\njournal = 'wall'\n", 3, "did you mean 'wal'?"),
        ("[ui]\nlanguage = 'pt_br'\n", 2, "did you mean 'pt_BR'?"),
        ("[hub]\nurl = 'hub.example.com'\n", 2, "hub.url: must begin with https:// or http://"),
    ],
)
def test_a_mistake_is_told_with_file_line_and_suggestion(aria: Aria, text: str, line: int, word: str) -> None:
    aria.home.mkdir()
    file = aria.home / "config.toml"
    file.write_text(text)
    for command in (("config", "check"), ("task", "add", "x")):
        done = aria(*command)
        assert done.status == 2 and not done.out, done
        assert word in done.err and f"config.toml:{line}: " in done.err, done
    assert not aria.queue_file.exists()


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("[briefing]\ntimeout = 3\ntimezone = 'America/Fortalesa'\n", 3, "did you mean 'America/Fortaleza'?"),
        ("[ui.keys]\nsynk = 's'\n", 2, "unknown key 'synk' in [ui.keys] (did you mean 'sync'?)"),
        ("[ui.keys]\nsync = 'hyper+s'\n", 2, "hyper+s is not a key (for sync)"),
        ("[calendar]\nsources = [{ name = 'x' }]\n", 2, "one of url and path must be set"),
        ("[[calendar.sources]]\nurl = 'https://h/x'\npath = 'y'\n", 1, "one of url and path must be set"),
        ("[finance]\nkind = 'http'\n", 2, "finance.url: must begin with http:// or https://"),
    ],
)
def test_what_names_nothing_is_an_error_of_the_check_alone(aria: Aria, text: str, line: int, word: str) -> None:
    aria.home.mkdir()
    (aria.home / "config.toml").write_text(text)
    done = aria("config", "check")
    assert (done.status, done.out) == (2, "") and word in done.err and f"config.toml:{line}: " in done.err, done
    aria("task", "add", "x").ok()


def test_no_secret_is_ever_shown(aria: Aria, tmp_path: Path) -> None:
    aria.home.mkdir()
    file = aria.home / "config.toml"
    file.write_text(
        '[hub]\nurl = "http://127.0.0.1:9"\ntoken = "SECRET-1"\n[finance]\nkind = "http"\nurl = "http://127.0.0.1:9"\n'
        'token = "SECRET-2"\n[calendar]\nsources = [{ url = "http://127.0.0.1:9/private-SECRET-3/basic.ics" }]\n'
    )
    file.chmod(0o644)
    bundle = tmp_path / "bundle.json"
    checked = aria("config", "check").ok()
    assert "chmod 600" in checked.err and "config.toml ([hub] token)" in checked.out
    assert aria("config", "check", "--json").ok().json["warnings"]
    outputs = [checked.out + checked.err]
    for command in (("status",), ("status", "--json"), ("doctor", "--bundle", str(bundle)), ("task", "add", "mine")):
        done = aria(*command)
        outputs.append(done.out + done.err)
    outputs.append(bundle.read_text())
    outputs += [path.read_text(errors="replace") for path in aria.home.rglob("*") if path.is_file() and path != file]
    assert not [text for text in outputs if "SECRET" in text]
    assert "mine" not in bundle.read_text()


def test_a_token_goes_over_plain_http_only_to_this_machine_or_where_it_is_allowed(aria: Aria) -> None:
    aria.use("http://hub.example.com", "t")
    for command in (("task", "list"), ("sync",), ("config", "check")):
        done = aria(*command)
        assert (done.status, done.out) == (2, "") and "plain http" in done.err, done
    aria.home.mkdir(exist_ok=True)
    (aria.home / "config.toml").write_text("[hub]\nallow_http = true\n")
    assert "plain http" in aria("config", "check").ok().err


def test_where_the_token_is_kept(aria: Aria, hub) -> None:  # type: ignore[no-untyped-def]
    aria.use(hub.url)
    aria.home.mkdir()
    kept = aria.root / "kept"
    kept.write_text(f"{hub.token}\nnot this line\n")
    (aria.home / "config.toml").write_text(f'[hub]\ntoken_command = "cat {kept}"\n')
    assert "token_command" in aria("config", "check").ok().out
    assert aria("status", "--json").ok().json["hub"]["state"] in ("online", "slow")
    (aria.home / "config.toml").write_text('[hub]\ntoken_command = "exit 3"\n')
    failed = aria("task", "list")
    assert failed.status != 0 and "token_command" in failed.err, failed
    assert "token_command failed (exit 3)" in aria("task", "add", "waits").ok().out
    told = aria("status", "--json").ok().json
    assert (told["hub"]["state"], told["queue"]["pending_total"]) == ("unknown", 1)
    synced = aria("sync", "--json")
    assert synced.status == 3 and synced.json["remaining"] == 1 and "token_command failed" in synced.err, synced
    assert aria("config", "check").status != 0
    aria.use(hub.url, hub.token)
    assert "ARIA_HUB_TOKEN" in aria("config", "check").ok().out


def test_each_configured_source_is_tried_and_told_in_one_line(aria: Aria) -> None:
    aria.home.mkdir()
    ledger = aria.root / "finance.toml"
    ledger.write_text('currency = "BRL"\n[[budgets]]\ncategory = "Software"\nlimit = "100"\nspent = "90"\n')
    (aria.home / "config.toml").write_text(
        f'[docker]\nenabled = false\n[finance]\nkind = "file"\npath = "{ledger}"\n'
        '[calendar]\nsources = [{ path = "/nonexistent" }]\n'
    )
    lines = aria("config", "check").ok().out.splitlines()
    assert "✓ finance: 1 budget, 0 payments due" in lines
    assert [line for line in lines if line.startswith("⚠ calendar: unavailable") and "/nonexistent" in line]
    assert not [line for line in lines if "docker" in line or "reports" in line]
    found = {source["name"]: source["state"] for source in aria("config", "check", "--json").ok().json["sources"]}
    assert found == {"context": "ok", "finance": "ok", "calendar": "unavailable"}
