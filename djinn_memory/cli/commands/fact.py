"""djinn fact set, get, list, search, forget, verify."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, command, failed
from djinn_memory.cli.output import clean, say, shortened, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.facts.requests import (
    ForgetFact,
    GetFact,
    ListFacts,
    SearchFacts,
    SetFact,
    VerifyFact,
)
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.facts.queries import Fact
    from djinn_memory.memories.facts.verbs import FactChange, FactHits, FactPage, ForgottenFact

WIDEST = 60
"""Characters of a value in a list."""

NAME = {
    "category": Field(
        "[CATEGORY]",
        candidates.facts,
        optional=False,
        help="The category; not needed if only one category has the key, nor for category/key.",
    ),
    "key": Field("KEY", candidates.fact_keys, optional=True),
}


def _named(call: Call) -> Any:
    """Run the operation; a single word is the key, whose category was left out."""
    if call.values["key"] is None:
        call.values |= {"category": None, "key": call.values["category"]}
    return call.run()


def _read(call: Call) -> Any:
    """Run the operation, then mark the facts that have expired."""
    answer = _named(call) if "key" in call.values else call.run()
    call.djinn.facts.mark_expired(agent=call.request.agent)
    return answer


@command(
    "facts.set",
    SetFact,
    fields={
        "category": Field(complete=candidates.fact_categories),
        "value": Field(stdin="value", help="What is known; - reads it from stdin."),
        "source": Field("NAME", candidates.fact_sources),
        "confidence": Field("X"),
        "context": Field("TEXT"),
    },
    failed=failed,
    examples=[
        'djinn fact set anna city "Warsaw"',
        "djinn fact set build compiler clang-19 --source tool_call --expires 30d",
        "djinn fact set anna motto - < motto.txt",
    ],
)
def set_fact(call: Call, answer: FactChange) -> None:
    """Set a fact; its note keeps the previous value.

    Setting the value that the fact already has only confirms it: `last_verified` changes.
    """
    if call.request.expires:
        talk(f"expires {answer.fact.expires}")
    _print_change(answer)


@command(
    "facts.get",
    GetFact,
    fields=NAME,
    run=_read,
    examples=["djinn fact get anna city", "djinn fact get city"],
)
def get(call: Call, answer: Fact) -> None:
    """Print the value of a fact, exactly as it was set."""
    say(output.clean_lines(answer.value))
    parts = [answer.source or "unknown source", f"confidence {_confidence(answer)}"]
    parts += [f"verified {answer.last_verified}"] if answer.last_verified else []
    parts += [f"expires {answer.expires}"] if answer.expires else []
    parts += [f"{count(len(answer.history), 'earlier value')}"] if answer.history else []
    talk(output.dim(clean(", ".join(parts))))


@command(
    "facts.list",
    ListFacts,
    fields={
        "category": Field("NAME", candidates.fact_categories),
        "search": Field("TEXT"),
    },
    run=_read,
    examples=[
        "djinn fact list --category anna",
        "djinn fact list --sort updated -n 20 --page 2",
    ],
)
def list_facts(call: Call, answer: FactPage) -> None:
    """List facts, a page at a time."""
    if not answer.total:
        talk('no facts; `djinn fact set anna city "Warsaw"` sets one')
    _print_table(answer.facts)
    if max(answer.page, answer.pages) > 1:
        talk(f"page {answer.page} of {answer.pages}, {count(answer.total, 'fact')}")


@command(
    "facts.search",
    SearchFacts,
    fields={"query": Field(words=True)},
    run=_read,
    examples=['djinn fact search "where does anna live"'],
)
def search(call: Call, answer: FactHits) -> None:
    """Search facts by meaning, then by the text of category, key and value."""
    if not answer.facts:
        talk("nothing found")
    _print_table(hit.fact for hit in answer.facts)


@command(
    "facts.forget",
    ForgetFact,
    fields=NAME,
    run=_named,
    examples=["djinn fact forget anna city", "djinn fact forget anna/city"],
)
def forget(call: Call, answer: ForgottenFact) -> None:
    """Move a fact to the `.trash/` of its vault.

    `djinn memory purge` removes one for good.
    """
    name = f"{answer.fact.category}/{answer.fact.key}"
    say(f"forgot {clean(name)}; it is in {clean(str(answer.moved_to))}")


@command(
    "facts.verify",
    VerifyFact,
    fields=NAME,
    run=_named,
    failed=failed,
    schemas={"fact.set": "facts.verify"},
    examples=["djinn fact verify anna city", "djinn fact verify anna/city"],
)
def verify(call: Call, answer: FactChange) -> None:
    """Confirm that a fact still holds; an expired fact holds again."""
    _print_change(answer)


def _print_change(change: FactChange) -> None:
    fact = change.fact
    before = f" (was {shortened(change.before, WIDEST)})" if change.before is not None else ""
    name, place = clean(f"{fact.category}/{fact.key}"), clean(f"{fact.vault}/{fact.path}")
    say(f"{change.action} {name}: {shortened(fact.value, WIDEST)}{before} -> {place}")


def _print_table(facts: Iterable[Fact]) -> None:
    output.columns(
        [
            [
                f"{fact.category}/{fact.key}",
                shortened(fact.value, WIDEST),
                fact.source or "-",
                _confidence(fact),
                (fact.updated or "")[:10],
            ]
            for fact in facts
        ],
        head=("fact", "value", "source", "confidence", "updated"),
    )


def _confidence(fact: Fact) -> str:
    return "-" if fact.confidence is None else f"{fact.confidence:.2f}"
