"""A home's parts, each opened when it is first needed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from djinn_memory.home.home import Home
from djinn_memory.models import Filters, Problem, ProgressCallback, Vault, silent
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    import apsw

    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.store.state import State


class Runtime:
    """One home, opened. Cheap to make: files, models and databases open on first use."""

    def __init__(
        self,
        home: Home,
        progress: ProgressCallback = silent,
        *,
        resident: bool = False,
        read_only: bool = False,
    ) -> None:
        """`resident` is for a process that answers many questions; see `State` for both."""
        self.home = home
        self._progress = progress
        self._how = {"resident": resident, "read_only": read_only}

    @cached_property
    def problems(self) -> list[Problem]:
        """What went wrong beside the answers; a search and an index run report their own too."""
        path = str(self.home.config_path)
        found = [
            Problem(path, f"not trusted with {one}; run `djinn trust`")
            for one in self.home.untrusted
        ]
        if self.home.relaxes:
            why = "secrets.allow counts from your own settings only: `djinn config set --user`"
            found.append(Problem(path, why))
        return found

    @cached_property
    def models(self) -> ModelRegistry:
        """What embeds and what reranks."""
        from djinn_memory.embedding.registry import ModelRegistry

        return ModelRegistry(self.home, self._progress)

    @cached_property
    def _state(self) -> State:
        from djinn_memory.store.state import State

        return State(self.home, self.problems, **self._how)

    @property
    def _index(self) -> apsw.Connection:
        return self._state.index

    def close(self) -> None:
        """Release the files of the home; the next call opens them again."""
        # Where the settings are broken there is nothing to be closed, and asking would raise.
        if "_state" in self.__dict__:
            self._state.close()

    def _remake(self) -> None:
        from djinn_memory.indexing.refresh import rebuild_index

        rebuild_index(self._state, self.models, self._progress)

    def _fresh_scope(self, agent: str | None, filters: Filters) -> tuple[Vault, ...]:
        from djinn_memory.indexing.refresh import resolve_pending_links, sweep

        vaults = self.home.scope(self.home.agent(agent), filters.vaults)
        pending, found = sweep(self._state, vaults)
        if pending:
            why = f"{count(pending, 'changed note')} not read yet; run `djinn index`"
            found = [*found, Problem("index", why)]
        # A command that looks twice meets the same twice.
        self.problems += [one for one in found if one not in self.problems]
        resolve_pending_links(self._state)
        return vaults


class Namespace:
    """The verbs of one noun, such as `djinn.facts`, over a home that was opened."""

    def __init__(self, home: Runtime) -> None:
        self._state = home._state
        self._models = home.models
        self._scope = home._fresh_scope
        self._remake = home._remake
        self._progress = home._progress
