"""The request for a new memory. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from djinn_memory.operations.checks import RawText
from djinn_memory.search.narrowing import AgentName, AllowSecret, DomainName, WriteShared

Existing = Literal["refuse", "append", "revise", "new"]

_Share = Annotated[float, Meta(ge=0, le=1)]
_Line = Annotated[str, Meta(max_length=500)]
_Raw = Annotated[RawText, Meta(max_length=500)]
_Lines = Annotated[Sequence[_Line], Meta(max_length=50)]


class NewMemory(Struct, frozen=True):
    """Write a memory as a note that the next search finds.

    The request is refused if it would overwrite an existing note, repeat the content of another
    note, or write text that looks like a password or a key. The error names the remedies.
    """

    type: Annotated[
        str,
        Meta(
            max_length=100,
            description="The type: decision, lesson, preference, commitment, person, project, "
            "or your own type.",
        ),
    ]
    title: Annotated[
        RawText,
        Meta(max_length=500, description="The title, on one line. Links refer to the note by it."),
    ]
    text: Annotated[RawText, Meta(description="The text, in Markdown.")] = ""
    tags: Annotated[_Lines, Meta(description="Tags such as project/myapp.")] = ()
    links: Annotated[_Lines, Meta(description="Notes to link to, by title or path.")] = ()
    importance: Annotated[_Share | None, Meta(description="How important it is, from 0 to 1.")] = (
        None
    )
    confidence: Annotated[_Share | None, Meta(description="How certain it is, from 0 to 1.")] = None
    source: Annotated[_Line | None, Meta(description="The source of the memory.")] = None
    expires: Annotated[
        _Raw | None, Meta(description="The expiry date, or an interval such as 30d.")
    ] = None
    due: Annotated[_Raw | None, Meta(description="The due date, or an interval such as 2w.")] = None
    status: Annotated[
        _Line | None,
        Meta(
            description="The status, such as active or done. `append` changes the status of "
            "the note."
        ),
    ] = None
    supersedes: Annotated[
        _Raw | None,
        Meta(
            description="The note that this one replaces, by id, path or title. It is marked "
            "as superseded."
        ),
    ] = None
    domain: DomainName = None
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
    allow_secret: AllowSecret = False
    shared: WriteShared = False
    agent: AgentName = None
    fields: Annotated[Mapping[str, Any], Meta(description="More front matter fields, by key.")] = {}
