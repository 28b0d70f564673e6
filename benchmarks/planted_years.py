"""Makes years of a working life with planted habits, a focus, a preference and a cause.

The people have shifts, markets or school terms, weeks off, and days with nothing and with much. A
thing is called by several names, in several wordings, and a message may hold two actions. Traps: a
burst on one day, choices with even chances, steps in any order, actions with the same success
everywhere.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from djinn_memory.memories.episodes.occasions import Occasion
from djinn_memory.memories.patterns.outcomes import Outcome
from djinn_memory.memories.patterns.requests import LearnedPattern

Kinds = dict[str, str]

LIVES: dict[str, dict[str, Kinds]] = {
    "nurse": {
        "ward": {
            "dressings": (
                "change,redo,inspect|"
                "the wound dressing,the bandages,the leg wrap,the gauze on bed nine"
            ),
            "rota": "sort out,swap,print|the shift roster,the rota,my night shifts,the duty plan",
            "drugs": (
                "count,restock,lock|"
                "the drug cupboard,the morphine ampoules,the medicine trolley,"
                "the antibiotics shelf"
            ),
            "handover": (
                "type up,give,shorten|"
                "the handover sheet,the handover,the briefing for the late team"
            ),
        },
        "body": {
            "swim": "do,log,skip|forty lengths,the pool,my front crawl,the swim",
            "teeth": "ring,book,chase|the dental check-up,the dentist,the filling,the hygienist",
            "stretch": (
                "do,repeat,look up|"
                "the back stretches,my hamstrings,the foam roller,the hip exercises"
            ),
        },
        "garden": {
            "tomatoes": (
                "tie up,pick,feed|"
                "the tomato plants,the cherry tomatoes,the seedlings in the greenhouse"
            ),
            "hedge": "trim,cut back,measure|the hedge,the privet,the laurel branches",
            "compost": "turn,water,sieve|the compost heap,the worm bin,the kitchen scraps",
            "pond": "skim,top up,net|the pond,the frogs,the duckweed,the water lilies",
        },
        "choir": {
            "alto": "rehearse,hum,mark|the alto part,the descant,my voice warm-up,the hymn in D",
            "concert": (
                "advertise,sell,count|"
                "the concert tickets,the programme leaflets,the church seating"
            ),
        },
        "bills": {
            "meter": (
                "read,send in,photograph|"
                "the gas meter,the electricity reading,the smart meter"
            ),
            "loan": (
                "repay,query,recalculate|"
                "the student loan,the instalment,the interest on the loan"
            ),
            "pension": "top up,check,move|the pension pot,the retirement fund,the annuity quote",
        },
        "kids": {
            "homework": (
                "go over,sign,explain|"
                "the fractions sheet,Milo's homework,the spelling list,the times tables"
            ),
            "football": (
                "drive to,cheer at,miss|"
                "the under-nines match,football practice,the muddy pitch"
            ),
            "lunchbox": "pack,rinse,fill|the lunchbox,the sandwiches for school,the water bottle",
        },
    },
    "baker": {
        "bakery": {
            "sourdough": (
                "feed,refresh,fold|"
                "the sourdough starter,the levain,the rye culture,the mother dough"
            ),
            "ovens": (
                "descale,preheat,service|"
                "the deck oven,the steam injector,the proofing chamber"
            ),
            "stall": (
                "set up,staff,price|"
                "the market stall,the awning on the square,the pop-up counter"
            ),
            "flour": "reorder,weigh,sift|the spelt flour,twelve sacks of wheat,the semolina",
        },
        "admin": {
            "vat": (
                "file,estimate,double-check|"
                "the VAT return,the sales tax form,the quarterly levy"
            ),
            "wages": (
                "pay out,compute,approve|"
                "the payroll,the wages,Kofi's overtime,the holiday pay"
            ),
            "till": (
                "cash up,reconcile,balance|"
                "the till roll,the day's takings,the card terminal slips"
            ),
            "scan": "scan,upload,name|the delivery notes,the supplier slips,the dockets",
        },
        "horse": {
            "hooves": "pick out,oil,show|the hooves,the farrier's work,the loose shoe",
            "hay": "stack,haul,soak|the hay bales,the haylage,the feed buckets",
            "ride": "school,lunge,hack out|the grey mare,the arena session,the bridle path ride",
        },
        "home": {
            "laundry": "hang up,iron,fold|the bed sheets,the aprons,the washing,the towels",
            "boiler": "bleed,reset,relight|the boiler,the radiator valves,the heating pump",
            "windows": (
                "polish,squeegee,reseal|"
                "the window panes,the skylight,the conservatory glass"
            ),
        },
        "band": {
            "drums": (
                "tune,practise,record|"
                "the snare drum,my paradiddles,the bass pedal,the cymbal fills"
            ),
            "gigs": (
                "confirm,haggle over,poster|"
                "the pub gig,the festival slot,the set list for Friday"
            ),
            "lyrics": "rhyme,cross out,sing|the second verse,the chorus words,the ballad lyrics",
        },
        "study": {
            "dutch": (
                "cram,recite,review|"
                "the Dutch vowels,the flash deck,lesson six of Dutch,de and het words"
            ),
            "chess": (
                "replay,analyse,lose|"
                "the Sicilian opening,the endgame puzzles,the club match game"
            ),
            "stars": "sketch,track,photograph|Saturn's rings,the telescope mount,the star chart",
        },
    },
    "teacher": {
        "school": {
            "marking": (
                "mark,grade,hand back|"
                "the essays of 8B,the mock papers,the stack of exercise books"
            ),
            "labs": "prepare,clear,restock|the chemistry lab,the Bunsen burners,the acid bottles",
            "parents": (
                "phone,answer,invite|"
                "the worried parents,Leyla's father,the parents' evening list"
            ),
            "lessons": (
                "outline,rewrite,time|"
                "the lesson on enzymes,the worksheet on cells,the slides about osmosis"
            ),
        },
        "boat": {
            "varnish": "sand,coat,strip|the varnish on the tiller,the teak deck,the brightwork",
            "engine": "bleed,start,grease|the outboard,the fuel filter,the propeller shaft",
            "sails": "mend,fold,hoist|the mainsail,the jib,the torn spinnaker,the reef points",
        },
        "money": {
            "shares": (
                "sell,watch,rebalance|"
                "the index fund,the shares,the brokerage account,the dividends"
            ),
            "subscriptions": (
                "cancel,review,downgrade|"
                "the streaming plan,the unused subscriptions,the magazine renewal"
            ),
            "mortgage": (
                "overpay,refinance,compare|"
                "the mortgage,the house loan rate,the fixed-rate offer"
            ),
            "ledger": (
                "enter,tally,close|"
                "the household ledger,the spending sheet,the monthly outgoings"
            ),
        },
        "family": {
            "nana": "ring,visit,email|Nana,my grandmother in the home,the old lady's carer",
            "album": "scan,caption,order|the wedding album,the old slides,the shoebox of negatives",
            "twins": "bath,read to,dress|the twins,Ada and Bo,the bedtime story",
        },
        "trail": {
            "run": (
                "lace up for,finish,upload|"
                "the hill repeats,a 10k,the tempo run,the long run by the canal"
            ),
            "kit": "proof,patch,dry|the tent,the waterproof jacket,the hiking boots",
            "maps": "trace,print,compare|the trail map,the contour lines,the GPX route",
        },
        "council": {
            "minutes": (
                "draft,circulate,amend|"
                "the minutes,the parish council notes,the action points"
            ),
            "petition": (
                "sign,collect,deliver|"
                "the petition,the signatures against the bypass,the protest letter"
            ),
            "funds": (
                "apply for,justify,spend|"
                "the playground grant,the lottery funding,the council budget bid"
            ),
        },
    },
}  # fmt: skip
"""Domains, their kinds of action, and for each its verbs and the names of its things."""

SHIFTS = {
    "nurse": ((6, 14), (13, 21), (20, 29)),
    "baker": ((3, 11), (14, 19)),
    "teacher": ((7, 16), (18, 22)),
}
"""Hours of activity, of which each week has one, or of the nurse each week another."""

FRAMES = (
    "{V} {o}.", "Must {v} {o} today", "Did I already {v} {o}?", "{O}, round two.", "Help with {o}?",
    "note to self: {v} {o}", "Off to {v} {o} now", "{O} went badly, ideas?", "Log: {o}.",
    "Heads-up, I'm about to {v} {o}", "What's the trick with {o}?", "{V} {o}, then a break.",
    "I should {v} {o} for {p}", "{p} wants me to {v} {o}", "Spent ages on {o}", "{O}: status?",
    "finally got round to {o}", "Tell {p} about {o}", "{O} again, sigh", "could we {v} {o} later",
)  # fmt: skip
PEOPLE = ("Kofi", "Leyla", "Sunniva", "the boss", "Radu", "my neighbour", "Hye-jin", "old Petersen")

CHOICES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "coffee break": (("espresso", "cappuccino", "rooibos"), ("coffee break", "the cafe", "my mug")),
    "commute": (("tram", "bicycle", "moped"), ("getting to work", "the commute", "the way in")),
    "film night": (("comedy", "thriller", "western"), ("film night", "the sofa", "tonight's film")),
    "pizza": (("margherita", "funghi", "calzone"), ("the pizza order", "pizzeria", "our dinner")),
    "notes": (("fountain pen", "tablet", "pencil"), ("taking notes", "the course", "the lecture")),
}
PICKS = (
    "{t}: I'll take the {c}", "Went for {c} at {t}", "{c} over {x} for {t}", "{t}: {c}, not {x}",
    "Had {c} rather than {x}, {t}", "For {t} it has to be {c}", "{x} or {c} for {t}? {c}!",
    "Skipped the {x}, {c} for {t}", "{t}: {c} instead of {x}", "One more {c} for {t}",
    "{t} means {c} to me", "No {x} this time, {c} for {t}", "{t}? Give me {c}",
    "Opted for {c}, {t}", "Considered {x} for {t} but {c} won",
)  # fmt: skip

ACTIONS = {
    "call the supplier": ("early", "at lunchtime", "after five"),
    "reboot the display": ("front desk", "back room", "van"),
    "ask for a discount": ("in person", "on the phone", "in writing"),
    "bake without steam": ("small loaves", "large loaves", "rolls"),
}


class Planted(NamedTuple):
    """A planted habit: `peak`, `week`, `seq`, `focus`, `pref` or `cause`."""

    id: str
    support: frozenset[str]
    """The keys of its episodes."""
    hours: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    word: str = ""
    """The domain of a focus, the option of a preference, the context of a cause."""
    days: tuple[date, date] = (date.min, date.min)


class PlantedYear(NamedTuple):
    occasions: list[Occasion]
    outcomes: list[Outcome]
    planted: list[Planted]


class _Said(NamedTuple):
    at: datetime
    text: str
    domain: str
    tag: str
    """The planted habit that it supports; empty for none."""


class _Life:
    """The state of making one year."""

    def __init__(self, seed: int, noise: float | None) -> None:
        self.draw = draw = random.Random(seed)
        self.noise = 1.0 if noise is None else noise
        self.begin = date(2025, 1, 1) + timedelta(days=draw.randrange(200))
        self.person = draw.choice([*LIVES])
        self.kinds = {
            (domain, kind): spec
            for domain, kinds in LIVES[self.person].items() for kind, spec in kinds.items()
        }  # fmt: skip
        off = draw.randrange(30, 320)
        self.off = {*range(off, off + draw.randint(9, 24)), *draw.sample(range(365), 25)}
        self.busy = [draw.choice((0.3, 0.7, 1, 1, 1.5, 3)) for _ in range(365)]
        self.said: list[_Said] = []

    def day(self, weekday: int | None = None) -> int:
        """A random day that is not off, of a weekday if one is given."""
        days = [
            day for day in range(365)
            if day not in self.off and (weekday is None or self.date(day).weekday() == weekday)
        ]  # fmt: skip
        return self.draw.choices(days, [self.busy[day] for day in days])[0]

    def date(self, day: int) -> date:
        return self.begin + timedelta(days=day)

    def hour(self, day: int) -> float:
        """A random hour of a day: in its shift mostly, else awake."""
        shifts = SHIFTS[self.person]
        shift = shifts[day // 7 % len(shifts)] if self.person == "nurse" else shifts[day % 2]
        low, high = shift if self.draw.random() < 0.6 else (8, 23)
        return self.draw.uniform(low, high)

    def say(self, day: int, hour: float, text: str, domain: str, tag: str = "") -> None:
        at = datetime.combine(self.date(day), datetime.min.time()) + timedelta(hours=hour)
        self.said.append(_Said(at, text, domain, tag))

    def text(self, kind: tuple[str, str]) -> str:
        """A message about a kind of action, one in ten with another action too."""
        draw = self.draw
        verbs, things = (part.split(",") for part in self.kinds[kind].split("|"))
        verb, thing = draw.choice(verbs), draw.choice(things)
        text = draw.choice(FRAMES).format(
            v=verb, V=verb.capitalize(), o=thing, O=thing[:1].upper() + thing[1:],
            p=draw.choice(PEOPLE),
        )  # fmt: skip
        if draw.random() < 0.1:
            other = draw.choice([each for each in self.kinds if each != kind])
            verbs, things = (part.split(",") for part in self.kinds[other].split("|"))
            text += f" Also {draw.choice(verbs)} {draw.choice(things)}."
        return text

    def often(self, times: int) -> list[bool]:
        """Which of some times keep to a habit."""
        return [self.draw.random() >= self.noise for _ in range(times)]


def planted_year(seed: int, noise: float | None) -> PlantedYear:
    """A year with a habit of each sort of which a part is noise; None for no habit at all."""
    life = _Life(seed, noise)
    draw, domains = life.draw, [*LIVES[life.person]]
    draw.shuffle(domains)
    peak, week = ((name, draw.choice([*LIVES[life.person][name]])) for name in domains[:2])
    hours = tuple(draw.choice([(6, 7), (9, 10), (12, 13), (17, 18), (21, 22)]))
    weekdays = draw.choice([(0,), (2,), (3,), (5,), (6,), (1, 4), (5, 6)])
    for keeps in life.often(draw.randint(70, 110)):
        day = life.day()
        at = draw.uniform(hours[0], hours[-1] + 1) if keeps else life.hour(day)
        life.say(day, at, life.text(peak), peak[0], "peak" if keeps else "")
    for keeps in life.often(draw.randint(70, 100)):
        day = life.day(draw.choice(weekdays) if keeps else None)
        life.say(day, life.hour(day), life.text(week), week[0], "week" if keeps else "")
    wide = [name for name in LIVES[life.person] if len(LIVES[life.person][name]) >= 3]
    ordered, loose = draw.sample([name for name in wide if name not in domains[:2]] or wide, 2)
    for name in (ordered, loose):
        steps = [(name, kind) for kind in draw.sample([*LIVES[life.person][name]], 3)]
        for keeps in life.often(draw.randint(45, 60)):
            day = life.day()
            at, own = life.hour(day), draw.sample(steps, 3)
            if keeps and name == ordered:
                own = steps
            elif draw.random() < 0.5:
                own = own[:1]
            for kind in own:
                tag = "seq" if keeps and name == ordered else ""
                life.say(day, at, life.text(kind), name, tag)
                at += draw.uniform(2, 20) / 60
    focus = next(name for name in domains[2:] if name != ordered)
    start, length = draw.randrange(30, 250), draw.randint(50, 90)
    for keeps in life.often(draw.randint(100, 130)):
        kind = (focus, draw.choice([*LIVES[life.person][focus]]))
        day = draw.randrange(start, start + length) if keeps else life.day()
        life.say(day, life.hour(day), life.text(kind), focus, "focus" if keeps else "")
    usual = _choose(life)
    for _ in range(draw.randint(500, 900)):
        kind, day = draw.choice([*life.kinds]), life.day()
        life.say(day, life.hour(day), life.text(kind), kind[0])
    for _ in range(3):
        kind, day = draw.choice([*life.kinds]), life.day()
        for _ in range(draw.randint(6, 10)):
            life.say(day, life.hour(day), life.text(kind), kind[0])
    said = sorted(life.said)
    bare = draw.random() < 0.3
    occasions = [
        Occasion(
            each.at, each.text, f"e{number}",
            None if bare and each.domain != focus else each.domain,
        )
        for number, each in enumerate(said)
    ]  # fmt: skip
    outcomes, best = _outcomes(life)
    if noise is None:
        return PlantedYear(occasions, outcomes, [])

    def planted(tag: str, **fields: object) -> Planted:
        keys = frozenset(f"e{number}" for number, each in enumerate(said) if each.tag == tag)
        return Planted(tag, keys, **fields)  # type: ignore[arg-type]

    return PlantedYear(occasions, outcomes, [
        planted("peak", hours=hours), planted("week", weekdays=weekdays), planted("seq"),
        planted("focus", word=focus, days=(life.date(start), life.date(start + length))),
        planted("pref", word=usual), planted("cause", word=best),
    ])  # fmt: skip


def _choose(life: _Life) -> str:
    """Add the choices in three situations, the first with a usual option, and return that."""
    draw = life.draw
    topics = draw.sample([*CHOICES], 3)
    usual = draw.choice(CHOICES[topics[0]][0])
    for topic in topics:
        options, names = CHOICES[topic]
        for keeps in life.often(draw.randint(45, 70)):
            others = [each for each in options if each != usual]
            even = draw.choice(options)
            chosen = (usual if keeps else draw.choice(others)) if topic == topics[0] else even
            if life.noise == 1:
                chosen = even
            other = draw.choice([each for each in options if each != chosen])
            text = draw.choice(PICKS).format(t=draw.choice(names), c=chosen, x=other)
            tag, day = "pref" if keeps and topic == topics[0] else "", life.day()
            life.say(day, life.hour(day), text[:1].upper() + text[1:], "daily", tag)
    return usual


def _outcomes(life: _Life) -> tuple[list[Outcome], str]:
    """Outcomes of some actions, of which one mostly succeeds in one context."""
    outcomes: list[Outcome] = []
    draw = life.draw
    action = draw.choice([*ACTIONS])
    best = draw.choice(ACTIONS[action])
    for name, contexts in ACTIONS.items():
        for _ in range(draw.randint(90, 200)):
            context = draw.choice(contexts)
            apart = (1 - life.noise) * 0.4 if name == action else 0.0
            share = 0.5 + (apart if context == best else -apart / 2)
            result = (
                "success"
                if draw.random() < share
                else draw.choice(("failure", "failure", "partial"))
            )
            at = datetime.combine(life.date(life.day()), datetime.min.time())
            outcomes.append(
                Outcome(name, context, result, f"{at.isoformat()}Z", f"o{len(outcomes)}")
            )
    return sorted(outcomes, key=lambda each: each.date), best


def says(planted: Planted, pattern: LearnedPattern) -> bool:
    """Whether a pattern says what was planted."""
    if planted.id == "cause":
        return pattern.category == "causal" and planted.word in pattern.name
    if planted.id == "pref":
        return pattern.category == "preference" and planted.word in pattern.name.split(" over ")[0]
    if planted.id == "focus":
        low, high = (day.isoformat() for day in planted.days)
        first, last = max(low, pattern.first_seen or ""), min(high, pattern.last_seen or "")
        return (
            pattern.category == "domain"
            and not pattern.hours
            and _days(first, last)
            >= 0.5 * max(_days(low, high), _days(pattern.first_seen, pattern.last_seen))
        )
    if not concerns(planted, pattern):
        return False
    if planted.id == "seq":
        return pattern.after is not None
    names = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    if planted.id == "week":
        return pattern.weekdays == tuple(names[day] for day in planted.weekdays)
    return (
        len(pattern.weekdays) in (0, 7)
        and bool({*pattern.hours} & {*planted.hours})
        and len(pattern.hours) <= 4
    )


def concerns(planted: Planted, pattern: LearnedPattern) -> bool:
    """Whether at least half of a pattern's evidence is of a planted habit, or its action is."""
    if planted.id == "cause":
        return any(
            pattern.action == action and planted.word in contexts
            for action, contexts in ACTIONS.items()
        )
    return bool(pattern.evidence) and 2 * len(planted.support & {*pattern.evidence}) >= len(
        pattern.evidence
    )


def _days(first: str | None, last: str | None) -> float:
    return (
        math.fabs((date.fromisoformat(last or "") - date.fromisoformat(first or "")).days)
        if (first or "") <= (last or "")
        else 0.0
    )


def count(
    year: PlantedYear, patterns: Sequence[LearnedPattern]
) -> tuple[dict[str, bool], list[str]]:
    """Which planted habits are found, and the names of the patterns that are false.

    The rhythm of all activity and the success of an action in general are neither, nor is what
    follows from a planted habit.
    """
    found = {each.id: any(says(each, pattern) for pattern in patterns) for each in year.planted}
    false = [
        pattern.name
        for pattern in patterns
        if pattern.category != "temporal"
        and not (pattern.category == "causal" and " in the context " not in pattern.name)
        and not any(says(each, pattern) or concerns(each, pattern) for each in year.planted)
    ]
    return found, false
