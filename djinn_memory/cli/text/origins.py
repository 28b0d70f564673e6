"""Prints why a memory is known: its origin, its evidence and its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli.output import clean, dim, say, shortened

if TYPE_CHECKING:
    from djinn_memory.memories.verbs import MemoryWithOrigin
    from djinn_memory.memories.writing.why import MemoryOrigin

WIDEST = 160
"""Maximum characters of the text of a piece of evidence."""


def print_origin(memory: MemoryWithOrigin, why: MemoryOrigin) -> None:
    """Print the origin of a memory."""
    say(f"{clean(memory.title)}  {dim(clean(memory.address))}")
    fields = {
        "rule": why.rule,
        "author": " via ".join(filter(None, (why.author, why.client))),
        "session": why.session,
        "source": ", ".join(filter(None, (why.source, *why.source_context))),
    }
    for name, value in fields.items():
        if value:
            say(f"{name + ':':<9}{clean(value)}")
    say("evidence:" if why.evidence else "evidence: none is recorded")
    for item in why.evidence:
        if item.exists:
            say(f"  {(item.date or '')[:16]}  {clean(item.title or '')}  {dim(clean(item.link))}")
            say(f"    {shortened(item.text or '', WIDEST)}")
        else:
            say(f"  {clean(item.link)}  not found")
    say("history:")
    for event in why.history:
        say(f"  {event.at[:16]}  {clean(event.what)}")
