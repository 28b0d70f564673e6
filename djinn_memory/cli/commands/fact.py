"""djinn fact set, get, list, search, forget, verify."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from djinn_memory.cli import candidates, options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from djinn_memory.djinn import Djinn
    from djinn_memory.memories.facts.queries import Fact
    from djinn_memory.memories.facts.verbs import FactChange

WIDEST = 60
"""Characters of a value in a list."""


class FactSortOption(StrEnum):
    """By what a list is in order."""

    category = "category"
    key = "key"
    updated = "updated"
    confidence = "confidence"


class FactOrderOption(StrEnum):
    """Which end comes first."""

    asc = "asc"
    desc = "desc"


Category = Annotated[
    str | None,
    typer.Option("--category", metavar="NAME", help="Only of this category.",
                 autocompletion=candidates.fact_categories),
]  # fmt: skip
Named = Annotated[
    str,
    typer.Argument(metavar="[CATEGORY]", autocompletion=candidates.facts,
                   help="Its category; not needed where one has the key, nor with category/key."),
]  # fmt: skip
Key = Annotated[
    str | None,
    typer.Argument(metavar="KEY", help="Its key.", autocompletion=candidates.fact_keys),
]


@plain(
    'Examples: `djinn fact set anna city "Warsaw"` · '
    "`djinn fact set build compiler clang-19 --source tool_call --expires 30d` · "
    "`djinn fact set anna motto - < motto.txt`"
)
def set_fact(
    ctx: typer.Context,
    category: Annotated[
        str,
        typer.Argument(help="What it is about: a person, a project.",
                       autocompletion=candidates.fact_categories),
    ],
    key: Annotated[str, typer.Argument(help="Which fact of it.")],
    value: Annotated[str, typer.Argument(help="What is known; - reads it from stdin.")],
    source: Annotated[
        str | None,
        typer.Option(
            "--source", metavar="NAME", autocompletion=candidates.fact_sources,
            help="Where it comes from: user_explicit (if not given), tool_call, auto_discovery, "
            "conversation, web, guess, or another name.",
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option("--confidence", metavar="X", help="How sure, from 0 to 1; by the source "
                     "if not given."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="DATE", help="Until when it holds: 30d, 2026-12-31."),
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", metavar="TEXT", help="What was said about it.")
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Into the vault that all agents see.")
    ] = False,
    agent: options.Agent = None,
    allow_secret: options.AllowSecret = False,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Set a fact; its note keeps the previous value.

    The value that it has already is a matching statement: then only `last_verified` is noted.
    """
    djinn = options.open_djinn(ctx)
    text = sys.stdin.read().removesuffix("\n") if value == "-" else value
    done = djinn.facts.set(
        category, key, text,
        agent=agent, shared=shared, source=source, confidence=confidence, expires=expires,
        context=context, allow_secret=allow_secret,
    )  # fmt: skip
    if expires and not json:
        talk(f"expires {done.fact.expires}")
    _told(djinn, done, json)


def _told(djinn: Djinn, done: FactChange, json: bool) -> None:
    problems = [*djinn.problems, *done.problems]
    if json:
        from djinn_memory.cli.schemas.fact import FactSet

        output.print_json(FactSet(done.action, done.fact, done.before, tuple(problems)))
    else:
        output.problems(problems)
        one = done.fact
        was = f" (was {_short(done.before)})" if done.before is not None else ""
        name = clean(f"{one.category}/{one.key}")
        say(f"{done.action} {name}: {_short(one.value)}{was} -> {clean(f'{one.vault}/{one.path}')}")
    output.ended(done.problems)


