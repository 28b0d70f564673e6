"""djinn entity add, list, show, set, edit, alias, merge, split, remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.commands.editing import print_left
from djinn_memory.cli.output import clean, place, say, shortened, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.entities.requests import KINDS
from djinn_memory.notes.dates import local_day
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.entities import verbs
    from djinn_memory.memories.entities.detail import EntityDetail
    from djinn_memory.memories.entities.edit import EntityEdit
    from djinn_memory.memories.entities.merge import EntityMerge
    from djinn_memory.memories.entities.resolve import EntityCandidate
    from djinn_memory.memories.entities.split import EntitySplit

WIDEST = 60
"""Maximum characters of a value in a list."""

NAME = Field("NAME", candidates.entities)
KIND = Field("KIND", lambda ctx: [*dict.fromkeys((*KINDS, *candidates.kinds(ctx)))])


@command(
    "entities.add",
    fields={
        "name": Field("NAME"),
        "text": Field(stdin="text", help="A description, in Markdown. `-` reads it from stdin."),
        "kind": KIND,
        "aliases": Field("NAME"),
        "properties": Field("KEY=VALUE"),
    },
)
def _add(call: Call, answer: verbs.EntityChange) -> None:
    """Add an entity: a note with a name, aliases and properties.

    Examples:
        djinn entity add "Maren Holt" "She sails on Sundays." --kind person --alias Maren
        djinn entity add "Harbour lamp" --kind project --set city=Gdynia
        djinn entity add Aurora --kind boat
    """
    _print_change(answer)


@command("entities.list", fields={"kind": KIND, "search": Field("TEXT")})
def _list(call: Call, answer: verbs.EntityPage) -> None:
    """List entities by name, with the number of their mentions.

    Examples:
        djinn entity list
        djinn entity list --kind person --json
        djinn entity list --search mar
    """
    output.columns(
        (
            (each.title, each.type or "-", each.mentioned, ", ".join(each.aliases), place(each))
            for each in answer.entities
        ),
        head="name kind mentions aliases path",
        empty=f"No entities of the kind {clean(kind)}."
        if (kind := call.request.kind)
        else f"No entity has {clean(text)} in a name."
        if (text := call.request.search)
        else 'No entities. Run, for example, `djinn entity add "Maren Holt" --kind person`.',
    )
    if answer.total > len(answer.entities):
        talk(f"{len(answer.entities)} of {count(answer.total, 'entity')}")


@command("entities.show", fields={"name": NAME}, failed=lambda answer: answer.entity is None)
def _show(call: Call, answer: verbs.EntityView) -> None:
    """Show an entity: its properties, relations and mentions.

    A name of several entities needs a context. If it is still not sure which one is meant, the
    candidates are listed, and the exit code is 1.

    Examples:
        djinn entity show "Maren Holt"
        djinn entity show Maren --context "she sails on Sundays"
        djinn entity show "Harbour lamp" --as-of 2026-05-01
    """
    if answer.entity is None:
        _print_candidates(answer.candidates)
    else:
        _print_entity(answer.entity)


@command("entities.set", fields={"name": NAME, "key": Field("KEY")})
def _set(call: Call, answer: verbs.EntityChange) -> None:
    """Set a property or a relation. The value before is closed and kept.

    Examples:
        djinn entity set "Maren Holt" city Gdynia
        djinn entity set "Harbour lamp" led-by "[[Maren Holt]]" --valid-from 2026-05-01
    """
    value = call.request.value
    _print_change(answer, f"{call.request.key}: {shortened(value, WIDEST)}")


@command(
    "entities.edit",
    fields={
        "name": NAME,
        "kind": KIND,
        "text": Field(stdin="text", help="The description, in Markdown; the history stays."),
    },
)
def _edit(call: Call, answer: EntityEdit) -> None:
    """Change the kind, the confidence or the description of an entity.

    With its kind the note moves to another folder, and links to it follow. `djinn undo` takes it
    back.

    Examples:
        djinn entity edit Aurora --kind boat
        djinn entity edit "Maren Holt" --confidence 0.9 --text "She sails on Sundays."
    """
    if call.request.dry_run:
        say(output.clean_lines(answer.diff.rstrip("\n")))
        return
    say(f"edited {clean(answer.entity.title)} -> {place(answer.entity)}")
    print_left(answer.left)


@command("entities.alias", fields={"name": NAME})
def _alias(call: Call, answer: verbs.EntityChange) -> None:
    """Add or remove aliases of an entity.

    Examples:
        djinn entity alias add "Maren Holt" Maren "M. Holt"
        djinn entity alias remove "Maren Holt" Maren
    """
    _print_change(answer, f"aliases: {', '.join(answer.entity.aliases) or 'none'}")


@command("entities.merge", fields={"name": NAME, "into": Field("INTO", candidates.entities)})
def _merge(call: Call, answer: EntityMerge) -> None:
    """Merge an entity into another, with its history and its links.

    `djinn undo` takes it back, and so does `djinn entity split`, also after other edits.

    Examples:
        djinn entity merge Bob "Robert Alder"
    """
    entity = answer.entity
    into = f"{clean(call.request.name)} into {clean(entity.title)}"
    if call.request.dry_run:
        say(f"would merge {into} -> {place(entity)}")
        for note in answer.notes:
            say(f"would change links in {clean(note)}")
        return
    links = f", {count(answer.links, 'link')} in {count(len(answer.notes), 'note')}"
    say(f"merged {into}{links if answer.links else ''} -> {place(entity)}")
    output.problems(answer.left)


@command("entities.split", fields={"name": NAME, "other": Field("[OTHER]")})
def _split(call: Call, answer: EntitySplit) -> None:
    """Take a merge of two entities apart.

    Edits since then are kept.

    Examples:
        djinn entity split "Robert Alder"
        djinn entity split "Robert Alder" Bob
    """
    for entity in (answer.entity, answer.other):
        say(f"{clean(entity.title)} -> {place(entity)}")
    change = "links to change" if call.request.dry_run else "links changed"
    say(f"{change} in {count(len(answer.notes), 'note')}")


@command("entities.remove", fields={"name": NAME})
def _remove(call: Call, answer: verbs.EntityRemoval) -> None:
    """Move the note of an entity to the `.trash/` of its vault.

    `djinn memory restore` brings it back.

    Examples:
        djinn entity remove "Maren Holt"
    """
    entity = answer.entity
    if answer.moved_to is None:
        say(f"would move {place(entity)} to the trash")
    else:
        say(f"moved {clean(entity.title)} to {clean(str(answer.moved_to))}")


def _print_change(change: verbs.EntityChange, what: str = "") -> None:
    entity = change.entity
    detail = f" {clean(what)}" if what else ""
    say(f"{change.action} {clean(entity.title)}{detail} -> {place(entity)}")
    for name, others in change.also_named.items():
        output.warn(clean(f"{name!r} is also a name of {', '.join(others)}"))


def _print_candidates(listed: tuple[EntityCandidate, ...]) -> None:
    talk("not sure which entity is meant; write a whole name, or the text around it as --context")
    output.columns(
        (
            (f"{each.score:.2f}", each.title, each.type or "-", place(each), each.evidence or "")
            for each in listed
        ),
        head="chance name kind path evidence",
    )


def _print_entity(entity: EntityDetail) -> None:
    linked = output.link(place(entity), entity.file)
    say(f"{clean(entity.title)}  {clean(entity.type or '')}  {linked}")
    if entity.aliases:
        say(f"also: {clean(', '.join(entity.aliases))}")
    if entity.confidence is not None:
        say(f"confidence: {entity.confidence:.2f}")
    if entity.text:
        say(output.clean_lines(shortened(entity.text, 400)))
    for each in entity.properties:
        holds = f"  ({each.holds})" if each.holds else ""
        say(f"  {clean(each.key)}: {shortened(each.value, WIDEST)}{holds}")
    for relation in entity.relations:
        if relation.direction == "from":
            holds = f"  ({relation.holds})" if relation.holds else ""
            say(f"  {clean(relation.relation)} of {clean(relation.name)}{holds}")
        elif not relation.current:
            earlier = f"earlier {clean(relation.relation)}: {clean(relation.name)}"
            say(output.dim(f"  {earlier}  ({relation.holds})"))
    say(f"{count(entity.mentioned, 'mention')}")
    for mention in entity.mentions:
        page = f" p. {mention.page_number}" if mention.page_number else f":{mention.line}"
        heading = f"  {' > '.join(mention.heading)}" if mention.heading else ""
        say(f"  {local_day(mention.date)}  {place(mention)}{clean(page + heading)}")
        say(f"      {clean(mention.text)}")
    if left := entity.mentioned - sum(each.count for each in entity.mentions):
        talk(f"{count(left, 'more mention')}; -n shows more")
