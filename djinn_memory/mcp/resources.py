"""Notes as resources: `djinn://vault/path`. Prompts that a person chooses for a session."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

import mcp_types as types

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, UsageError
from djinn_memory.mcp.answers import uri
from djinn_memory.mcp.tools.sessions import wake
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
                last_modified=memory.updated or memory.created or memory.date or None
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


PROMPTS = (
    types.Prompt(
        name="start_session",
        title="Start a session with memory",
        description="The context of the previous session, and instructions for using the memory.",
        arguments=[
            types.PromptArgument(
                name="task", description="What this session is about.", required=False
            )
        ],
    ),
    types.Prompt(
        name="end_session",
        title="End a session",
        description="Save what matters from this session, then write a handoff for the next one.",
        arguments=[],
    ),
)

_HOW = """\
Above is the content of your memory for this session. From now on:

- Before you work on something, `recall` it; look up details with `search`; `read` whole notes.
- When a decision is made, something is learned, or a preference or commitment is stated, \
`remember` it at once: one memory for one thing, with its reason, in words that make sense \
without this conversation.
- After you used what `recall` gave, `rate` it; report what was missing as a gap.
- At a good stopping point, `checkpoint`. At the end, `sleep`.
"""

_END = """\
This session is about to end. First:

1. Go through what happened. For each decision (with its reason), lesson, preference, commitment \
(with its date) and fact about people or projects that will matter in another session: `recall` \
whether it is known, then `remember` it - new, or with `existing` set to append or revise. Leave \
out anything that only mattered today or is already in code or documents, and all secrets.
2. `rate` what you recalled and did not rate yet.
3. Call `sleep` with a summary of what was done, what is next, and what is blocked, so that the \
next session can continue from there.

Then say in two or three sentences what you remembered.
"""


def prompt_text(djinn: Djinn, caller: Caller, name: str, arguments: Mapping[str, str]) -> str:
    """The text of a prompt. The start prompt includes the context of the session."""
    listed = {prompt.name: prompt for prompt in PROMPTS}
    if name not in listed:
        raise UsageError(f"no prompt {name[:100]!r}; known: {', '.join(listed)}")
    known = {argument.name for argument in listed[name].arguments or ()}
    for argument in arguments.keys() - known:
        raise UsageError(f"{name} takes no {argument[:100]!r}")
    if name == "end_session":
        return _END
    task = arguments.get("task") or None
    awake = wake.run(djinn, caller, wake.parse({"task": task}))
    return f"{wake.render(awake)}\n\n---\n\n{_HOW}"
