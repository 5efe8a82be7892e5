"""Everything a user can do, once: bindings, footer, help, palette and key list are all made from this list.

Knows nothing of Textual, so that the README's key list can be made and checked without a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aria_tui.locale import N_, _


@dataclass(frozen=True)
class Command:
    """One thing the user can do.

    ``where`` names the place that has the keys: ``everywhere``, a pane, or a screen. ``footer`` says whether the
    footer shows it. The handler is the method ``do_ID`` (dots as underscores) nearest to the focus.
    """

    id: str
    keys: str
    label: str
    help: str
    where: str = "everywhere"
    footer: bool = False
    palette: bool = True
    pair: tuple[str, str] | None = None
    """Another command and one label: the footer shows both keys with it."""

    @property
    def method(self) -> str:
        """The handler's name."""
        return f"do_{self.id.replace('.', '_')}"


PLACES: dict[str, str] = {
    "everywhere": N_("Everywhere"),
    "dashboard": N_("Dashboard"),
    "briefing": N_("Briefing"),
    "tasks": N_("Tasks"),
    "hub": N_("Hub"),
    "queue": N_("Queue"),
    "insights": N_("Insights"),
    "detail": N_("Queue row"),
    "conflict": N_("Conflict"),
    "plan": N_("Sync plan"),
    "settings": N_("Settings"),
    "help": N_("Help"),
    "form": N_("Forms"),
}
"""Places in the order of the help screen, with their titles."""

