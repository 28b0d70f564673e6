"""Decides what a note becomes after it changed in a home, on the server, or on both. Pure.

A note has three states: in the home, on the server, and the state that both last had in common. No
clock takes part.
"""

from __future__ import annotations

from msgspec import Struct


class NoteState(Struct, frozen=True):
    """The state of a note on one side. A missing note has none."""

    path: str
    hash: bytes
    """The hash of its bytes."""


class Agreement(Struct, frozen=True):
    """What a note becomes on both sides."""

    state: NoteState | None
    """None if it is deleted."""
    conflict: bool = False
    """Whether both sides wrote different bytes. `state` then has those of the server, and those of
    the home become a note of their own."""


def classify(
    local: NoteState | None,
    base: NoteState | None,
    server: NoteState | None,
    *,
    deletes: bool = True,
) -> Agreement:
    """The outcome for a note.

    `base` is the state that home and server last had in common; None if there is none or if it is
    unknown. An edit beats a deletion. Without `deletes`, nothing is deleted: a missing note then
    says nothing, because the home or the server has forgotten too much.
    """
    if local == server:
        return Agreement(local)
    if local is None or server is None:
        present = server if local is None else local
        deleted = base is not None and present == base and deletes
        return Agreement(None if deleted else present)
    moved_by_server = base is None or server.path != base.path
    path = server.path if moved_by_server else local.path
    if base is not None and server.hash == base.hash:
        return Agreement(NoteState(path, local.hash))
    unchanged = base is not None and local.hash == base.hash
    conflict = not unchanged and local.hash != server.hash
    return Agreement(server if conflict else NoteState(path, server.hash), conflict)
