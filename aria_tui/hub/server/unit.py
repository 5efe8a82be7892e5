"""``aria hub unit``: a hardened systemd unit for a Hub on one machine."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

UNIT = """\
[Unit]
Description=ARIA Hub
After=network-online.target
Wants=network-online.target

[Service]
Type=exec
ExecStart={command}
Environment=ARIA_HOME=%S/aria-hub
# A PostgreSQL address with its password belongs in a file of mode 0600: ARIA_HUB_DATABASE=postgresql://…
EnvironmentFile=-/etc/aria-hub.env
StateDirectory=aria-hub
StateDirectoryMode=0700
UMask=0077
Restart=on-failure
RestartSec=2
TimeoutStopSec=30
DynamicUser=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
LockPersonality=yes
MemoryDenyWriteExecute=yes
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome={home}
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""


def text(host: str, port: int) -> str:
    """The unit's text, for this installation of the program."""
    program = Path(sys.argv[0]).absolute()
    command = [str(program)] if program.name == "aria" else [sys.executable, "-m", "aria_tui"]
    at_home = any(Path(command[0]).is_relative_to(folder) for folder in ("/home", "/root"))
    return UNIT.format(
        command=shlex.join([*command, "hub", "serve", "--host", host, "--port", str(port)]),
        home="read-only" if at_home else "yes",
    )
