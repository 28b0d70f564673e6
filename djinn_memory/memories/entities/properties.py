"""Properties of an entity, each with its values and their periods.

The front matter has the value of each property that began last. The lines below `## History` have
all values as those of facts, with the key before the value:

    - now (user_explicit, 0.9; from 2026-05-01): led-by: [[Maren Holt]]
    - 2026-05-01 (user_explicit, 0.9; from 2026-01-01): led-by: [[Bob Alder]]

A value that a person wrote into the front matter alone is a property too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from djinn_memory.errors import UsageError
from djinn_memory.memories.facts.statements import Action, Statement, stated
from djinn_memory.models import Vault
from djinn_memory.notes.fact_note import (
    HISTORY,
    PastValue,
    Timeline,
    history_lines,
    line_of_value,
    ordered,
    value_of_line,
)
from djinn_memory.notes.frontmatter import block_end, edit_fields, opened, read
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.periods import first_end
from djinn_memory.notes.slugs import fold
from djinn_memory.system.yaml_edit import line_end

RESERVED = frozenset(
    """
    alias aliases author client confidence created cssclass cssclasses date domain due evidence
    expires id importance last_verified merged modified permalink plane publish rule session source
    source_context status superseded_by supersedes tag tags title type uid updated valid_from
    valid_to
    """.split()  # noqa: SIM905
)
"""Fields of a note that are no properties of its entity."""

_OTHER_NAMES = {
    "author": "written-by",
    "client": "customer",
    "created": "founded",
    "date": "day",
    "due": "deadline",
    "rule": "policy",
    "session": "meeting",
    "source": "origin",
    "status": "state",
    "title": "role",
}
"""Names for properties that an entity may well have, but that are fields of its note."""

_KEY = re.compile(r"[^\W_](?:[\w .-]*[^\W_])?")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_HEADING = re.compile(rf"{HISTORY}[ \t]*")
_ANY_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_KEYED = re.compile(r"([^:\n]+): (.*)", re.DOTALL)


def checked_key(key: str, argument: str = "key") -> str:
    """A key of a property. Raises `UsageError` for other text and for fields with a meaning.

    `argument` is the field of the request that has the key.
    """
    key = " ".join(key.split())
    if not _KEY.fullmatch(key):
        raise UsageError(
            f"{key!r}: a property has a name of letters, digits, spaces, `-`, `_` or `.`, such as "
            "city or led-by",
            argument=argument,
        )
    if fold(key) in RESERVED:
        other = _OTHER_NAMES.get(fold(key))
        such = f", such as {other}" if other else ", or edit the field in the note"
        raise UsageError(
            f"{key!r}: djinn uses this field of the note itself; give the property another name"
            f"{such}",
            argument=argument,
        )
    return key


def timelines(note: Note) -> dict[str, Timeline]:
    """The values of all properties in a note, sorted by key."""
    lined = _lined(note.text[note.body :])
    fields = {fold(key): (key, text_of(value)) for key, value in read(note.text).fields.items()}
    names = {fold(key): key for key in lined} | {
        folded: key for folded, (key, value) in fields.items() if value
    }
    result: dict[str, Timeline] = {}
    for folded in sorted(names):
        if folded not in RESERVED:
            values = [value for key in lined if fold(key) == folded for value in lined[key]]
            written = fields.get(folded, ("", ""))[1]
            if known := _values(values, written, note):
                result[names[folded]] = known
    return result


def merged_timelines(into: Note, gone: Note) -> dict[str, Timeline]:
    """The values of the properties of `gone`, joined with those that `into` has by the same key.

    Where both have a current value, the one that began last is current. Of two values whose
    beginnings are unknown, it is the one of `into`.
    """
    own = {fold(key): (key, values) for key, values in timelines(into).items()}
    result: dict[str, Timeline] = {}
    for key, theirs in timelines(gone).items():
        key, mine = own.get(fold(key), (key, theirs))
        each = (mine.current, *mine.history, theirs.current, *theirs.history)
        current, *history = ordered(dict.fromkeys(each))
        result[key] = Timeline(current, tuple(history))
    return result


def with_property(
    data: bytes, path: str, vault: Vault, key: str, statement: Statement, now: datetime
) -> tuple[Action, bytes]:
    """The bytes of an entity's note after a statement about a property, and its effect.

    The rules are those of facts: the value before is closed where the new one begins.
    """
    note = parse(path, data, vault.dialect)
    before = next((each for each in timelines(note).items() if fold(each[0]) == fold(key)), None)
    action: Action = "created"
    if before is None:
        values = Timeline(statement.first(now), ())
    else:
        key, known = before[0], before[1].begun(note.created)
        done = stated(known, statement, now)
        if done.values is known:
            return done.action, data
        action, values = done.action, done.values
    return action, with_values(data, key, values)


def with_values(data: bytes, key: str, values: Timeline) -> bytes:
    """The bytes of a note with these values of a property, the current one in its front matter."""
    bom, encoding, text = opened(edit_fields(data, {key: values.current.value}))
    newline, end = line_end(text), block_end(text)
    lines = _LINE.findall(text[end:])
    bare = [line.rstrip("\r\n") for line in lines]
    new = [
        line_of_value(replace(value, value=f"{key}: {value.value}"))
        for value in (values.current, *values.history)
    ]
    heading = next((at for at, line in enumerate(bare) if _HEADING.fullmatch(line)), None)
    if heading is None:
        above = [newline] if bare and bare[-1] else []
        if lines and not lines[-1].endswith(("\n", "\r")):
            above = [newline, *above]
        new = [*above, HISTORY + newline, newline, *(line + newline for line in new)]
        return bom + (text + "".join(new)).encode(encoding)
    stop = next(
        (at for at in range(heading + 1, len(bare)) if _ANY_HEADING.match(bare[at])), len(bare)
    )
    own = [at for at in range(heading + 1, stop) if _is_of(bare[at], key)]
    # New properties come first; a blank line below the heading stays above them.
    top = next((at for at in range(heading + 1, stop) if bare[at].strip()), stop)
    at = own[0] if own else top
    if at and not lines[at - 1].endswith(("\n", "\r")):
        lines[at - 1] += newline
    rest = [("" if number in own else line) for number, line in enumerate(lines)]
    changed = [*rest[:at], *(line + newline for line in new), *rest[at:]]
    return bom + (text[:end] + "".join(changed)).encode(encoding)


def _is_of(line: str, key: str) -> bool:
    value = value_of_line(line)
    keyed = _KEYED.fullmatch(value.value) if value else None
    return keyed is not None and fold(keyed[1]) == fold(key)


def _lined(body: str) -> dict[str, list[PastValue]]:
    """The values in the history of a note, by the key of their property."""
    values: dict[str, list[PastValue]] = {}
    for _, value in history_lines(body):
        if keyed := _KEYED.fullmatch(value.value):
            values.setdefault(keyed[1].strip(), []).append(replace(value, value=keyed[2]))
    return values


def _values(values: Iterable[PastValue], written: str, note: Note) -> Timeline | None:
    """The values of a property in order, with the value in the front matter as the last."""
    listed = [*ordered(values)]
    if not listed:
        return Timeline(PastValue(None, None, None, written), ()) if written else None
    first, history = listed[0], listed[1:]
    changed = max(note.updated or "", first.valid_from or "") or None
    if written and written != first.value:
        # A person replaced the value in the front matter.
        history.insert(0, replace(first, until=first_end(first.until, changed)))
        first = PastValue(None, None, None, written, changed)
    elif not written and first.until is None:
        # A person removed the value from the front matter.
        first = replace(first, until=changed)
    return Timeline(first, tuple(history))


def with_description(data: bytes, text: str) -> bytes:
    """The bytes of an entity's note with another text above its history."""
    bom, encoding, whole = opened(data)
    newline, end = line_end(whole), block_end(whole)
    lines = _LINE.findall(whole[end:])
    history = (at for at, line in enumerate(lines) if _HEADING.fullmatch(line.rstrip("\r\n")))
    below = "".join(lines[next(history, len(lines)) :])
    new = text.strip().replace("\r\n", "\n").replace("\n", newline)
    new += newline * (2 if below else 1) if new else ""
    return bom + (whole[:end] + new + below).encode(encoding)


def with_structure(data: bytes, key: str, value: object) -> bytes:
    """The bytes of a note in which a property is a list or an object, if it is current."""
    for name, written in read(opened(data)[2].replace("\r\n", "\n")).fields.items():
        if fold(name) == fold(key) and written == text_of(value):
            return edit_fields(data, {name: value})
    return data


def text_of(value: Any) -> str:
    """A value of the front matter as text. A link without quotes is a list in a list."""
    if isinstance(value, str):
        text = value.strip()
        return "" if text in ("~", "null") else text
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], list) and len(value[0]) == 1:
            return f"[[{text_of(value[0][0])}]]"
        return ", ".join(filter(None, map(text_of, value)))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text_of(part)}" for key, part in value.items())
    return "" if value is None else json.dumps(value)
