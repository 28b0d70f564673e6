"""Finds and reads the profile of an agent, and the defaults in it.

The profile is the note `profile.md` in the vault of the agent. Without that note it is the newest
note of type `profile` there, or a note about a person with the agent's name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from itertools import chain
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import asdict

from djinn_memory.errors import Busy, DjinnError, Refused
from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.memories.catalog.catalog import hides_note, notes_on_disk
from djinn_memory.memories.profiles.hours import read_hours, working_time
from djinn_memory.memories.profiles.requests import AgentProfile
from djinn_memory.memories.profiles.settings import VOICES, ProfileSettings, read_settings
from djinn_memory.models import Filters, Problem, Vault, plane_of
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dates import moment
from djinn_memory.notes.dialects.rules import RULES
from djinn_memory.notes.note import Note, parse
from djinn_memory.notes.slugs import fold, name_key
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import Selection

TYPE = "profile"
"""The type of the note."""

FILE = "profile.md"
"""The usual name of the note, in the vault of the agent."""

_Place = tuple[Vault, str]
_MAYBE = re.compile(rb"profile|person", re.IGNORECASE)
"""A pattern that matches every note with a profile."""


class ProfileNote(Struct, frozen=True):
    """The note with a profile."""

    vault: Vault
    path: str
    note: Note
    settings: ProfileSettings
    wrong: Mapping[str, str]
    """The keys with values that cannot be used, each with the reason."""

    @property
    def name(self) -> str:
        """The vault and the path, for messages."""
        return f"{self.vault.name}/{self.path}"


def profile_of(runtime: Runtime, agent: str) -> AgentProfile | None:
    """The profile of an agent as it is on the disk; None if there is none that can be read.

    Wrong values are in `wrong`. Nothing is raised for them.
    """
    profile = find_profile(runtime, agent)
    if profile is None:
        return None
    note, settings, voice = profile.note, profile.settings, profile.settings.voice
    working, working_now = _working(settings, runtime.now().astimezone(zone_of(settings)))
    return AgentProfile(
        **asdict(settings),
        id=note.id,
        vault=profile.vault.name,
        path=profile.path,
        file=str(profile.vault.root.resolve() / profile.path),
        type=note.type,
        plane=plane_of(note.type),
        title=note.title,
        written=note.created or note.date or "",
        text=note.text[note.body :].strip(),
        instruction=voice and VOICES.get(fold(voice), voice),
        working=working,
        working_now=working_now,
        wrong=dict(profile.wrong),
    )


def find_profile(runtime: Runtime, agent: str) -> ProfileNote | None:
    """The note with the profile of an agent, from a vault that is reserved for it."""
    vaults = runtime.home.personal_vaults(agent)
    return _first(runtime.home, agent, chain(_files(vaults), _others(runtime, vaults, agent)))


def _default_domain(runtime: Runtime, agent: str) -> str | None:
    """The domain of an agent's memories, if it gives none.

    Raises `Refused` for a default that cannot be used: without it, more agents could read what
    is written.
    """
    profile = find_profile(runtime, agent)
    if profile is None:
        return None
    if why := profile.wrong.get("default_domain"):
        # Not `UsageError`: the entry itself is right, so hooks keep it until then.
        raise Refused(f"{profile.name}: default_domain: {why}; correct it there")
    return profile.settings.default_domain


def domain_to_write(
    runtime: Runtime, vault: Vault, agent: str, given: str | None, channel: str | None = None
) -> str | None:
    """The domain of memories that an agent writes into a vault; see `Home.domain_to_write`."""
    own = _default_domain(runtime, agent) if given is None else None
    return runtime.home.domain_to_write(vault, agent, given, channel=channel, own=own)


def wrong_values(home: Home, agent: str) -> Iterator[Problem]:
    """The values in the file `profile.md` of an agent that cannot be used, and why."""
    if profile := _first(home, agent, _files(home.personal_vaults(agent))):
        yield from (Problem(profile.name, f"{key}: {why}") for key, why in profile.wrong.items())


def zone_of(settings: ProfileSettings | AgentProfile | None) -> tzinfo | None:
    """The time zone of an agent; None for that of this machine."""
    if settings is None or settings.time_zone is None:
        return None
    from zoneinfo import ZoneInfo

    return ZoneInfo(settings.time_zone)


def _files(vaults: Sequence[Vault]) -> Iterator[_Place]:
    yield from ((vault, FILE) for vault in vaults if os.path.lexists(vault.root / FILE))


def _others(runtime: Runtime, vaults: Sequence[Vault], agent: str) -> Iterator[_Place]:
    """The places of notes with other names that may be the profile, the best first."""
    try:
        listed = [*_indexed(runtime, vaults, agent)]
    except Busy:
        # A recording does not wait for another process, and still needs its default domain.
        listed = [*_on_disk(runtime, vaults, agent)]
    tomorrow = moment(runtime.now() + timedelta(days=1))

    def rank(place: tuple[bool, str, Vault, str]) -> tuple[bool, bool, bool]:
        is_person, written, vault, _ = place
        # A time in the future would make it the newest until then.
        return is_person, not access.is_own(vault), written > tomorrow

    listed.sort(key=lambda place: place[1], reverse=True)
    yield from ((vault, path) for _, _, vault, path in sorted(listed, key=rank))


def _indexed(
    runtime: Runtime, vaults: Sequence[Vault], agent: str
) -> Iterator[tuple[bool, str, Vault, str]]:
    """Notes that may be the profile: whether it is about a person, when it was written, where."""
    by_name = {vault.name: vault for vault in vaults}
    profiles = Selection(Filters(types=(TYPE,)), whole_files=True)
    people = Selection(Filters(types=("person",)), name=agent)
    with runtime.index(vaults) as index:
        for selection in (profiles, people):
            for memory in index.memories(selection, order="written", fields=("status",)):
                if fold(memory.field("status") or "") != "superseded":
                    written = memory.created or memory.date
                    yield selection == people, written, by_name[memory.vault], memory.path


def _on_disk(
    runtime: Runtime, vaults: Sequence[Vault], agent: str
) -> Iterator[tuple[bool, str, Vault, str]]:
    """As `_indexed`, from the files."""
    for vault in vaults:
        with suppress(OSError, DjinnError):
            for path, note in notes_on_disk(runtime.home, vault, _MAYBE):
                names = (note.title, *note.aliases, PurePosixPath(path).name)
                is_person = note.type == "person" and name_key(agent) in map(name_key, names)
                status = fold(dict(note.fields).get("status", ""))
                if (note.type == TYPE or is_person) and status != "superseded":
                    yield is_person, note.created or note.date or "", vault, path


def _first(home: Home, agent: str, places: Iterable[_Place]) -> ProfileNote | None:
    """The profile in the first of these notes that has one and can be read."""
    for vault, path in places:
        with suppress(OSError, DjinnError):
            if profile := _read(home, vault, path, agent):
                return profile
    return None


def _read(home: Home, vault: Vault, path: str, agent: str) -> ProfileNote | None:
    """The profile in a note; None if the reader of the vault may not see its domain."""
    note = parse(path, disk.read(vault, path), vault.dialect)
    if hides_note(home, vault, note):
        return None
    front = RULES[vault.dialect].front(note.text, frontmatter.read(note.text))
    settings, wrong = read_settings(front.fields)
    wrong |= unusable_defaults(home, agent, settings)
    return ProfileNote(vault, path, note, settings, wrong)


def unusable_defaults(home: Home, agent: str, settings: ProfileSettings) -> dict[str, str]:
    """The defaults that cannot be used in a home, and why."""
    wrong: dict[str, str] = {}
    if domain := settings.default_domain:
        try:
            home.check_domains([domain], agent)
        except DjinnError as error:
            wrong["default_domain"] = error.message
    name, profiles = settings.default_recall_profile, home.config.recall.profiles
    if name and name != "auto" and name not in profiles:
        known = ", ".join(["auto", *profiles])
        wrong["default_recall_profile"] = f"no profile {name!r}; known: {known}"
    return wrong


def _working(settings: ProfileSettings, local: datetime) -> tuple[bool | None, str | None]:
    """Whether a local time is a working hour, and the same in words."""
    windows = [window for text in settings.working_hours for window in read_hours(text)]
    if not windows:
        return None, None
    time = working_time(windows, local)
    return time.working, time.spoken(local.weekday())
