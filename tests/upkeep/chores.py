"""A home in which every job has something to do."""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from tests.memories.patterns.years import BEGIN, noise, weekly

DAY = timedelta(days=1)
LATER = timedelta(days=33)
"""The jobs run this long after the home was made, when its trash is old."""

Content = tuple[dict[str, bytes], list[tuple[object, ...]]]


def chores(home: Home) -> datetime:
    """Fill a home. Returns the time at which every job has something to do."""
    add_agent(home, "ben")
    home = Home(home.root)
    now = datetime.now().astimezone().replace(hour=12) + LATER
    with Djinn(home) as djinn:
        djinn.wake()
        djinn.checkpoint("The mast is rigged.", session="keel")
        djinn.gaps.report("How many watts has the mole lamp?")
        djinn.working.set("plan", "Rig the second mast before the regatta", short=True)
        for _ in range(3):
            djinn.working.get("plan")
        djinn.remember("lesson", "Gone", "It is no longer needed.", force=True)
        djinn.memories.delete("Gone")
    with Djinn(home, clock=lambda: now - 2 * DAY) as djinn:
        djinn.facts.set("boat", "berth", "12", expires="1d")
        djinn.facts.set("boat", "name", "Otter")
        djinn.remember("lesson", "Lamps", "The mole lamp has 40 watts.", force=True)
        _record(djinn, now)
    _note(home, "shared/plans/old.md", "type: plan\ntitle: Old plan", "Paint the hut.", 4000)
    _note(home, "shared/a.md", "type: lesson\ntitle: A", "Backups are kept for 30 days.")
    _note(home, "shared/b.md", "type: lesson\ntitle: B", "Backups are kept for 90 days.")
    for name in ("c", "d"):
        text = "The bilge pump of the old boat needs a new seal before the summer begins."
        _note(home, f"shared/{name}.md", "type: lesson\ntitle: Bilge pump", text)
    _note(home, "ben/knots.md", "type: lesson\ntitle: Knots\nshare: true", "A bowline holds.")
    with Djinn(home) as djinn:
        djinn.index()
    return now


def _record(djinn: Djinn, now: datetime) -> None:
    """Episodes with a habit, a statement, and a turn of a session that is open."""
    monday = now.replace(hour=0, minute=0, tzinfo=None) - timedelta(days=now.weekday())
    passed = monday - timedelta(weeks=42) - BEGIN
    occasions = [*noise(1, a_day=2), *weekly("Plan the week", 0, 9)]
    turns = [
        Turn("interaction", each.text, "", (each.at + passed).astimezone(), "desk", "cli")
        for each in occasions
    ]
    turns.append(Turn("interaction", "My city is Warsaw.", "", now - DAY, "dig", "cli"))
    turns.append(Turn("observation", "The keel is wet.", "", now - 2 * DAY, "keel", "cli"))
    turns.append(Turn("observation", "The old quay sinks.", "", now - 450 * DAY, "fog", "cli"))
    record_turns(djinn.runtime, "me", turns)


def _note(home: Home, path: str, head: str, text: str, days: int = 0) -> None:
    place = home.root / "vaults" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    when = datetime.now().astimezone() - timedelta(days=days)
    place.write_text(f"---\n{head}\ncreated: {when:%Y-%m-%d}\n---\n{text}\n")
    os.utime(place, (when.timestamp(), when.timestamp()))


def content(djinn: Djinn) -> Content:
    """The files of all vaults, and the events of the ledger without those of the runs."""
    root = djinn.home.root / "vaults"
    files = {
        str(file.relative_to(root)): file.read_bytes()
        for file in root.rglob("*")
        # A killed process leaves those; `djinn doctor --fix` removes them.
        if file.is_file() and not file.name.startswith(".djinn-")
    }
    sql = "select kind, subject, data from event where kind != 'job.ended' order by id"
    return files, djinn.runtime.state.ledger.rows(sql)
