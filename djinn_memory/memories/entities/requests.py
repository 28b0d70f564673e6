"""Requests about entities. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.operations.checks import RawDay, RawName, RawText
from djinn_memory.search.narrowing import (
    AgentName,
    AllowSecret,
    DiffOnly,
    DomainName,
    DryRun,
    ValidFrom,
    ValidTo,
    WriteShared,
)

KINDS = ("person", "place", "project", "concept")
"""The types of notes that are entities. A note of a user's own type is one if it states
`plane: knowledge`."""

_Short = Annotated[str, Meta(max_length=500)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Confidence = Annotated[_Share | None, Meta(description="How certain the entity is, from 0 to 1.")]
_Name = Annotated[RawText, Meta(min_length=1, max_length=1000)]
_EntityName = Annotated[_Name, Meta(description="The entity: its name, an alias, an id or a path.")]
_Kind = Annotated[RawName | None, Meta(description="Only this kind.")]
_AsOf = Annotated[
    RawDay | None,
    Meta(
        description="The properties and relations that held at the end of this day, or at this "
        "time: 2026-03-01, 2026-03, 30d."
    ),
]


class AddEntity(Struct, frozen=True):
    """Add an entity: a note with a name, aliases and properties."""

    name: Annotated[
        RawText, Meta(max_length=500, description="The name, which is the note's title.")
    ]
    kind: Annotated[
        str,
        Meta(max_length=100, description=f"The kind: {', '.join(KINDS)}, or a kind of your own."),
    ]
    text: Annotated[RawText, Meta(description="A description, in Markdown.")] = ""
    aliases: Annotated[
        Sequence[_Short], Meta(max_length=50, description="Other names of the entity.")
    ] = ()
    properties: Annotated[
        Sequence[Annotated[RawText, Meta(max_length=20_000)]],
        Meta(max_length=50, description="Properties that hold from now on, as KEY=VALUE."),
    ] = ()
    confidence: _Confidence = None
    force: Annotated[bool, Meta(description="Add it even if another entity has the name.")] = False
    shared: WriteShared = False
    agent: AgentName = None
    allow_secret: AllowSecret = False
    domain: DomainName = None


class ListEntities(Struct, frozen=True):
    """List entities by name, each with the number of its mentions."""

    kind: _Kind = None
    search: Annotated[
        Annotated[RawText, Meta(max_length=500)] | None,
        Meta(description="Only entities with this text in their name or an alias."),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=10_000, description="The maximum number of entities.")] = 50
    skip: Annotated[
        int, Meta(ge=0, le=10_000_000, description="How many of the first entities to skip.")
    ] = 0
    agent: AgentName = None


class ShowEntity(Struct, frozen=True):
    """Show an entity: its properties, its relations and its mentions."""

    name: _EntityName
    context: Annotated[
        Annotated[RawText, Meta(max_length=2000)] | None,
        Meta(
            description="The text around the name, which tells which of several entities is meant."
        ),
    ] = None
    as_of: _AsOf = None
    limit: Annotated[int, Meta(ge=0, le=10_000, description="The maximum number of mentions.")] = 10
    agent: AgentName = None


class ResolveMention(Struct, frozen=True):
    """Find the entity that a mention means: by name, by alias, then by meaning and context."""

    mention: Annotated[
        RawText,
        Meta(min_length=1, max_length=500, description="The name as it was written or said."),
    ]
    context: Annotated[RawText, Meta(max_length=2000, description="The text around the name.")] = ""
    kind: _Kind = None
    agent: AgentName = None


class SetProperty(Struct, frozen=True):
    """Set a property of an entity. The value before is closed and kept.

    A value such as `[[Maren Holt]]` is a relation to another entity.
    """

    name: _EntityName
    key: Annotated[
        RawText,
        Meta(min_length=1, max_length=100, description="The property, such as city or led-by."),
    ]
    value: Annotated[
        RawText,
        Meta(max_length=20_000, description="The value, or a link such as `[[Maren Holt]]`."),
    ]
    json_value: Annotated[
        bool, Meta(description="Parse the value as JSON. Lists and objects become YAML.")
    ] = False
    valid_from: ValidFrom = None
    valid_to: ValidTo = None
    source: Annotated[
        _Short | None, Meta(description="The source of the value. Default: user_explicit.")
    ] = None
    confidence: Annotated[
        _Share | None, Meta(description="The confidence of the value, from 0 to 1.")
    ] = None
    agent: AgentName = None
    allow_secret: AllowSecret = False


class EditEntity(Struct, frozen=True):
    """Change the kind, the confidence or the description of an entity."""

    name: _EntityName
    kind: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        Meta(description=f"The kind: {', '.join(KINDS)}, or a kind of your own."),
    ] = None
    confidence: _Confidence = None
    text: Annotated[
        RawText | None, Meta(description="The description, in Markdown; the history stays.")
    ] = None
    dry_run: DiffOnly = False
    agent: AgentName = None
    allow_secret: AllowSecret = False


class ChangeAliases(Struct, frozen=True):
    """Add or remove aliases of an entity."""

    action: Annotated[Literal["add", "remove"], Meta(description="Add or remove the aliases.")]
    name: _EntityName
    aliases: Annotated[
        Sequence[Annotated[RawText, Meta(max_length=500)]],
        Meta(min_length=1, max_length=50, description="The other names."),
    ]
    agent: AgentName = None
    allow_secret: AllowSecret = False


class RemoveEntity(Struct, frozen=True):
    """Move the note of an entity to the trash of its vault."""

    name: _EntityName
    agent: AgentName = None
    dry_run: DryRun = False


class MergeEntities(Struct, frozen=True):
    """Merge an entity into another. Links to the first then lead to the second."""

    name: Annotated[_Name, Meta(description="The entity that is merged.")]
    into: Annotated[_Name, Meta(description="The entity that it becomes a part of.")]
    agent: AgentName = None
    dry_run: DryRun = False


class SplitEntity(Struct, frozen=True):
    """Take the last merge into an entity apart again."""

    name: _EntityName
    other: Annotated[
        Annotated[RawText, Meta(max_length=1000)] | None,
        Meta(description="The name of the entity that was merged. Default: the one merged last."),
    ] = None
    agent: AgentName = None
    dry_run: DryRun = False
