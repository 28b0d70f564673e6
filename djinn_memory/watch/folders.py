"""Follows the folders of the vaults, by file events if the system has them, else by polling."""

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
"""The key of the inbox among the watched folders. No vault can have this name."""


class FollowedFolders:
    """Follows each vault by events or by polling.

    `probe` is a folder that is watched briefly to test whether the system has watches left.
    """

    def __init__(self, vaults: Iterable[Vault], heard: Heard, probe: Path, *, poll: bool) -> None:
        self._probe = probe
        self._roots = {vault.name: vault.root.resolve() for vault in vaults}
        why = "watch.poll is set" if poll else None
        self._native: NativeEvents | None = None
        try:
            self._native = None if poll else NativeEvents(heard)
        except OSError as error:
            why = error.strerror or str(error)
        self.polled = dict.fromkeys(self._roots, why) if why else {}
        """The vaults that are polled, each with the reason."""

    def renew(self) -> Iterator[str]:
        """Follow new vaults and stop following others. Yields the vaults to read again."""
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
                self.polled[name] = f"{kind} does not report all changes"
                return
            native.follow(name, root)
            native.probe(self._probe)
        except OSError as error:
            native.forget(name)
            self.polled[name] = error.strerror or str(error)

    def follow_inbox(self, folder: Path) -> bool:
        """Report files that arrive in the inbox. Returns False if the caller must list the folder.

        The caller must list it if the system reports no events for it, or has just begun to.
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
        """Stop following all folders."""
        if self._native:
            self._native.close()
