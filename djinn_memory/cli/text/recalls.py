"""Prints a recall: whole memories, why each was found, and how to rate them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from djinn_memory.cli import output
from djinn_memory.cli.output import clean, dim, say, talk
from djinn_memory.cli.text.hits import print_former, print_periods
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.recall.recall import RecalledMemory, RecallResult
    from djinn_memory.scoring import Score


def print_recall(result: RecallResult, *, explain: bool) -> None:
    """Print each memory below a line with its location and the reason for its rank."""
    for step in result.steps if explain else ():
        talk(dim(f"{step.name}: {clean(step.what)} ({step.milliseconds:,.0f} ms)"))
    print_periods(result.periods, any("dates" in each.why.legs for each in result.memories))
    print_former(any("former" in each.why.legs for each in result.memories))
    if not result.memories:
        near = ", ".join(map(clean, result.suggestions))
        say(f"No memories found.{f' Did you mean: {near}?' if near else ''}")
        talk('Report what is missing with `djinn gap report "..."`.')
        return
    if not result.confident:
        say("No confident match. Closest:")
    for memory in result.memories:
        title = typer.style(clean(memory.title), bold=True)
        say(f"{memory.rank}. {title}  {typer.style(f'{memory.score:.2f}', fg='green')}")
        say(f"   {dim('  '.join(_about(memory)))}")
        say(f"   {dim(clean(_why(memory)))}")
        if explain:
            say(f"   {dim(clean(_numbers(memory)))}")
        if memory.text:
            say()
            say(output.clean_lines(memory.text))
        if result.confident:
            say()
    if result.confident:
        left = f", {count(result.more, 'more memory')} did not fit" if result.more else ""
        talk(f"{result.tokens:,} of {result.budget:,} tokens, profile {result.profile}{left}.")
    else:
        talk('Report what is missing with `djinn gap report "..."`.')
    if result.request_id:
        other = " --not-useful 2" if len(result.memories) > 1 else ""
        talk(f"Rate it: djinn rate {result.request_id} --useful 1{other} (or use `last`).")


def _about(memory: RecalledMemory) -> list[str]:
    place = f"{memory.vault}/{memory.path}:{memory.lines[0]}"
    page = [f"p. {memory.page_number}"] if memory.page_number else []
    return [
        *([memory.id] if memory.id else []),
        output.link(clean(place), memory.file),
        *page,
        clean(memory.type or "note"),
        _age(memory.age),
        *([memory.holds] if memory.holds else []),
    ]


def _age(days: int) -> str:
    if days < 0:
        return f"in {count(-days, 'day')}"
    return "today" if days == 0 else f"{count(days, 'day')} ago"


def _why(memory: RecalledMemory) -> str:
    why = memory.why
    parts = [f"words: {', '.join(why.words)}"] if why.words else []
    if "meaning" in why.legs:
        parts.append(f"meaning {why.legs['meaning'].raw:.2f}")
    if why.weight.via:
        parts.append(f"linked from {why.weight.via}")
    elif not why.legs:
        parts.append("one of the newest")
    if why.scored and why.weight.multiplier != 1:
        parts.append(f"usage and ratings x{why.weight.multiplier:.2f}")
    return "; ".join(parts)


def _numbers(memory: RecalledMemory) -> str:
    weight = memory.why.weight
    factors = {
        "usage and ratings": weight.multiplier, "importance and confidence": weight.own,
        "type": weight.type, "status": weight.status, "recency": weight.recency,
        "variety": weight.variety,
    }  # fmt: skip
    text = f"raw {weight.raw:.4f}"
    text += "".join(f" x {name} {value:.3f}" for name, value in factors.items() if value != 1)
    text += f" = {weight.score:.4f}"
    if memory.why.scored and abs(memory.why.scored.multiplier - weight.multiplier) > 1e-9:
        text += (
            f"; x{memory.why.scored.multiplier:.3f} for questions similar to those it was rated for"
        )
    if weight.hops:
        text += f"; reached through {count(weight.hops, 'link')}"
    return text + (f"; {_score(memory.why.scored)}" if memory.why.scored else "")


def _score(score: Score) -> str:
    """The numbers of a score on one line."""
    return (
        f"score {score.adaptive:.3f}: usefulness {score.usefulness:.3f}, "
        f"recency {score.recency:.3f}, frequency {score.frequency:.3f}"
    )
