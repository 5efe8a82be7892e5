"""The parts of the service layer put together: queue, way to the Hub, syncer, mirror; each made when it is needed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import aiosqlite
import msgspec

from aria_tui import config as configuration
from aria_tui.config import Config
from aria_tui.errors import AriaError, HubUnavailable, NotSaved, QueueUnavailable
from aria_tui.hub.contract import write_time
from aria_tui.models import HubStatus
from aria_tui.outbox import counters, names, rows, state, targets
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.lock import DrainLock
from aria_tui.outbox.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx

    from aria_tui.hub.client import Outcome
    from aria_tui.outbox.gates import Gate
    from aria_tui.outbox.link import Link
    from aria_tui.outbox.mirror import Mirror
    from aria_tui.outbox.monitor import Monitor
    from aria_tui.outbox.settle import Judged
    from aria_tui.outbox.syncer import Syncer
    from aria_tui.outbox.views import Views

_GOOD = {"online", "slow", "embedded"}
PROBE = 5.0
"""Seconds within which a Hub that is there has answered a probe, however slow it is."""


class Engine:
    """What one program holds open. What only some calls need is imported and made by them."""

    def __init__(
        self, config: Config, home: Path, clock: Clock, origin: str, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        self.config, self.home, self.clock, self.origin = config, home, clock, origin
        self._transport = transport
        queue = config.queue
        self.lock = DrainLock(home / "queue.db")
        self.store = Store(home / "queue.db", journal=queue.journal, limit=queue.limit, lock=self.lock)
        self.address = names.address(config.hub.url, credential_source(config))
        self._link: Link | None = None
        self._embedded: Link | None = None
        self._links = asyncio.Lock()
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self._syncer: Syncer | None = None
        self._mirror: Mirror | None = None
        self._monitor: Monitor | None = None
        self.hub_notice = ""
        """What is to be said of the embedded Hub's own file, e.g. that a damaged one was put aside."""
        self._making: asyncio.Task[Link] | None = None
        self._refreshing = asyncio.Lock()
        self._closed = False

    def now(self) -> str:
        return write_time(self.clock.now())

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._syncer is not None:
            await self._syncer.close()
        if self._making is not None:
            self._making.cancel()
            await asyncio.gather(self._making, return_exceptions=True)
        await self.store.close()
        if self._mirror is not None:
            await self._mirror.close()
        for closer in reversed(self._closers):
            await closer()
        self.lock.release()

    @property
    def _patience(self) -> float:
        """Seconds for a probe. As long as the background's (``Monitor``), so that a Hub is not slow for the one and
        away for the other; longer where a longer budget is configured."""
        return min(self.config.hub.timeout, max(PROBE, self.config.hub.budget))

    # Parts

    async def target(self) -> str:
        """The configured Hub's name in the queue."""
        return self._link.target if self._link is not None else await targets.resolve(self.store, self.address)

    async def link(self) -> Link:
        """The way to the configured Hub, with what every process knows of it read afresh.

        A caller that gives up doesn't end the making of it. Raises HubUnavailable when it can't be made (the embedded
        Hub's file, the token's command), ConfigError.
        """
        if self._link is None:
            if self._making is None or self._making.done():
                self._making = asyncio.create_task(self._make_link(self.config, self._transport))
            link = await asyncio.shield(self._making)
            await link.load()  # nobody sees it before it knows its target
            self._link = link
        else:
            await self._link.load()
        return self._link

    async def embedded(self) -> Link:
        """The way to the embedded Hub, whatever Hub is configured."""
        async with self._links:
            if self._embedded is None:
                hub = msgspec.structs.replace(self.config.hub, url="")
                self._embedded = await self._make_link(msgspec.structs.replace(self.config, hub=hub), None)
            await self._embedded.load()
            return self._embedded

    async def _make_link(self, config: Config, transport: httpx.AsyncBaseTransport | None) -> Link:
        from aria_tui.hub.client import HubClient, TokenUnavailable, resolve_token
        from aria_tui.outbox.link import Link

        inside = not config.hub.url
        try:
            token = "" if inside else await resolve_token(config.hub)
        except TokenUnavailable as error:
            raise HubUnavailable("unknown", str(error)) from error
        if inside and transport is None:
            transport = await self._open_embedded()
        client = HubClient(config.hub, transport=transport, token=token, embedded=inside, now=self.clock.now)
        self._closers.append(client.aclose)
        address = names.address(config.hub.url, credential_source(config))
        return Link(self.store, self.clock, client, address=address, credential=names.digest(token))

    async def _open_embedded(self) -> httpx.AsyncBaseTransport:
        from aria_tui.hub import embedded

        try:
            transport, closer = await embedded.open_embedded(self.home)
        except (AriaError, OSError) as error:
            raise HubUnavailable("offline", f"the embedded Hub can't be opened: {error}") from error
        self._closers.append(closer)
        self.hub_notice = str(getattr(transport, "notice", "") or "")
        return transport

    @property
    def syncer(self) -> Syncer:
        if self._syncer is None:
            from aria_tui.outbox.syncer import Syncer

            self._syncer = Syncer(
                self.store,
                self.clock,
                self.lock,
                self.config,
                link=self.link,
                embedded=self.embedded,
                delivered=self._delivered,
                seen=self.seen,
            )
        return self._syncer

    @property
    def mirror(self) -> Mirror:
        if self._mirror is None:
            from aria_tui.outbox.mirror import Mirror

            self._mirror = Mirror(self.home / "cache" / "seen.db")
        return self._mirror

    def monitor(self) -> Monitor:
        if self._monitor is None:
            from aria_tui.outbox.monitor import Monitor

            self._monitor = Monitor(self.store, self.clock, self.config, self.syncer, self.link)
        return self._monitor

    async def _delivered(self, judged: Sequence[Judged], outcome: Outcome | None) -> None:
        target = await self.target()
        ours = [pair for pair in judged if pair[0].target == target]
        ids = {**await self.ids_of(target, "task"), **await self.ids_of(target, "insight")}
        if outcome is not None and outcome.server_id is not None and ours:
            ids[ours[0][0].entity.partition(":")[2]] = outcome.server_id
        await self.mirror.acknowledged(ours, target, ids)

    def seen(self, entity: str) -> Mapping[str, Any] | None:
        """An entity's fields as last seen at the configured Hub, as far as that was taken up."""
        kind, _, thing = entity.partition(":")
        return self.mirror.things["insight" if kind == "insight" else "task"].get(thing)

    def is_plain(self, target: str) -> bool:
        """Whether a target may be a plain Hub, which hands out its own ids: those of ours have names of their own."""
        return not target.startswith("hub:") and target != names.EMBEDDED

    async def ids_of(self, target: str, kind: str) -> dict[str, str]:
        """Our ids → those that a plain Hub handed out."""
        if not self.is_plain(target):
            return {}
        from aria_tui.outbox.plain import remote_ids

        return await remote_ids(self.store, target, kind)

    def wrote(self) -> None:
        """Something of this process waits: the background has a look, where there is one."""
        if self._monitor is not None:
            self._monitor.wrote()

    async def load_mirror(self) -> None:
        await self.mirror.load(await self.target())

    async def views(self) -> Views:
        """The queue as it is now; strangers' rows are given their ids first, where the file can be written."""
        from aria_tui.outbox.views import Views

        await self.store.open()
        with contextlib.suppress(NotSaved):
            await self.adopt_strangers(brief=True)
        target = await self.target()
        gate = await self._gate(target)
        return Views(self.store, self.clock, target=target, gate=gate)

    async def _gate(self, target: str) -> Gate | None:
        """What keeps the configured Hub's rows back; that it was restored comes before all else."""
        from aria_tui.outbox import gates
        from aria_tui.outbox.known import Known

        known = await state.get(self.store, f"hub:{target}", Known)
        if known is not None and known.restored:
            return gates.shut(
                self.clock, None, "restored", hub_state="online", reason=known.restored, seconds=0, since=self.now()
            )
        return await gates.load(self.store, target)

    async def adopt_strangers(self, *, brief: bool = False) -> None:
        """A stranger's row belongs to the Hub of config.toml, else to the configured one (queue.md, "Strangers")."""
        if await rows.strangers_wait(self.store):
            await rows.adopt_strangers(self.store, await self.strangers_target(), brief=brief)

    async def strangers_target(self) -> str:
        try:
            file = await asyncio.to_thread(configuration.load, self.home / "config.toml", {})
        except AriaError:
            return await self.target()
        if not file.hub.url:
            return await self.target()
        return await targets.resolve(self.store, names.address(file.hub.url, credential_source(file)))

    # Reading

    async def refresh(
        self, kind: Literal["task", "insight"], *, last_seen: bool, drain: bool
    ) -> tuple[str | None, Literal["hub", "last-seen"]]:
        """Reads what changed at the Hub into the mirror. Raises HubUnavailable unless ``last_seen``."""
        try:
            link = await self.reachable()
            if drain:
                await self.syncer.within(self.config.hub.budget)
            async with self._refreshing:
                await self.load_mirror()
                if link.restored:
                    self.mirror.start_over()
                await self.mirror.refresh(link.client, kind, self.now(), self.config.hub.timeout)
            await self._note_int_ids(link)
            return self.mirror.as_of[kind], "hub"
        except HubUnavailable as error:
            if self._link is not None and self._link.status.state in _GOOD:
                await self._link.away(error.state, error.reason)  # type: ignore[arg-type]
            await self.load_mirror()
            if not last_seen or self.mirror.as_of[kind] is None:
                raise
            return self.mirror.as_of[kind], "last-seen"

    async def _note_int_ids(self, link: Link) -> None:
        """A plain Hub's ids are sent as numbers when they are (``PlainLane``)."""
        name = f"int_ids:{link.target}"
        if self.mirror.int_ids and not await state.get(self.store, name, bool):
            with contextlib.suppress(NotSaved):
                await state.put(self.store, name, True)

    async def get(self, path: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """One read. Raises HubUnavailable, NotFound."""
        link = await self.reachable()
        try:
            return await link.client.get(path, params, timeout=self.config.hub.timeout)
        except HubUnavailable as error:
            await link.away(error.state, error.reason)  # type: ignore[arg-type]
            raise

    async def reachable(self, *, asked: bool = False) -> Link:
        """The way to a Hub that may be read now; ``asked`` just now, whatever was known. Raises HubUnavailable."""
        link = await self.link()
        gate = link.gate
        if gate is not None and not asked:
            if gate.reads:
                return link
            if gate.code in ("offline", "paused") and gate.seconds(self.clock):
                raise HubUnavailable(gate.hub_state, gate.reason, since=gate.since)
        if asked or link.status.state not in _GOOD or not link.bound:
            found = await link.probe(self._patience)
            if not found.may_send:
                raise HubUnavailable(link.status.state, link.status.reason, since=link.status.since)
        return link

    async def hub_status(self, *, probe: bool) -> HubStatus:
        try:
            link = await self.link()
            if probe:
                await link.probe(self._patience)
            await link.refresh_uptime()
        except HubUnavailable as error:
            return HubStatus(state=error.state, reason=error.reason, url=self.config.hub.url)  # type: ignore[arg-type]
        except QueueUnavailable:
            return await self._status_without_queue(probe)
        except NotSaved:
            return self.hub_now()
        return link.status

    async def _status_without_queue(self, probe: bool) -> HubStatus:
        """A queue that can't be opened takes nothing from the Hub's pane."""
        link = self._link
        if link is None or not probe:
            return self.hub_now()
        found = await link.client.probe(self.config.hub.budget)
        return HubStatus(
            state=found.state, reason=found.reason, latency_ms=found.latency_ms, url=link.status.url, since=self.now()
        )

    def hub_now(self) -> HubStatus:
        return self._link.status if self._link is not None else HubStatus(url=self.config.hub.url)

    # The queue as a whole

    async def adopt(self) -> int:
        """Gives every row of another target to the configured Hub; how many waiting rows."""
        target = await self.target()

        async def job(connection: aiosqlite.Connection) -> int:
            found = await connection.execute_fetchall(
                "SELECT target FROM counters WHERE waiting > 0 UNION SELECT target FROM parked"
            )
            moved = 0
            for (other,) in list(found):
                if other and other != target:
                    moved += await targets.move(connection, other, target)
            return moved

        return await self.store.write(job)

    async def verify(self, *, waive: bool, resend: bool) -> dict[str, Any]:
        from aria_tui.outbox import journal

        link = await self.link()
        if waive:
            await self._go_on(link)
            return {"asked": 0, "missing": [], "resent": 0, "waived": True}
        link = await self.reachable()
        await link.probe(self.config.hub.timeout)  # else the restoration may be noticed after it was made good
        known = link.known
        if known is None:
            raise HubUnavailable(link.status.state, "a plain Hub keeps no record of operations")
        result = await journal.verify(
            self.store,
            self.clock,
            link.client,
            link.target,
            key_days=known.key_days,
            resend=resend,
            timeout=self.config.hub.timeout,
        )
        if resend or not result["missing"]:
            await self._go_on(link)
            self.wrote()
        return result

    async def _go_on(self, link: Link) -> None:
        """Sending goes on to a Hub that was restored. Its versions are other ones than those that were seen before."""
        from aria_tui.outbox import journal

        if link.restored:
            await self.load_mirror()
            await self.mirror.forget_versions()
            await journal.forget_versions(self.store, link.target)
        await link.waive_restored()

    async def check(self) -> str | None:
        """SQLite's own check of the whole file; the counters are put right on the way."""
        await counters.mend(self.store, thoroughly=True)
        found = await self.store.read("PRAGMA integrity_check(1)")
        return None if found and found[0][0] == "ok" else str(found[0][0] if found else "no answer")


def credential_source(config: Config) -> str:
    """What tells two accounts at one address apart without asking for the token itself."""
    hub = config.hub
    return hub.token or (f"command:{hub.token_command}" if hub.token_command else "")
