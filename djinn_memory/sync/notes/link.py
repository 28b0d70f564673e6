"""A vault of a home and its scope on a server, while they are synchronized."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple
from uuid import UUID

from msgspec import Struct, field

from djinn_memory.errors import DjinnError, Refused, Remedy
from djinn_memory.models import Problem, Vault
from djinn_memory.runtime import Runtime
from djinn_memory.store.ledger import Ledger
from djinn_memory.store.ledger.sync_state import home_id, see
from djinn_memory.store.postgres.notes import marks
from djinn_memory.store.postgres.servers import ServerConnection
from djinn_memory.store.postgres.values import uuid_of
from djinn_memory.sync.notes.files import BaseTexts, VaultFiles

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import ScopeWriter, ServerAddress
    from djinn_memory.store.postgres.notes import ServerNote

NAME_LENGTH = 200
"""Maximum number of characters of a path in a message."""


Reason = Literal["unfit", "unlisted", "unreceived", "unpurged", "in trash", "unsent", "overtaken"]
"""Why a run does not finish a note.

unfit: no home can have written its row on the server. unlisted: it changed on the server, and its
file is excluded or unreadable here. unreceived: it could not be written here. unpurged: another
home purged it, and it is still here. in trash: the same, of a file in the trash. unsent: it could
not be written on the server. overtaken: another home changed it first.
"""


class Unfinished(NamedTuple):
    """A note that a run does not finish."""

    path: str
    reason: Reason


def scope_of(vault: Vault) -> UUID:
    """The scope of a vault on servers: its id. Raises `Refused` for an id that is no UUID."""
    if scope := uuid_of(vault.id):
        return scope
    raise Refused(
        f"vault {vault.name} has no UUID as its id, so it cannot go to a server; "
        f"set vaults.{vault.name}.id in config.yaml to a new UUID"
    )


def unregistered(address: ServerAddress, vault: Vault) -> Refused:
    """The error for a vault that goes to a server which does not have it."""
    return Refused(
        f"{address} does not know vault {vault.name}",
        Remedy("sync.init", {}, "send it there"),
        Remedy("sync.forget", {"vault": vault.name}, "keep it here only"),
    )


class VaultLink(Struct):
    """A vault of a home and its scope on a server."""

    runtime: Runtime
    server: ServerConnection
    vault: Vault
    scope: UUID
    home_name: str
    files: VaultFiles
    attachment_bytes: int = 0
    """Maximum size of the attachments that are sent; 0 if attachments are not exchanged."""
    base_texts: BaseTexts | None = None
    """The texts for merges; None if changes of both sides are never merged."""
    deletes_many: bool = False
    """Whether most files of the vault may be deleted on the server."""
    purges_wait: bool = False
    """Whether notes that another home purged are still here, because nothing is received."""
    unfinished: dict[UUID, Unfinished] = field(default_factory=dict)
    """The notes that the run has not finished so far."""
    too_large: list[str] = field(default_factory=list)
    """The paths of larger attachments."""
    indexed: dict[str, str] = field(default_factory=dict)
    """The paths under which the index has files that the server knows in another spelling."""
    problems: list[Problem] = field(default_factory=list)
    """Add to it with `add` or `report`."""
    _known: set[Problem] = field(default_factory=set)
    """The same problems as a set, because there may be one for each file."""

    @property
    def ledger(self) -> Ledger:
        """The ledger of the home, which holds the known state of the server."""
        return self.runtime.state.ledger

    @property
    def home_id(self) -> UUID:
        """The id by which servers know this home. The ledger gets it when it is first read."""
        return home_id(self.ledger)

    @property
    def lacks_changes(self) -> bool:
        """Whether the server has changes that the run could not bring into the home."""
        return any(note.reason != "unsent" for note in self.unfinished.values())

    def has_unfinished(self, reason: Reason) -> bool:
        """Whether the run left a note unfinished for a reason."""
        return any(note.reason == reason for note in self.unfinished.values())

    @contextmanager
    def writing(self) -> Iterator[ScopeWriter]:
        """A transaction that writes to the scope under a new revision, which the home remembers."""
        with self.server.writing(self.scope) as writer:
            yield writer
            mark = marks(writer.tx, self.scope, [writer.rev])
        see(self.ledger, self.scope, mark)

    def report_row(self, note: ServerNote, why: str) -> None:
        """Add a problem with a row of the server, which is left out."""
        place = f"row {note.note_id} of {note.table} on {self.server.address}"
        self.report(note.path, f"{why}: {place}; it is left out")

    def report_purge(self, path: str, error: DjinnError | OSError) -> None:
        """Add a problem with a file that was purged elsewhere and could not be removed here."""
        reason = error.strerror if isinstance(error, OSError) else None
        why = f"was purged elsewhere and cannot be removed: {reason or error}"
        self.report(path, f"{why}; the next run tries again")

    def report(self, path: str, why: str) -> None:
        """Add a problem with a file, once."""
        name = path if len(path) <= NAME_LENGTH else f"{path[:NAME_LENGTH]}..."
        self.add(Problem(f"{self.vault.name}/{name}", why))

    def add(self, problem: Problem) -> None:
        """Add a problem, once."""
        if problem not in self._known:
            self._known.add(problem)
            self.problems.append(problem)
