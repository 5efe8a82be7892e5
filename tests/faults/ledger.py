"""The account of acknowledgements, kept outside the program: what a user was told, to be held against the Hub."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.faults.transport import Applied


@dataclass
class Event:
    """One thing a user did. ``sure`` when the program acknowledged it; otherwise it may have happened or not."""

    number: int
    kind: str
    value: str
    sure: bool


@dataclass
class Story:
    """All that a user did to one thing, in order."""

    entity: str
    account: str
    events: list[Event] = field(default_factory=list)

    @property
    def deleted(self) -> bool:
        """Whether it may be gone: nothing more is done to it then."""
        return any(event.kind == "delete" for event in self.events)

    @property
    def begun(self) -> bool:
        return any(event.kind == "create" and event.sure for event in self.events)

    def may_be(self, kinds: tuple[str, ...]) -> set[str]:
        """The values a field may have in the end: the last sure one, and every unsure one after it."""
        values: set[str] = set()
        for event in self.events:
            if event.kind in kinds:
                values = {event.value} if event.sure else values | {event.value}
        return values

    def surely(self, kind: str) -> bool:
        return any(event.kind == kind and event.sure for event in self.events)

    def perhaps(self, kind: str) -> bool:
        return any(event.kind == kind for event in self.events)


@dataclass
class Ledger:
    stories: dict[tuple[str, str], Story] = field(default_factory=dict)
    count: int = 0

    def note(self, account: str, entity: str, kind: str, value: str, sure: bool) -> None:
        story = self.stories.setdefault((account, entity), Story(entity, account))
        self.count += 1
        story.events.append(Event(self.count, kind, value, sure))

    @property
    def acknowledged(self) -> int:
        return sum(event.sure for story in self.stories.values() for event in story.events)

    def tasks(self, account: str) -> list[Story]:
        """Tasks that a user could still work on."""
        return [
            story for (owner, entity), story in self.stories.items()
            if owner == account and entity.startswith("task:") and story.begun and not story.deleted
        ]  # fmt: skip


def check_state(story: Story, found: dict[str, Any] | None) -> str:
    """What is wrong with a thing's final state at the Hub, or nothing. ``found`` is the Hub's copy."""
    if story.surely("delete"):
        return f"{story.entity} is still there" if found else ""
    if found is None:
        lost = story.begun and not story.perhaps("delete")
        return f"{story.entity} was acknowledged and is lost" if lost else ""
    kind = story.entity.partition(":")[0]
    field_name = {"task": "title", "insight": "content", "briefing": "content"}[kind]
    values = story.may_be(("create", "edit"))
    if kind == "briefing":  # the newer by the wall clock stays (hub-api.md), and the wall clock jumps here
        values = {event.value for event in story.events}
    if found[field_name] not in values:
        return f"{story.entity}: {field_name} is {found[field_name]!r}, not one of {sorted(values)}"
    if kind == "task":
        if story.surely("complete") and found["status"] != "DONE":
            return f"{story.entity} was completed and is {found['status']}"
        if not story.perhaps("complete") and found["status"] == "DONE":
            return f"{story.entity} is done and nobody completed it"
    return ""


def check_log(log: list[Applied], restored: bool) -> list[str]:
    """What the Hub's log says against "once" and "in order". ``restored``: the Hub lost something on the way, which may
    come after newer operations of the same entity, as long as these are about other fields."""
    wrong = []
    seen: dict[str, Applied] = {}
    newest: dict[tuple[str, ...], str] = {}
    gone: set[tuple[str, str]] = set()
    for effect in log:
        place = (effect.account, effect.entity)
        if effect.op_id in seen:
            wrong.append(f"{effect.operation} {effect.op_id} of {effect.entity} was applied twice")
        seen[effect.op_id] = effect
        for part in _parts(effect) if restored else ("",):
            if effect.op_id < newest.get((*place, part), ""):
                wrong.append(f"{effect.operation} {effect.op_id} of {effect.entity} overtook a later one")
            newest[*place, part] = max(effect.op_id, newest.get((*place, part), ""))
        if place in gone:
            wrong.append(f"{effect.operation} came to {effect.entity} after its deletion")
        if effect.operation == "delete_task":
            gone.add(place)
    return wrong


def _parts(effect: Applied) -> tuple[str, ...]:
    """What of its entity an operation is about."""
    match effect.operation:
        case "update_task":
            return tuple(effect.payload["changes"])
        case "complete_task":
            return ("status",)
    return ("all of it",)


def check_keys(sent: list[tuple[str, str, dict[str, Any]]]) -> list[str]:
    """An operation never changes its key, and a key never changes its operation."""
    wrong = []
    by_key: dict[str, tuple[str, dict[str, Any]]] = {}
    by_marker: dict[str, str] = {}
    for key, operation, payload in sent:
        if by_key.setdefault(key, (operation, payload)) != (operation, payload):
            wrong.append(f"key {key} was sent with {by_key[key]} and then with {(operation, payload)}")
        marker = payload.get("content") or payload.get("title") or payload.get("changes", {}).get("title")
        if marker and by_marker.setdefault(f"{operation} {marker}", key) != key:
            wrong.append(f"{operation} {marker!r} was sent under two keys: {by_marker[f'{operation} {marker}']}, {key}")
    return wrong
