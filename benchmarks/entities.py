"""Ambiguous mentions: which of several entities with one name is meant, by the text around it.

All names, notes and contexts are made. A context says in other words what a note or an earlier
mention says. Some contexts tell nothing: `not sure` is then the right answer. The constants of
`memories/entities/context.py` and `resolve.py` were chosen with the first banks of traits and
topics and the seeds 1 to 3. The tables are of the second banks and other seeds.

Run: `python benchmarks/entities.py`
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple

import entity_worlds
from common import home_with, machine, table

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.entities.requests import KINDS
from djinn_memory.memories.entities.resolve import EntityResolution
from djinn_memory.notes import journal
from djinn_memory.notes.frontmatter import compose

MENTIONS = 200
SEEDS = (7, 8, 9)
SEEDS_OF_WORLDS = (11, 12, 13)
TUNED_ON = 1
EPISODES, PER_DAY, PEOPLE, RUNS = 20_000, 500, 80, 5
PROJECT = "Djinn Harbor"
WORDS = (
    "the", "boat", "crossed", "water", "early", "and", "nobody", "said", "much", "about", "tide",
    "kettle", "lamps", "were", "lit", "rope", "coiled", "charts", "again", "before", "dawn",
)  # fmt: skip
NEUTRAL_SHARE = 0.1
"""Share of the contexts that tell nothing."""


class Trait(NamedTuple):
    """What is known of an entity: in its note, as a property, in a mention, and in contexts."""

    note: str
    key: str
    value: str
    mention: str
    contexts: tuple[str, ...]


PEOPLE_TUNED = (
    Trait("Sails a small dinghy and knows every buoy.", "hobby", "sailing",
          "{name} won the regatta in spring.",
          ("she was out on the water with her boat all Sunday",
           "the sails need mending before the race")),
    Trait("Works as a dentist in the old town.", "profession", "dentist",
          "{name} pulled a tooth of mine.",
          ("I have an appointment because my molar hurts",
           "the practice called about the crown for my tooth")),
    Trait("Teaches mathematics at the grammar school.", "profession", "teacher",
          "{name} marked the exams of the ninth grade.",
          ("the pupils complained about the algebra homework",
           "parents' evening at school is on Thursday")),
    Trait("Runs a bakery with a stone oven.", "profession", "baker",
          "{name} brought rye bread to the meeting.",
          ("the croissants this morning were still warm",
           "up at three every night to knead the dough")),
    Trait("Writes firmware for sensors.", "profession", "engineer",
          "{name} flashed the new board.",
          ("the microcontroller crashes after the update", "we debugged the driver code together")),
    Trait("Plays the violin in a string quartet.", "hobby", "violin",
          "{name} gave a concert in the church.",
          ("the rehearsal of the Schubert piece went well", "she needs new strings and a bow")),
    Trait("Keeps bees behind the house.", "hobby", "beekeeping",
          "{name} harvested forty jars of honey.",
          ("one of the hives swarmed yesterday", "stung three times while checking the colony")),
    Trait("Is a lawyer for rents and leases.", "profession", "lawyer",
          "{name} won the case against the landlord.",
          ("the tenancy contract has to be checked by an attorney", "the court date was moved")),
    Trait("Is a veterinarian with a practice for horses.", "profession", "vet",
          "{name} treated the lame mare.",
          ("our cat has to be vaccinated", "the foal was sick and she came to the stable")),
    Trait("Climbs in the Alps whenever possible.", "hobby", "climbing",
          "{name} reached the summit without oxygen.",
          ("the rope and the harness are packed for the mountains",
           "the north face was too icy this time")),
    Trait("Does the accounting of small firms.", "profession", "accountant",
          "{name} closed the books of the quarter.",
          ("the tax return has to be filed by May", "invoices from last year are still missing")),
    Trait("Takes photographs of birds.", "hobby", "photography",
          "{name} printed a picture of a kingfisher.",
          ("the new telephoto lens arrived for the camera",
           "waiting in a hide at dawn for the cranes")),
)  # fmt: skip
PEOPLE_MEASURED = (
    Trait("Drives the night train to Vienna.", "profession", "train driver",
          "{name} stopped the locomotive in time.",
          ("the railway strike means no shift for her tonight",
           "signals failed and the carriages stood on the track")),
    Trait("Is a nurse on the children's ward.", "profession", "nurse",
          "{name} gave the injections.",
          ("the hospital needs her for the night shift with the kids",
           "she bandaged the little patient")),
    Trait("Restores old furniture in a workshop.", "profession", "carpenter",
          "{name} glued the leg of the walnut table.",
          ("the wooden chair was sanded and varnished", "he planed the oak boards")),
    Trait("Trains for a marathon.", "hobby", "running",
          "{name} ran thirty kilometres on Sunday.",
          ("the new jogging shoes caused blisters", "ten miles before breakfast, in the rain")),
    Trait("Grows roses and tomatoes in a greenhouse.", "hobby", "gardening",
          "{name} pruned the hedges.",
          ("the seedlings must be planted after the frost",
           "we got cuttings and compost for the flower beds")),
    Trait("Cooks in an Italian restaurant.", "profession", "chef",
          "{name} changed the menu.",
          ("the risotto was the best in the kitchen's history",
           "fresh pasta and a sauce of basil on the plate")),
    Trait("Flies gliders and has a pilot's licence.", "hobby", "gliding",
          "{name} landed in a field.",
          ("the thermals were good and the aircraft climbed",
           "back at the airfield before the storm")),
    Trait("Studies medieval manuscripts at the university.", "profession", "historian",
          "{name} found a parchment of 1320.",
          ("the archive has old documents written by monks",
           "the lecture about the Middle Ages was full")),
    Trait("Designs websites and logos.", "profession", "designer",
          "{name} drew three drafts for the logo.",
          ("the colours of the landing page look wrong", "the new typeface of the brand is ready")),
    Trait("Is an electrician for old buildings.", "profession", "electrician",
          "{name} replaced the fuse box.",
          ("the wiring in the ceiling has a short circuit",
           "there is no power in the kitchen sockets")),
    Trait("Plays chess in the first league.", "hobby", "chess",
          "{name} drew against a grandmaster.",
          ("a queen sacrifice decided the game",
           "the tournament starts with the Sicilian opening")),
    Trait("Sells insurance for cars and houses.", "profession", "insurance agent",
          "{name} settled the claim after the hail.",
          ("the premium for our policy went up",
           "the damage to the roof must be reported for cover")),
)  # fmt: skip


class Thing(NamedTuple):
    """An entity that is no person."""

    kind: str
    note: str
    contexts: tuple[str, ...]


THINGS_TUNED = (
    Thing("project", "A migration of the billing system to a new database.",
     ("the schema change is deployed on Friday", "invoices are read from the new SQL server now")),
    Thing("place", "A village on the coast with a lighthouse.",
     ("we drove there for the weekend and walked on the beach",
      "the inn by the sea has two rooms left")),
    Thing("boat", "A wooden ketch with two masts, built in 1962.",
     ("her hull needs new paint before she is launched",
      "we anchored in the bay with both sails down")),
    Thing("concept", "A way to plan the week in six blocks of time.",
     ("this method of scheduling tasks works better than lists",
      "time management by blocks takes discipline")),
)  # fmt: skip
THINGS_MEASURED = (
    Thing("project", "An app that warns of late buses.",
     ("users of the phone app want push notifications",
      "the release was delayed by a bug in the timetable feed")),
    Thing("place", "A mountain hut at two thousand metres.",
     ("we hiked up there through the snow and stayed overnight",
      "the warden serves soup at the refuge on the pass")),
    Thing("cat", "A grey cat with one white paw.",
     ("the kitten scratched the sofa again", "she purrs when she gets her tin of fish")),
    Thing("concept", "A method for estimating costs with three numbers.",
     ("using this technique the budget forecast has a best and a worst case",
      "estimates get better with three guesses")),
)  # fmt: skip
NEUTRAL = (
    "called this morning", "I will write back tomorrow", "we should talk about that some time",
    "was mentioned twice in the meeting",
    "remember to ask again", "that is all I know for now",
)  # fmt: skip
FIRST = ("Maren", "Jonas", "Ilse", "Tobias", "Ada", "Robert", "Wilma", "Kim", "Pauline", "Oskar")
LAST = (
    "Holt", "Voss", "Alder", "Brandt", "Lund", "Oduya", "Petersen", "Sato", "Keller", "Novak",
    "Rossi", "Haddad", "Moreau", "Byrne",
)  # fmt: skip
THINGS = ("Aurora", "Falcon", "Juniper", "Delta", "Kestrel", "Meridian")


class Question(NamedTuple):
    """A mention in its context, and the path of the entity that is meant; empty for none."""

    mention: str
    context: str
    path: str


def make(home: Home, seed: int, *, measured: bool) -> list[Question]:
    """Fill a home with entities that share names. Returns questions about them."""
    made = random.Random(seed)
    traits = PEOPLE_MEASURED if measured else PEOPLE_TUNED
    things = THINGS_MEASURED if measured else THINGS_TUNED
    groups = [*_people(home, made, traits), *_things(home, made, things)]
    made.shuffle(groups)
    questions: list[Question] = []
    while len(questions) < MENTIONS:
        group = made.choice(groups)
        mention, path, contexts = made.choice(group)
        if made.random() < NEUTRAL_SHARE:
            questions.append(Question(mention, f"{mention} {made.choice(NEUTRAL)}", ""))
            continue
        said = made.choice(contexts)
        form = made.choice(
            ("{mention}: {said}", "{said}", "I met {mention}. {said}.", "{mention} again, {said}")
        )
        questions.append(Question(mention, form.format(mention=mention, said=said), path))
    return questions


_Group = list[tuple[str, str, tuple[str, ...]]]
"""Entities with one name: the mention, the path of the note, and contexts that mean it."""


def write(home: Home, path: str, text: str, **fields: object) -> None:
    """Write a note into the shared vault."""
    file = home.shared.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(compose(fields, f"{text}\n"))


def _people(home: Home, made: random.Random, traits: tuple[Trait, ...]) -> Iterator[_Group]:
    for first in FIRST:
        lasts = made.sample(LAST, made.randint(2, 4))
        same_name = made.random() < 0.2
        chosen = made.sample(traits, 2 * len(lasts))
        group: _Group = []
        for number, last in enumerate(lasts):
            name = f"{first} {lasts[0] if same_name else last}"
            path = f"people/{first}-{number}.md".lower()
            known, other = chosen[2 * number : 2 * number + 2]
            text = known.note
            fields: dict[str, object] = {"title": name, "type": "person"}
            if made.random() < 0.7:
                fields["aliases"] = [first]
            contexts = known.contexts
            form = made.choice(("text", "property", "long"))
            if form == "property":
                text, fields[known.key] = "", known.value
            if form == "long":
                text = f"{known.note} {other.note}"
                contexts += other.contexts
            elif not same_name:
                write(home, f"log/{first}-{number}.md", other.mention.format(name=name))
                contexts += other.contexts
            write(home, path, text, **fields)
            group.append((name if same_name else first, path, contexts))
        yield group


def _things(home: Home, made: random.Random, things: tuple[Thing, ...]) -> Iterator[_Group]:
    for name in THINGS:
        group: _Group = []
        for thing in made.sample(things, made.randint(2, 3)):
            path = f"{thing.kind}s/{name}.md".lower()
            plane = {} if thing.kind in KINDS else {"plane": "knowledge"}
            write(home, path, thing.note, title=name, type=thing.kind, **plane)
            group.append((name, path, thing.contexts))
        yield group


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


def measure_world(seed: int, *, measured: bool) -> Score:
    """The score over the questions of a home with names in many shapes."""
    with home_with() as home, Djinn(home) as djinn:
        return judge(djinn, entity_worlds.World(djinn, seed, measured=measured).questions())


def scored(measure: Callable[..., Score], seeds: Sequence[int]) -> None:
    """Print the scores of made homes."""
    rows = []
    for seed in seeds:
        score = measure(seed, measured=True)
        asked = score.asked
        rows.append(
            [
                str(seed),
                f"{score.right / asked:.3f}",
                f"{score.unsure / asked:.3f}",
                str(score.wrong),
                f"{score.kept_open}/{score.neutral}",
            ]
        )
    table(["seed", "right", "not sure", "wrong", "nothing tells: not sure"], rows)


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
        print(measure(TUNED_ON, measured=False), measure_world(TUNED_ON, measured=False))
        return
    print("## Ambiguous mentions\n")
    print(f"`python benchmarks/entities.py` on {machine()}\n")
    print(
        f"{MENTIONS} mentions of {len(FIRST)} first names and {len(THINGS)} names of other things, "
        "each of 2 to 4 entities. `wrong` counts every answer that is sure and not right, also to "
        "contexts that tell nothing.\n"
    )
    scored(measure, SEEDS)
    print(
        f"{MENTIONS} mentions by first names, nicknames, titles, initials, aliases, inflected and "
        "misspelt names, in three scripts. What tells the bearers apart stands in notes, "
        "properties, documents, episodes, relations and their periods. `nothing tells` includes "
        "mentions of nobody who is known.\n"
    )
    scored(measure_world, SEEDS_OF_WORLDS)
    print(
        f"{EPISODES:,} episodes, each of which mentions two of {PEOPLE} people, and every second "
        f"one a project; {RUNS} calls:\n"
    )
    listed()


if __name__ == "__main__":
    main()
