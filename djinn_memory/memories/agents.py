"""Agents: their profiles."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from djinn_memory.errors import Refused, UsageError
from djinn_memory.home import access
from djinn_memory.memories.profiles import reading, requests
from djinn_memory.memories.profiles.agenda import events_of_day
from djinn_memory.memories.profiles.settings import KEYS, key_name, read_settings, read_value
from djinn_memory.memories.writing.change_set import VaultWriter, writing
from djinn_memory.memories.writing.existing import dated
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import decode, writable
from djinn_memory.notes.ids import new_id
from djinn_memory.notes.slugs import fold
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.runtime import Runtime
from djinn_memory.secrets import guard
from djinn_memory.store.busy import WRITE_SECONDS, within

SET, UNSET = "agent set", "agent unset"
"""The commands that change a profile."""


def _is_one_of(text: object, values: set[str]) -> bool:
    """Whether a value is one of these. A link may be given without its brackets."""
    return isinstance(text, str) and bool({fold(text), fold(text.strip("[]"))} & values)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [] if value in (None, "") else [value]


def _values(runtime: Runtime, agent: str, request: requests.SetProfile) -> list[object]:
    """The values of a request. Raises `UsageError` for values that cannot be used."""
    key, home = request.key, runtime.home
    texts = [writable(value) for value in request.values if value.strip()]
    if not texts:
        raise UsageError("the value is empty", argument="values")
    if not KEYS[key].many:
        texts = [" ".join(texts)]
    guard(
        f"{key}: {' '.join(texts)}",
        what="the profile",
        settings=home.config.secrets,
        allow=request.allow_secret,
    )
    try:
        values = [read_value(key, text) for text in texts]
    except ValueError as error:
        raise UsageError(f"{key}: {error}") from None
    settings, _ = read_settings({key: texts})
    if why := reading.unusable_defaults(home, agent, settings).get(key):
        raise UsageError(f"{key}: {why}")
    return values


def _edit(
    runtime: Runtime, agent: str, key: str, change: Callable[[Any], object], command: str
) -> requests.ProfileChange:
    """Replace the value of a key, or None for a missing key, by `change(value)`."""
    runtime.fresh_scope(agent)
    place = reading.find_profile(runtime, agent)
    if place is None and command == UNSET:
        return requests.ProfileChange(agent, "unchanged", None)
    vault = place.vault if place else runtime.home.personal(agent)
    if not access.is_own(vault):
        why = f"vault {vault.name} is not written to unless it is named; edit {vault.root}/"
        raise Refused(f"{why}{place.path if place else reading.FILE} yourself")
    action: Literal["created", "changed", "unchanged"] = "unchanged"
    with writing(runtime, vault, command, agent) as writer:
        # Another process may have created it meanwhile.
        place = place or reading.find_profile(runtime, agent)
        if place is None:
            action = "created"
            if os.path.lexists(vault.root / reading.FILE):
                # A note that cannot be read must not get a second one beside it.
                disk.read(vault, reading.FILE)
            _create(writer, agent, key, change(None))
        else:

            def edit(data: bytes) -> bytes:
                nonlocal action
                written, current = _field(data, key)
                fields = {written: change(current)}
                same = frontmatter.edit_fields(data, fields) == data
                action = "unchanged" if same else "changed"
                return data if same else dated(data, fields, writer.now)

            writer.rewrite(place.path, edit)
    profile, done = reading.profile_of(runtime, agent), writer.changes.result.id
    return requests.ProfileChange(agent, action, profile, tuple(writer.problems), done)


def _field(data: bytes, key: str) -> tuple[str, Any]:
    """A key as a note writes it, and its value."""
    fields = frontmatter.read(decode(data)[0]).fields
    for name, value in fields.items():
        if key_name(name) == key:
            return name, value
    return key, None


def _create(writer: VaultWriter, agent: str, key: str, value: object) -> None:
    now = moment(writer.now)
    fields = {"id": new_id(), "title": agent, "type": reading.TYPE, "created": now, "updated": now}
    text = frontmatter.compose({**fields, key: value}, "")
    writer.put("", reading.FILE.removesuffix(".md"), text.encode("utf-8", "replace"))


class Agents(Namespace, name="agents"):
    """The agents of a home."""

    @operation(requests.ListAgents, recover=False)
    def list(self, request: requests.ListAgents) -> requests.AgentEntries:
        """List the agents. The first one is the default."""
        home = self.runtime.home
        if request.agent:
            return requests.AgentEntries([requests.AgentEntry(home.agent(request.agent), None)])
        folders = {name: vault.path for name, vault in home.config.vaults.items()}
        return requests.AgentEntries(
            [requests.AgentEntry(name, folders.get(name)) for name in home.agents]
        )

    @operation(requests.ShowProfile, positional=("agent",))
    def profile(self, request: requests.ShowProfile) -> requests.ProfileView:
        """Show the profile of an agent, with the values that hold now."""
        agent = self.runtime.home.agent(request.agent)
        self._scope(agent)
        profile = reading.profile_of(self.runtime, agent)
        calendar = events_of_day(self.runtime, agent, reading.zone_of(profile))
        return requests.ProfileView(agent, profile, calendar, profile.problems if profile else ())

    @operation(requests.SetProfile, writes=True, positional=("key", "values"))
    @within(WRITE_SECONDS)
    def set(self, request: requests.SetProfile) -> requests.ProfileChange:
        """Set a key in the profile of an agent.

        Without a profile, the note `profile.md` is created in the vault of the agent. Raises
        `UsageError` for a value that the key cannot have, and `Refused` for text that looks like a
        secret.
        """
        home, key = self.runtime.home, request.key
        agent = home.agent(request.agent)
        values = _values(self.runtime, agent, request)
        if request.add and not KEYS[key].many:
            raise UsageError(f"{key} takes one value; set it without this option", argument="add")

        def changed(current: Any) -> object:
            if not KEYS[key].many:
                return values[0]
            present = _listed(current) if request.add else []
            known = {fold(text) for text in present if isinstance(text, str)}
            return [*present, *(value for value in values if fold(str(value)) not in known)]

        return _edit(self.runtime, agent, key, changed, SET)

    @operation(requests.UnsetProfile, writes=True, positional=("key", "values"))
    @within(WRITE_SECONDS)
    def unset(self, request: requests.UnsetProfile) -> requests.ProfileChange:
        """Remove a key from the profile of an agent, or some of its values."""
        agent = self.runtime.home.agent(request.agent)
        gone = {fold(" ".join(value.split())) for value in request.values}

        def changed(current: Any) -> object:
            if not gone:
                return None
            remaining = [text for text in _listed(current) if not _is_one_of(text, gone)]
            if current is not None and len(remaining) == len(_listed(current)):
                why = f"{request.key} has no value {request.values[0]!r}"
                raise UsageError(why, argument="values")
            return remaining or None

        return _edit(self.runtime, agent, request.key, changed, UNSET)
