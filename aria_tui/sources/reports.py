"""Reports of nightly jobs: JSON files with ``timestamp``, ``ok`` and ``failed``. A failed one comes first of all."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from aria_tui.config import Config
from aria_tui.hub.contract import read_time, write_time
from aria_tui.models import Alert, Section
from aria_tui.sources import Moment
from aria_tui.sources._files import NotReadable, read_regular

FILE_BYTES = 1024 * 1024


class ReportsSource:
    name = "reports"

    def __init__(self, config: Config, *, home: Path, environ: Mapping[str, str] | None = None) -> None:
        self._files = config.briefing.reports

    async def gather(self, when: Moment, deadline: float) -> Section:
        if not self._files:
            return Section(name=self.name, state="not_configured", reason='set [briefing] reports = ["~/report.json"]')
        reports: list[dict[str, Any]] = []
        problems: list[str] = []
        alerts: list[Alert] = []
        for file in self._files:
            try:
                report = _parsed(_read(file))
                failed = _count(report, "failed")
                if failed:  # whatever else of it can't be read
                    text = f"{Path(file).stem}: {failed} failed"
                    alerts.append(Alert(level="critical", source="reports", text=text))
                reports.append({"file": file, **_read_report(report, when)})
            except ValueError as error:
                problems.append(f"{file}: {error}")
        alerts += [Alert(level="warning", source="reports", text=problem) for problem in problems]
        state = "ok" if not problems else "partial" if reports else "unavailable"
        return Section(
            name=self.name,
            state=state,  # type: ignore[arg-type]
            reason="; ".join(problems),
            data={"reports": reports},
            alerts=tuple(alerts),
        )


def read_report(raw: bytes, when: Moment) -> dict[str, Any]:
    """``timestamp`` (RFC 3339 in UTC; one without a zone is the user's), ``ok`` (a count, or whether it went well),
    ``failed``. Raises ValueError."""
    return _read_report(_parsed(raw), when)


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        report = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("is not JSON") from None
    if not isinstance(report, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 - the file's fault, not the caller's
    return report


def _read_report(report: dict[str, Any], when: Moment) -> dict[str, Any]:
    given = report.get("ok")
    fine = given if isinstance(given, bool) else _count(report, "ok")
    failed = _count(report, "failed")
    return {"timestamp": _moment(report.get("timestamp"), when), "ok": fine, "failed": failed}


def _count(report: dict[str, Any], key: str) -> int:
    value = report.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"has no usable {key!r}")
    return value


def _moment(given: Any, when: Moment) -> str:
    try:
        if isinstance(given, str):
            moment = datetime.fromisoformat(given)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=when.zone)
            return write_time(read_time(write_time(moment)))
    except (ValueError, OverflowError):
        pass
    raise ValueError("has no usable 'timestamp'")


def _read(file: str) -> bytes:
    try:
        return read_regular(Path(file).expanduser(), FILE_BYTES)
    except (NotReadable, RuntimeError) as error:
        raise ValueError(f"can't be read: {error}") from None
