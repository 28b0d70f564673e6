"""djinn remember."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, link, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import UsageError
from djinn_memory.memories.writing.requests import NewMemory

if TYPE_CHECKING:
    from djinn_memory.memories.writing.remember import RememberResult


class ExistingOptions(Struct, frozen=True):
    """What happens to a note that has the title: a flag for each value of `existing`."""

    append: Annotated[bool, Meta(description="If the title exists, add to that note.")] = False
    revise: Annotated[
        bool,
        Meta(
            description="If the title exists, replace the text of that note; the old version is "
            "kept and linked."
        ),
    ] = False
    new: Annotated[
        bool, Meta(description="If the title exists, write a numbered note beside it.")
    ] = False


def _remember(call: Call) -> Any:
    chosen = [name for name in ExistingOptions.__struct_fields__ if getattr(call.view, name)]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} exclude each other; give one of them")
    call.values["existing"] = next(iter(chosen), None)
    return call.run()


@command(
    "remember",
    NewMemory,
    without=["existing", "fields"],
    fields={
        "type": Field(complete=candidates.types),
        "text": Field(
            stdin="text", help="What there is to say, in Markdown; - reads it from stdin."
        ),
        "tags": Field("TAG", candidates.tags, help="A tag, such as project/myapp; repeatable."),
        "links": Field(
            "NOTE", candidates.titles, help="A note to link to, by title or path; repeatable."
        ),
        "status": Field(
            "WORD",
            help="Where it stands: active, done; with --append it changes that of the note.",
        ),
        "supersedes": Field("NOTE", candidates.titles),
    },
    view=ExistingOptions,
    run=_remember,
)
def remember(call: Call, answer: RememberResult) -> None:
    """Write a memory that the next search finds.

    An existing note is never overwritten, what another note already says is not written again, and
    what looks like a password or a key is not written at all. Each is refused with exit code 3 and
    the options that allow it.

    Examples:
        djinn remember decision "MyApp: Tech Stack" "FastAPI and PostgreSQL; Django was rejected."
            --tag project/myapp --link "Project: MyApp"
        djinn remember lesson "Migrations need a backup" - --shared < notes.txt
        djinn remember preference "Tabs or spaces" "Spaces after all." --revise
        djinn remember commitment "Send the offer" --append --status done
    """
    say(f"{answer.id or '-'}  {link(clean(f'{answer.vault}/{answer.path}'), answer.file)}")
    for line in _remarks(answer, call.request):
        talk(line)


def _remarks(answer: RememberResult, request: NewMemory) -> Iterator[str]:
    if answer.action == "created" and request.existing in ("append", "revise"):
        yield f"there was no note {answer.title!r} yet, so this is a new one"
    elif answer.action == "created" and not request.text:
        yield "the note has a title and no text; `-` as the text reads it from stdin"
    for name, day in (("expires", answer.expires), ("due", answer.due)):
        if day:
            yield f"{name} {day}"
    for target, near in answer.unresolved.items():
        meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        yield f"the link to {target!r} leads to no note yet{meant}"
    if answer.previous:
        yield f"the previous version is {answer.vault}/{answer.previous}"
    if answer.searchable == "words":
        yield "searches find it by words; after `djinn index` they find it by meaning too"
    elif answer.searchable == "later" and not answer.problems:
        yield "the index could not take in the note; the next search that can write to it does"
