"""Notes as resources: `djinn://vault/path`."""

from __future__ import annotations

import os
from urllib.parse import unquote_to_bytes

import mcp_types as types

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, UsageError
from djinn_memory.mcp.answers import uri
from djinn_memory.operations.caller import Caller

MARKDOWN = "text/markdown"

PAGE = 200
"""Number of resources on a page: a client needs 25 requests for 5,000 notes."""

TEMPLATE = types.ResourceTemplate(
    name="note",
    title="A note",
    uri_template="djinn://{vault}/{+path}",
    description="A note or document by its vault and path, such as "
    "djinn://shared/decisions/use-postgres.md. Characters that a URI cannot hold are "
    "percent-encoded.",
    mime_type=MARKDOWN,
)


def page(
    djinn: Djinn, caller: Caller, cursor: str | None
) -> tuple[list[types.Resource], str | None]:
    """A page of the notes that the agent sees, newest first, and the next page's cursor."""
    skip = 0
    if cursor:
        if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
            raise UsageError("unknown cursor; start again without one")
        skip = int(cursor)
    memories = djinn.memories.list(agent=caller.agent, limit=PAGE + 1, skip=skip).memories
    listed = [
        types.Resource(
            uri=uri(memory),
            name=memory.address.replace(":", "/", 1),
            title=memory.title.encode("utf-8", "replace").decode(),
            description=memory.type,
            mime_type=MARKDOWN,
            annotations=types.Annotations(
                last_modified=memory.updated or memory.created or memory.date
            ),
        )
        for memory in memories[:PAGE]
    ]
    return listed, str(skip + PAGE) if len(memories) > PAGE else None


def read(djinn: Djinn, caller: Caller, address: str) -> str:
    """The current text of a note on disk.

    Raises `NotFound` for any other address. The error is the same for a note that the agent may not
    see and for a note that does not exist.
    """
    missing = NotFound(f"no resource {address[:500]!r}; call resources/list to list the resources")
    scheme, _, rest = address.partition("://")
    vault, slash, path = rest.partition("/")
    if scheme.lower() != "djinn" or not slash:
        raise missing
    vault, path = (os.fsdecode(unquote_to_bytes(part)) for part in (vault, path))
    try:
        detail = djinn.memories.show(f"{vault}:{path}", agent=caller.agent)
    except (NotFound, UsageError):
        raise missing from None
    # A title can be written like a place too.
    if detail.address != f"{vault}:{path}":
        raise missing
    return detail.text
