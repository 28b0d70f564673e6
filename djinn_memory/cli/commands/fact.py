"""djinn fact set, get, list, search, forget, verify."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, place, print_page, say, say_verbatim, shortened, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.facts.requests import CONFIDENCES
from djinn_memory.notes.dates import local_day
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.facts import verbs
    from djinn_memory.memories.facts.queries import Fact
    from djinn_memory.memories.facts.writer import FactChange

WIDEST = 60
"""Maximum characters of a value in a list."""

EARLIER = 5
"""Maximum number of earlier values that are printed."""

NAME = {
    "category": Field(
        "[CATEGORY]",
        candidates.facts,
        optional=False,
        help="The category. Optional if only one category has the key. A fact can also be "
        "given as category/key.",
    ),
    "key": Field("KEY", candidates.fact_keys, optional=True),
}


def _named(call: Call) -> Any:
    """Run the operation. A single word is the key, without its category."""
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
    fields={
        "category": Field(complete=candidates.fact_categories),
        "value": Field(stdin="value", help="The value."),
        "source": Field("NAME", lambda: [*CONFIDENCES]),
    },
)
def _set(call: Call, answer: FactChange) -> None:
    """Set a fact. Its note keeps the previous value.

    Setting the value that the fact already has only confirms it: `last_verified` changes.

    Examples:
        djinn fact set anna city "Warsaw"
        djinn fact set build compiler clang-19 --source tool_call --expires 30d
        djinn fact set anna motto - < motto.txt
        djinn fact set anna city "Gdynia" --valid-from 2019 --valid-to 2023-05
    """
    if call.request.expires:
        talk(f"expires {answer.fact.expires}")
    _print_change(answer, call.request.value)


@command("facts.get", fields=NAME, run=_read)
def _get(call: Call, answer: Fact) -> None:
    """Print the value of a fact, exactly as it was set.

    Examples:
        djinn fact get anna city
        djinn fact get city
        djinn fact get anna city --as-of 2022-05-01
    """
    say_verbatim(output.clean_lines(answer.value))
    parts = [answer.source or "unknown source", f"confidence {_confidence(answer)}"]
    parts += [answer.holds] if answer.holds else []
    parts += [f"verified {answer.last_verified}"] if answer.last_verified else []
    parts += [f"expires {answer.expires}"] if answer.expires else []
    parts += [f"evidence: {' '.join(answer.evidence)}"] if answer.evidence else []
    talk(output.dim(clean(", ".join(parts))))
    if answer.as_of:
        return
    for past in answer.history[:EARLIER]:
        days = " ".join(
            f"{name} {date[:10]}"
            for name, date in (("from", past.valid_from), ("until", past.until))
            if date
        )
        talk(output.dim(f"earlier: {shortened(past.value, WIDEST)}  {days}"))
    if left := len(answer.history[EARLIER:]):
        talk(output.dim(f"{count(left, 'more earlier value')} in {clean(answer.path)}"))


@command("facts.list", fields={"category": Field("NAME", candidates.fact_categories)}, run=_read)
def _list(call: Call, answer: verbs.FactPage) -> None:
    """List facts, a page at a time.

    Examples:
        djinn fact list --category anna
        djinn fact list --sort updated -n 20 --offset 20
    """
    none = 'No facts yet. Run, for example, `djinn fact set anna city "Warsaw"`.'
    _print_table(answer.facts, "" if answer.total else none)
    print_page(call.request.skip, len(answer.facts), answer.total, "fact")


@command("facts.search", fields={"query": Field(words=True)}, run=_read)
def _search(call: Call, answer: verbs.FactHits) -> None:
    """Search facts by meaning, then by the text of category, key and value.

    Examples:
        djinn fact search "where does anna live"
        djinn fact search "where did anna live before"
    """
    _print_table([hit.fact for hit in answer.facts], "nothing found")


@command("facts.forget", fields=NAME, run=_named)
def _forget(call: Call, answer: verbs.ForgottenFact) -> None:
    """Move a fact to the `.trash/` of its vault.

    `djinn memory purge` removes one permanently.

    Examples:
        djinn fact forget anna city
        djinn fact forget anna/city
    """
    name = f"{answer.fact.category}/{answer.fact.key}"
    say(f"moved {clean(name)} to {clean(str(answer.moved_to))}")


@command("facts.verify", fields=NAME, run=_named, schemas={"fact.set": "facts.verify"})
def _verify(call: Call, answer: FactChange) -> None:
    """Confirm that a fact is still valid. An expired fact becomes valid again.

    Examples:
        djinn fact verify anna city
        djinn fact verify anna/city
    """
    _print_change(answer)


def _print_change(change: FactChange, value: str = "") -> None:
    fact = change.fact
    before = f" (was {shortened(change.before, WIDEST)})" if change.before is not None else ""
    name = clean(f"{fact.category}/{fact.key}")
    if change.action == "recorded":
        before = f" in the history (the current value is {shortened(fact.value, WIDEST)})"
    value = value if change.action == "recorded" else fact.value
    say(f"{change.action} {name}: {shortened(value, WIDEST)}{before} -> {place(fact)}")


def _print_table(facts: Iterable[Fact], empty: str) -> None:
    output.columns(map(_row, facts), head="fact value source confidence updated", empty=empty)


def _row(fact: Fact) -> tuple[str, ...]:
    name, value = f"{fact.category}/{fact.key}", shortened(fact.value, WIDEST)
    if fact.as_of and fact.valid_to and fact.holds:
        value = f"{value} ({fact.holds})"
    return name, value, fact.source or "-", _confidence(fact), local_day(fact.updated or "")


def _confidence(fact: Fact) -> str:
    return "-" if fact.confidence is None else f"{fact.confidence:.2f}"
