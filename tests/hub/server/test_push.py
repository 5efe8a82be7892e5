"""``aria hub push``: an embedded Hub's contents at another Hub, once, after a kill too."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tests.hub.server.processes import PROGRAM, ROOT, Served, aria, environment
from tests.hub.server.test_batch import op, send
from tests.hub.server.test_reads import everything, uid
from tests.hub.server.test_safety import Opened


async def fill(client: httpx.AsyncClient, count: int) -> None:
    for start in range(0, count, 500):
        numbers = range(start, min(count, start + 500))
        await send(
            client, *(op(f"t{n}", "create_task", {"id": uid(n), "title": f"t{n}", "tags": ["x"]}) for n in numbers)
        )
        await send(client, *(op(f"i{n}", "capture_insight", {"id": uid(n), "content": f"i{n}"}) for n in numbers))
    await send(
        client,
        op("b1", "store_briefing", {"date": "2026-11-30", "content": "new", "captured_at": "2026-11-30T09:00:00Z"}),
        op("b2", "store_briefing", {"date": "2026-11-30", "content": "late", "captured_at": "2026-11-30T08:00:00Z"}),
        op("a", "record_activity", {"project": "p", "date": "2026-11-30", "commits": 2, "notes": "n"}),
        op("u", "complete_task", {"id": uid(0)}),
        op("d", "delete_task", {"id": uid(1)}),
    )


async def contents(client: httpx.AsyncClient) -> dict[str, Any]:
    """Everything that can be read, apart from what each Hub counts for itself."""
    found = {
        "tasks": await everything(client, "/api/tasks", "tasks", limit=500),
        "insights": await everything(client, "/api/insights", "insights", limit=500),
        "activity": (await client.get("/api/activity")).json()["activity"],
        "briefing": (await client.get("/api/briefings/2026-11-30")).json(),
    }

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: bare(item) for name, item in value.items() if name not in ("version", "updated_at")}
        return [bare(item) for item in value] if isinstance(value, list) else value

    return {name: bare(value) for name, value in found.items()}


def push(home: Path, hub: Served, token_file: Path) -> subprocess.CompletedProcess[str]:
    token_file.write_text(hub.token + "\n")
    return aria(home, "hub", "push", hub.url, "--token-file", str(token_file), "--json")


async def test_contents_are_equal_and_a_second_push_adds_nothing(
    tmp_path: Path, database: str, serve: Callable[..., Served]
) -> None:
    home, hub = tmp_path / "home", serve(database)
    async with Opened(home) as client, httpx.AsyncClient(base_url=hub.url, headers=hub.headers) as there:
        await fill(client, 20)
        done = await asyncio.to_thread(push, home, hub, tmp_path / "token")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["conflicts"] == []
        assert await contents(there) == await contents(client)
        seq = (await there.get("/api/meta")).json()["seq"]
        (done,) = [await asyncio.to_thread(push, home, hub, tmp_path / "token")]
        assert json.loads(done.stdout) == {"changes": 0, "conflicts": []}
        for file in home.glob("push-*.json"):
            file.unlink()
        done = await asyncio.to_thread(push, home, hub, tmp_path / "token")
        assert (done.returncode, (await there.get("/api/meta")).json()["seq"]) == (0, seq)


async def test_what_changed_here_follows_and_what_changed_there_stays(
    tmp_path: Path, serve: Callable[..., Served]
) -> None:
    home, hub = tmp_path / "home", serve(f"sqlite:///{tmp_path / 'there.db'}")
    async with Opened(home) as client, httpx.AsyncClient(base_url=hub.url, headers=hub.headers) as there:
        await fill(client, 5)
        assert (await asyncio.to_thread(push, home, hub, tmp_path / "token")).returncode == 0
        await there.patch(f"/api/tasks/{uid(3)}", json={"title": "theirs"})
        await send(
            client,
            op("1", "update_task", {"id": uid(2), "changes": {"title": "mine", "tags": []}}),
            op("2", "update_task", {"id": uid(3), "changes": {"title": "mine too"}}),
            op("3", "update_insight", {"id": uid(2), "changes": {"content": "clean"}}),
            op("4", "delete_task", {"id": uid(4)}),
        )
        done = await asyncio.to_thread(push, home, hub, tmp_path / "token")
        assert (done.returncode, json.loads(done.stdout)["conflicts"]) == (1, [f"task:{uid(3)}"])
        assert (await there.get(f"/api/tasks/{uid(2)}")).json()["task"]["title"] == "mine"
        assert (await there.get(f"/api/tasks/{uid(3)}")).json()["task"]["title"] == "theirs"
        assert (await there.get(f"/api/tasks/{uid(4)}")).status_code == 404
        assert "clean" in [insight["content"] for insight in (await there.get("/api/insights")).json()["insights"]]


async def test_killed_and_run_again(tmp_path: Path, database: str, serve: Callable[..., Served]) -> None:
    home, hub = tmp_path / "home", serve(database)
    token = tmp_path / "token"
    token.write_text(hub.token)
    async with Opened(home) as client, httpx.AsyncClient(base_url=hub.url, headers=hub.headers, timeout=30) as there:
        await fill(client, 1500)
        arguments = [*PROGRAM, "hub", "push", hub.url, "--token-file", str(token)]
        pushing = subprocess.Popen(arguments, cwd=ROOT, env=environment(home), stdout=subprocess.DEVNULL)
        while (await there.get("/api/meta")).json()["seq"] < 300:
            assert pushing.poll() is None
        pushing.kill()
        pushing.wait()
        done = await asyncio.to_thread(push, home, hub, token)
        assert done.returncode == 0, done.stderr
        assert await contents(there) == await contents(client)
        assert (await there.get("/api/meta")).json()["seq"] == 1500 * 2 + 3, "each once"


async def test_clear_refusals(tmp_path: Path, serve: Callable[..., Served]) -> None:
    home, hub = tmp_path / "home", serve(f"sqlite:///{tmp_path / 'there.db'}")
    async with Opened(home):
        pass
    wrong = tmp_path / "token"
    wrong.write_text("aria1.bWU." + "x" * 43)

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return aria(home, "hub", "push", *args)

    refused = await asyncio.to_thread(run, hub.url, "--token-file", str(wrong))
    assert (refused.returncode, "401" in refused.stderr) == (1, True)
    plain = await asyncio.to_thread(run, "http://hub.example.com", "--token-file", str(wrong))
    assert (plain.returncode, "https" in plain.stderr) == (2, True)
    nothing = await asyncio.to_thread(run, hub.url)
    assert (nothing.returncode, "token" in nothing.stderr) == (2, True)
    assert "Traceback" not in refused.stderr + plain.stderr + nothing.stderr


async def test_a_hub_that_was_never_met_is_not_waited_for(tmp_path: Path) -> None:
    home, token = tmp_path / "home", tmp_path / "token"
    async with Opened(home):
        pass
    token.write_text("aria1.bWU." + "x" * 43)
    met = 0

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal met
        met += 1
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        done = await asyncio.to_thread(aria, home, "hub", "push", url, "--token-file", str(token))
    assert (done.returncode, met) == (1, 1)
    assert done.stderr.startswith(f"aria: {url}: can't be reached (") and "run it again" in done.stderr
