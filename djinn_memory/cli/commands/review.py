"""djinn review: the inbox of a person."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Meta, Struct

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, Confirm, command, interruptible
from djinn_memory.cli.output import clean, dim, place, say, shortened, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.notes.dates import local_day
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.upkeep.review.requests import ReviewItem, ReviewList, ReviewReport

WIDEST = 200
"""Maximum characters of a statement."""

ITEM = Field("N", candidates.review_items)
ITEMS = Field("[N]...", candidates.review_items)


class _ReviewView(Struct, frozen=True):
    """The options of `djinn review` besides those of a list."""

    list: Annotated[
        bool, Meta(description="Only list what waits. At a terminal it is decided one by one.")
    ] = False


KEYS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "a": ("accept", "review.accept", {}),
    "d": ("dismiss", "review.dismiss", {}),
    "s": ("skip", "", {}),
    "q": ("quit", "", {}),
}
"""The keys of a decision: the word, the operation and its options."""

SIDES: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "a": ("keep A", "review.accept", {"keep": "A"}),
    "b": ("keep B", "review.accept", {"keep": "B"}),
    "d": ("both hold", "review.dismiss", {}),
    "s": KEYS["s"],
    "q": KEYS["q"],
}
"""The keys of a decision about a contradiction."""


def _run_list(call: Call) -> Any:
    answer = call.run()
    waits = answer.items and sys.stdin.isatty() and sys.stdout.isatty()
    if call.json or call.view.list or not waits:
        return answer
    interruptible()
    for entry in answer.items:
        _print_item(entry, f"{entry.number} of {answer.total}")
        if _decide(call, entry) == "q":
            break
        say()
    return None


def _decide(call: Call, entry: ReviewItem) -> str:
    """Ask for a key, and carry out what it stands for. Returns the key."""
    keys = SIDES if entry.kind == "contradiction" else KEYS
    talk("  ".join(f"[{key}] {word}" for key, (word, _, _) in keys.items()))
    while (key := typer.getchar().lower()) not in keys:
        pass
    _, verb, options = keys[key]
    if verb:
        report = call.run(verb, items=(entry.id,), **options)
        output.problems(report.problems)
        _print_report(report, "accepted" if verb == "review.accept" else "dismissed")
    return key


@command(
    "review.list",
    fields={"kind": Field("KIND")},
    view=_ReviewView,
    run=_run_list,
    schemas={"review.list": "review.list"},
)
def _list(call: Call, answer: ReviewList) -> None:
    """List what waits for a decision, the gravest and newest first.

    conflict: a note was changed in two homes. contradiction: two notes say different things.
    extraction: a session was not read to the end. statement: what was said, and may be worth
    keeping. merge: notes that say the same. gap: a note may answer it. archive: nobody uses a note.
    Nothing changes until you decide. At a terminal one key decides each.

    Examples:
        djinn review
        djinn review --kind merge
        djinn review --list --json
    """
    rows = [
        [f"{entry.number}", local_day(entry.since), entry.kind, entry.title, entry.id]
        for entry in answer.items
    ]
    output.columns(rows, head="N day kind about id", empty="Nothing waits for you.")
    if left := answer.total - len(answer.items):
        talk(f"{count(left, 'more item')}; -n shows more.")
    for kind, action in {entry.kind: entry.action for entry in answer.items}.items():
        say(dim(clean(f"{kind}: {action}")))
    if answer.items:
        talk("Next: `djinn review show N`, `djinn review accept N` or `djinn review dismiss N`.")


@command("review.show", fields={"name": ITEM})
def _show(call: Call, answer: ReviewItem) -> None:
    """Show an item: its notes, its reason, and what accepting it changes.

    Examples:
        djinn review show 1
        djinn review show prp_3v9qk2m7xd --json
    """
    _print_item(answer, answer.id)


def _print_item(entry: ReviewItem, name: str) -> None:
    say(f"{typer.style(clean(name), bold=True)}  {entry.kind}  {local_day(entry.since)}")
    say(clean(entry.reason))
    for text in entry.evidence:
        say(dim(f"  {shortened(text, WIDEST)}"))
    for subject in entry.subjects:
        where = place(subject) if subject.vault else subject.name
        say(clean(f"  {'  '.join(filter(None, [subject.title, where]))}"))
    talk(f"Acceptance: {entry.action}")


def _run_decide(call: Call) -> Any:
    given = call.request.items
    if any(name.isdigit() for name in given) and not call.request.dry_run:
        waiting = call.run("review.list", limit=100_000).items
        listed = {f"{entry.number}": entry for entry in waiting}
        chosen = [listed[name] for name in given if name in listed]
        about = "; ".join(f"{entry.kind} {entry.title} ({entry.id})" for entry in chosen)
        if chosen and not call.confirmed("Is this what you mean?", about):
            return None
        call.values["items"] = [listed[name].id if name in listed else name for name in given]
    return call.run()


@command(
    "review.accept",
    fields={"items": ITEMS, "all": Field("KIND"), "keep": Field("A|B|both")},
    view=Confirm,
    run=_run_decide,
    schemas={"review.accept": "review.accept"},
)
def _accept(call: Call, answer: ReviewReport) -> None:
    """Carry out what items propose.

    `djinn undo` takes changes of notes back byte for byte, and the items then wait again. Numbers
    are those of `djinn review` now: you are asked whether they are what you mean. An id stays. A
    contradiction needs the side that holds.

    Examples:
        djinn review accept 1 3
        djinn review accept con_3v9qk2m7xd --keep A --note "Anna said so."
        djinn review accept --all archive --dry-run
    """
    _print_report(answer, "would accept" if call.request.dry_run else "accepted")


@command(
    "review.dismiss",
    fields={"items": ITEMS, "all": Field("KIND")},
    view=Confirm,
    run=_run_decide,
    schemas={"review.dismiss": "review.dismiss"},
)
def _dismiss(call: Call, answer: ReviewReport) -> None:
    """Dismiss items, so that they do not come back for the same reason.

    The dismissal of a contradiction records that both notes hold, until one of them changes. That
    of a statement removes its note, and that of a conflict the copy; `djinn undo` brings them back.

    Examples:
        djinn review dismiss 2
        djinn review dismiss --all archive
    """
    _print_report(answer, "would dismiss" if call.request.dry_run else "dismissed")


def _print_report(answer: ReviewReport, verb: str) -> None:
    for entry in answer.items:
        say(clean(f"{verb} {entry.id}: {entry.kind} {entry.title}"))
    if not (answer.items or answer.problems):
        talk("Nothing waits; nothing was done.")
    for change in answer.changes:
        talk(f"Run `djinn undo {change}` to take it back.")
