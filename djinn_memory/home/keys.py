"""The keys with which programs call the HTTP server of a home. Only their hashes are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from djinn_memory.errors import Unavailable
from djinn_memory.system.files import read_regular, write_atomic
from djinn_memory.system.locks import lock

Scope = Literal["read", "write", "administer", "read_all"]


class Key(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key without its secret, and its limits. An empty limit allows all."""

    name: str
    """The name of the program that has the key."""
    scope: Scope = "read"
    """`read` allows operations that do not write, `write` also those that do, `administer` also
    those of persons. `read_all` allows searches and lists over all agents."""
    agents: Sequence[str] = ()
    """The agents whose memory it opens. The first one is the default."""
    vaults: Sequence[str] = ()
    """The vaults that it opens, of those that its agents see."""
    domains: Sequence[str] = ()
    """The domains that it opens, besides memories without a domain."""
    created: str
    """The time in UTC when it was added."""
    expires: str | None = None
    """The last day or time at which it is valid."""
    digest: str
    """The SHA-256 of the secret. The secret is random, so it needs no slow hash."""


def read_keys(path: Path) -> tuple[Key, ...]:
    """The keys in a file; none without the file. Raises `Unavailable` for a file without keys."""
    try:
        return msgspec.json.decode(read_regular(path), type=tuple[Key, ...])
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is damaged"
        raise Unavailable(f"{path}: {why}; correct or remove it, then add new keys") from None


def edit_keys(path: Path, change: Callable[[tuple[Key, ...]], Sequence[Key]]) -> None:
    """Replace the keys in a file, while other processes that edit them wait."""
    with lock(path.with_suffix(".lock")):
        text = msgspec.json.format(msgspec.json.encode(change(read_keys(path))))
        try:
            write_atomic(path, text + b"\n", private=True)
        except OSError as error:
            raise Unavailable(f"{path}: {error.strerror or error}; check the disk") from None
