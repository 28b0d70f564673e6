"""A made world for ambiguous mentions, in which each group of names is ambiguous in its own way.

What tells the bearers of a name apart stands in their notes, in properties, in notes that link to
them, in episodes, in documents, in relations to other entities, or in the period of a relation.
A mention is a nickname, a title with a surname, initials, an inflected or misspelt name, or a name
in another script. Some mentions are of nobody who is known, and some contexts tell nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from djinn_memory.djinn import Djinn
from djinn_memory.memories.entities.requests import KINDS

MENTIONS = 200


class Topic(NamedTuple):
    """What a person does: for a note, a property, what others write, and contexts."""

    note: str
    key: str
    value: str
    said: str
    contexts: tuple[str, ...]


TUNED = (
    Topic("Midwife at the birth centre in the north of town.", "job", "midwife",
          "{name} delivered twins before dawn.",
          ("The baby came two weeks early and everyone is well.",
           "We asked whether a water birth is possible.")),
    Topic("Repairs pipes and boilers.", "job", "plumber", "{name} fixed the leak under the sink.",
          ("The radiator is cold again and the tap drips.",
           "There was water all over the bathroom floor.")),
    Topic("Judges civil cases at the district court.", "job", "judge",
          "{name} dismissed the lawsuit.",
          ("The hearing was adjourned until the witnesses arrive.",
           "The verdict is expected soon.")),
    Topic("Potter with a kiln in the yard.", "hobby", "pottery", "{name} glazed forty bowls.",
          ("The clay was too wet for the wheel.", "Two mugs cracked during the firing.")),
    Topic("Writes about politics for the daily paper.", "job", "journalist",
          "{name} published an interview with the mayor.",
          ("The article appeared on the front page.", "Her editor wants the column by six.")),
    Topic("Plays the cello and sings in a choir.", "hobby", "music",
          "{name} sang the solo at Easter.",
          ("The concert hall was sold out and the orchestra got an encore.",
           "The choir practises the requiem on Tuesdays.")),
    Topic("Researches glaciers and polar climate.", "job", "glaciologist",
          "{name} drilled an ice core in Greenland.",
          ("The expedition to the Arctic leaves in June.",
           "The melting of the ice sheet is faster.")),
    Topic("Administers the servers and the network.", "job", "system administrator",
          "{name} restored the backup of the mail server.",
          ("The VPN is down and nobody can log in.",
           "We need a new firewall rule for the subnet.")),
    Topic("Rides in show jumping and keeps two mares.", "hobby", "horse riding",
          "{name} cleared every fence on the course.",
          ("The saddle is at the stable, and the horse is lame.",
           "They galloped along the beach.")),
    Topic("Brews beer in the garage.", "hobby", "brewing", "{name} bottled the stout.",
          ("The hops gave it a bitter taste.", "Fermentation takes another week in the barrel.")),
    Topic("Translates novels from Portuguese.", "job", "translator",
          "{name} handed in the Lisbon novel.",
          ("A word in the foreign text has no equivalent in our language.",
           "The book is now in print in three languages.")),
    Topic("Physiotherapist for athletes.", "job", "physiotherapist",
          "{name} treated the goalkeeper's knee.",
          ("My back hurts and I need some exercises and a massage.",
           "After the injury the muscles must be trained slowly.")),
)  # fmt: skip
MEASURED = (
    Topic("Paints in oils and exhibits in a gallery.", "hobby", "painting",
          "{name} sold the large canvas.",
          ("The brushes are dirty and the easel is broken.",
           "The portrait hangs in the museum now.")),
    Topic("Keeps the books at a savings bank.", "job", "banker",
          "{name} approved the mortgage.",
          ("The interest on the loan went up.",
           "My account was overdrawn and a card was blocked.")),
    Topic("Firefighter at the station on the hill.", "job", "firefighter",
          "{name} carried a child out of the burning house.",
          ("The alarm rang, and the engine left with its siren on.",
           "Smoke was seen, and the flames were put out with hoses.")),
    Topic("Dives to wrecks and takes pictures under water.", "hobby", "diving",
          "{name} found an amphora at thirty metres.",
          ("The oxygen tank and the wetsuit have to be rinsed.",
           "We saw a shark near the coral reef.")),
    Topic("Builds furniture out of oak.", "job", "joiner", "{name} delivered the wardrobe.",
          ("The shelf has to be sawn and sanded.", "The table wobbles, a leg needs glue.")),
    Topic("Astronomer at the observatory.", "job", "astronomer", "{name} named a new comet.",
          ("The telescope was pointed at a distant galaxy.",
           "It was too cloudy to see the stars.")),
    Topic("Farms sheep in the hills.", "job", "farmer", "{name} sheared the whole flock.",
          ("The lambs are out in the pasture.", "The tractor broke down during the harvest.")),
    Topic("Teaches yoga and meditation.", "hobby", "yoga", "{name} led the retreat.",
          ("Breathing exercises on the mat helped me to relax.", "I can stand on my head now.")),
    Topic("Pharmacist in the village.", "job", "pharmacist", "{name} checked the prescription.",
          ("These pills must be taken twice a day.", "The medicine for my cough is out of stock.")),
    Topic("Runs a shop for used bicycles.", "job", "bicycle mechanic",
          "{name} straightened the front wheel.",
          ("My brakes squeak and the chain came off.", "I had a flat tyre on the way to work.")),
    Topic("Collects stamps and old coins.", "hobby", "coins", "{name} bought a denarius.",
          ("The auction had a rare silver piece from Rome.", "The album of postage is complete.")),
    Topic("Acts in the city theatre.", "job", "actor", "{name} played Macbeth.",
          ("The premiere was applauded for ten minutes on stage.",
           "They are rehearsing a new play, and the costume does not fit.")),
)  # fmt: skip

Things = tuple[str, tuple[tuple[str, str, tuple[str, ...]], ...]]
"""A name, and its bearers: kind, note, contexts."""

THINGS_TUNED: tuple[Things, ...] = (
    ("Mercury", (
        ("project", "A chat service for field teams.",
         ("the messages arrive late on the phones", "users cannot send attachments in the chat")),
        ("planet", "The planet next to the sun.",
         ("it orbits in eighty-eight days", "the probe photographed its craters")),
        ("concept", "A heavy metal that is liquid and poisonous.",
         ("the old thermometer broke and spilled", "fish contain too much of this toxic metal")),
    )),
    ("Cambridge", (
        ("place", "An English university town on the river Cam.",
         ("we went punting past King's College", "the train from London takes an hour")),
        ("office", "The American branch of the firm, near Boston.",
         ("the colleagues in Massachusetts start six hours later",
          "our US branch hires three people")),
    )),
    ("Python", (
        ("concept", "A programming language with indentation.",
         ("the script fails with an import error", "we rewrote the code and added type hints")),
        ("pet", "A ball python that lives in a terrarium.",
         ("the snake shed its skin", "it eats a mouse every two weeks")),
    )),
    ("Phoenix", (
        ("project", "Rebuilding the warehouse after the fire.",
         ("the roof of the storage hall is finished", "the builders pour concrete this week")),
        ("place", "A hot city in the desert of Arizona.",
         ("the flight lands there at noon and it is forty degrees",
          "we drove from there to the Grand Canyon")),
        ("boat", "A sailing yacht of twelve metres.",
         ("the mast was checked in the marina", "she was rigged and sailed to Corsica")),
    )),
)  # fmt: skip
THINGS_MEASURED: tuple[Things, ...] = (
    ("Apollo", (
        ("project", "Moves the payroll to a new provider.",
         ("the salaries of March were wrong", "wages and payslips come from the new system")),
        ("horse", "A brown gelding, nine years old.",
         ("the vet looked at his hoof", "he needs a new saddle and more oats")),
        ("concept", "The Greek god of music and light.",
         ("in the myth he plays the lyre", "the temple at Delphi was built for the deity")),
    )),
    ("Victoria", (
        ("place", "The capital of British Columbia in Canada.",
         ("we took the ferry from Vancouver", "the whales were seen off Vancouver Island")),
        ("pub", "A pub on the corner with good ale.",
         ("we had two pints and played darts", "the landlord calls last orders at eleven")),
    )),
    ("Amazon", (
        ("place", "The river and the rain forest in Brazil.",
         ("the canoe went upstream through the jungle", "parrots and piranhas live there")),
        ("company", "An online shop that delivers parcels.",
         ("the package was delivered a day late", "I returned the order and got my money back")),
    )),
    ("Atlas", (
        ("project", "Maps of all hiking trails.",
         ("the new trail markers are on the map", "walkers report wrong paths in the map app")),
        ("place", "Mountains in Morocco.",
         ("we crossed the range from Marrakesh", "there was snow on the peaks of North Africa")),
        ("robot", "A robot with two arms in the laboratory.",
         ("the gripper dropped the box again", "its motors and joints must be calibrated")),
    )),
)  # fmt: skip
NEUTRAL_TUNED = (
    "{m} left a message.", "Could you ask {m} about it?", "I will see {m} next week.",
    "{m} agreed.", "Do not forget to tell {m}.", "{m} was late again.", "That was {m}'s idea.",
)  # fmt: skip
NEUTRAL_MEASURED = (
    "{m} sends regards.", "I had lunch with {m} today.", "{m} said no.",
    "Please forward this to {m}.",
    "What does {m} think?", "{m} has birthday on Friday.", "Thanks to {m} for the help.",
)  # fmt: skip
PADDING = (
    "It was a long day.", "I was a bit tired.", "The weather was fine.", "Anyway.",
    "We talked for an hour.",
    "I still have to write that down.", "Lunch was good.", "So much for Monday.",
)  # fmt: skip
NICKNAMES = (
    ("Robert", "Bob"), ("William", "Bill"), ("Elizabeth", "Liz"), ("Johannes", "Hannes"),
    ("Aleksandr", "Sasha"), ("Francisco", "Paco"), ("Margaret", "Peggy"), ("Giuseppe", "Beppe"),
    ("Katarzyna", "Kasia"), ("Michael", "Mike"),
)  # fmt: skip
FIRSTS = (
    "Anna", "Peter", "Laura", "Simon", "Nina", "Viktor", "Elena", "Felix", "Greta", "Hugo", "Irene",
    "Leon",
)  # fmt: skip
SURNAMES = (
    "Berger", "Lindqvist", "Okafor", "Marchetti", "Tanaka", "Dubois", "Fernandes", "Schreiber",
    "Kowalski", "Whitfield", "Nygaard", "Castellano", "Ito", "Vasquez", "Rahman", "Eriksen",
)  # fmt: skip
COMPANIES = ("Northwind", "Bluefin", "Kestner", "Orbital Foods", "Tern Labs", "Granite Bank")
PROJECTS = ("Harbour lamp", "Tide gauge", "Night bus", "Old mill", "Seed vault", "Glass bridge")


class Question(NamedTuple):
    """A mention in its context. `path` is that of the entity that is meant, empty for none."""

    mention: str
    context: str
    path: str
    shape: str


class _Bearer(NamedTuple):
    path: str
    name: str
    contexts: tuple[str, ...]


class World:
    """Fills a home with groups of entities, and asks about them."""

    def __init__(self, djinn: Djinn, seed: int, *, measured: bool) -> None:
        self.djinn = djinn
        self.random = random.Random(seed)
        self.topics = MEASURED if measured else TUNED
        self.things = THINGS_MEASURED if measured else THINGS_TUNED
        self.neutral = NEUTRAL_MEASURED if measured else NEUTRAL_TUNED
        self.surnames = self.random.sample(SURNAMES, len(SURNAMES))
        self.number = 0

    def questions(self) -> list[Question]:
        """All questions, shuffled, at most `MENTIONS`."""
        for company in COMPANIES:
            self.djinn.entities.add(company, "company", shared=True)
        for project in PROJECTS:
            self.djinn.entities.add(project, "project", shared=True)
        groups = (
            self._first_names, self._nicknames, self._titles, self._initials, self._things,
            self._relations, self._periods, self._shared_alias, self._cyrillic, self._cjk,
            self._accents, self._nobody, self._inflected, self._typos,
        )  # fmt: skip
        listed = [question for group in groups for question in group()]
        self.random.shuffle(listed)
        self.djinn.index()
        return listed[:MENTIONS]

    def _surname(self) -> str:
        self.number += 1
        return self.surnames[self.number % len(self.surnames)]

    def _person(self, name: str, topic: Topic, *, aliases: Sequence[str] = ()) -> _Bearer:
        """A person, with the topic in one of the places that djinn reads."""
        place = self.random.choice(("note", "property", "linked", "episode", "document", "named"))
        entity = self.djinn.entities.add(
            name, "person", topic.note if place == "note" else "", aliases=aliases, shared=True,
            properties=[f"{topic.key}={topic.value}"] if place == "property" else [], force=True,
        ).entity  # fmt: skip
        path, said = entity.path, topic.said
        self.number += 1
        if place == "linked":
            link = f"[[{path.removesuffix('.md')}|{name.split()[0]}]]"
            self._note(f"{said.format(name=link)} {topic.note}")
        elif place == "named":
            self._note(f"{said.format(name=name)} {topic.note}")
        elif place == "episode":
            self.djinn.episodes.record_observation(f"{said.format(name=name)} {topic.note}")
        elif place == "document":
            file = self.djinn.home.root / f"paper-{self.number}.txt"
            file.write_text(f"Minutes\n\n{said.format(name=name)} {topic.note}\n")
            self.djinn.documents.ingest([file])
        return _Bearer(path, name, topic.contexts)

    def _note(self, text: str) -> None:
        file = self.djinn.home.shared.root / f"log/{self.number}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")

    def _asked(
        self, shape: str, mention: str, bearer: _Bearer, *, neutral: float = 0.12
    ) -> Iterator[Question]:
        """A question for each context of a bearer, some of which tell nothing."""
        for said in bearer.contexts:
            if self.random.random() < neutral:
                context = self.random.choice(self.neutral).format(m=mention)
                yield Question(mention, context, "", "nothing tells")
                continue
            form = self.random.choice(
                ("{m}: {s}", "{s} I asked {m}.", "Saw {m}. {p} {s}", "{p} {s} {m} knows more.",
                 "{s}")
            )  # fmt: skip
            padding = self.random.choice(PADDING)
            yield Question(mention, form.format(m=mention, s=said, p=padding), bearer.path, shape)

    def _group(self, names: Sequence[str], aliases: Sequence[str] = ()) -> list[_Bearer]:
        topics = self.random.sample(self.topics, len(names))
        return [
            self._person(name, topic, aliases=aliases)
            for name, topic in zip(names, topics, strict=True)
        ]

    def _first_names(self) -> Iterator[Question]:
        for first in self.random.sample(FIRSTS, 5):
            size = self.random.choice((2, 2, 3, 4))
            group = self._group([f"{first} {self._surname()}" for _ in range(size)])
            form = self.random.choice((str, str.upper, str.lower, "{}'s".format))
            for bearer in group:
                yield from self._asked("first name", form(first), bearer)

    def _nicknames(self) -> Iterator[Question]:
        for full, short in self.random.sample(NICKNAMES, 5):
            group = self._group([f"{full} {self._surname()}" for _ in range(2)])
            for bearer in group:
                yield from self._asked("nickname", short, bearer)
            other = self.random.choice(group)
            last = other.name.split()[1]
            yield Question(f"{short} {last}", f"{short} {last} called.", other.path, "nickname")

    def _titles(self) -> Iterator[Question]:
        for title in ("Dr.", "Frau", "Mr", "Prof."):
            last = f"{self._surname()}s{self.number}".replace("s", "en", 1).rstrip("0123456789")
            group = self._group([f"{first} {last}" for first in self.random.sample(FIRSTS, 2)])
            for bearer in group:
                yield from self._asked("title", f"{title} {last}", bearer)

    def _initials(self) -> Iterator[Question]:
        for letter in ("Marta Milan Moritz", "Jana Jorge", "Sofia Stefan", "Clara Cosimo"):
            last = f"{self._surname()}ov"
            group = self._group([f"{first} {last}" for first in letter.split()])
            form = self.random.choice((f"{letter[0]}. {last}", f"{letter[0]}.{last[0]}."))
            for bearer in group:
                yield from self._asked("initials", form, bearer)

    def _things(self) -> Iterator[Question]:
        for name, bearers in self.things:
            for kind, note, contexts in bearers:
                self.number += 1
                path = f"things/{name}-{kind}.md".lower()
                file = self.djinn.home.shared.root / path
                file.parent.mkdir(exist_ok=True)
                plane = "" if kind in KINDS else "plane: knowledge\n"
                file.write_text(f"---\ntitle: {name}\ntype: {kind}\n{plane}---\n{note}\n")
                yield from self._asked("thing", name, _Bearer(path, name, contexts))

    def _relations(self) -> Iterator[Question]:
        """The context names what one of them works for, or what somebody else leads."""
        for first in ("Olga", "Martin", "Sarah"):
            names = [f"{first} {self._surname()}" for _ in range(3)]
            companies = self.random.sample(COMPANIES, 3)
            for name, company in zip(names, companies, strict=True):
                entity = self.djinn.entities.add(name, "person", shared=True, force=True).entity
                self.djinn.entities.set(entity.path, "works-at", f"[[{company}]]")
                context = self.random.choice(
                    (f"{first} from {company} sent the offer.",
                     f"The meeting at {company} was moved, {first} says.")
                )  # fmt: skip
                yield Question(first, context, entity.path, "relation")
        for first in ("Ines", "Rolf"):
            for project in self.random.sample(PROJECTS[:3], 2):
                name = f"{first} {self._surname()}"
                entity = self.djinn.entities.add(name, "person", shared=True, force=True).entity
                link = f"[[{entity.path.removesuffix('.md')}|{name}]]"
                self.djinn.entities.set(project, f"helper-{first.lower()}", link)
                context = f"Ask {first}, the {project.lower()} is at risk."
                yield Question(first, context, entity.path, "relation")

    def _periods(self) -> Iterator[Question]:
        """Both led the project, each at a time of their own."""
        for first, project in zip(("Tim", "Eva", "Ole"), PROJECTS[3:], strict=True):
            months = ("2026-01", "2026-05")
            for month, told in zip(months, ("March", "June"), strict=True):
                name = f"{first} {self._surname()}"
                entity = self.djinn.entities.add(name, "person", shared=True, force=True).entity
                link = f"[[{entity.path.removesuffix('.md')}|{name}]]"
                self.djinn.entities.set(project, "led-by", link, valid_from=f"{month}-01")
                context = self.random.choice(
                    (f"{first} led the {project} in {told} 2026.",
                     f"In {told} 2026 {first} was in charge of the {project}.")
                )  # fmt: skip
                yield Question(first, context, entity.path, "period")

    def _shared_alias(self) -> Iterator[Question]:
        for alias, firsts in (("Coach", "Ruth Karl"), ("the Baron", "Lotte Emil Hans")):
            group = self._group([f"{each} {self._surname()}" for each in firsts.split()], [alias])
            for bearer in group:
                yield from self._asked("shared alias", alias, bearer)

    def _cyrillic(self) -> Iterator[Question]:
        known = (
            ("Мария Иванова", "Работает врачом в больнице.", "врач выписал рецепт в больнице"),
            ("Мария Соколова", "Преподаёт математику в школе.", "в школе был урок, математика"),
            ("Мария Орлова", "Играет на скрипке в оркестре.", "концерт, оркестр и скрипка"),
        )
        for name, note, said in known:
            path = self.djinn.entities.add(name, "person", note, shared=True).entity.path
            for mention in ("Марию", "Мария", "Марии"):
                context = f"{mention}: {said}"
                yield Question(mention, context, path, "Cyrillic")
            last = name.split()[1]
            case = f"Марии {last[:-1]}ой"
            yield Question(case, f"звонил {case}", path, "Cyrillic")

    def _cjk(self) -> Iterator[Question]:
        known = (
            ("田中太郎", "東京の病院で働く医者。", "病院の医者に会った。"),
            ("田中花子", "大阪の大学で物理を教える。", "大学で物理の講義を聞いた。"),
        )
        for name, note, said in known:
            path = self.djinn.entities.add(name, "person", note, shared=True).entity.path
            yield Question("田中さん", f"田中さん。{said}", path, "CJK")
            yield Question("田中", f"{said}田中", path, "CJK")
            yield Question(name, f"{name}さんが来た。", path, "CJK")

    def _accents(self) -> Iterator[Question]:
        group = self._group([f"{first} Łaskawý" for first in ("Zoë", "André", "Jürgen")])
        for bearer, mention in zip(group, ("Zoe", "Andre Laskawy", "Juergen"), strict=True):
            yield Question(mention, f"{mention} rang.", bearer.path, "accents")
        for bearer in group:
            yield from self._asked("accents", "Laskawy", bearer)

    def _nobody(self) -> Iterator[Question]:
        """Mentions of whom no note tells."""
        for name in self.random.sample(FIRSTS, 4):
            mention = f"{name} {self.random.choice(('Quist', 'Zabel', 'Umland', 'Xu'))}"
            said = self.random.choice(self.random.choice(self.topics).contexts)
            yield Question(mention, f"{mention}: {said}", "", "nobody")
        for mention in ("Wendelin", "Tuesday", "Bosphorus", "K. Quist", "the plumber"):
            said = self.random.choice(self.random.choice(self.topics).contexts)
            yield Question(mention, f"{mention}. {said}", "", "nobody")

    def _inflected(self) -> Iterator[Question]:
        forms: tuple[tuple[str, Callable[[str], str]], ...] = (
            ("Marek", lambda first: "Marka"), ("Helga", "{}s".format),
            ("Tomas", "{}'".format), ("Yusuf", "{}’s".format), ("Pavel", lambda first: "Pavla"),
        )  # fmt: skip
        for first, form in self.random.sample(forms, 4):
            for bearer in self._group([f"{first} {self._surname()}" for _ in range(2)]):
                yield from self._asked("inflected", form(first), bearer)

    def _typos(self) -> Iterator[Question]:
        for first, wrong in (("Bettina", "Betina"), ("Ferdinand", "Ferdniand"), ("Agnes", "Anges")):
            group = self._group([f"{first} {self._surname()}" for _ in range(2)])
            for bearer in group:
                yield from self._asked("typo", wrong, bearer)
            last = group[0].name.split()[1]
            mention = f"{wrong} {last}"
            yield Question(mention, f"{mention} rang.", group[0].path, "typo")
