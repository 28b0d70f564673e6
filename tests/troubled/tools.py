"""Every tool and each of its actions, as a client calls it on the troubled home, and what it says.

The calls are made in this order. `{gap}` and the like stand for the ids in the home.
"""

from __future__ import annotations

from typing import Any

UNCHANGED = "vault archive is read-only"
CANNOT_BE_SUPERSEDED = "in a read-only vault and cannot be superseded"

Call = tuple[str, dict[str, Any], str]

READING: tuple[Call, ...] = (
    ("wake", {}, r"`djinn review list --kind contradiction` \(ask a person\)"),
    ("wake", {"task": "the mole lamp"}, "Session s20.* was not ended"),
    ("context", {}, r"`djinn review list --kind contradiction` \(ask a person\)"),
    (
        "context",
        {"task": "mole lamp"},
        "close it: `(djinn gap close|gap` with `action: close` and `gap:) gap_",
    ),
    ("recall", {"query": "bilge pump seal"}, "needs a new seal"),
    ("search", {"mode": "meaning", "query": "The lamp is dark again."}, "The lamp is dark"),
    ("gap", {"action": "list"}, "How many watts"),
    ("gap", {"action": "suggest"}, "."),
    ("search", {"query": "lamp"}, "Old lamp"),
    ("search", {"query": "lamp", "vaults": ["archive"]}, "burned oil"),
    ("read", {"name": "damaged.md"}, "is dark"),
    ("read", {"name": "binary.md"}, "binary, not text"),
    ("read", {"name": "latin.md"}, "Café au lait"),
    ("read", {"name": "Old lamp"}, "burned oil"),
    ("read", {"name": "shared:projects/harbour-log (conflict laptop 07070707).md"}, "the laptop"),
    ("read", {"name": "boat/berth"}, "12"),
    ("read", {"action": "score"}, "Latin|Nothing was used"),
    ("read", {"action": "score", "name": "Bilge pump"}, "used 0 times"),
    ("neighbours", {"action": "links", "name": "Anna Kowalska"}, "."),
    ("neighbours", {"action": "related", "name": "Bilge pump"}, "."),
    ("neighbours", {"action": "mentions", "name": "Bilge pump"}, "."),
    ("neighbours", {"action": "neighbours", "name": "Anna Kowalska", "hops": 2}, "."),
    ("neighbours", {"action": "path", "name": "Anna Kowalska", "to": "Bilge pump"}, "."),
    ("neighbours", {"action": "communities"}, "."),
    ("neighbours", {"action": "stats"}, "orphan"),
    ("read", {"action": "list"}, "damaged"),
    ("memory", {"action": "changes"}, "."),
    ("episode", {"action": "list_outcomes"}, "."),
    ("entity", {"action": "list"}, "Anna Kowalska"),
    ("entity", {"action": "show", "name": "Anna Kowalska"}, "Anna Kowalska"),
    ("fact", {"action": "get", "category": "anna", "key": "city"}, "Warsaw"),
    ("fact", {"action": "list"}, "Rome"),
    ("fact", {"action": "list", "expired": True}, "expired 2024-03-01"),
    ("fact", {"action": "search", "query": "where does anna live"}, "Warsaw"),
    ("working", {"action": "get", "key": "wind"}, "north"),
    ("working", {"action": "list"}, "north"),
    ("working", {"action": "tasks"}, "regatta"),
    ("working", {"action": "resume", "task": "regatta"}, "rig the mast"),
)
"""Calls that a server answers that only reads, too."""

REFUSED: tuple[Call, ...] = (
    ("read", {"name": "nothing"}, "no note 'nothing'"),
    ("read", {"action": "score", "name": "nothing"}, "no note 'nothing'"),
    ("neighbours", {"action": "links", "name": "nothing"}, "no note 'nothing'"),
    ("context", {"action": "summary"}, "no summary yet"),
    ("fact", {"action": "get", "category": "boat", "key": "berth"}, "no fact 'boat/berth'"),
    ("working", {"action": "get", "key": "nothing"}, "nothing"),
    ("search", {"query": "lamp", "vaults": ["ben"]}, "ben"),
    ("read", {"name": "Ben's knots"}, "no note"),
)
"""Calls for what is not there."""