COMMANDS: tuple[Command, ...] = (
    Command("sync", "s", N_("sync"), N_("Send what waits in the queue now"), footer=True),
    Command("sync.stop", "S", N_("stop"), N_("Stop the sync that is running")),
    Command("task", "t", N_("task"), N_("Capture a task"), footer=True),
    Command("insight", "i", N_("insight"), N_("Capture an insight"), footer=True),
    Command("filter", "slash", N_("filter"), N_("Filter the tasks as you type"), "dashboard", footer=True),
    Command("zoom", "z", N_("zoom"), N_("Let the focused pane fill the screen, or back"), "dashboard", footer=True),
    Command("refresh", "r,f5", N_("refresh"), N_("Read everything again"), footer=True),
    Command("undo", "u", N_("undo"), N_("Take back the last of up to ten actions")),
    Command("insights", "v", N_("insights"), N_("Show all insights")),
    Command("pane.briefing", "1", N_("briefing"), N_("Go to the briefing"), "dashboard"),
    Command("pane.tasks", "2", N_("tasks"), N_("Go to the tasks"), "dashboard"),
    Command("pane.hub", "3", N_("Hub"), N_("Go to the Hub"), "dashboard"),
    Command("pane.queue", "4", N_("queue"), N_("Go to the queue"), "dashboard"),
    Command("pane.next", "tab", N_("next"), N_("Go to the next pane"), "dashboard", palette=False),
    Command("pane.previous", "shift+tab", N_("previous"), N_("Go to the pane before"), "dashboard", palette=False),
    Command(
        "first.use",
        "U",
        N_("use this"),
        N_("Close the first-run panel: the embedded Hub is fine"),
        "dashboard",
        False,
        False,
    ),
    Command("first.demo", "D", N_("demo"), N_("Leave and start the demo"), "dashboard"),
    Command("settings", "comma", N_("settings"), N_("Show settings and the state of each source")),
    Command("theme", "T", N_("theme"), N_("Change between dark and light")),
    Command("connect", "c", N_("connect"), N_("Connect to a Hub, tested before it is saved")),
    Command("demo.toggle", "o", N_("Hub on/off"), N_("Switch the demo's Hub off or on")),
    Command("palette", "ctrl+p", N_("commands"), N_("Find a command by its name"), palette=False),
    Command("help", "question_mark,f1", N_("help"), N_("Show every key"), footer=True),
    Command("quit", "q,ctrl+q", N_("quit"), N_("Leave; what waits stays in the queue"), footer=True),
    Command(
        "briefing.earlier",
        "left_square_bracket",
        N_("day before"),
        N_("Show the briefing before"),
        "briefing",
        footer=True,
        pair=("briefing.later", N_("days")),
    ),
    Command("briefing.later", "right_square_bracket", N_("day after"), N_("Show the briefing after"), "briefing"),
    Command("briefing.evening", "e", N_("evening"), N_("Change between morning and evening"), "briefing", True),
    Command("briefing.fold", "space", N_("fold"), N_("Fold or unfold the section"), "briefing", True),
    Command("briefing.open", "enter", N_("open"), N_("Go to what the line is about"), "briefing"),
    Command("briefing.copy", "y", N_("copy"), N_("Copy the briefing as Markdown"), "briefing", True),
    Command("briefing.compare", "C", N_("compare"), N_("Compare with the briefing before"), "briefing"),
    Command("task.new", "n", N_("new"), N_("Add a task"), "tasks", True),
    Command("task.edit", "enter", N_("edit"), N_("Edit the task"), "tasks", True),
    Command("task.done", "x", N_("done"), N_("Mark the task done, or the selected ones"), "tasks", True),
    Command("task.reopen", "X", N_("reopen"), N_("Open a done task again"), "tasks"),
    Command("task.delete", "d", N_("delete"), N_("Delete the task, or the selected ones"), "tasks", True),
    Command("task.postpone", "p", N_("postpone"), N_("Move the due date to the next day"), "tasks", True),
    Command("task.select", "space", N_("select"), N_("Select the task, for done and delete"), "tasks"),
    Command("task.sort", "O", N_("sort"), N_("Sort by the next column"), "tasks"),
    Command("task.group", "g", N_("group"), N_("Group by project, or not"), "tasks"),
    Command("task.closed", "a", N_("all"), N_("Show done tasks as well, or not"), "tasks"),
    Command("task.last_seen", "l", N_("last seen"), N_("Show the last list seen while the Hub is away"), "tasks"),
    Command("task.clear", "escape", N_("clear"), N_("Clear filter and selection"), "tasks", palette=False),
    Command("queue.open", "enter", N_("open"), N_("Show the whole row"), "queue", True),
    Command("queue.retry", "R", N_("retry"), N_("Put a dead letter back"), "queue", True),
    Command("queue.retry_all", "A", N_("retry all"), N_("Put all dead letters back"), "queue"),
    Command("queue.edit", "e", N_("edit"), N_("Edit the row's payload"), "queue", True),
    Command("queue.discard", "d", N_("discard"), N_("Discard the row, asked twice"), "queue", True),
    Command("queue.export", "E", N_("export"), N_("Write the queue to a file of JSON lines"), "queue"),
    Command("queue.verify", "V", N_("verify"), N_("Ask a restored Hub what it still has"), "queue"),
    Command("queue.plan", "P", N_("plan"), N_("Show what a sync would send"), "queue"),
    Command("queue.next_tab", "right,right_square_bracket", N_("next tab"), N_("Show the next list"), "queue"),
    Command(
        "queue.previous_tab",
        "left,left_square_bracket",
        N_("tab before"),
        N_("Show the list before"),
        "queue",
        footer=True,
        pair=("queue.next_tab", N_("lists")),
    ),
    Command("insights.edit", "enter", N_("edit"), N_("Edit the insight"), "insights", True),
    Command("insights.delete", "d", N_("delete"), N_("Delete the insight"), "insights", True),
    Command("insights.search", "slash", N_("search"), N_("Search in the insights"), "insights", True),
    Command("insights.project", "p", N_("project"), N_("Show one project's insights after another"), "insights", True),
    Command("insights.tag", "g", N_("tag"), N_("Show one tag's insights after another"), "insights", True),
    Command("insights.close", "escape", N_("close"), N_("Back to the dashboard"), "insights", True, False),
    Command("detail.retry", "R", N_("retry"), N_("Put the dead letter back"), "detail", True, False),
    Command("detail.edit", "e", N_("edit"), N_("Edit the payload"), "detail", True, False),
    Command("detail.discard", "d", N_("discard"), N_("Discard the row, asked twice"), "detail", True, False),
    Command("detail.close", "escape", N_("close"), N_("Back to the dashboard"), "detail", True, False),
    Command("conflict.mine", "m", N_("mine"), N_("Take my value for the field"), "conflict", True, False),
    Command("conflict.theirs", "h", N_("theirs"), N_("Take the Hub's value for the field"), "conflict", True, False),
    Command("conflict.all_mine", "M", N_("all mine"), N_("Take all of my values"), "conflict", True, False),
    Command("conflict.all_theirs", "H", N_("all theirs"), N_("Take all of the Hub's values"), "conflict", True, False),
    Command("conflict.both", "b", N_("both"), N_("Keep both"), "conflict", True, False),
    Command("conflict.save", "ctrl+s,enter", N_("save"), N_("Save the chosen fields"), "conflict", True, False),
    Command("conflict.close", "escape", N_("close"), N_("Leave it in the inbox"), "conflict", True, False),
    Command("plan.close", "escape", N_("close"), N_("Back to the dashboard"), "plan", True, False),
    Command("settings.open", "enter", N_("change"), N_("Change the setting"), "settings", True, False),
    Command("settings.close", "escape", N_("close"), N_("Back to the dashboard"), "settings", True, False),
    Command("help.close", "escape", N_("close"), N_("Back to where you were"), "help", True, False),
    Command("form.save", "ctrl+s", N_("save"), N_("Save the form"), "form", True, False),
    Command("form.close", "escape", N_("close"), N_("Close; the text is kept"), "form", True, False),
    Command("form.clear", "ctrl+r", N_("clear"), N_("Throw the form's text away"), "form", True, False),
)

