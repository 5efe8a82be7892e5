"""What keeps a target's rows back, and what opens it again (queue.md, "When it fails")."""

from __future__ import annotations

import pytest

from aria_tui.config import HubConfig
from aria_tui.hub.client import HubClient, Outcome
from aria_tui.hub.contract import Problem
from aria_tui.outbox.link import Link
from aria_tui.outbox.verdict import in_words
from tests.outbox.bench import Bench, Home


async def refused(bench: Bench, home: Home, fault: str = "forbidden") -> None:
    """A token that may read: its writes are answered 403, its reads are fine."""
    await home.assistant.create_task("x", offline=True)
    await home.assistant.create_task("y", offline=True)
    home.weather.every_write = fault
    await home.sync()
    assert home.network.writes == 1


async def test_a_good_read_does_not_open_what_a_refused_write_shut(bench: Bench, home: Home) -> None:
    await refused(bench, home)
    assert (await bench.run(home.assistant.hub_status())).state == "refused"
    assert (await bench.run(home.assistant.queue_status())).paused
    assert (await bench.run(home.assistant.list_tasks())).source == "hub", "it may still read"
    assert (await bench.run(home.assistant.create_task("z"))).status == "queued"
    await home.sync(manual=False)
    second = await bench.home()
    assert (await bench.run(second.assistant.queue_status())).paused
    await second.sync(manual=False)
    assert home.network.writes == 1 and second.network.writes == 0, "one request, not one per row or per process"


async def test_five_minutes_or_the_user_try_again_after_403(bench: Bench, home: Home) -> None:
    await refused(bench, home)
    await home.sync(manual=True)
    assert home.network.writes == 2, "a manual sync tries, once"
    home.weather.clear()
    bench.clock.advance(299)
    assert (await home.sync(manual=False)).synced == 0
    bench.clock.advance(2)
    assert (await home.sync(manual=False)).synced == 2


@pytest.mark.parametrize("fault", ["forbidden", "unauthenticated"])
@pytest.mark.parametrize("how", ["sync", "status"])
async def test_another_token_tries_at_once_and_where_it_is_let_in_nothing_says_paused(
    bench: Bench, home: Home, fault: str, how: str
) -> None:
    await refused(bench, home, fault)
    assert (await bench.run(home.assistant.queue_status())).paused
    await home.close()
    bench.tokens["anna"] = await bench.hub.token("anna")
    again = await bench.home()
    if how == "sync":
        assert (await again.sync(manual=False)).synced == 2
    else:
        await bench.run(again.assistant.hub_status())
    assert not (await bench.run(again.assistant.queue_status())).paused
    third = await bench.home()
    assert not (await bench.run(third.assistant.queue_status())).paused


async def test_how_long_a_batch_took_is_not_how_near_the_hub_is(bench: Bench, home: Home) -> None:
    link = await home.assistant._engine.link()
    assert isinstance(link, Link)
    near = (await bench.run(home.assistant.hub_status())).latency_ms
    await link.judge(Outcome(kind="answered", state="online", latency_ms=5000.0), operations=20)
    assert link.status.latency_ms == near and link.status.state == "online"
    await link.judge(Outcome(kind="answered", state="online", latency_ms=70.0), operations=1)
    assert link.status.latency_ms == 70.0


async def test_a_conflict_s_sentence_says_each_thing_once(bench: Bench, home: Home) -> None:
    made = await bench.run(home.assistant.create_task("a"))
    other = await bench.home("other")
    await bench.run(other.assistant.list_tasks())
    await bench.run(home.assistant.update_task(made.id, {"title": "b"}))
    await bench.run(other.assistant.update_task(made.id, {"title": "c"}))
    (item,) = await bench.run(other.assistant.queue_list("conflicts"))
    for text in (item.reason, item.error or ""):
        assert text.count("both sides") <= 1 and text.count("title") <= 1, text
    assert "title" in item.reason


def test_a_field_is_named_once() -> None:
    errors = [{"field": "title", "message": "title: is missing"}, {"field": "tags", "message": "too many"}]
    assert in_words(Problem(detail="bad", errors=errors), "") == "bad: title: is missing; tags: too many"
    assert in_words(Problem(detail="tags: too many", errors=errors[1:]), "") == "tags: too many"


@pytest.mark.parametrize(("token", "said"), [("ion", "connection refused"), ("a-long-secret", "[token] refused")])
async def test_a_short_token_is_not_masked_inside_of_words(token: str, said: str) -> None:
    client = HubClient(HubConfig(url="http://127.0.0.1:9"), token=token)
    text = "connection refused" if token == "ion" else f"{token} refused"
    assert client._hidden(text) == said
    await client.aclose()
