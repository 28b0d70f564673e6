"""The folders of the vaults: followed by events where that works, else looked at repeatedly."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from djinn_memory.models import Vault
from djinn_memory.system.disks import network
from djinn_memory.watch.events import NativeEvents
from djinn_memory.watch.heard import Heard

_INBOX = "/inbox"
"""No name of a vault."""


class FollowedFolders:
    """How each vault is followed. `probe` is a folder by which it shows how much can be."""

    def __init__(self, vaults: Iterable[Vault], heard: Heard, probe: Path, *, poll: bool) -> None:
        self._probe = probe
        self._roots = {vault.name: vault.root.resolve() for vault in vaults}
        why = "watch.poll says so" if poll else None
        self._native: NativeEvents | None = None
        try:
            self._native = None if poll else NativeEvents(heard)
        except OSError as error:
            why = error.strerror or str(error)
        self.polled = dict.fromkeys(self._roots, why) if why else {}
        """The vaults that no event tells of, and why."""

    def renew(self) -> Iterator[str]:
        """Follow what is not followed (any more); gives the vaults that are to be looked at."""
        native = self._native
        for name, root in self._roots.items():
            if native is None or name in self.polled or native.alive(name, root):
                continue
            known = native.forget(name)
            there = os.path.isdir(root)  # noqa: PTH112 - Path's own raises where nobody may look
            if there:
                self._follow(native, name, root)
            if known or there:
                yield name

    def _follow(self, native: NativeEvents, name: str, root: Path) -> None:
        try:
            if kind := network(root):
                self.polled[name] = f"{kind} does not tell of all changes"
                return
            native.follow(name, root)
            native.probe(self._probe)
        except OSError as error:
            native.forget(name)
            self.polled[name] = error.strerror or str(error)

    def follow_inbox(self, folder: Path) -> bool:
        """Tell of files that come into the inbox; False where it is to be looked at.

        That is where the system does not tell, or did not until now.
        """
        if self._native is None:
            return False
        if self._native.alive(_INBOX, folder):
            return True
        with suppress(OSError):
            if not network(folder):
                self._native.follow_inbox(_INBOX, folder)
        return False

    def close(self) -> None:
        """Follow nothing any more."""
        if self._native:
            self._native.close()