@plain("Examples: `djinn fact get anna city` · `djinn fact get city`")
def get(
    ctx: typer.Context,
    named: Named,
    key: Key = None,
    expired: options.Expired = False,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:
    """Print the value of a fact, exactly as it was set."""
    djinn = options.open_djinn(ctx)
    category, key = _name(named, key)
    one = djinn.facts.get(category, key, agent=agent, expired=expired)
    djinn.facts.mark_expired(agent=agent)
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.fact import FactGet

        output.print_json(FactGet(**asdict(one), problems=djinn.problems))
    else:
        output.problems(djinn.problems)
        say(output.clean_lines(one.value))
        talk(output.dim(clean(_about(one))))


@plain(
    "Examples: `djinn fact list --category anna` · `djinn fact list --sort updated -n 20 --page 2`"
)
def list_facts(
    ctx: typer.Context,
    category: Category = None,
    search: Annotated[
        str | None,
        typer.Option("--search", metavar="TEXT", help="Only with this in category, key or value."),
    ] = None,
    sort: Annotated[
        FactSortOption, typer.Option("--sort", help="By what.")
    ] = FactSortOption.category,
    order: Annotated[
        FactOrderOption | None,
        typer.Option("--order", help="Names go up and others down if not given.",
                     show_default=False),
    ] = None,
    limit: options.Limit = None,
    page: Annotated[int, typer.Option("--page", help="Which page of that many.")] = 1,
    expired: options.Expired = False,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """List facts, a page at a time."""
    djinn = options.open_djinn(ctx)
    found = djinn.facts.list(
        agent=agent, category=category, search=search, sort=sort.value,
        order=order.value if order else None, limit=limit or 50, page=page, expired=expired,
    )  # fmt: skip
    djinn.facts.mark_expired(agent=agent)
    if json:
        from msgspec.structs import asdict

        from djinn_memory.cli.schemas.fact import FactList

        output.print_json(FactList(**asdict(found), problems=djinn.problems))
        return
    output.problems(djinn.problems)
    if not found.total:
        talk('no facts; `djinn fact set anna city "Warsaw"` makes one')
    _columns(found.facts)
    if max(found.page, found.pages) > 1:
        talk(f"page {found.page} of {found.pages}, {count(found.total, 'fact')}")


@plain('Example: `djinn fact search "where does anna live"`')
def search(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(help="A question or words.")],
    limit: options.Limit = None,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:
    """Search facts by meaning, then by the text of category, key and value."""
    djinn = options.open_djinn(ctx)
    text = " ".join(query)
    hits = djinn.facts.search(text, agent=agent, limit=limit or 15)
    found, problems = hits.facts, [*djinn.problems, *hits.problems]
    djinn.facts.mark_expired(agent=agent)
    if json:
        from djinn_memory.cli.schemas.fact import FactSearch

        output.print_json(FactSearch(text, found, problems))
        return
    output.problems(problems)
    if not found:
        talk("nothing found")
    _columns([one.fact for one in found])


@plain("Examples: `djinn fact forget anna city` · `djinn fact forget anna/city`")
def forget(
    ctx: typer.Context,
    named: Named,
    key: Key = None,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:
    """Move a fact to the `.trash/` of its vault."""
    djinn = options.open_djinn(ctx)
    category, key = _name(named, key)
    forgotten = djinn.facts.forget(key, category=category, agent=agent)
    fact, place = forgotten.fact, forgotten.moved_to
    if json:
        from djinn_memory.cli.schemas.fact import FactForget

        output.print_json(FactForget(fact, place, djinn.problems))
    else:
        output.problems(djinn.problems)
        say(f"forgot {clean(f'{fact.category}/{fact.key}')}; it lies in {clean(str(place))}")


@plain("Examples: `djinn fact verify anna city` · `djinn fact verify anna/city`")
def verify(
    ctx: typer.Context,
    named: Named,
    key: Key = None,
    agent: options.Agent = None,
    json: options.Json = False,
) -> None:
    """Confirm that a fact still holds; an expired fact holds again."""
    djinn = options.open_djinn(ctx)
    category, key = _name(named, key)
    _told(djinn, djinn.facts.verify(key, category=category, agent=agent), json)


def _name(named: str, key: str | None) -> tuple[str | None, str]:
    """Category and key as they were given; None where the category was left out."""
    return (named, key) if key is not None else (None, named)


def _columns(facts: Sequence[Fact]) -> None:
    output.columns(
        [
            [f"{one.category}/{one.key}", _short(one.value), one.source or "-", _sure(one),
             (one.updated or "")[:10]]
            for one in facts
        ],
        head=("fact", "value", "source", "confidence", "updated"),
    )  # fmt: skip


def _short(text: str | None) -> str:
    line = clean(text or "")
    return line if len(line) <= WIDEST else f"{line[: WIDEST - 1]}…"


def _sure(fact: Fact) -> str:
    return "-" if fact.confidence is None else f"{fact.confidence:.2f}"


def _about(fact: Fact) -> str:
    parts = [fact.source or "unknown source", f"confidence {_sure(fact)}"]
    parts += [f"verified {fact.last_verified}"] if fact.last_verified else []
    parts += [f"expires {fact.expires}"] if fact.expires else []
    parts += [f"{len(fact.history)} before"] if fact.history else []
    return ", ".join(parts)
