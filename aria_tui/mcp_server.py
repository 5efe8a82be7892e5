"""The assistant's tools over stdio (MCP), on the same service layer as the screen.

Queued is success. A failure is a result with the command line's words, never a traceback; only protocol goes to
standard output; at the end of input the program ends, with nothing half written.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp_types import Tool as ToolDefinition

from aria_tui import __version__, crash, documents, mcp_stdio, meaning
from aria_tui import config as configuration
from aria_tui.ending import end_now
from aria_tui.errors import AriaError, HubUnavailable
from aria_tui.mcp_tools import TOOLS, Tool, as_taken
from aria_tui.models import BriefingDoc
from aria_tui.wording import unavailable

if TYPE_CHECKING:
    from aria_tui.assistant import Assistant

BRIEFING_URI, QUEUE_URI = "aria://briefing/today", "aria://queue"
INSTRUCTIONS = (
    "ARIA keeps tasks, insights, briefings and project activity. Writes are saved on this machine first: 'queued' "
    "means saved and on its way, so don't repeat it. When the Hub is away, lists are an error and never empty."
)
CLOSING_SECONDS = 1.0
"""Seconds for what is still open to be closed in order."""
LAST_SECONDS = 1.2
"""Seconds after the end of input after which the process ends, whatever still holds it: a lock that another program
keeps, a disk, a look-up of a name. Two are promised, of which a busy machine takes some. What was answered is on disk
by then; what wasn't is there whole, or not at all."""


def serve(
    *,
    url: str | None = None,
    token_file: str | None = None,
    run: Callable[[Coroutine[Any, Any, None]], None] = asyncio.run,
) -> int:
    """Serves until standard input ends; exit status 0. ``run`` runs it as ``asyncio.run`` does."""
    _log_to_stderr()
    run(_serve(_Desk(url, token_file)))
    return 0


class _Desk:
    """The assistant, opened on first need: a configuration that is wrong is each tool's error until it is mended."""

    def __init__(self, url: str | None, token_file: str | None) -> None:
        self._url, self._token_file = url, token_file
        self._assistant: Assistant | None = None
        self._background: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[Assistant] | None = None

    async def assistant(self) -> Assistant:
        """Raises ConfigError.

        It is opened by a task of its own: a call that is given up half-way, as each is at the end of input, would leave
        a file open that nobody closes, and that would keep the program from ending.
        """
        if self._assistant is None:
            if self._opening is None or self._opening.done():
                self._opening = asyncio.create_task(self._open(), name="open")
            return await asyncio.shield(self._opening)
        return self._assistant

    async def _open(self) -> Assistant:
        from aria_tui.assistant import Assistant

        config = configuration.with_flags(configuration.load_if_ours(), url=self._url, token_file=self._token_file)
        self._assistant = opened = await Assistant.open(config, origin="mcp")
        self._background = asyncio.create_task(_live(opened), name="watch")
        return opened

    async def close(self) -> None:
        """Ends the background work, then closes the assistant: what was taken is committed."""
        if self._opening is not None:
            await asyncio.wait({self._opening})
        if self._background is not None:
            self._background.cancel()
            with suppress(asyncio.CancelledError):
                await self._background
        if self._assistant is not None:
            try:
                async with asyncio.timeout(CLOSING_SECONDS):
                    await self._assistant.close()
            except TimeoutError:
                logging.getLogger(__name__).warning("the assistant did not close in %s s", CLOSING_SECONDS)


async def _live(assistant: Assistant) -> None:
    """Probes, drains when the Hub is back: what the screen does too, as long as this program runs."""
    try:
        async for change in assistant.watch():
            if change.what == "notice":
                logging.getLogger(__name__).warning("%s", change.text)
    except AriaError as error:
        logging.getLogger(__name__).warning("%s", error)
    except Exception as error:  # noqa: BLE001 - the tools go on without it
        logging.getLogger(__name__).warning("%s", crash.record(error))


def _end_in_time() -> None:
    """Begins the last seconds."""
    timer = threading.Timer(LAST_SECONDS, _leave)
    timer.daemon = True
    timer.start()


def _leave() -> None:
    with suppress(OSError, ValueError):
        sys.stderr.write("aria: ended before everything could be closed\n")
        sys.stderr.flush()
    end_now(0)


async def _serve(desk: _Desk) -> None:
    handlers = _Handlers(desk)
    server: Server[Any] = Server(
        "aria", version=__version__, title="ARIA", instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools, on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources, on_read_resource=handlers.read_resource,
    )  # fmt: skip
    try:
        async with mcp_stdio.streams(_end_in_time) as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())
    finally:
        await desk.close()


