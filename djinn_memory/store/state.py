"""A home's databases and their lock, each opened when it is first needed."""

from __future__ import annotations

import contextlib
import time
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import apsw

from djinn_memory.errors import IndexMissing, Unavailable
from djinn_memory.files import lock
from djinn_memory.home import Home
from djinn_memory.models import Problem, Vault
from djinn_memory.store.index import open_index
from djinn_memory.store.sqlite import Broken, damaged

if TYPE_CHECKING:
    from djinn_memory.store.embeddings import EmbeddingCache
    from djinn_memory.store.ledger import Ledger


class State:
    """What lies in a home's state folder. What goes wrong but is overcome is told in `problems`."""

    def __init__(self, home: Home, problems: list[Problem]) -> None:
        self.home = home
        self.problems = problems

    @cached_property
    def index(self) -> apsw.Connection:
        """The index, writable where the disk lets it be, made when there is none."""
        path = self.home.index_path
        try:
            return open_index(path)
        except Broken:
            raise
        except (Unavailable, OSError):
            if not path.exists():
                raise IndexMissing(
                    f"there is no index at {path} and none can be written; "
                    "check the folder's permissions, or set state_dir in config.yaml"
                ) from None
            return open_index(path, write=False)

    @cached_property
    def cache(self) -> EmbeddingCache:
        """The vectors made so far, which outlive the index."""
        from djinn_memory.store.embeddings import EmbeddingCache

        return EmbeddingCache(self.home.embeddings_path)

    @cached_property
    def ledger(self) -> Ledger:
        """What happened, which cannot be made again."""
        from djinn_memory.store.ledger import Ledger

        return Ledger(self.home.ledger_path)

    @property
    def ledger_if_any(self) -> Ledger | None:
        """The ledger, None where nothing has happened yet."""
        return self.ledger if self.home.ledger_path.exists() else None

    @property
    def writable(self) -> bool:
        """Whether the index can be written."""
        return not self.index.readonly("main")

    def need_writable(self) -> None:
        """Raise `Unavailable` when the index cannot be written."""
        if not self.writable:
            raise Unavailable(
                f"{self.home.state} cannot be written; check its permissions, "
                "or set state_dir in config.yaml"
            )

    def lock(
        self, what: Literal["index", "embed"] = "index", *, timeout: float
    ) -> contextlib.AbstractContextManager[None]:
        """Hold the index against others who read notes, or who embed, until `timeout` seconds.

        Raises `Unavailable` after that.
        """
        return lock(self.home.state / f"{what}.lock", timeout=timeout)

    def vault_lock(self, vault: Vault) -> contextlib.AbstractContextManager[None]:
        """Hold a vault against other writers of this home."""
        name = vault.id.replace("/", "-").replace(":", "-")
        return lock(self.home.state / "locks" / f"{name}.lock")

    def close(self) -> None:
        """Release the files; what is asked for next opens them again."""
        for name in ("index", "cache", "ledger"):
            opened = self.__dict__.pop(name, None)
            if opened is not None:
                opened.close()

    def set_aside_damaged(self) -> bool:
        """Rename what is damaged of index and cache; whether anything was."""
        self.__dict__.pop("index", None)
        self.__dict__.pop("cache", None)
        found = False
        for path in (self.home.index_path, self.home.embeddings_path):
            if not path.exists() or not damaged(path):
                continue
            aside = path.with_name(f"{path.name}.corrupt-{time.strftime('%Y%m%d-%H%M%S')}")
            try:
                path.rename(aside)
            except OSError:
                raise Unavailable(
                    f"{path} is damaged and cannot be moved away; mend the folder's permissions"
                ) from None
            why = f"was damaged; set aside as {aside.name}, run `djinn index`"
            self.problems.append(Problem(str(path), why))
            found = True
        return found
