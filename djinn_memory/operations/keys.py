"""Keys of the HTTP server: who may call it, and what each caller may do."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from djinn_memory.errors import NotFound, Refused, Remedy, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.keys import Key, Scope, edit_keys, read_keys
from djinn_memory.home.settings import NAME
from djinn_memory.notes.dates import date_field, moment, over
from djinn_memory.operations.checks import RawText
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.runtime import utc_now
from djinn_memory.system.files import read_regular

PREFIX = "djinn_"
"""The beginning of each secret, by which people and scanners recognize it."""

MIN_TOKEN = 16
"""Minimum characters of a token of an earlier version. Shorter ones could be guessed."""


class KeyEntry(Struct, frozen=True, kw_only=True):
    """A key without its secret."""

    name: str
    """The name of the program that has the key."""
    scope: Scope
    """What it may do."""
    agents: Sequence[str]
    """The agents whose memory it opens."""
    vaults: Sequence[str]
    """The vaults that it opens; empty for all that its agents see."""
    domains: Sequence[str]
    """The domains that it opens; empty for all that its agents see."""
    created: str
    """The time in UTC when it was added."""
    expires: str | None
    """The last day or time at which it is valid; null if it does not expire."""
    expired: bool
    """Whether it is no longer valid."""


class AddKey(Struct, frozen=True):
    """Add a key for a program that calls the HTTP server."""

    name: Annotated[str, Meta(description="A name for the program, such as laptop.")]
    scope: Annotated[
        Scope,
        Meta(
            description="read: operations that do not write. write: also those that write. "
            "administer: all that a person may do. read_all: searches and lists over all agents."
        ),
    ] = "read"
    agents: Annotated[
        Sequence[RawText],
        Meta(
            description="An agent whose memory it opens; repeatable. Default: the first agent, or "
            "all agents with the scopes administer and read_all."
        ),
    ] = ()
    vaults: Annotated[Sequence[RawText], Meta(description="Open only this vault; repeatable.")] = ()
    domains: Annotated[
        Sequence[str],
        Meta(description="Open only this domain, and memories without one; repeatable."),
    ] = ()
    expires: Annotated[
        RawText | None,
        Meta(description="The last day: 2026-12-31, or a time from now such as 90d."),
    ] = None


class AddedKey(Struct, frozen=True):
    """A new key."""

    key: KeyEntry
    """The key without its secret."""
    secret: str
    """The secret, which is not stored. Programs send it as `Authorization: Bearer SECRET`."""


class ListKeys(Struct, frozen=True):
    """List keys."""


class KeyList(Struct, frozen=True):
    """The keys of a home, oldest first."""

    keys: Sequence[KeyEntry]
    """The keys."""


class RevokeKey(Struct, frozen=True):
    """Revoke a key."""

    name: Annotated[RawText, Meta(description="The name of a key.")]


class Keys(Namespace, name="keys"):
    """Operations on keys, as `djinn.keys`."""

    @operation(AddKey, rights="person", positional=("name",), recover=False)
    def add(self, request: AddKey) -> AddedKey:
        """Add a key. Its secret is in the answer and nowhere else.

        Raises `Refused` if a key has the name.
        """
        home = self.runtime.home
        key = _checked(home, request, moment(self.runtime.now()))
        expires = date_field("expires", request.expires, self.runtime.now())
        secret = PREFIX + base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")
        key = replace(key, expires=expires, digest=digest(secret))

        def change(keys: tuple[Key, ...]) -> Sequence[Key]:
            if any(other.name == key.name for other in keys):
                raise Refused(
                    f"a key {key.name!r} exists",
                    Remedy("keys.revoke", {"name": key.name}, "revoke it first"),
                )
            return [*keys, key]

        self._edit(change)
        return AddedKey(self._entry(key), secret)

    @operation(ListKeys, rights="person", recover=False)
    def list(self, request: ListKeys) -> KeyList:
        """List the keys."""
        return KeyList([self._entry(key) for key in read_keys(self.runtime.home.keys_path)])

    @operation(RevokeKey, rights="person", positional=("name",), recover=False)
    def revoke(self, request: RevokeKey) -> KeyEntry:
        """Revoke a key. A server refuses its next request. Raises `NotFound`."""
        revoked: list[Key] = []

        def change(keys: tuple[Key, ...]) -> Sequence[Key]:
            revoked.extend(key for key in keys if key.name == request.name)
            if not revoked:
                known = ", ".join(key.name for key in keys) or "none"
                raise NotFound(f"no key {request.name!r}; known: {known}")
            return [key for key in keys if key not in revoked]

        self._edit(change)
        return self._entry(revoked[0])

    def _edit(self, change: Callable[[tuple[Key, ...]], Sequence[Key]]) -> None:
        edit_keys(self.runtime.home.keys_path, change)
        self.runtime.home.reread()

    def _entry(self, key: Key) -> KeyEntry:
        fields = {name: part for name, part in asdict(key).items() if name != "digest"}
        return KeyEntry(**fields, expired=over(key.expires, self.runtime.now()))


def adopt_token(home: Home) -> None:
    """Make the token of an MCP server of an earlier version a key, so that its clients go on."""
    path = home.state / "mcp-token"
    with suppress(FileNotFoundError):
        token = read_regular(path).decode("ascii", "replace").strip()
        key = Key(
            name="mcp",
            scope="write",
            agents=(home.agent(None),),
            created=moment(utc_now()),
            digest=digest(token),
        )
        if len(token) >= MIN_TOKEN:
            edit_keys(home.keys_path, lambda keys: [*keys, key])
        path.unlink()


def digest(secret: str) -> str:
    """The form in which a secret is stored and looked up."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _checked(home: Home, request: AddKey, now: str) -> Key:
    """The key of a request, without its secret. Raises `UsageError` or `NotFound`."""
    if not re.match(NAME, request.name):
        allowed = "give a name of letters, digits, '.', '-' and '_'"
        raise UsageError(f"{request.name!r}: {allowed}", argument="name")
    for name in request.agents:
        home.agent(name)
    everything = request.scope in ("administer", "read_all")
    if everything and (request.vaults or request.domains):
        limit = "vaults" if request.vaults else "domains"
        raise UsageError(
            f"{getattr(request, limit)[0]}: {request.scope} opens the whole home; leave it out, or "
            "choose the scope read or write",
            argument=limit,
        )
    if request.scope == "administer" and request.agents:
        why = f"{request.agents[0]}: administer opens the memory of all agents; leave it out"
        raise UsageError(why, argument="agents")
    agents = request.agents or (() if everything else (home.agent(None),))
    for agent in agents or home.config.agents:
        home.check_domains(request.domains, agent)
    visible = {vault.name for agent in agents for vault in home.scope(agent)}
    for name in request.vaults:
        if name not in visible:
            raise NotFound(f"no vault {name!r}; known: {', '.join(sorted(visible))}")
    return Key(
        name=request.name,
        scope=request.scope,
        agents=tuple(agents),
        vaults=tuple(request.vaults),
        domains=tuple(request.domains),
        created=now,
        digest="",
    )