BY_ID = {command.id: command for command in COMMANDS}

_SHOWN_KEYS = {
    "slash": "/", "comma": ",", "question_mark": "?", "left_square_bracket": "[", "right_square_bracket": "]",
    "escape": "esc", "left": "←", "right": "→", "pageup": "pgup", "pagedown": "pgdn",
}  # fmt: skip
_NAMED_KEYS = {shown: name for name, shown in _SHOWN_KEYS.items()}
_MODIFIERS = {"ctrl", "shift", "alt", "super", "meta"}
_LONG_KEYS = {
    "escape", "enter", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown",
    "up", "down", "left", "right", *(f"f{n}" for n in range(1, 25)), *_SHOWN_KEYS,
}  # fmt: skip


def shown_key(key: str) -> str:
    """A key as a person reads it: ``slash`` is ``/``."""
    *modifiers, last = key.split("+")
    return "+".join([*modifiers, _SHOWN_KEYS.get(last, last)])


def keys_of(command: Command, remapped: Mapping[str, str]) -> tuple[str, ...]:
    """A command's keys under a keymap that was checked by ``read_keymap``."""
    return tuple(key for key in remapped.get(command.id, command.keys).split(",") if key)


def at(place: str) -> list[Command]:
    """The commands of one place."""
    return [command for command in COMMANDS if command.where == place]


def read_keymap(configured: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """``[ui.keys]`` as Textual's key names by command id, and what is wrong with it, in words.

    An unknown command or key is left out; of two commands with one key in the same place both are reported and the
    remapped ones get their own keys back.
    """
    remapped: dict[str, str] = {}
    problems = []
    for name, text in configured.items():
        if name not in BY_ID:
            problems.append(_("keys: there is no command {name}").format(name=name))
            continue
        keys = [_read_key(part.strip()) for part in text.split(",") if part.strip()]
        if not keys or None in keys:
            problems.append(_("keys: {text} is not a key (for {name})").format(text=text or '""', name=name))
            continue
        remapped[name] = ",".join(key for key in keys if key)
    for key, first, second in _clashes(remapped):
        problems.append(
            _("keys: {key} is both {first} and {second}").format(key=shown_key(key), first=first, second=second)
        )
        remapped.pop(first, None)
        remapped.pop(second, None)
    return remapped, problems


def _read_key(text: str) -> str | None:
    *modifiers, last = text.split("+") if text != "+" else ["+"]
    if any(modifier.lower() not in _MODIFIERS for modifier in modifiers):
        return None
    last = _NAMED_KEYS.get(last, last)
    if len(last) != 1 and last not in _LONG_KEYS:
        return None
    return "+".join([*(m.lower() for m in modifiers), last])


def _clashes(remapped: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Keys that a keymap gives to two commands at once; the defaults alone never clash (a test sees to it)."""
    found = []
    for name in remapped:
        command = BY_ID[name]
        for other in COMMANDS:
            if other.id == name or (other.id in remapped and other.id < name):
                continue
            if _meet(command.where, other.where):
                shared = set(keys_of(command, remapped)) & set(keys_of(other, remapped))
                shared -= set(command.keys.split(",")) & set(other.keys.split(","))
                found += [(key, name, other.id) for key in sorted(shared)]
    return found


_PANES = ("briefing", "tasks", "hub", "queue")


def _meet(one: str, other: str) -> bool:
    """Whether keys of two places can be pressed at the same moment."""
    both = {one, other}
    return len(both) == 1 or "everywhere" in both or ("dashboard" in both and bool(both & set(_PANES)))


def keys_markdown(commands: Iterable[Command] = COMMANDS) -> str:
    """The key list for the README, in English whatever the language in use."""
    lines = ["| where | key | what it does |", "|---|---|---|"]
    commands = list(commands)
    for place, title in PLACES.items():
        for command in commands:
            if command.where == place:
                keys = " ".join(f"`{shown_key(key)}`" for key in command.keys.split(","))
                lines.append(f"| {title} | {keys} | {command.help} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(keys_markdown(), end="")  # noqa: T201 - what the module is run for
