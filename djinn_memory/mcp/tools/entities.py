"""The tool for entities: people, places, projects and concepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from djinn_memory.mcp.tool import tool
from djinn_memory.mcp.tools.values import as_understood
from djinn_memory.memories.entities.detail import EntityDetail
from djinn_memory.memories.entities.edit import EntityEdit
from djinn_memory.memories.entities.merge import EntityMerge
from djinn_memory.memories.entities.verbs import EntityChange, EntityPage
from djinn_memory.models import Memory

_WITHOUT = frozenset({
    "confidence", "context", "domain", "dry_run", "json_value", "properties", "search", "skip",
    "source",
})  # fmt: skip
"""Fields that the tool does not have, for want of room in a session."""


@tool(
    "entities",
    actions=("add", "list", "show", "set", "edit", "alias", "merge"),
    present=lambda result, _: result,
    prepare=as_understood,
    without=_WITHOUT,
    names={"action": "change"},
    hints={
        "kind": "person, place, project, concept, or your own.",
        "text": "Markdown.",
        "key": "Such as city or led-by.",
        "value": "[[Name]] for a relation.",
        "into": "The entity that remains.",
    },
)
def entity(answer: Any) -> list[str]:
    """Look up and keep people, places, projects and concepts: names, properties, relations.

    Use it for someone or something with properties that change. merge makes one of two. Not for a
    single value: use `fact`.
    {required}
    Example: {"action": "set", "name": "Maren", "key": "city", "value": "Bergen"}
    """
    if isinstance(answer, EntityPage):
        lines = [f"- {_named(each)}, {each.mentioned} mentions" for each in answer.entities]
        return lines or ["No entities."]
    if isinstance(answer, EntityChange | EntityEdit | EntityMerge):
        done = "merged" if isinstance(answer, EntityMerge) else "edited"
        return [f"({getattr(answer, 'action', done)})", *_detail_lines(answer.entity)]
    if answer.entity:
        return list(_detail_lines(answer.entity))
    return ["It may be:", *(f"- {_named(each)}, {each.score:.2f}" for each in answer.candidates)]


def _named(entity: Memory) -> str:
    return f"{entity.title} ({entity.type}) [{entity.id or entity.address}]"


def _detail_lines(entity: EntityDetail) -> Iterator[str]:
    yield _named(entity)
    if entity.aliases:
        yield f"Aliases: {', '.join(entity.aliases)}"
    if entity.text:
        yield entity.text
    for value in entity.properties:
        yield f"- {value.key} = {value.value}{f' ({value.holds})' if value.holds else ''}"
    for each in entity.relations:
        arrow = "->" if each.direction == "to" else "<-"
        yield f"- {each.relation} {arrow} {each.name}{f' ({each.holds})' if each.holds else ''}"
    for mention in entity.mentions:
        yield f"- {mention.vault}:{mention.path}, line {mention.line}: {mention.text}"
