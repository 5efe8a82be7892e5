"""The SDK's own client over real standard input and output of ``aria mcp``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from tests.helpers.aria import Aria


@asynccontextmanager
async def connected(aria: Aria, errors: Any = None) -> AsyncIterator[Client]:
    """A client of a server that runs over this home."""
    parameters = StdioServerParameters(
        command=aria.command[0], args=[*aria.command[1:], "mcp"], env=aria.environment(), cwd=aria.root / "user"
    )
    transport = stdio_client(parameters, errlog=errors) if errors else stdio_client(parameters)
    async with Client(transport) as client:
        yield client


async def call(client: Client, tool: str, /, **arguments: Any) -> Any:
    """A tool's structured result; its text is the same document. Fails where the tool failed."""
    import json

    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def failure(client: Client, tool: str, /, **arguments: Any) -> str:
    """The words of a tool that failed."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error and result.structured_content is None, result
    return str(result.content[0].text)
