"""How a recall looks: whole memories, why each came up, and how to rate them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from djinn_memory.cli import output
from djinn_memory.cli.output import clean, dim, say, talk
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.recall.recall import RecalledMemory, RecallResult
    from djinn_memory.scoring import Score


def as_json(found: RecallResult) -> None:
    """The recall as one object."""
    from msgspec.structs import asdict

    from djinn_memory.cli.schemas.recall import Recall

    fields = asdict(found)
    fields["milliseconds"] = round(found.milliseconds, 1)
    output.print_json(Recall(**fields))


def as_text(found: RecallResult, *, explain: bool) -> None:
    """Each memory under a line that says what it is and why it came up."""
    for step in found.steps if explain else ():
        talk(dim(f"{step.name}: {clean(step.what)} ({step.milliseconds:,.0f} ms)"))
    output.problems(found.problems)
    if not found.memories:
        near = ", ".join(map(clean, found.suggestions))
        say(f"nothing to recall{f'; did you mean: {near}?' if near else ''}")
        talk('say what is missing with `djinn gap report "..."`')
        return
    if not found.confident:
        say("nothing is sure to be meant; the nearest:")
    for one in found.memories:
        title = typer.style(clean(one.title), bold=True)
        say(f"{one.rank}. {title}  {typer.style(f'{one.score:.2f}', fg='green')}")
        say(f"   {dim('  '.join(map(clean, _about(one))))}")
        say(f"   {dim(clean(_why(one)))}")
        if explain:
            say(f"   {dim(clean(_numbers(one)))}")
        say()
        say(output.clean_lines(one.text))
        say()
    left = f", {count(found.more, 'more memory')} beyond the budget" if found.more else ""
    talk(f"{found.tokens:,} of {found.budget:,} tokens, profile {found.profile}{left}")
    if found.request_id:
        talk(f"rate it: djinn rate {found.request_id} --useful 1 --not-useful 2 (or `last`)")


def _about(one: RecalledMemory) -> list[str]:
    place = f"{one.vault}/{one.path}:{one.lines[0]}"
    page = [f"p. {one.page_number}"] if one.page_number else []
    return [*([one.id] if one.id else []), place, *page, one.type or "note", _age(one.age)]


def _age(days: int) -> str:
    if days < 0:
        return f"in {count(-days, 'day')}"
    return "today" if days == 0 else f"{count(days, 'day')} ago"


def _why(one: RecalledMemory) -> str:
    why = one.why
    parts = [f"words: {', '.join(why.words)}"] if why.words else []
    if "meaning" in why.legs:
        parts.append(f"meaning {why.legs['meaning'].raw:.2f}")
    if why.weight.via:
        parts.append(f"linked with {why.weight.via}")
    elif not why.legs:
        parts.append("among the newest")
    if why.scored and why.weight.multiplier != 1:
        parts.append(f"used and rated x{why.weight.multiplier:.2f}")
    return "; ".join(parts)


def _numbers(one: RecalledMemory) -> str:
    weight = one.why.weight
    factors = {
        "used and rated": weight.multiplier, "its own word": weight.own, "type": weight.type,
        "status": weight.status, "recency": weight.recency,
    }  # fmt: skip
    text = f"raw {weight.raw:.4f}"
    text += "".join(f" x {name} {value:.3f}" for name, value in factors.items() if value != 1)
    text += f" = {weight.score:.4f}"
    if one.why.scored and abs(one.why.scored.multiplier - weight.multiplier) > 1e-9:
        text += f"; x{one.why.scored.multiplier:.3f} for questions like those it was rated at"
    if weight.hops:
        text += f"; over {count(weight.hops, 'link')}"
    return text + (f"; {score(one.why.scored)}" if one.why.scored else "")


def score(one: Score) -> str:
    """The numbers of a score on one line."""
    return (
        f"score {one.adaptive:.3f} of usefulness {one.usefulness:.3f}, "
        f"recency {one.recency:.3f}, frequency {one.frequency:.3f}"
    )
