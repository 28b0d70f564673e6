"""What can be asked of a new memory; light, so that a front end can describe it at no cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from djinn_memory.search.narrowing import AgentName

Existing = Literal["refuse", "append", "revise", "new"]

_Share = Annotated[float, Meta(ge=0, le=1)]
_Line = Annotated[str, Meta(max_length=500)]
_Lines = Annotated[Sequence[_Line], Meta(max_length=50)]


class NewMemory(Struct, frozen=True):
    """Remember something: write a note that the next search finds.

    An existing note is never overwritten, what another note already says is not written again,
    and what looks like a password or a key is not written at all. Each is refused, with what can
    be done about it.
    """

    type: Annotated[
        str,
        Meta(
            max_length=100,
            description="What it is: decision, lesson, preference, commitment, person, project, "
            "or a type of your own.",
        ),
    ]
    title: Annotated[
        str,
        Meta(
            max_length=500,
            description="What it is about, on one line; links refer to it by this title.",
        ),
    ]
    text: Annotated[str, Meta(description="What there is to say, in Markdown.")] = ""
    tags: Annotated[_Lines, Meta(description="Tags such as project/myapp.")] = ()
    links: Annotated[_Lines, Meta(description="Notes to link to, by title or path.")] = ()
    importance: Annotated[_Share | None, Meta(description="How important it is, from 0 to 1.")] = (
        None
    )
    confidence: Annotated[_Share | None, Meta(description="How certain it is, from 0 to 1.")] = None
    source: Annotated[_Line | None, Meta(description="Where it comes from.")] = None
    expires: Annotated[
        _Line | None, Meta(description="Until when it holds: 30d, 12h, 2026-12-31.")
    ] = None
    due: Annotated[_Line | None, Meta(description="When it is due: 2w, tomorrow, 2026-12-31.")] = (
        None
    )
    status: Annotated[
        _Line | None,
        Meta(description="Where it stands: active, done. `append` changes that of the note."),
    ] = None
    supersedes: Annotated[
        _Line | None,
        Meta(description="The note that it replaces, by id, path or title; it is marked so."),
    ] = None
    existing: Annotated[
        Existing,
        Meta(
            description="If a note has the title: refuse; append to that note; revise it (the old "
            "version is kept and linked); or write a new, numbered one."
        ),
    ] = "refuse"
    force: Annotated[
        bool,
        Meta(
            description="Write it even if another note says nearly the same, or if its new type "
            "looks mistyped."
        ),
    ] = False
    allow_secret: Annotated[
        bool, Meta(description="Write it even if it looks like a key or a password.")
    ] = False
    shared: Annotated[
        bool, Meta(description="Write into the vault that all agents see, not into your own.")
    ] = False
    agent: AgentName = None
    fields: Annotated[Mapping[str, Any], Meta(description="More front matter, by key.")] = {}
