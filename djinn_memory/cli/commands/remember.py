"""djinn remember."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import link, place, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import UsageError

if TYPE_CHECKING:
    from djinn_memory.memories.writing.remember import RememberResult
    from djinn_memory.memories.writing.requests import NewMemory


class _ExistingOptions(Struct, frozen=True):
    """Flags for the case that a note already has the title, one for each value of `existing`."""

    append: Annotated[bool, Meta(description="If a note has this title, append to it.")] = False
    revise: Annotated[
        bool,
        Meta(
            description="If the title exists, replace the text of that note; the old version is "
            "kept and linked."
        ),
    ] = False
    new: Annotated[
        bool, Meta(description="If a note has this title, write a new note with a numbered title.")
    ] = False


def _choose_existing(call: Call) -> None:
    chosen = [name for name in _ExistingOptions.__struct_fields__ if getattr(call.view, name)]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} cannot be combined; pass one of them")
    call.values["existing"] = next(iter(chosen), None)


@command(
    "remember",
    without=["existing", "fields"],
    fields={
        "type": Field(complete=candidates.types),
        "text": Field(stdin="text", help="The text, in Markdown."),
        "tags": Field("TAG", candidates.tags, help="A tag, such as project/myapp."),
        "links": Field("NOTE", candidates.titles, help="A note to link to, by title or path."),
        "status": Field(
            "WORD",
            help="The status, such as active or done. With --append it changes the status of "
            "the note.",
        ),
        "supersedes": Field("NOTE", candidates.titles),
    },
    view=_ExistingOptions,
    prepare=_choose_existing,
)
def _remember(call: Call, answer: RememberResult) -> None:
    """Write a memory that the next search finds.

    The command never overwrites an existing note, repeats what another note says, or writes text
    that looks like a password or a key. It refuses each of these with exit code 3 and names the
    option that allows it.

    Examples:
        djinn remember decision "MyApp: Tech Stack" "FastAPI and PostgreSQL; Django was rejected."
            --tag project/myapp --link "Project: MyApp"
        djinn remember lesson "Migrations need a backup" - --shared < notes.txt
        djinn remember preference "Tabs or spaces" "Spaces after all." --revise
        djinn remember commitment "Send the offer" --append --status done
    """
    say(f"{answer.id or '-'}  {link(place(answer), answer.file)}")
    for line in _remarks(answer, call.request):
        talk(line)


def _remarks(answer: RememberResult, request: NewMemory) -> Iterator[str]:
    if answer.action == "created" and request.existing in ("append", "revise"):
        yield f"there was no note {answer.title!r}, so a new note was written"
    elif answer.action == "created" and not request.text:
        yield "the note has a title but no text; pass `-` as the text to read it from stdin"
    for name, day in (("expires", answer.expires), ("due", answer.due)):
        if day:
            yield f"{name} {day}"
    for target, near in answer.unresolved.items():
        meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        yield f"the link to {target!r} does not match any note yet{meant}"
    if answer.previous:
        yield f"the previous version is {answer.vault}/{answer.previous}"
    if answer.searchable == "later" and not answer.problems:
        yield (
            "The note is saved but not indexed. The next search that can write to the "
            "index adds it."
        )
