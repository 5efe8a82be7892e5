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
from aria_tui.models import HubStatus, QueueItem, WriteResult
from aria_tui.outbox import accept, rows, state, targets
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.lock import DrainLock
from aria_tui.outbox.store import NewRow, Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx

    from aria_tui.outbox.link import Link
    from aria_tui.outbox.mirror import Mirror
    from aria_tui.outbox.monitor import Monitor
    from aria_tui.outbox.settle import Judged
    from aria_tui.outbox.syncer import Syncer
    from aria_tui.outbox.views import Views

_EDITS = {"update_task", "complete_task", "delete_task", "update_insight", "delete_insight"}
_GOOD = {"online", "slow", "embedded"}


class Engine:
    """What one program holds open. What only some calls need is imported and made by them."""

    def __init__(
        self, config: Config, home: Path, clock: Clock, origin: str, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        self.config, self.home, self.clock, self.origin = config, home, clock, origin
        self._transport = transport
        queue = config.queue
        self.store = Store(home / "queue.db", journal=queue.journal, limit=queue.limit)
        self.lock = DrainLock(self.store.path)
        self.address = targets.address(config.hub.url, credential_source(config))
        self._link: Link | None = None
        self._embedded: Link | None = None
        self._links = asyncio.Lock()
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self._syncer: Syncer | None = None
        self._mirror: Mirror | None = None
        self._monitor: Monitor | None = None
        self._problem: HubUnavailable | None = None
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
        await self.store.close()
        if self._mirror is not None:
            await self._mirror.close()
        for closer in reversed(self._closers):
            await closer()
        self.lock.release()

    # Parts

    async def target(self) -> str:
        """The configured Hub's name in the queue."""
        return self._link.target if self._link is not None else await targets.resolve(self.store, self.address)

    async def link(self) -> Link:
        """The way to the configured Hub, with what every process knows of it read afresh.

        Raises HubUnavailable when it can't be made (the embedded Hub's file, the token's command), ConfigError.
        """
        async with self._links:
            if self._link is None:
                self._link = await self._make_link(self.config, self._transport)
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
        from aria_tui.hub.client import HubClient, resolve_token
        from aria_tui.outbox.link import Link

        inside = not config.hub.url
        token = "" if inside else await resolve_token(config.hub)
        if inside and transport is None:
            transport = await self._open_embedded()
        client = HubClient(config.hub, transport=transport, token=token, embedded=inside, now=self.clock.now)
        self._closers.append(client.aclose)
        address = targets.address(config.hub.url, credential_source(config))
        return Link(self.store, self.clock, client, address=address, credential=targets.digest(token))

    async def _open_embedded(self) -> httpx.AsyncBaseTransport:
        from aria_tui.hub import embedded

        try:
            transport, closer = await embedded.open_embedded(self.home)
        except (AriaError, OSError) as error:
            raise HubUnavailable("offline", f"the embedded Hub can't be opened: {error}") from error
        self._closers.append(closer)
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

    async def _delivered(self, judged: Sequence[Judged]) -> None:
        await self.mirror.acknowledged(judged, await self.target())

    async def load_mirror(self) -> None:
        await self.mirror.load(await self.target())

    async def views(self) -> Views:
        """The queue as it is now; strangers' rows are given their ids first."""
        from aria_tui.outbox import gates
        from aria_tui.outbox.views import Views

        await self.store.open()
        await self.adopt_strangers()
        target = await self.target()
        gate = await gates.load(self.store, target)
        return Views(self.store, self.clock, self.lock, target=target, gate=gate)

    async def adopt_strangers(self) -> None:
        """A stranger's row belongs to the Hub of config.toml, else to the configured one (queue.md, "Strangers")."""
        if not await self.store.read("SELECT 1 FROM queue WHERE op_id IS NULL AND synced_at IS NULL LIMIT 1"):
            return
        await rows.adopt_strangers(self.store, await self.strangers_target())

    async def strangers_target(self) -> str:
        try:
            file = await asyncio.to_thread(configuration.load, self.home / "config.toml", {})
        except AriaError:
            return await self.target()
        if not file.hub.url:
            return await self.target()
        return await targets.resolve(self.store, targets.address(file.hub.url, credential_source(file)))

    # Writing

    async def write(self, row: NewRow, payload: dict[str, Any], *, offline: bool) -> WriteResult:
        """Commits a row and tries to get it to the Hub. Raises NotSaved, QueueUnavailable."""
        await self.store.open()
        row = await self._complete(row, payload)
        number = await self.store.insert(row)
        if not offline:
            try:
                await self.syncer.send_now(number, self.config.hub.budget)
            except (AriaError, OSError) as error:
                return self._queued(number, row, str(error))  # it is committed, and that is what counts
        return await self._outcome(number, row)

    async def _complete(self, row: NewRow, payload: dict[str, Any]) -> NewRow:
        """Gives a row its target, and an edit the version and the former values that it is based on."""
        target = await self.target()
        row = msgspec.structs.replace(row, target=target)
        if row.operation not in _EDITS:
            return row
        if not target.startswith("hub:") and target != targets.EMBEDDED:
            from aria_tui.outbox.plain import local_entity

            row = msgspec.structs.replace(row, entity=await local_entity(self.store, target, row.entity))
        waiting = await rows.of_entity(self.store, row.entity)
        await self.load_mirror()
        kind: Literal["task", "insight"] = "insight" if row.entity.startswith("insight:") else "task"
        thing = self.mirror.base_of(kind, row.entity.partition(":")[2], waiting)
        version, base = accept.former_values(row.operation, payload, thing)
        return msgspec.structs.replace(row, base_version=version, base=base)

    async def _outcome(self, number: int, row: NewRow) -> WriteResult:
        """What became of a row that was just accepted."""
        found = await self.store.read(
            "SELECT outcome, error FROM queue WHERE id = ? AND synced_at IS NOT NULL", (number,)
        )
        if found:
            return await self._delivered_result(number, row, found[0][0])
        parked = await self.store.read("SELECT kind, error FROM parked WHERE id = ?", (number,))
        if parked:
            kind, error = parked[0]
            status: Literal["conflict", "rejected"] = "conflict" if kind == "conflict" else "rejected"
            words = "changed on both sides" if kind == "conflict" else "rejected"
            return WriteResult(
                status=status,
                destination="local",
                id=await self._known_as(row),
                queue_id=number,
                message=f"{words} (#{number}): {error}",
            )
        item = await (await self.views()).show(number)
        return self._queued(number, row, _why_queued(item))

    async def _delivered_result(self, number: int, row: NewRow, outcome: str | None) -> WriteResult:
        if outcome == "superseded":
            return WriteResult(
                status="superseded",
                destination="hub",
                id=await self._known_as(row),
                queue_id=number,
                message="the Hub has a newer one; this one is kept as a revision",
            )
        if outcome in ("folded", "cancelled"):
            return self._queued(number, row, outcome)
        embedded = row.target == targets.EMBEDDED
        return WriteResult(
            status="synced",
            destination="hub",
            id=await self._known_as(row),
            queue_id=number,
            message="saved" if embedded else "saved to Hub",
        )

    async def _known_as(self, row: NewRow) -> str:
        """The entity's id: the Hub's own where a plain Hub handed one out."""
        from aria_tui.outbox.plain import remote_id

        thing = row.entity.partition(":")[2]
        if row.operation not in ("create_task", "capture_insight") or row.target == targets.EMBEDDED:
            return thing
        return await remote_id(self.store, await self.target(), row.entity) or thing

    def _queued(self, number: int, row: NewRow, why: str) -> WriteResult:
        return WriteResult(
            status="queued",
            destination="local",
            id=row.entity.partition(":")[2],
            queue_id=number,
            message=f"queued (#{number}){f': {why}' if why else ''}",
        )

    async def resolve(self, number: int, choice: str | Mapping[str, str]) -> WriteResult:
        """Settles a conflict; what comes of it is sent at once where that is possible."""
        from aria_tui.outbox import parked

        await self.load_mirror()
        found = await self.store.read("SELECT entity, op_id FROM parked WHERE id = ?", (number,))
        thing = str(found[0][0]).partition(":")[2] if found else ""
        known = self.mirror.things["task"].get(thing) or self.mirror.things["insight"].get(thing)
        entity = await parked.resolve(self.store, number, choice, self.now(), known=known)
        made = await self.store.read("SELECT max(id) FROM queue WHERE synced_at IS NULL AND id >= ?", (number,))
        back = await self.store.read("SELECT id FROM queue WHERE synced_at IS NULL AND id = ?", (number,))
        sent = back[0][0] if back else made[0][0]
        if sent is None:
            return WriteResult(
                status="synced", destination="hub", id=entity, queue_id=number, message="the Hub's version stays"
            )
        with contextlib.suppress(AriaError, OSError):  # it waits, and the outcome says so
            await self.syncer.send_now(sent, self.config.hub.budget)
        row = NewRow(operation="", payload="", created_at="", op_id="", entity=f"task:{entity}", origin="", target="")
        return await self._outcome(sent, row)

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
                await self.mirror.refresh(link.client, kind, self.now(), self.config.hub.timeout)
                if self.mirror.int_ids:
                    await state.put(self.store, f"int_ids:{link.target}", True)
            return self.mirror.as_of[kind], "hub"
        except HubUnavailable:
            await self.load_mirror()
            if not last_seen or self.mirror.as_of[kind] is None:
                raise
            return self.mirror.as_of[kind], "last-seen"

    async def get(self, path: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """One read. Raises HubUnavailable, NotFound."""
        link = await self.reachable()
        return await link.client.get(path, params, timeout=self.config.hub.timeout)

    async def reachable(self) -> Link:
        """The way to a Hub that may be read now. Raises HubUnavailable: known to be away, or just found so."""
        link = await self.link()
        gate = link.gate
        if gate is not None and gate.code in ("offline", "paused") and gate.seconds(self.clock):
            raise HubUnavailable(gate.hub_state, gate.reason, since=gate.since)
        if link.status.state not in _GOOD or not link.bound:
            found = await link.probe(min(self.config.hub.budget, self.config.hub.timeout))
            if not found.may_send:
                raise HubUnavailable(link.status.state, link.status.reason, since=link.status.since)
        return link

    async def hub_status(self, *, probe: bool) -> HubStatus:
        try:
            link = await self.link()
            if probe:
                await link.probe(min(self.config.hub.budget, self.config.hub.timeout))
            await link.refresh_uptime()
        except HubUnavailable as error:
            self._problem = error
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
            await link.waive_restored()
            return {"asked": 0, "missing": [], "resent": 0, "waived": True}
        link = await self.reachable()
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
            await link.waive_restored()
        return result

    async def check(self) -> str | None:
        """SQLite's own check of the whole file."""
        found = await self.store.read("PRAGMA integrity_check(1)")
        return None if found and found[0][0] == "ok" else str(found[0][0] if found else "no answer")


def credential_source(config: Config) -> str:
    """What tells two accounts at one address apart without asking for the token itself."""
    hub = config.hub
    return hub.token or (f"command:{hub.token_command}" if hub.token_command else "")


def _why_queued(item: QueueItem) -> str:
    match item.reason_code:
        case "next" | "sending":
            return ""
        case "offline":
            return "Hub offline"
        case "in_doubt":
            return "sent, but not confirmed yet"
        case _:
            return item.reason