class _Handlers:
    def __init__(self, desk: _Desk) -> None:
        self._desk = desk
        self._tools = {tool.name: tool for tool in TOOLS}

    async def list_tools(
        self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_definition(tool) for tool in TOOLS])

    async def call_tool(self, context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(code=INVALID_PARAMS, message=f"there is no tool {params.name!r}")
        try:
            arguments = msgspec.convert(as_taken(params.arguments or {}, tool.takes), tool.takes)
        except msgspec.ValidationError as error:
            raise MCPError(code=INVALID_PARAMS, message=f"invalid params: {error}") from None

        async def progress(done: float, total: float | None, message: str) -> None:
            await context.session.report_progress(done, total, message)

        try:
            assistant = await self._desk.assistant()
            result = await tool.call(assistant, arguments, progress)
        except Exception as error:  # noqa: BLE001 - each becomes words
            return CallToolResult(content=[TextContent(type="text", text=_words(error, tool.what))], is_error=True)
        texts = [documents.encode(result)]
        if assistant.queue_notice:  # the banner of the screen: that nothing waits is told with it only
            texts.append(assistant.queue_notice)
        return CallToolResult(
            content=[TextContent(type="text", text=text) for text in texts],
            structured_content=msgspec.to_builtins(result),
        )

    async def list_resources(
        self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        return ListResourcesResult(resources=[
            Resource(uri=BRIEFING_URI, name="briefing", title="Today's briefing", mime_type="text/markdown",
                     description="The stored one, else one gathered now."),
            Resource(uri=QUEUE_URI, name="queue", title="What waits for the Hub", mime_type="application/json",
                     description="As aria queue status --json."),
        ])  # fmt: skip

    async def read_resource(
        self, _context: ServerRequestContext[Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        uri = str(params.uri)
        readers = {BRIEFING_URI: (_todays_briefing, "text/markdown"), QUEUE_URI: (_queue, "application/json")}
        if uri not in readers:
            raise MCPError(code=INVALID_PARAMS, message=f"there is no resource {uri!r}", data={"uri": uri})
        read, kind = readers[uri]
        try:
            text = await read(await self._desk.assistant())
        except Exception as error:  # noqa: BLE001 - each becomes words
            raise MCPError(code=INTERNAL_ERROR, message=_words(error), data={"uri": uri}) from None
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=kind, text=text)])


async def _queue(assistant: Assistant) -> str:
    return documents.encode(documents.queue(await assistant.queue_status()))


async def _todays_briefing(assistant: Assistant) -> str:
    """The Hub's copy if there is one and it can be read, else a fresh one, which is not stored."""
    from aria_tui.briefing import render_markdown

    today = meaning.now(assistant.config).date().isoformat()
    with suppress(HubUnavailable):
        stored = await assistant.get_briefing(today)
        if stored is not None:
            return stored.content
    document = None
    async for step in assistant.briefing():
        if isinstance(step, BriefingDoc):
            document = step
    if document is None:
        raise RuntimeError("the briefing ended without its document")
    return str(render_markdown(document))


def _words(error: Exception, what: str = "") -> str:
    """The command line's words for an error; an unexpected one's trace goes into the log."""
    if isinstance(error, HubUnavailable):
        return unavailable(error, what)
    return str(error) if isinstance(error, AriaError) else crash.record(error)


def _definition(tool: Tool) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name, title=tool.title, description=tool.text,
        input_schema=_object_schema(tool.takes), output_schema=_object_schema(tool.gives),
        annotations=ToolAnnotations(
            title=tool.title, read_only_hint=tool.reads, destructive_hint=tool.destroys,
            idempotent_hint=tool.again or tool.reads, open_world_hint=tool.outside,
        ),
    )  # fmt: skip


def _object_schema(kind: type[Any]) -> dict[str, Any]:
    """A type's JSON Schema with the object at its root, as MCP wants it."""
    schema = msgspec.json.schema(kind)
    definitions: dict[str, Any] = schema.pop("$defs", {})
    root: dict[str, Any] = definitions.pop(kind.__name__, schema)
    return {**root, "$defs": definitions} if definitions else root


def _log_to_stderr() -> None:
    """One line a record, without traces: those are in files of their own (``crash``)."""

    class _Plain(logging.Formatter):
        def formatException(self, ei: Any) -> str:
            return f"{ei[0].__name__}" if ei and ei[0] else ""

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain("aria: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