WRITING: tuple[Call, ...] = (
    ("checkpoint", {"text": "All tables are read."}, "all-tables-are-read"),
    ("rate", {"target": "{recall}", "useful": [1], "gap": "Which seal?"}, "Bilge pump"),
    ("gap", {"action": "report", "description": "Which oil?"}, "Reported as gap_"),
    ("gap", {"action": "close", "gap": "{gap}", "by": "Bilge pump"}, "Closed: How many watts"),
    ("remember", {"type": "lesson", "title": "Kettle", "text": "It is descaled in May."}, "Kettle"),
    ("memory", {"action": "delete", "name": "damaged.md"}, "Moved to the trash"),
    ("memory", {"action": "restore"}, "In the trash: .*damaged"),
    ("memory", {"action": "restore", "name": "damaged.md"}, "Restored"),
    ("memory", {"action": "edit", "name": "Kettle", "tags": ["tea"]}, "Edited"),
    (
        "episode",
        {"action": "record_outcome", "what": "restart the lamp", "result": "success"},
        "Recorded",
    ),
    ("entity", {"action": "add", "name": "Tide hut", "kind": "place"}, "Tide hut"),
    ("entity", {"action": "set", "name": "Tide hut", "key": "colour", "value": "red"}, "red"),
    ("entity", {"action": "edit", "name": "Tide hut", "text": "By the mole."}, "By the mole"),
    (
        "entity",
        {"action": "alias", "name": "Tide hut", "change": "add", "aliases": ["Hut"]},
        "Hut",
    ),
    ("memory", {"action": "undo"}, "Taken back"),
    ("entity", {"action": "add", "name": "The tide hut", "kind": "place"}, "The tide hut"),
    ("entity", {"action": "merge", "name": "The tide hut", "into": "Tide hut"}, "merged"),
    ("ingest", {"paths": ["{folder}/tables.txt"]}, "ingested as me:documents/tables.md"),
    ("episode", {"action": "record_interaction", "message": "The lamp burns again."}, "Recorded"),
    ("episode", {"action": "record_observation", "text": "The build turned red."}, "Recorded"),
    ("fact", {"action": "set", "category": "a", "key": "b", "value": "c"}, "a/b = c"),
    ("fact", {"action": "verify", "category": "boat", "key": "berth"}, "confirmed"),
    ("fact", {"action": "forget", "category": "a", "key": "b"}, "moved to the trash"),
    ("context", {"action": "build_summary"}, "."),
    ("context", {"action": "summary"}, "."),
    ("context", {"action": "set_summary", "text": "Anna keeps the lamp."}, "."),
    ("working", {"action": "set", "key": "wind", "value": "south"}, "wind"),
    ("working", {"action": "step", "task": "regatta", "key": "sail", "status": "completed"}, "."),
    ("working", {"action": "share", "key": "wind", "to": "ben"}, "ben"),
    ("working", {"action": "clear", "key": "wind"}, "."),
    ("neighbours", {"action": "link", "name": "Bilge pump", "to": "Old lamp"}, "1 link to Old"),
    ("neighbours", {"action": "link_mentions", "name": "Old lamp", "mentions": ["all"]}, "."),
    ("memory", {"action": "rename", "name": "Bilge pump", "title": "Pump"}, "Moved "),
    ("memory", {"action": "move", "name": "Pump", "to": "pumps"}, "Moved "),
    ("memory", {"action": "rename", "name": "Pump", "title": "Bilge pump"}, "Moved "),
    ("sleep", {"summary": "Done."}, "handoff"),
)
"""Calls that write."""

WRITES_REFUSED: tuple[Call, ...] = (
    ("memory", {"action": "delete", "name": "Old lamp"}, UNCHANGED),
    ("ingest", {"paths": ["{folder}/tables.txt"], "vault": "archive"}, UNCHANGED),
    ("remember", {"type": "lesson", "title": "Bilge pump", "text": "Another."}, "existing: append"),
    ("remember", {"type": "lesson", "title": "Oil", "text": "Less.", "supersedes": "Old lamp"},
     CANNOT_BE_SUPERSEDED),
    ("gap", {"action": "close", "gap": "gap_nothing"}, "`gap` with `action: list`"),
    ("rate", {"target": "nothing", "useful": [1]}, "`recall`"),
)  # fmt: skip
"""Calls that would write what must stay as it is."""
