"""Ambiguous mentions: which of several entities with one name is meant, by the text around it.

All names, notes and contexts are made. A context tells something that happens to such a person or
thing, mostly in words that no note has. Some contexts tell nothing: `not sure` is then the right
answer. The constants of `memories/entities/context.py` and `resolve.py` were chosen with every
second line of `bearers.tsv`, the seeds 1 to 3, and `mentions-a` of the data folder. The tables
are of the other lines, other seeds, and `mentions-b`.

Run: `python benchmarks/entities.py`
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import entity_worlds
from common import home_with, machine, need_data, table

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.entities.requests import KINDS
from djinn_memory.memories.entities.resolve import EntityResolution
from djinn_memory.notes import journal
from djinn_memory.notes.frontmatter import compose

MENTIONS = 200
SEEDS = (7, 8, 9)
SEEDS_OF_WORLDS = (11, 12, 13)
TUNED_ON = (1, 2, 3)
EPISODES, PER_DAY, PEOPLE, RUNS = 20_000, 500, 80, 5
PROJECT = "Djinn Harbor"
WORDS = (
    "the", "boat", "crossed", "water", "early", "and", "nobody", "said", "much", "about", "tide",
    "kettle", "lamps", "were", "lit", "rope", "coiled", "charts", "again", "before", "dawn",
)  # fmt: skip
PLANES = ("mentions-a", "mentions-b")
"""Foreign vaults with mentions, in the data folder."""
BANK = Path(__file__).with_name("bearers.tsv")
"""For each kind of entity: what it is or does, as a note, as a property, as others write, and in
contexts. `{m}` stands for the mention."""
NEUTRAL = (
    "{m} rang twice while I was in the shower.", "I keep thinking about {m}.",
    "What about {m}, you asked.", "Nothing new from {m}.", "You were right about {m}.",
    "I showed Aunt Vera a photo of {m}.", "There will be more on {m} in my next letter.",
    "The less said about {m} the better.", "I have changed my mind about {m}.",
    "Remind me of {m} when we meet.", "{m} came up at breakfast.", "So that was {m}, then.",
)  # fmt: skip
"""Contexts that tell nothing."""
BEFORE = ("", "", "", "It drizzled. ", "Up late. ", "What a week. ", "Quickly, before the bus: ")
AFTER = (
    "",
    "",
    "",
    " Enough for today.",
    " Oh well.",
    " To be continued.",
    " I was lost for words.",
)
FIRST = ("Maren", "Jonas", "Ilse", "Tobias", "Wilma", "Pauline")
BOTH = ("Austin", "Victoria")
"""Names of people and of places."""
THINGS = ("Aurora", "Falcon", "Juniper", "Meridian")
LAST = (
    "Holt", "Voss", "Alder", "Brandt", "Lund", "Oduya", "Petersen", "Sato", "Keller", "Novak",
    "Rossi", "Haddad", "Moreau", "Byrne",
)  # fmt: skip
ENDINGS = {
    "place": ("Yard", "Terrace", "Mill", "Point"), "project": ("2", "Plan", "Initiative", "Next"),
    "product": ("Pro", "One", "S", "Lite"),
}  # fmt: skip
NEUTRAL_SHARE, TRAP_SHARE, TWINS = 0.18, 0.08, 0.3
"""Shares of the contexts that tell nothing, of those with a place of another bearer before, and of
groups in which two bearers are or do the same, so that a context about it decides nothing."""


class Topic(NamedTuple):
    """What is known of an entity."""

    kind: str
    note: str
    key: str
    value: str
    said: str
    scene: str
    contexts: Sequence[str]


class Question(NamedTuple):
    """A mention in its context, and the path of the entity that is meant; empty for none."""

    mention: str
    context: str
    path: str


def bank(*, measured: bool) -> dict[str, list[Topic]]:
    """The topics by kind. One half is for the choice of constants, the other is measured."""
    topics: dict[str, list[Topic]] = {}
    for line in BANK.read_text(encoding="utf-8").splitlines():
        *known, contexts = line.split("\t")
        kind, note, key, value, said, scene = known
        topic = Topic(kind, note, key, value, said, scene, contexts.split("|"))
        topics.setdefault(kind, []).append(topic)
    return {kind: each[measured::2] for kind, each in topics.items()}


class Bearer(NamedTuple):
    """An entity of a group that shares a name."""

    path: str
    topic: Topic


def make(home: Home, seed: int, *, measured: bool) -> list[Question]:
    """Fill a home with entities that share names. Returns questions about them."""
    made = random.Random(seed)
    topics = bank(measured=measured)
    groups = {name: _group(home, made, name, topics) for name in (*FIRST, *BOTH, *THINGS)}
    for number in range(15):
        name = f"{made.choice(('Ada', 'Kim', 'Robert'))} {LAST[number % len(LAST)]}"
        _bearer(home, made, name, (), made.choice(topics["person"]))
    return [_question(made, groups) for _ in range(MENTIONS)]


def _question(made: random.Random, groups: Mapping[str, Sequence[Bearer]]) -> Question:
    mention = made.choice([*groups])
    group = groups[mention]
    path, topic = made.choice(group)
    said = made.choice(topic.contexts)
    before = made.choice(BEFORE)
    others = [each.topic.scene for each in group if each.topic != topic]
    if made.random() < NEUTRAL_SHARE:
        said, path = made.choice(NEUTRAL), ""
    elif sum(each.topic == topic for each in group) > 1:
        path = ""
    elif made.random() < TRAP_SHARE:
        before = f"I came straight from {made.choice(others)}. "
    said = f"{before}{said}{made.choice(AFTER)}"
    return Question(mention, said.format(m=mention), path)


def _group(
    home: Home, made: random.Random, name: str, topics: Mapping[str, Sequence[Topic]]
) -> list[Bearer]:
    """Entities with one name: people by their first names, things by the word they share."""
    things = [topic for kind in ENDINGS for topic in topics[kind]]
    size = made.randint(3, 5) if name in FIRST else made.randint(2, 3)
    people = size if name in FIRST else 1 if name in BOTH else 0
    chosen = made.sample(topics["person"], people) + made.sample(things, size - people)
    if size > 2 and people != 1 and made.random() < TWINS:
        chosen[1] = chosen[0]
    used: set[str] = set()
    group = []
    for topic in chosen:
        endings = [each for each in ENDINGS.get(topic.kind, LAST) if each not in used]
        used.add(ending := made.choice(endings))
        # A person is found by a part of the name too.
        aliases = (name,) if topic.kind != "person" or made.random() < 0.5 else ()
        group.append(_bearer(home, made, f"{name} {ending}", aliases, topic))
    return group


def _bearer(
    home: Home, made: random.Random, title: str, aliases: Sequence[str], topic: Topic
) -> Bearer:
    """An entity whose topic stands in its note, in a property, or in a note that links to it."""
    path = f"{topic.kind}/{title}.md".lower()
    fields: dict[str, object] = {"title": title, "type": topic.kind, "aliases": [*aliases]}
    if topic.kind not in KINDS:
        fields["plane"] = "knowledge"
    other = f"{made.choice(('Hans', 'Ute', 'Ida'))} {made.choice(LAST)}"
    text = made.choice(("", f"Recommended by [[{other}]].", f"Ask [[{other}]]."))
    style = made.choice(("prose", "prose", "property", "linked", "both"))
    if style in ("prose", "both"):
        text = f"{topic.note}\n\n{text}"
    if style in ("property", "both"):
        fields[topic.key] = topic.value
    if style in ("linked", "both"):
        said = topic.said.format(name=f"[[{path.removesuffix('.md')}|{title}]]")
        write(home, f"log/{title}.md".lower(), f"{said} {topic.note if style == 'linked' else ''}")
    write(home, path, text, **fields)
    return Bearer(path, topic)


def write(home: Home, path: str, text: str, **fields: object) -> None:
    """Write a note into the shared vault."""
    file = home.shared.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(compose(fields, f"{text}\n"))


class Score(NamedTuple):
    """How often the answer was right, wrong, or `not sure`."""

    right: int
    wrong: int
    unsure: int
    kept_open: int
    """Contexts that tell nothing and were answered with `not sure`."""
    neutral: int
    total: int

    @property
    def asked(self) -> int:
        """Questions about an entity that is known."""
        return self.total - self.neutral


def judge(djinn: Djinn, questions: Sequence[Question | entity_worlds.Question]) -> Score:
    """The score over the questions."""
    counts = dict.fromkeys(("right", "wrong", "unsure", "kept", "neutral", "total"), 0)
    for question in questions:
        counts["total"] += 1
        answer: EntityResolution = djinn.entities.resolve(question.mention, question.context)
        if not question.path:
            counts["neutral"] += 1
            counts["kept" if not answer.sure else "wrong"] += 1
        elif answer.entity is None:
            counts["unsure"] += 1
        else:
            counts["right" if answer.entity.path == question.path else "wrong"] += 1
    return Score(*counts.values())


def measure(seed: int, *, measured: bool) -> Score:
    """The score over the questions of a made home."""
    with home_with() as home:
        questions = make(home, seed, measured=measured)
        with Djinn(home) as djinn:
            djinn.index()
            return judge(djinn, questions)


def measure_plane(name: str) -> Score:
    """The score over the mentions of a foreign vault."""
    place = need_data() / "planes" / name
    truth = json.loads((place / "truth.json").read_text(encoding="utf-8"))["mentions"]
    answers = {each["id"]: each["answer"].replace("unsure", "") for each in truth}
    lines = (place / "mentions.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line) for line in lines]
    questions = [Question(each["mention"], each["text"], answers[each["id"]]) for each in asked]
    with home_with(made=place / "vault") as home, Djinn(home) as djinn:
        djinn.index()
        return judge(djinn, questions)


def measure_world(seed: int, *, measured: bool) -> Score:
    """The score over the questions of a home with names in many shapes."""
    with home_with() as home, Djinn(home) as djinn:
        return judge(djinn, entity_worlds.World(djinn, seed, measured=measured).questions())


def scored(scores: Mapping[str, Score]) -> None:
    """Print scores, each with what it is of."""
    rows = []
    for name, score in scores.items():
        asked = score.asked
        rows.append(
            [
                name,
                f"{score.right / asked:.3f}",
                f"{score.unsure / asked:.3f}",
                str(score.wrong),
                f"{score.kept_open}/{score.neutral}",
            ]
        )
    table(["of", "right", "not sure", "wrong", "nothing tells: not sure"], rows)


def write_episodes(home: Home, names: Sequence[str]) -> None:
    """Journals in which each episode names one person, links to another, and may name a project."""
    made = random.Random(1)
    for name in names:
        write(home, f"people/{name}.md", "A person.", title=name, type="person")
    write(home, "projects/harbor.md", "A project.", title=PROJECT, type="project")
    (home.shared.root / "journal").mkdir(exist_ok=True)
    for start in range(0, EPISODES, PER_DAY):
        day = (date(2026, 10, 1) - timedelta(days=start // PER_DAY)).isoformat()
        records = []
        for number in range(start, start + PER_DAY):
            speaker, other = made.choice(names), made.choice(names)
            said = " ".join(made.choices(WORDS, k=25))
            text = f"{speaker} said that {said}. [[{other}]] agreed."
            if number % 2:
                text += f" {PROJECT} was ready."
            minute = number % PER_DAY * 1440 // PER_DAY
            at = f"{minute // 60:02}:{minute % 60:02}"
            fields = {"type": "interaction", "created": f"{day}T{at}:00Z"}
            records.append(journal.compose(at, f"Turn {number}", f"t{number}", text, fields))
        path = home.shared.root / "journal" / f"{day}.laptop.md"
        path.write_text(journal.header(day, "laptop") + "".join(records))


def listed() -> None:
    """Print what a list of entities with many mentions costs, and what one of them costs."""
    made = random.Random(1)
    names = made.sample([f"{first} {last}" for first in FIRST for last in LAST], PEOPLE)
    with home_with() as home:
        home.edit((("embedding", "provider"), "none"))
        write_episodes(home, names)
        with Djinn(home) as djinn:
            djinn.index()
        calls: dict[str, Callable[[Djinn], object]] = {
            "search, words": lambda djinn: djinn.search("kettle before dawn lamps"),
            f"entity list, {PEOPLE + 1} entities": lambda djinn: djinn.entities.list(limit=100),
            f"entity show, {EPISODES // 2:,} mentions": lambda djinn: djinn.entities.show(PROJECT),
        }
        taken: dict[str, list[float]] = {label: [] for label in calls}
        with Djinn(home) as djinn:
            for turn in range(RUNS + 1):
                for label, call in calls.items():
                    began = time.perf_counter()
                    call(djinn)
                    if turn:
                        taken[label].append(time.perf_counter() - began)
    base = statistics.median(taken["search, words"])
    rows = []
    for label, times in taken.items():
        median = statistics.median(times)
        rows.append([label, f"{median:.2f} s", f"{median / base:.1f}"])
    table(["call", "median", "of a search"], rows)


def main() -> None:
    """Print the tables."""
    if "tune" in sys.argv:
        scores = {f"seed {seed}": measure(seed, measured=False) for seed in TUNED_ON}
        scores["names"] = measure_world(TUNED_ON[0], measured=False)
        scored({**scores, PLANES[0]: measure_plane(PLANES[0])})
        return
    print("## Ambiguous mentions\n")
    print(f"`python benchmarks/entities.py` on {machine()}\n")
    print(
        f"{MENTIONS} mentions of people, places, projects and products, of which 2 to 5 share a "
        "name. `wrong` counts every answer that is sure and not right, also to contexts that tell "
        "nothing.\n"
    )
    scored(
        {f"seed {seed}": measure(seed, measured=True) for seed in SEEDS}
        | {name: measure_plane(name) for name in PLANES}
    )
    print(
        f"{MENTIONS} mentions by first names, nicknames, titles, initials, aliases, inflected and "
        "misspelt names, in three scripts. What tells the bearers apart stands in notes, "
        "properties, documents, episodes, relations and their periods. `nothing tells` includes "
        "mentions of nobody who is known.\n"
    )
    scored({f"seed {seed}": measure_world(seed, measured=True) for seed in SEEDS_OF_WORLDS})
    print(
        f"{EPISODES:,} episodes, each of which mentions two of {PEOPLE} people, and every second "
        f"one a project; {RUNS} calls:\n"
    )
    listed()


if __name__ == "__main__":
    main()
