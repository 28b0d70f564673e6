"""The keys of a profile: what they mean, how their values are read, and how an agent reads them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from djinn_memory.memories.catalog.requests import MIN_BUDGET, MOST_BUDGET
from djinn_memory.memories.profiles.hours import EXAMPLE, read_hours
from djinn_memory.memories.profiles.requests import AgentProfile
from djinn_memory.notes.slugs import fold


def profile_lines(profile: AgentProfile) -> Iterator[str]:
    """The values of the keys of a profile, as lines of Markdown for the agent."""
    if profile.identity:
        yield profile.identity
    if profile.instruction:
        yield f"Voice: {profile.instruction}"
    if profile.working_now:
        zone = f" ({profile.time_zone})" if profile.time_zone else ""
        hours = "; ".join(profile.working_hours)
        yield f"Working hours: {hours}{zone}. Now: {profile.working_now}."
    if profile.projects:
        yield f"Active projects: {', '.join(profile.projects)}"
    if profile.rules:
        yield "Rules:"
    yield from (f"- {rule}" for rule in profile.rules)


LONGEST = 500
"""Maximum characters of a value."""

MOST = 50
"""Maximum number of values of a key."""

VOICES = {
    "brief": "Answer briefly: the result first, in a few sentences.",
    "detailed": "Answer in detail, with reasons and sources.",
    "spoken": "Answer for speech: short sentences, without Markdown, tables or code.",
}
"""The known voices, with the instruction that each stands for."""

_NEAR = 0.8
"""By `difflib`, `voise` is 0.8 similar to `voice`, `rule` 0.89 to `rules`, and `role` 0.67."""

_LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")


class ProfileSettings(Struct, frozen=True):
    """The settings in the front matter of a profile."""

    identity: str | None = None
    """Who the agent is, in a sentence."""
    voice: str | None = None
    """How the agent answers: `brief`, `detailed`, `spoken`, or an instruction."""
    rules: tuple[str, ...] = ()
    """The rules that the agent follows."""
    projects: tuple[str, ...] = ()
    """The active projects, as links."""
    working_hours: tuple[str, ...] = ()
    """The working hours, such as `mon-fri 09:00-17:00`."""
    time_zone: str | None = None
    """The time zone of the working hours and of the day, such as `Europe/Oslo`. Null means that of
    this machine."""
    default_domain: str | None = None
    """The domain of what the agent writes, if none is given."""
    default_budget: int | None = None
    """The token budget of `wake` and `context`, if none is given."""
    default_recall_profile: str | None = None
    """The profile of a recall, if none is given."""


class _ProfileKey(Struct, frozen=True):
    """A key of a profile."""

    read: Callable[[str], object]
    """Reads one value. Raises `ValueError` with the expected form."""
    help: str
    many: bool = False
    """Whether it takes several values."""


def read_settings(fields: Mapping[str, Any]) -> tuple[ProfileSettings, dict[str, str]]:
    """The settings in the front matter of a profile, and the errors in it by key.

    Wrong values are left out. Nothing is raised.
    """
    values: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for name, value in fields.items():
        key = key_name(name)
        if key not in KEYS:
            if near := difflib.get_close_matches(key, KEYS, 1, _NEAR):
                wrong[" ".join(name.split())[:40]] = f"unknown key; did you mean {near[0]}?"
            continue
        entries: list[object] = []
        for text in _texts(key, value):
            try:
                entries.append(read_value(key, text))
            except ValueError as error:
                wrong.setdefault(key, str(error))
        if entries:
            values[key] = tuple(entries[:MOST]) if KEYS[key].many else entries[0]
        if len(entries) > (MOST if KEYS[key].many else 1):
            most = f"at most {MOST} values" if KEYS[key].many else "one value"
            wrong.setdefault(key, f"it takes {most}; the others are ignored")
    return ProfileSettings(**values), wrong


def key_name(name: str) -> str:
    """A key in the form in which it is compared: `Working-Hours` is `working_hours`."""
    return re.sub(r"[\s-]+", "_", fold(name.strip()))


def read_value(key: str, text: object) -> object:
    """One value of a key. Raises `ValueError` with the value and the expected form."""
    if not isinstance(text, str):
        raise ValueError("it is nested; write text" + (" or a list of text" * KEYS[key].many))
    value = " ".join(text.split())
    if len(value) > LONGEST:
        raise ValueError(f"{value[:20]!r}... has {len(value):,} characters; {LONGEST} are allowed")
    return KEYS[key].read(value)


def _texts(key: str, value: object) -> Iterator[object]:
    """The values that a field holds. Empty values say nothing."""
    if isinstance(value, dict) and key == "working_hours":
        value = [f"{days} {times}" if isinstance(times, str) else times
                 for days, times in value.items()]  # fmt: skip
    for entry in value if isinstance(value, list) else [value]:
        text = _unquoted_link(entry) if key == "projects" else entry
        if text not in ("", "~", "null", None):
            yield text


def _unquoted_link(value: object) -> object:
    """A link without quotation marks, which YAML reads as a list in a list."""
    if isinstance(value, list) and len(value) == 1:
        inner = value[0]
        if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], str):
            inner = inner[0]
        return f"[[{inner}]]" if isinstance(inner, str) else value
    return value


def _link(text: str) -> str:
    match = _LINK.fullmatch(text)
    target = match[1] if match else text
    if not target.strip() or re.search(r"[\[\]]", target):
        raise ValueError(f"{text[:40]!r} is no link; write [[Name of the note]]")
    return f"[[{target.strip()}]]"


def _hours(text: str) -> str:
    try:
        read_hours(text)
    except ValueError as error:
        raise ValueError(f"{text[:40]!r}: {error}") from None
    return text


def _zone(text: str) -> str:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{text[:40]!r} is no time zone; write Europe/Oslo or UTC") from None
    return text


def _budget(text: str) -> int:
    number = int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0
    if not MIN_BUDGET <= number <= MOST_BUDGET:
        expected = f"a number of tokens from {MIN_BUDGET} to {MOST_BUDGET:,}"
        raise ValueError(f"{text[:40]!r}: write {expected}")
    return number


KEYS = {
    "identity": _ProfileKey(str, "Who the agent is, in a sentence."),
    "voice": _ProfileKey(
        str, f"How the agent answers: {', '.join(VOICES)}, or an instruction in your words."
    ),
    "rules": _ProfileKey(str, "Rules that the agent follows.", many=True),
    "projects": _ProfileKey(_link, "Links to the notes of active projects.", many=True),
    "working_hours": _ProfileKey(_hours, f"Working hours, such as `{EXAMPLE}`.", many=True),
    "time_zone": _ProfileKey(_zone, "The time zone of the agent, such as Europe/Oslo."),
    "default_domain": _ProfileKey(str, "The domain of what the agent writes."),
    "default_budget": _ProfileKey(_budget, "The token budget of wake and context."),
    "default_recall_profile": _ProfileKey(str, "The profile of recalls, such as planning."),
}
"""The keys by name. Each is a field of `ProfileSettings`."""
