"""The service layer's one door: what the command line, the screen and the MCP server call, and all they call.

Every write is committed to the outbox before anything else, then sent at once if that is possible within the
budget (queue.md). Reads degrade: HubUnavailable says which state, since when and why.
"""
