"""Questions with a date beside the same questions without one.

`facts-a`: values that change, told in episodes, and the same values set as facts and as properties
of entities. One-note questions: 50 questions, each about one note of four vaults of people, in 200
dated forms. Most of these notes have nothing to do with the date, so it must not displace them.

Run: `python benchmarks/dated_questions.py [told facts entities notes] [--misses]`
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from common import DATA, ROOT, home_with, machine, need_data, table

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
"""A Friday."""

Rows = list[dict[str, Any]]


class Asked(NamedTuple):
    """A dated question about a value, and what answers it."""

    dated: str
    plain: str
    subject: str
    value: str
    """The value that held on the day; "" if nobody can know it."""
    until: str | None
    """Only what was told by the end of this day counts."""


def facts_a() -> tuple[list[Asked], Rows]:
    """The questions of `facts-a`, and the histories that answer them."""
    folder = DATA / "planes" / "facts-a"
    truth = json.loads((folder / "truth.json").read_text("utf-8"))
    lines = (folder / "questions.jsonl").read_text("utf-8").splitlines()
    asked = []
    for line, answer in zip(lines, truth["answers"], strict=True):
        question = json.loads(line)
        value = "" if answer["answer"] in ("unknown", "contradiction") else answer["answer"]
        text = question["question"]
        plain = text.replace(f" on {question['as_of']}", "")
        subject = question["subject"].removeprefix("the ")
        asked.append(Asked(text, plain, subject, value, question["known_by"]))
    return asked, truth["histories"]


def told(home: Home) -> None:
    """The episodes as a user imports them."""
    path = DATA / "planes" / "facts-a" / "episodes.jsonl"
    Djinn(home, clock=lambda: NOW).import_history((path,))


def _each_value(home: Home) -> Iterator[tuple[Djinn, str, str, str, str]]:
    """By value that was told and not called off: Djinn on that day, subject, kind, value, day.

    Values are told in the order in which a person told them.
    """
    stated = []
    for history in facts_a()[1]:
        events = history["events"]
        off = {(event["value"], event["since"]) for event in events if event["what"] == "cancel"}
        stated += [
            (event["told"], history, event)
            for event in events
            if event["what"] in ("init", "now", "late", "plan", "fix")
            and (event["value"], event["since"]) not in off
        ]
    for day, history, event in sorted(stated, key=lambda each: each[0]):
        at = f"{day}T12:00:00+00:00"
        subject = history["subject"].removeprefix("the ")
        djinn = Djinn(home, clock=partial(datetime.fromisoformat, at))
        yield djinn, subject, history["kind"], event["value"], event["since"]


def facts(home: Home) -> None:
    """Each value as a fact, set on the day on which it was told."""
    for djinn, subject, kind, value, since in _each_value(home):
        djinn.facts.set(subject, kind, value, valid_from=since)


KEYS = {"address": "lives-at", "employer": "works-for", "lead": "led-by", "tool": "prefers",
        "price": "price", "version": "version"}  # fmt: skip


def entities(home: Home) -> None:
    """Each value as a property of an entity."""
    known: set[str] = set()
    for djinn, subject, kind, value, since in _each_value(home):
        if subject not in known:
            types = {"lead": "project", "price": "concept", "version": "concept"}
            djinn.entities.add(subject, types.get(kind, "person"))
            known.add(subject)
        djinn.entities.set(subject, KEYS[kind], value, valid_from=since)


NOTES = {
    "foam": (
        ("how do I write a daily note from the command line?", "user/tools/cli/daily.md"),
        ("can I embed one note inside another?", "user/features/embeds.md"),
        ("which syntax draws flow charts?", "user/recipes/diagrams-in-markdown.md"),
        ("how do I move my notes over from OneNote?", "user/recipes/migrating-from-onenote.md"),
        ("how do I find notes that nothing links to?", "user/tools/orphans.md"),
        ("which usage data does the extension collect?", "user/tools/telemetry.md"),
        ("how do I host my notes on Vercel?", "user/publishing/publish-to-vercel.md"),
        ("how do I link to a single paragraph?", "user/features/block-anchors.md"),
        ("who handles a complaint about harassment?", "dev/code-of-conduct.md"),
        ("which steps publish a new version of the extension?", "dev/releasing-foam.md"),
        ("can several people edit a note together?", "user/recipes/real-time-collaboration.md"),
        ("how do I commit my notes automatically?", "user/recipes/automatic-git-syncing.md"),
    ),
    "kepano": (
        ("how did we bake the nectarine tart?", "References/Brown butter nectarine tart.md"),
        ("which theme has a clean interface?", "Notes/Minimal Theme.md"),
        ("who directed the film about replicants?", "References/Blade Runner.md"),
        ("what did I talk about with Steph?", "Notes/2023-09-12 Meeting with Steph.md"),
        ("where did we go in Japan?", "Notes/2023 Japan Trip.md"),
        ("why should a note become an object?",
         "Notes/Evergreen notes turn ideas into objects that you can manipulate.md"),
        ("which unsolicited advice did Kevin Kelly give?",
         "Clippings/68 Bits of Unsolicited Advice.md"),
    ),
    "club": (
        ("what is Maren allergic to?", "grace/facts/maren-food.md"),
        ("how high does the bar dry at Fennick Point?", "shared/facts/fennick-point-bar-height.md"),
        ("how many boats touched the bar?",
         "shared/incidents/harbourlight-clock-change-post-mortem.md"),
        ("why do we send an SMS when a race is called off?",
         "shared/decisions/text-messages-for-cancellations.md"),
        ("why did we reject native apps?", "shared/decisions/no-native-apps-this-year.md"),
        ("why did we choose FastAPI?", "shared/decisions/harbourlight-tech-stack.md"),
        ("which addresses does our API publish?", "shared/decisions/harbourlight-api-design.md"),
        ("when may I book a meeting with Maren?",
         "grace/preferences/maren-keeps-mornings-free.md"),
        ("how large may a pull request be for Tobias?",
         "finn/preferences/pull-requests-that-fit-a-coffee.md"),
        ("why was the test flaky?", "finn/lessons/the-flaky-test-was-the-moon.md"),
        ("who pays for the rudder?", "grace/commitments/send-pauline-the-rudder-letter.md"),
        ("why do Pauline and Gethin Roscoe not agree?",
         "grace/relationships/pauline-and-the-harbour-master.md"),
        ("how do I guess the height between low and high water?",
         "shared/concepts/rule-of-twelfths.md"),
        ("what went wrong when the weather feed stopped?",
         "shared/lessons/a-silent-feed-is-worse-than-a-red-one.md"),
        ("how do I withdraw a day pack?", "shared/skills/harbourlight-runbook.md"),
        ("what is left to do on the phone cache?", "finn/handoffs/handoff-phone-cache-rewrite.md"),
        ("how often was the wind rose opened?", "shared/lessons/the-wind-rose-nobody-opened.md"),
        ("which zero does the pier gauge count from?",
         "shared/lessons/two-zeros-for-one-sea-level.md"),
        ("which harbours have no gauge of their own?",
         "finn/checkpoints/checkpoint-secondary-port-corrections.md"),
    ),
    "garden": (
        ("what happens when a measure becomes a target?", "thoughts/Goodhart's Law.md"),
        ("when may you tear down a fence?", "thoughts/Chesterton's Fence.md"),
        ("how do families differ in asking for favours?", "thoughts/ask vs guess culture.md"),
        ("which three properties can names not have together?", "thoughts/Zooko's Triangle.md"),
        ("how long will an old technology last?", "thoughts/Lindy effect.md"),
        ("how does quadratic funding match donations?", "thoughts/quadratic funding.md"),
        ("how many lying nodes can a network bear?", "thoughts/Byzantine Faults.md"),
        ("how does BitTorrent share a file?", "thoughts/BitTorrent.md"),
        ("what did Brentano say about the mental?", "thoughts/Brentano's Thesis.md"),
        ("who walks away from the happy city?",
         "thoughts/The ones who walk away from Omelas.md"),
        ("how does RSA make a key?", "thoughts/RSA.md"),
        ("why wager on the existence of God?", "thoughts/Pascal's Wager.md"),
    ),
}  # fmt: skip
"""Questions by vault, each with the note that answers."""

FORMS = (
    "in May", "last spring", "as of 3 March 2025", "on Tuesday", "two weeks ago",
    "yesterday", "last month", "since January", "on 2026-03-03", "in 2024", "before Christmas",
    "last week", "around 12 June", "between March and June", "this year", "on 4 July 2025",
    "in early October", "over the summer", "in Q1", "until last Friday",
)  # fmt: skip
"""A question gets four of them, the second and the fourth at its beginning."""


def dated_forms(question: str, number: int) -> Iterator[str]:
    """The dated forms of the question with this number."""
    for place in range(4):
        form = FORMS[(number * 4 + place) % len(FORMS)]
        if place % 2:
            yield f"{form[0].upper()}{form[1:]}, {question}"
        else:
            yield f"{question.removesuffix('?')} {form}?"


Door = Callable[..., Any]


def doors(djinn: Djinn) -> dict[str, Door]:
    """The ways of asking. Each returns the first hit, or None."""
    return {
        "search": lambda text, **narrowed: next(
            iter(djinn.search(text, limit=5, **narrowed).hits), None
        ),
        "recall": lambda text, **narrowed: next(
            iter(djinn.recall(text, limit=5, **narrowed).memories), None
        ),
    }


def shown(hit: Any) -> str:
    """What a reader sees of a hit."""
    text = getattr(hit, "text", "") or f"{getattr(hit, 'snippet', '')}"
    return f"{hit.title}\n{text}" if hit else ""


def value_rows(djinn: Djinn, name: str, *, misses: bool) -> list[list[object]]:
    """By door: the questions, and the shares whose first hit is about the subject and is right."""
    rows: list[list[object]] = []
    for door, ask in doors(djinn).items():
        about = plain_about = right = answerable = 0
        questions = [each for each in facts_a()[0] if name == "told" or not each.until]
        for each in questions:
            first, plain = (shown(ask(text, until=each.until)) for text in (each.dated, each.plain))
            about += each.subject in first
            plain_about += each.subject in plain
            if each.value:
                answerable += 1
                right += each.value in first
            if misses and not (each.subject in first and each.value in first):
                print(f"{name} {door}: {each.dated} {each.value}: {first!r}", file=sys.stderr)
        count = len(questions)
        figures = (plain_about / count, about / count, right / answerable)
        rows.append([name, door, count, *(f"{figure:.3f}" for figure in figures)])
    return rows


def note_rows(djinn: Djinn, *, misses: bool) -> list[list[object]]:
    """By door: the hit@1 of the plain questions, of their dated forms, and of how many each."""
    rows: list[list[object]] = []
    questions = [(vault, *pair) for vault, pairs in NOTES.items() for pair in pairs]
    for door, ask in doors(djinn).items():
        plain = dated = lost = won = 0
        for number, (vault, question, path) in enumerate(questions):
            before = _place(ask(question)) == (vault, path)
            for form in dated_forms(question, number):
                first = _place(ask(form))
                after = first == (vault, path)
                plain, dated = plain + before, dated + after
                lost, won = lost + (before and not after), won + (after and not before)
                if misses and before and not after:
                    print(f"notes {door}: {form} {path}: {first}", file=sys.stderr)
        count = 4 * len(questions)
        rows.append([door, count, f"{plain / count:.3f}", f"{dated / count:.3f}", lost, won])
    return rows


def _place(hit: Any) -> tuple[str, str] | None:
    return (hit.vault, hit.path) if hit else None


def vaults() -> dict[str, Path]:
    """The folders of the vaults."""
    data = DATA / "vaults"
    return {
        "foam": data / "foam-docs", "kepano": data / "kepano", "garden": data / "jackyzha0",
        "club": ROOT / "vaults",
    }  # fmt: skip


@contextmanager
def asked(home: Home) -> Iterator[Djinn]:
    """The home on the day of the questions, indexed."""
    home.edit((("search", "sweep_ms"), 0))
    djinn = Djinn(Home(home.root), clock=lambda: NOW)
    djinn.index()
    yield djinn


LOADS = {"told": told, "facts": facts, "entities": entities}


def main() -> None:
    """Print the figures as tables."""
    need_data()
    misses = "--misses" in sys.argv
    wanted = [name for name in sys.argv[1:] if name[0] != "-"] or [*LOADS, "notes"]
    print(f"## Dated questions\n\n`python benchmarks/dated_questions.py` on {machine()}\n")
    rows: list[list[object]] = []
    for name, load in LOADS.items():
        if name in wanted:
            with home_with() as home:
                load(home)
                with asked(home) as djinn:
                    rows += value_rows(djinn, name, misses=misses)
    if rows:
        head = ["facts-a as", "door", "questions", "without a date: about the subject",
                "with a date: about the subject", "with the right value"]  # fmt: skip
        table(head, rows)
    if "notes" in wanted:
        with home_with(**vaults()) as home, asked(home) as djinn:
            head = ["door", "dated forms", "hit@1 without a date", "with a date", "lost", "won"]
            table(head, note_rows(djinn, misses=misses))


if __name__ == "__main__":
    main()
