"""The OpenAPI document is the one that is committed, and what it says is true on both engines (schemathesis)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import ignored_auth, negative_data_rejection, positive_data_acceptance

from aria_tui.hub import contract
from aria_tui.hub.server import openapi
from aria_tui.hub.server.app import PATHS
from tests.hub.server.cluster import Cluster
from tests.hub.server.processes import Served

COMMITTED = Path(__file__).with_name("openapi.json")
EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "50"))
"""50 in the tests; 2,000 on demand, with the cases that schemathesis works out to cover each schema."""
SESSION = requests.Session()

CONFIG = {"generation": {"allow-x00": False}, "phases": {"coverage": {"enabled": EXAMPLES > 50}}}


def document() -> dict[str, Any]:
    """The committed document without what takes its time and shows nothing more: large batches, texts of 64 KiB."""
    found: dict[str, Any] = json.loads(COMMITTED.read_text().replace('"maxLength": 65536', '"minLength": 0'))
    schemas = found["components"]["schemas"]
    schemas["Batch"]["properties"]["ops"]["maxItems"] = 3
    schemas["Operation"]["properties"]["payload"] = {"$ref": "#/components/schemas/UpdateTask"}
    schemas["Operation"]["properties"]["operation"] = {"enum": sorted(contract.OPERATIONS)}
    schemas["Operation"]["properties"]["base"] = {"type": "object", "maxProperties": 2}
    return found


schema = schemathesis.openapi.from_dict(document(), config=SchemathesisConfig.from_dict(CONFIG))


def test_the_committed_document_is_the_program_s() -> None:
    """Made by ``python -m aria_tui.hub.server.openapi > tests/hub/server/openapi.json``."""
    assert COMMITTED.read_text() == openapi.text()


def test_it_names_every_endpoint() -> None:
    said = {(method, path) for method, path in openapi.ENDPOINTS if "/queue/" not in path and path.startswith("/api")}
    there = {(method.lower(), path) for path, methods in PATHS.items() for method in methods if method != "HEAD"}
    assert said == {(method, path) for method, path in there if "/queue/" not in path}


@pytest.fixture(scope="module")
def hubs(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Served]]:
    """The same on SQLite and on PostgreSQL."""
    home = tmp_path_factory.mktemp("schemathesis")
    running = [Served(home, url) for url in (f"sqlite:///{home / 'hub.db'}", cluster.database())]
    yield running
    logs = [hub.log() for hub in running]
    for hub in running:
        hub.kill()
    assert not [line for log in logs for line in log.splitlines() if json.loads(line)["level"] == "error"]


@pytest.mark.postgres
@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    deadline=None,
    derandomize=True,
    database=None,
)
def test_every_operation(case: schemathesis.Case[Any], hubs: list[Served]) -> None:
    excluded = [ignored_auth]  # test_accounts.py looks at that; here it would only meet the limit on failed attempts
    if {"Idempotency-Key", "If-Match", "cursor", "since", "tz"} & {*case.headers, *case.query}:
        excluded.append(positive_data_acceptance)  # a used key, an old version, no cursor of ours: rightly refused
    if isinstance(case.body, dict) and isinstance(case.body.get("commits"), float):
        excluded.append(positive_data_acceptance)  # 3.0 is an integer to JSON Schema, and none to the contract
    if case.path == "/api/queue":
        excluded.append(negative_data_rejection)  # a broken operation is rejected alone, in an answer of 200
    for hub in hubs:
        case.call_and_validate(base_url=hub.url, headers=hub.headers, excluded_checks=excluded, session=SESSION)
