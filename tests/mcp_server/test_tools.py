"""Every tool by the SDK's own client over real stdio: Hub up, down, and down half-way."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from tests.helpers import needs
from tests.helpers.aria import Aria, today
from tests.helpers.hub import HubProcess
from tests.mcp_server.client import call, connected, failure

PROMISED = [
    "aria_context", "aria_hub_data", "aria_create_task", "aria_update_task", "aria_list_tasks", "aria_capture_insight",
    "aria_list_insights", "aria_store_briefing", "aria_record_activity", "aria_queue_status", "aria_sync",
    "aria_scan_projects", "aria_stale_projects", "docker_list_containers", "fin_summary", "fin_budget", "fin_recurring",
    "gcal_events_today",
]  # fmt: skip
WRITES = {"aria_create_task", "aria_update_task", "aria_capture_insight", "aria_store_briefing", "aria_record_activity"}


@pytest.fixture
def online(aria: Aria, hub: HubProcess) -> Aria:
    return aria.use(hub.url, hub.token)


def configure(aria: Aria) -> None:
    """Local sources: a repository, a ledger, a calendar."""
    root = aria.root / "projects" / "lab"
    root.mkdir(parents=True)
    git = needs.program("git")
    environment = aria.environment(
        GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t@t", GIT_COMMITTER_NAME="t", GIT_COMMITTER_EMAIL="t@t",
        GIT_AUTHOR_DATE="2020-01-01T00:00:00Z", GIT_COMMITTER_DATE="2020-01-01T00:00:00Z",
    )  # fmt: skip
    for args in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "[bold] first"]):
        subprocess.run([git, *args], cwd=root, env=environment, check=True)
    ledger = aria.root / "finance.toml"
    ledger.write_text(
        f'currency = "BRL"\n[[recurring]]\ndesc = "Neon"\namount = "19.00"\ndue = "{today()}"\n'
        '[[budgets]]\ncategory = "Software"\nlimit = "100"\nspent = "90"\n'
    )
    day = today().strftime("%Y%m%d")
    calendar = aria.root / "calendar.ics"
    calendar.write_text(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:t\r\nBEGIN:VEVENT\r\nUID:1\r\n"
        f"DTSTAMP:{day}T000000Z\r\nDTSTART;VALUE=DATE:{day}\r\nSUMMARY:Stand-up\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    aria.home.mkdir(exist_ok=True)
    (aria.home / "config.toml").write_text(
        f'[projects]\nroots = ["{root.parent}"]\n[docker]\nenabled = false\n'
        f'[finance]\nkind = "file"\npath = "{ledger}"\n'
        f'[calendar]\nsources = [{{ path = "{calendar}" }}]\n'
    )


async def test_what_is_offered(aria: Aria) -> None:
    async with connected(aria) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == PROMISED
        for name, tool in tools.items():
            assert tool.output_schema and tool.output_schema["type"] == "object"
            assert tool.input_schema["additionalProperties"] is False and tool.description
            assert tool.annotations and tool.annotations.read_only_hint is not None
            if name in WRITES:
                assert tool.input_schema["properties"]["offline"]["type"] == "boolean"
                assert "idempotency_key" in tool.input_schema["properties"]
                assert tool.annotations.read_only_hint is False
        resources = {str(resource.uri) for resource in (await client.list_resources()).resources}
        assert resources == {"aria://briefing/today", "aria://queue"}


async def test_each_tool_with_the_hub_up(online: Aria, hub: HubProcess) -> None:
    configure(online)
    async with connected(online) as client:
        task = await call(
            client,
            "aria_create_task",
            title="Pagar DAS \u2028 \x1b[1m",
            project="finance",
            due="tomorrow",
            tags=["tax"],
        )
        assert (task["status"], task["destination"]) == ("synced", "hub")
        insight = await call(client, "aria_capture_insight", content="null", project="lab")
        assert insight["status"] == "synced"
        again = [
            await call(client, "aria_capture_insight", content="once", idempotency_key="my-own-key") for _ in range(2)
        ]
        assert again[0]["id"] == again[1]["id"]
        words = await failure(client, "aria_capture_insight", content="other", idempotency_key="my-own-key")
        assert "my-own-key" in words
        await call(client, "aria_update_task", id=task["id"], priority="HIGH", due=None)
        listed = (await call(client, "aria_list_tasks"))["tasks"]
        assert [(t["title"], t["priority"], t["due_date"], t["tags"]) for t in listed] == [
            ("Pagar DAS \u2028 \x1b[1m", "HIGH", None, ["tax"])
        ]
        await call(client, "aria_update_task", id=task["id"][:13], status="DONE")
        assert hub.all("tasks")[0]["status"] == "DONE" and hub.all("tasks")[0]["completed_at"]
        assert (await call(client, "aria_list_tasks", status="TODO"))["tasks"] == []
        found = (await call(client, "aria_list_insights", query="null"))["insights"]
        assert [i["content"] for i in found] == ["null"]
        await call(client, "aria_store_briefing", date="2026-02-21", content="# Day", data={"a": [1, None]})
        assert hub.get("/api/briefings/2026-02-21")["briefing"]["data"] == {"a": [1, None]}
        await call(client, "aria_record_activity", project="lab", notes="done")
        assert hub.get("/api/activity")["activity"][0]["notes"] == "done"
        data = await call(client, "aria_hub_data")
        assert len(data["tasks"]) == 1 and len(data["insights"]) == 2 and data["waiting"] == 0
        assert data["summary"]["open"] == 0
        context = await call(client, "aria_context")
        assert context["hub"]["state"] in ("online", "slow") and context["timezone"] == "America/Fortaleza"
        assert (await call(client, "aria_queue_status"))["pending_total"] == 0
        projects = (await call(client, "aria_scan_projects"))["data"]["projects"]
        assert projects[0]["last_commit"]["subject"] == "[bold] first"
        assert (await call(client, "aria_stale_projects"))["data"]["stale"] == 1
        assert (await call(client, "fin_budget"))["data"]["budgets"][0]["category"] == "Software"
        assert (await call(client, "fin_recurring"))["data"]["due"][0]["description"] == "Neon"
        assert (await call(client, "fin_summary"))["state"] == "ok"
        assert (await call(client, "gcal_events_today"))["data"]["today"][0]["summary"] == "Stand-up"
        assert "not configured" in await failure(client, "docker_list_containers")
        text = (await client.read_resource("aria://briefing/today")).contents[0].text  # type: ignore[union-attr]
        assert "Stand-up" in text
        stored = today().isoformat()
        await call(client, "aria_store_briefing", date=stored, content="as stored")
        text = (await client.read_resource("aria://briefing/today")).contents[0].text  # type: ignore[union-attr]
        assert text == "as stored"


@pytest.mark.case("M01")
async def test_each_tool_with_the_hub_down(online: Aria, hub: HubProcess) -> None:
    hub.stop()
    async with connected(online) as client:
        task = await call(client, "aria_create_task", title="later")
        assert (task["status"], task["destination"]) == ("queued", "local") and task["queue_id"] == 1
        for tool, arguments in (
            ("aria_update_task", {"id": task["id"], "priority": "LOW"}),
            ("aria_capture_insight", {"content": "later"}),
            ("aria_store_briefing", {"date": "2026-02-21", "content": "x"}),
            ("aria_record_activity", {"project": "lab", "notes": "x"}),
        ):
            assert (await call(client, tool, **arguments))["status"] == "queued", tool
        for tool, command in (("aria_list_tasks", "task"), ("aria_list_insights", "insight")):
            words = await failure(client, tool)
            assert words.startswith("Hub offline — ") and f"aria: {words}\n" in online(command, "list").err
        assert "Hub offline — Hub data unavailable" in await failure(client, "aria_hub_data")
        assert (await call(client, "aria_context"))["hub"]["state"] == "offline"
        synced = await call(client, "aria_sync")
        assert synced["hub"] == {"state": "offline"} and synced["remaining"] == 5
        queue = await call(client, "aria_queue_status")
        by_command = online.queue()
        assert {k: queue[k] for k in ("pending_total", "by_operation", "oldest")} == {
            k: by_command[k] for k in ("pending_total", "by_operation", "oldest")
        }
        resource = (await client.read_resource("aria://queue")).contents[0].text  # type: ignore[union-attr]
        assert json.loads(resource)["pending_total"] == 5
        assert {row["origin"] for row in online("queue", "list", "--json").ok().json} == {"mcp"}


async def test_the_hub_goes_away_and_comes_back_half_way(online: Aria, hub: HubProcess) -> None:
    steps: list[tuple[float, float | None]] = []

    async def progress(done: float, total: float | None, _message: str | None) -> None:
        steps.append((done, total))

    async with connected(online) as client:
        assert (await call(client, "aria_create_task", title="one"))["status"] == "synced"
        hub.stop()
        assert (await call(client, "aria_create_task", title="two"))["status"] == "queued"
        kept = await call(client, "aria_capture_insight", content="three", offline=True)
        assert kept["status"] == "queued"
        hub.start()
        result = await client.call_tool("aria_sync", {}, progress_callback=progress)
        assert not result.is_error and result.structured_content["remaining"] == 0, result
        assert [task["title"] for task in hub.all("tasks")] == ["two", "one"]
    assert len(hub.all("insights")) == 1


@pytest.mark.case("M01")
async def test_failures_are_the_command_lines_words(aria: Aria) -> None:
    async with connected(aria) as client:
        by_tool = await failure(client, "aria_create_task", title="x" * 501)
        assert f"aria: {by_tool}\n" == aria("task", "add", "x" * 501).err
        by_tool = await failure(client, "aria_update_task", id="ffff", title="x")
        assert f"aria: {by_tool}\n" == aria("task", "edit", "ffff", "--title", "x").err
        by_tool = await failure(client, "fin_summary")
        assert "finance not configured" in by_tool
        for arguments in ({"title": 3}, {}, {"title": "x", "colour": "red"}, {"title": "x", "priority": "high"}):
            with pytest.raises(MCPError, match="invalid params"):
                await client.call_tool("aria_create_task", arguments)
        with pytest.raises(MCPError, match="no tool"):
            await client.call_tool("aria_delete_everything", {})
        with pytest.raises(MCPError, match="no resource"):
            await client.read_resource("aria://secrets")
    assert aria.waiting() == 0


@pytest.mark.case("M01")
async def test_a_field_may_be_named_as_the_results_name_it(aria: Aria) -> None:
    async with connected(aria) as client:
        made = await call(client, "aria_create_task", title="x", due_date="2026-12-01", project_name="p")
        await call(client, "aria_update_task", id=made["id"], due_date=None)
        task = (await call(client, "aria_list_tasks", project_name="p"))["tasks"][0]
        assert (task["due_date"], task["project_name"]) == (None, "p")
        with pytest.raises(MCPError, match="invalid params"):
            await client.call_tool("aria_create_task", {"title": "x", "due": "2026-12-01", "due_date": "2026-12-02"})


@pytest.mark.case("M01")
async def test_a_broken_configuration_is_an_error_until_it_is_mended(aria: Aria) -> None:
    aria.home.mkdir()
    file: Path = aria.home / "config.toml"
    file.write_text("[hub]\nurll = 'x'\n")
    async with connected(aria) as client:
        words = await failure(client, "aria_create_task", title="x")
        assert "config.toml:2" in words and "did you mean 'url'" in words
        file.write_text("")
        assert (await call(client, "aria_create_task", title="x"))["status"] == "synced"


async def test_a_queue_that_can_not_be_used_is_not_saved(aria: Aria) -> None:
    aria.home.write_text("a file in the home's place")
    async with connected(aria) as client:
        assert "not saved" in await failure(client, "aria_create_task", title="x")
        assert "queue" in await failure(client, "aria_queue_status")
