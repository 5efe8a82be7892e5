"""A PostgreSQL of the tests' own: a cluster in a temporary folder, on a free port, ended and removed afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path


def binaries() -> Path | None:
    """Where initdb and pg_ctl are, or None where PostgreSQL isn't installed."""
    found = [Path(there).resolve().parent] if (there := shutil.which("pg_ctl")) else []
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next(
        (folder for folder in found if all((folder / name).exists() for name in ("initdb", "pg_ctl", "createdb"))), None
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run_as_postgres(*command: str | Path) -> list[str]:
    """The command as a user that PostgreSQL agrees to run as: never root."""
    words = [str(word) for word in command]
    return ["runuser", "-u", "postgres", "--", *words] if os.geteuid() == 0 else words


class Cluster:
    """``start``, ``restart``, ``close``; ``database()`` makes an empty database and gives its address."""

    def __init__(self, bin_folder: Path) -> None:
        self._bin = bin_folder
        self.folder = Path(tempfile.mkdtemp(prefix="aria-postgres-"))
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        self.port = free_port()
        self._call(
            "initdb", "-D", self.folder / "data", "-A", "trust", "-U", "hub", "-N", "-E", "UTF8", "--locale=C.UTF-8"
        )

    def _call(self, program: str, *args: str | Path) -> None:
        done = subprocess.run(
            run_as_postgres(self._bin / program, *args), cwd="/", capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _control(self, action: str, *more: str) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=60"
        extra = ["-o", options, "-l", str(self.folder / "log")] if action != "stop" else []
        self._call("pg_ctl", action, "-D", self.folder / "data", "-w", *extra, *more)

    def start(self) -> None:
        self._control("start")

    def stop(self, mode: str = "immediate") -> None:
        self._control("stop", "-m", mode)

    def url(self, name: str) -> str:
        return f"postgresql://hub@127.0.0.1:{self.port}/{name}"

    def database(self) -> str:
        name = f"hub_{uuid.uuid4().hex[:12]}"
        self._call("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "hub", name)
        return self.url(name)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)


class Pooler:
    """pgbouncer in transaction mode before one database; ``url`` leads through it. May be stopped and started again."""

    def __init__(self, program: str, cluster: Cluster, database: str) -> None:
        self.port, name = free_port(), database.rpartition("/")[2]
        self.url = f"postgresql://hub@127.0.0.1:{self.port}/{name}"
        users, self._file = cluster.folder / "users.txt", cluster.folder / f"{name}.ini"
        users.write_text('"hub" ""\n')
        self._file.write_text(
            f"[databases]\n{name} = host=127.0.0.1 port={cluster.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {self.port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {users}\n"
            "pool_mode = transaction\ndefault_pool_size = 3\nserver_login_retry = 1\n"  # not 15 s: a test waits for it
        )
        self._command = run_as_postgres(program, self._file)
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, cwd="/", stderr=subprocess.DEVNULL)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)
