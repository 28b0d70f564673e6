"""Prints why a memory is known: its origin, its evidence and its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli.output import clean, dim, say, shortened
from djinn_memory.notes.dates import local_day

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
    for source in why.evidence:
        if source.exists:
            day, title = local_day(source.date or ""), clean(source.title or "")
            say(f"  {day}  {title}  {dim(clean(source.link))}")
            say(f"    {shortened(source.text or '', WIDEST)}")
        else:
            say(f"  {clean(source.link)}  not found")
    say("history:")
    for event in why.history:
        say(f"  {local_day(event.at)}  {clean(event.what)}")
