"""Prompts that a person chooses, for the start and for the end of a session."""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.mcp.tools.sessions import wake
from djinn_memory.operations.caller import Caller

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


def prompt(djinn: Djinn, caller: Caller, name: str, arguments: Mapping[str, str]) -> str:
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
