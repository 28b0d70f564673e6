"""djinn remember."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from djinn_memory.cli import candidates, options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import say, talk
from djinn_memory.errors import UsageError

if TYPE_CHECKING:
    from djinn_memory.memories.writing.remember import RememberResult


@plain(
    'Examples: `djinn remember decision "MyApp: Tech Stack" "FastAPI and PostgreSQL; '
    'Django was rejected." --tag project:myapp --link "Project: MyApp"` · '
    '`djinn remember lesson "Migrations need a backup" - --shared < notes.txt` · '
    '`djinn remember preference "Tabs or spaces" "Spaces after all." --revise` · '
    '`djinn remember commitment "Send the offer" --append --status done`'
)
def remember(
    ctx: typer.Context,
    type: Annotated[
        str,
        typer.Argument(
            help="What it is: decision, lesson, preference, commitment, fact, person, project, or "
            "a type of your own.",
            autocompletion=candidates.types,
        ),
    ],
    title: Annotated[str, typer.Argument(help="What it is about, in a line; links find it by it.")],
    text: Annotated[
        str, typer.Argument(help="What there is to say, in Markdown; - reads it from stdin.")
    ] = "",
    shared: Annotated[
        bool, typer.Option("--shared", help="Into the vault that all agents see.")
    ] = False,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", help="A tag such as project:myapp; repeatable.", metavar="TAG",
                     autocompletion=candidates.tags),
    ] = None,
    links: Annotated[
        list[str] | None,
        typer.Option("--link", help="A note to link to, by title or path; repeatable.",
                     metavar="NOTE", autocompletion=candidates.titles),
    ] = None,
    importance: Annotated[
        float | None, typer.Option("--importance", help="From 0 to 1.")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option("--confidence", help="How sure, from 0 to 1.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", help="Where it comes from.", metavar="TEXT")
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", help="When it stops to hold: 30d, 12h, 2026-12-31.",
                     metavar="DATE"),
    ] = None,
    due: Annotated[
        str | None,
        typer.Option("--due", help="When it is due: 2w, 2026-12-31.", metavar="DATE"),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option("--status", help="Where it stands: active, done; with --append it changes "
                     "that of the note.", metavar="WORD"),
    ] = None,
    supersedes: Annotated[
        str | None,
        typer.Option("--supersedes", help="The note it takes the place of, which is marked so.",
                     metavar="NOTE", autocompletion=candidates.titles),
    ] = None,
    append: Annotated[
        bool, typer.Option("--append", help="If the title is there, add to that note.")
    ] = False,
    revise: Annotated[
        bool,
        typer.Option("--revise", help="If the title is there, replace its text; the old version "
                     "is kept and linked."),
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="If the title is there, write a numbered note beside it.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write it though another note says nearly the same.")
    ] = False,
    allow_secret: options.AllowSecret = False,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Write a memory that the next search finds.

    A note that is there is never overwritten, what another note says already is not said twice,
    and what looks like a password or key is not written: each is refused (exit code 3) with what
    can be done about it.
    """
    chosen = [name for name, on in (("append", append), ("revise", revise), ("new", new)) if on]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} exclude each other; give one of them")
    djinn = options.open_djinn(ctx)
    done = djinn.remember(  # type: ignore[call-overload, misc]
        type,
        title,
        options.text_or_stdin(text),
        agent=agent,
        shared=shared,
        tags=tuple(tags or ()),
        links=tuple(links or ()),
        importance=importance,
        confidence=confidence,
        source=source,
        expires=expires,
        due=due,
        supersedes=supersedes,
        status=status,
        existing=chosen[0] if chosen else "refuse",
        force=force,
        allow_secret=allow_secret,
    )
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.remember import Remember

        told = [*djinn.problems, *done.problems]
        output.print_json(Remember(**asdict(done) | {"problems": told}))
    else:
        output.problems([*djinn.problems, *done.problems])
        say(f"{done.id or '-'}  {done.vault}/{done.path}")
        for line in _remarks(done, chosen[0] if chosen else "refuse", text):
            talk(line)
    output.ended(done.problems)


def _remarks(done: RememberResult, existing: str, text: str) -> Iterator[str]:
    if done.action == "created" and existing in ("append", "revise"):
        yield f"there was no note {done.title!r} yet, so this is a new one"
    elif done.action == "created" and not text:
        yield "a title without a text; `-` as the text reads it from stdin"
    for what, when in (("expires", done.expires), ("due", done.due)):
        if when:
            yield f"{what} {when}"
    if done.previous:
        yield f"the version before is {done.vault}/{done.previous}"
    if done.searchable == "words":
        yield "found by words; `djinn index` lets it be found by meaning too"
