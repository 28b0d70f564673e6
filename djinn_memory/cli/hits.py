"""Prints hits as text, Markdown, paths or CSV, and a recall as text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from djinn_memory.cli import output
from djinn_memory.cli.output import clean, dim, say, talk
from djinn_memory.models import path_of_links
from djinn_memory.notes.dates import local_day
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from djinn_memory.cli.command import Call
    from djinn_memory.memories.graph.requests import Community
    from djinn_memory.memories.recall.recall import RecalledMemory, RecallResult
    from djinn_memory.models import AskedPeriod, Hit, SearchResult
    from djinn_memory.scoring import Score

NO_MATCH = "No confident match."
NO_RESULTS = "No results."


def print_hits(result: SearchResult, form: str, *, explain: bool) -> None:
    """Print the hits in a format, with notices on stderr."""
    {"table": _table, "md": _markdown, "paths": _paths, "csv": _csv}[form](result, explain)
    _print_reading(result, {leg for hit in result.hits for leg in hit.legs}, explain=explain)
    if form != "table":
        if result.verdict == "nothing":
            talk(f"{NO_RESULTS}{_spellings(result)}")
        elif not result.confident:
            talk(NO_MATCH)
    if result.pending:
        changed = count(result.pending, "changed note")
        talk(f"{changed} not indexed yet. Run `djinn index` to update the index.")
    elif result.unembedded and not result.problems:
        passages = count(result.unembedded, "passage")
        verb = "is" if result.unembedded == 1 else "are"
        talk(f"{passages} {verb} not embedded yet (keyword matches only). Run `djinn index`.")


def _print_reading(result: SearchResult | RecallResult, legs: Set[str], *, explain: bool) -> None:
    """Print on stderr how a question was read, and with `explain` each step of the search."""
    for step in result.steps if explain else ():
        talk(dim(f"{step.name}: {clean(step.what)} ({step.milliseconds:,.0f} ms)"))
    if result.periods:
        _print_periods(result.periods, "dates" in legs)
    if "former" in legs:
        talk(dim("The question asks for what held before; earlier values come first."))


def _print_periods(periods: Sequence[AskedPeriod], has_memories: bool) -> None:
    """Print on stderr which periods were read from a question."""
    spans = " and ".join(map(_span, periods))
    result = "memories of that time come first" if has_memories else "no memory is from that time"
    talk(dim(f'"{clean(periods[0].words)}" was read as {spans}; {result}.'))
    if events := periods[0].events:
        talk(dim(clean(f"{events[0]} is meant, not {' or '.join(events[1:])}.")))


def _span(period: AskedPeriod) -> str:
    if period.since == period.until:
        return str(period.since)
    if period.since and period.until:
        return f"{period.since} to {period.until}"
    return f"{period.since} or later" if period.since else f"{period.until} or earlier"


def _table(result: SearchResult, explain: bool) -> None:
    """Hits as blocks of title, location and snippet."""
    if result.verdict == "nothing":
        say(f"{NO_RESULTS}{_spellings(result)}")
        return
    if not result.confident:
        say(f"{NO_MATCH}{_spellings(result)} Closest:")
    for hit in result.shown:
        number = f"{hit.rank:2}. "
        say(
            f"{number}{typer.style(clean(_heading(hit)), bold=True)}  "
            f"{typer.style(f'{hit.score:.2f}', fg='green')}"
        )
        cited = [f"{clean(name)}  " for name in _cited(hit)]
        extra = [*filter(None, (hit.type, local_day(hit.date)))]
        extra += [hit.holds] if hit.holds else []
        extra += [f"#{tag}" for tag in hit.tags[:6]]
        place = output.link(clean(_place(hit)), hit.file)
        say(f"    {dim(''.join([*cited, place, *(f'  {clean(part)}' for part in extra)]))}")
        if hit.context:
            say(f"    {dim(clean(hit.context))}")
        if hit.via:
            say(f"    {dim(clean(_led(hit)))}")
        if hit.snippet and result.verdict != "near":
            say(f"    {_marked(hit, *_bold())}")
        if explain:
            say(f"    {dim(_explained(hit))}")


def _markdown(result: SearchResult, explain: bool) -> None:
    """Hits as a Markdown list with excerpts, to paste or to give to an agent.

    `search.excerpt` limits the length of an excerpt.
    """
    if result.verdict in ("weak", "near"):
        say(f"> {NO_MATCH}\n")
    for hit in result.shown:
        say(f"{hit.rank}. **{clean(_heading(hit))}** ({hit.score:.2f})  ")
        places = [f"`{clean(place)}`" for place in (*_cited(hit), _place(hit))]
        say(f"   {', '.join([*places, *([hit.holds] if hit.holds else [])])}  ")
        if hit.context:
            say(f"   {clean(hit.context)}  ")
        if hit.via:
            say(f"   {clean(_led(hit))}  ")
        excerpt = "" if result.verdict == "near" else hit.excerpt
        for line in filter(None, excerpt.splitlines()):
            say(f"   {clean(line)}")
        if explain:
            say(f"   _{_explained(hit)}_")


def _paths(result: SearchResult, explain: bool) -> None:
    """One `/absolute/path:line` for each hit."""
    for hit in result.hits:
        output.say_verbatim(f"{clean(hit.file)}:{hit.lines[0]}")


def _csv(result: SearchResult, explain: bool) -> None:
    """Hits as comma-separated values with a header row."""
    import csv

    from djinn_memory.search.legs import leg_classes

    writer = csv.writer(sys.stdout, lineterminator="\n")
    legs = [leg.name for leg in leg_classes()] if explain else []
    writer.writerow(
        ["rank", "score", "title", "heading", "vault", "path", "first_line", "last_line", "type",
         "tags", "created", "updated", "snippet", "filename", "page_number", *legs]
    )  # fmt: skip
    for hit in result.hits:
        row: list[object] = [
            hit.rank, f"{hit.score:.4f}", hit.title, " > ".join(hit.heading), hit.vault, hit.path,
            *hit.lines, hit.type, " ".join(hit.tags), hit.created, hit.updated, hit.snippet,
            hit.filename, hit.page_number,
        ]  # fmt: skip
        row += [f"{hit.legs[leg].raw:.4f}" if leg in hit.legs else "" for leg in legs]
        writer.writerow([clean(cell) if isinstance(cell, str) else cell for cell in row])


def _heading(hit: Hit) -> str:
    trail = [heading for heading in hit.heading if heading != hit.title]
    return " > ".join([hit.title, *trail])


def _led(hit: Hit | RecalledMemory) -> str:
    """The path of links that led to a hit."""
    return path_of_links([*hit.via, hit.title])


def _place(hit: Hit) -> str:
    return f"{hit.vault}/{hit.path}:{hit.lines[0]}-{hit.lines[1]}"


def _cited(hit: Hit) -> list[str]:
    """The file and the page, if the hit is in a document."""
    if not hit.filename:
        return []
    return [f"{hit.filename}, p. {hit.page_number}" if hit.page_number else hit.filename]


def _bold() -> tuple[str, str]:
    if sys.stdout.isatty():
        return typer.style("", bold=True, fg="yellow", reset=False), typer.style("", reset=True)
    return "**", "**"


def _marked(hit: Hit, before: str, after: str) -> str:
    parts, at = [], 0
    for start, end in hit.marks:
        parts += [clean(hit.snippet[at:start]), before, clean(hit.snippet[start:end]), after]
        at = end
    return "".join([*parts, clean(hit.snippet[at:])])


def _explained(hit: Hit) -> str:
    from djinn_memory.search.legs import labels

    names = labels()
    parts = [
        f"{names[name]} {leg.raw:.3f}"
        f"{f' (rank {leg.rank})' if leg.rank else ''} contributes {leg.part:.3f}"
        for name, leg in hit.legs.items()
        if name in names
    ]
    if "dates" in hit.legs:
        from_period = hit.legs["dates"].raw == 1
        parts.append("from that time" if from_period else "its text names a day of that time")
    if hit.feedback:
        parts.append(f"similarity to the top hits {hit.feedback:+.3f}")
    if hit.before:
        parts.append(f"rank before reranking {hit.before}")
    return "; ".join(parts) or "matched by filters only"


def _spellings(result: SearchResult | RecallResult) -> str:
    return (
        f" Did you mean: {', '.join(map(clean, result.suggestions))}?" if result.suggestions else ""
    )


def print_recall(call: Call, result: RecallResult, *, explain: bool) -> None:
    """Print each memory below a line with its location and the reason for its rank."""
    from djinn_memory.cli.markdown import say_markdown

    legs = {leg for memory in result.memories for leg in memory.why.legs}
    _print_reading(result, legs, explain=explain)
    if not result.memories:
        say(f"No memories found.{_spellings(result)}")
        talk('Report what is missing with `djinn gap report "..."`.')
        return
    for community in result.communities:
        print_community(community, community.ranks)
    if not result.confident:
        say(f"{NO_MATCH}{_spellings(result)} Closest:")
    for memory in result.memories:
        title = typer.style(clean(memory.title), bold=True)
        say(f"{memory.rank}. {title}  {typer.style(f'{memory.score:.2f}', fg='green')}")
        say(f"   {dim('  '.join(_about(memory)))}")
        say(f"   {dim(clean(_reason(memory)))}")
        if explain:
            say(f"   {dim(clean(_recall_numbers(memory)))}")
        if memory.text:
            say()
            say_markdown(call, memory.text, memory)
            say()
            if memory is not result.memories[-1]:
                output.rule()
    if result.confident:
        left = f", {count(result.more, 'more memory')} did not fit" if result.more else ""
        talk(f"{result.tokens:,} of {result.budget:,} tokens, profile {result.profile}{left}.")
    else:
        talk('Report what is missing with `djinn gap report "..."`.')
    if result.request_id:
        other = " --not-useful 2" if len(result.memories) > 1 else ""
        talk(f"Rate it: djinn rate {result.request_id} --useful 1{other} (or use `last`).")


def print_community(community: Community, ranks: Sequence[int] = ()) -> None:
    """Print the size of a community, its tags, its central memories and its summary.

    `ranks` are those of its memories in a recall.
    """
    sizes = f"{count(community.size, 'note')}, {count(community.links, 'link')}"
    tags = "".join(f"  #{tag}" for tag in community.tags)
    recalled = f"  has {', '.join(map(str, ranks))} below" if ranks else ""
    titles = ", ".join(memory.title for memory in community.central)
    say(f"[{community.number}] {typer.style(clean(titles), bold=True)}")
    say(f"    {dim(clean(f'{sizes}{tags}{recalled}'))}")
    for sentence in community.summary:
        where = output.link(output.place(sentence), sentence.file)
        say(f"    - {clean(sentence.text)} {dim(f'({where})')}")


def _about(memory: RecalledMemory) -> list[str]:
    place = f"{memory.vault}/{memory.path}:{memory.lines[0]}"
    page = [f"p. {memory.page_number}"] if memory.page_number else []
    return [
        *([memory.id] if memory.id else []),
        output.link(clean(place), memory.file),
        *page,
        clean(memory.type or "note"),
        *([_age(memory.age)] if memory.age is not None else []),
        *([memory.holds] if memory.holds else []),
    ]


def _age(days: int) -> str:
    if days < 0:
        return f"in {count(-days, 'day')}"
    return "today" if days == 0 else f"{count(days, 'day')} ago"


def _reason(memory: RecalledMemory) -> str:
    why = memory.why
    parts = [f"words: {', '.join(why.words)}"] if why.words else []
    if "meaning" in why.legs:
        parts.append(f"meaning {why.legs['meaning'].raw:.2f}")
    if memory.via:
        parts.append(_led(memory))
    elif not why.legs:
        parts.append("one of the newest")
    if why.scored and why.weight.multiplier != 1:
        parts.append(f"usage and ratings x{why.weight.multiplier:.2f}")
    return "; ".join(parts)


def _recall_numbers(memory: RecalledMemory) -> str:
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
    return text + (f"; {_score(memory.why.scored)}" if memory.why.scored else "")


def _score(score: Score) -> str:
    """The numbers of a score on one line."""
    return (
        f"score {score.adaptive:.3f}: usefulness {score.usefulness:.3f}, "
        f"recency {score.recency:.3f}, frequency {score.frequency:.3f}"
    )
