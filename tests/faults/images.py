"""Crash images: what a disk may hold after power was lost, made from the writes and syncs that a program really did.

``strace`` records each write, truncation, deletion and sync with its data; ``images`` plays them back onto a model of a
disk that keeps only what was synced, and of the rest any part: a file's data by fsync of the file, a directory's
entries (creation, deletion) by fsync of the directory. Each image is a folder that can be opened.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers import needs

CALLS = "openat,pwrite64,write,ftruncate,unlink,unlinkat,rename,fsync,fdatasync"
_LINE = re.compile(r"^(?:\d+\s+)?(\w+)\((.*)\)\s+= (-?\d+)")
_FD = re.compile(r"^(\d+)<([^>]*)>")
_QUOTED = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@dataclass
class Call:
    """One system call on a file below the folder, or a line that the program said (``name`` "said")."""

    name: str
    path: str = ""
    data: bytes = b""
    offset: int = 0
    size: int = 0


def record(command: Sequence[str], folder: Path, env: dict[str, str], log: Path) -> list[Call]:
    """Runs a command under strace and gives what it did to files below ``folder``, with its lines of output."""
    done = subprocess.run(
        [needs.program("strace"), "-f", "-qqq", "-y", "-xx", "-s", "1000000",
         "-e", f"trace={CALLS}", "-o", str(log), *command],
        env=env, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return list(_parse(log.read_text().splitlines(), str(folder)))


def _parse(lines: list[str], folder: str) -> Iterator[Call]:
    unfinished: dict[str, str] = {}
    positions: dict[str, int] = {}
    for line in lines:
        pid = line.partition(" ")[0]
        if line.endswith("<unfinished ...>"):
            unfinished[pid] = line.removesuffix("<unfinished ...>").rstrip()
            continue
        if resumed := re.match(r"^\d+\s+<\.\.\. \w+ resumed>(.*)$", line):
            line = unfinished.pop(pid, "") + resumed[1]
        if (found := _LINE.match(line)) is None or int(found[3]) < 0:
            continue
        yield from _call(found[1], found[2], int(found[3]), folder, positions)


def _call(name: str, arguments: str, result: int, folder: str, positions: dict[str, int]) -> Iterator[Call]:
    fd = _FD.match(arguments)
    path = _plain(fd[2]) if fd else ""
    texts = [_plain(text) for text in _QUOTED.findall(arguments)]
    raw = [bytes.fromhex(text.replace("\\x", "")) for text in _QUOTED.findall(arguments)]
    match name:
        case "write" if fd and fd[1] == "1":
            yield Call("said", data=raw[0])
        case "pwrite64" if path.startswith(folder):
            yield Call("write", path, raw[0][:result], int(arguments.rsplit(",", 1)[1]))
        case "write" if path.startswith(folder):
            yield Call("write", path, raw[0][:result], positions.get(path, 0))
            positions[path] = positions.get(path, 0) + result
        case "ftruncate" if path.startswith(folder):
            yield Call("truncate", path, size=int(arguments.rsplit(",", 1)[1]))
        case "fsync" | "fdatasync" if path.startswith(folder):
            yield Call("sync", path)
        case "openat" if texts and texts[-1].startswith(folder) and "O_CREAT" in arguments:
            yield Call("create", texts[-1])
        case "unlink" | "unlinkat" if texts and texts[-1].startswith(folder):
            yield Call("delete", texts[-1])


def _plain(text: str) -> str:
    return os.fsdecode(bytes.fromhex(text.replace("\\x", ""))) if "\\x" in text else text


@dataclass
class Disk:
    """Files as the program sees them, and what of them is sure to be there after a power cut."""

    files: dict[str, bytearray] = field(default_factory=dict)
    pending: dict[str, list[Call]] = field(default_factory=dict)
    durable: dict[str, bytearray] = field(default_factory=dict)
    entries: set[str] = field(default_factory=set)
    """Names that are durably in their directory."""

    @classmethod
    def of(cls, folder: Path) -> Disk:
        disk = cls()
        for path in folder.rglob("*"):
            if path.is_file():
                disk.files[str(path)] = bytearray(path.read_bytes())
                disk.durable[str(path)] = bytearray(path.read_bytes())
                disk.entries.add(str(path))
        return disk

    def do(self, call: Call) -> None:
        match call.name:
            case "create" if call.path not in self.files:
                self.files[call.path] = bytearray()
                self.durable[call.path] = bytearray()
                self.pending[call.path] = []
            case "delete":
                self.files.pop(call.path, None)
            case "write" | "truncate":
                change(self.files.setdefault(call.path, bytearray()), call)
                self.pending.setdefault(call.path, []).append(call)
            case "sync" if call.path in self.files:
                self.durable[call.path] = bytearray(self.files[call.path])
                self.pending[call.path] = []
            case "sync":  # of a directory: its names
                below = {p for p in self.files if str(Path(p).parent) == call.path}
                gone = {p for p in self.entries if str(Path(p).parent) == call.path and p not in self.files}
                self.entries = (self.entries | below) - gone

    def image(self, dice: random.Random, keep: float) -> dict[str, bytes]:
        """One thing that may be found after the power came back: each unsynced change is there with chance ``keep``.

        A name whose creation or deletion was not synced is there or not by the same chance.
        """
        names = set(self.entries)
        for path in set(self.files) ^ self.entries:
            if dice.random() < keep:
                names ^= {path}
        found = {}
        for path in names:
            data = bytearray(self.durable.get(path, b""))
            for call in self.pending.get(path, []):
                if dice.random() < keep:
                    change(data, call)
            found[path] = bytes(data)
        return found


def change(data: bytearray, call: Call) -> None:
    if call.name == "truncate":
        del data[call.size :]
        data.extend(bytes(call.size - len(data)))
        return
    end = call.offset + len(call.data)
    if len(data) < end:
        data.extend(bytes(end - len(data)))
    data[call.offset : end] = call.data
