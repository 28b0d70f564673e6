"""Which paths of this machine an agent must not know of: those in vaults that it may not read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from djinn_memory.home.home import Home
from djinn_memory.system.files import file_id

MOST_LINKS = 40
"""Number of links in a path after which Linux gives up, too."""

_Identity = tuple[int, int]
"""The device and the number of a folder. It tells a folder by any of its names: in another case, or
mounted elsewhere."""


class HiddenPaths:
    """Tells the paths that lead into a vault that an agent may not read, or into djinn's own data.

    Nothing below such a folder is looked at, so neither the answer nor its time tells whether
    something is there. A request for a path there is answered as if the path did not exist.
    """

    def __init__(self, home: Home, agent: str | None) -> None:
        # The files of a vault have no domain, so an agent that is limited reads none of them.
        scope = home.scope(home.agent(agent))
        visible = {vault.name for vault in scope if vault.reader is None}
        roots = [(vault.root, vault.name not in visible) for vault in home.vaults]
        self._hidden: dict[Path | _Identity, bool] = {}
        """Whether a vault is hidden, by its folder and by the identity of that folder."""
        for root, hidden in [*roots, (home.state, True)]:
            self._hidden[real := Path(os.path.realpath(root))] = hidden
            if identity := _identity(real):
                self._hidden[identity] = hidden
        self._open = [path for path, hidden in self._hidden.items()
                      if isinstance(path, Path) and not hidden]  # fmt: skip
        self._known: dict[Path, bool] = {}

    def __contains__(self, path: object) -> bool:
        """Whether a path leads into a hidden folder, or through one."""
        return isinstance(path, Path) and any(self._steps(Path.cwd() / path))

    def _steps(self, path: Path) -> Iterator[bool]:
        """Follow a path. A step is true if it depends on the content of a hidden folder."""
        at, left, links = Path(path.anchor), [*reversed(path.parts[1:])], 0
        while left:
            part, hidden = left.pop(), self._inside(at)
            if part == "..":
                yield hidden
                at = at.parent
                continue
            at /= part
            # A vault that the agent reads may lie in one that it does not.
            yield hidden and not any(root.is_relative_to(at) for root in self._open)
            target = None if hidden or links == MOST_LINKS else _target(at)
            if target:
                links += 1
                at = Path(target.anchor) if target.is_absolute() else at.parent
                left += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        yield self._inside(at)

    def _inside(self, folder: Path) -> bool:
        """Whether the innermost vault around a folder is hidden."""
        if folder not in self._known:
            own = self._hidden.get(folder)
            if own is None and (identity := _identity(folder)):
                own = self._hidden.get(identity)
            above = folder.parent
            self._known[folder] = (
                own if own is not None else above != folder and self._inside(above)
            )
        return self._known[folder]


def _target(path: Path) -> Path | None:
    """The target of a symbolic link; None for any other path."""
    with suppress(OSError, ValueError):
        return path.readlink()
    return None


def _identity(folder: Path) -> _Identity | None:
    with suppress(ValueError):
        return file_id(folder)
    return None
