"""Requests and answers of upkeep: index, status, maintain and doctor."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from msgspec import Meta, Struct

from djinn_memory.models import Dialect, Problem, Vault, extended
from djinn_memory.search.narrowing import OnlyAgent

Severity = Literal["ok", "hint", "warning", "error"]


class IndexOptions(Struct, frozen=True):
    """Bring the index up to date with the vaults: words first, then meaning.

    Only changed notes are read, and only new text is embedded. A run can be stopped at any time;
    the next one goes on. After a change of model the old vectors answer until the new ones are
    complete; going back embeds nothing again.
    """

    vaults: Annotated[
        Sequence[str], Meta(description="Only these vaults. Default: all vaults.")
    ] = ()
    rebuild: Annotated[
        bool, Meta(description="Read every note again. Unchanged texts are not embedded again.")
    ] = False
    model: Annotated[
        str | None,
        Meta(
            description="Embed with this model from now on: local, ollama:NAME, "
            "openai:NAME, or the "
            "name or folder, as in ./mine, of a sentence-transformers model."
        ),
    ] = None
    agent: OnlyAgent = None


class ShowStatus(Struct, frozen=True):
    """Show the home: its vaults, how much is indexed, and what waits."""

    agent: OnlyAgent = None


class MaintainOptions(Struct, frozen=True):
    """Run periodic maintenance."""

    only: Annotated[Sequence[str], Meta(description="Only these tasks. Default: all tasks.")] = ()
    dry_run: Annotated[bool, Meta(description="Report what would be done, without doing it.")] = (
        False
    )
    agent: OnlyAgent = None


class DoctorOptions(Struct, frozen=True):
    """Check the installation and suggest fixes.

    Home, settings, vaults, ledger, index, models, permissions and disk. With `fix`, damaged
    databases are set aside and made again, a damaged ledger is recovered as far as it can be read,
    and the leftovers of dead processes are removed.
    """

    fix: Annotated[
        bool, Meta(description="Apply the safe fixes. Notes are never changed.")
    ] = False  # fmt: skip


class LintOptions(Struct, frozen=True):
    """Find dead links, ambiguous names and invalid front matter."""

    vaults: Annotated[
        Sequence[str], Meta(description="Only these vaults. Default: all vaults.")
    ] = ()
    fix: Annotated[
        bool,
        Meta(description="Correct links to headings that differ only in case and punctuation."),
    ] = False
    agent: OnlyAgent = None


class VaultEntry(Struct, frozen=True):
    """A folder of notes that is searched."""

    name: str
    """Its name, as `--vault` takes it."""
    root: Path
    """Its folder."""
    id: str
    """Its permanent id, whatever its name and place."""
    agent: str | None
    """The agent that it is reserved for; null for everybody."""
    read_only: bool
    """Whether djinn never writes into it."""
    dialect: Dialect
    """How its notes write links, names and properties."""
    contexts: dict[str, str]
    """The descriptions of its folders, such as `minutes/`; `""` is the whole vault."""
    inner: Sequence[str]
    """Folders in it that are vaults of their own, relative to `root`, as far as these are shown."""

    @classmethod
    def of(cls, vault: Vault, shown: Collection[Vault], **extra: Any) -> Self:
        """A vault as an answer shows it that names the vaults `shown`; a subclass adds fields."""
        folders = {other.root.resolve() for other in shown}
        inner = sorted(path for path in vault.inner if (vault.root.resolve() / path) in folders)
        return extended(vault, cls, contexts=dict(vault.contexts), inner=inner, **extra)


class CountedVault(VaultEntry, frozen=True):
    """A vault, and how much of it is indexed."""

    notes: int
    """Its notes in the index."""


class JobAction(Struct, frozen=True):
    """One thing that a job did, or would do."""

    task: str
    """The name of the job, as `--only` takes it."""
    what: str
    """One sentence."""
    vault: str | None = None
    """The vault of the note that was created or changed."""
    path: str | None = None
    """The file of that note, relative to the folder of the vault."""


class MaintenanceReport(Struct, frozen=True):
    """The result of a run."""

    tasks: tuple[str, ...]
    """The jobs that ran, in this order."""
    deeds: tuple[JobAction, ...]
    """What they did, or with `--dry-run` would do."""
    problems: tuple[Problem, ...]
    """What could not be done."""


class DoctorFinding(Struct, frozen=True):
    """The result of one check."""

    severity: Severity
    """How bad it is; `ok` when all is well."""
    part: str
    """What was examined: `index`, `vault shared` and the like."""
    what: str
    """The finding, in one sentence."""
    remedy: str | None = None
    """The command or action that fixes it."""
    fixable: bool = False
    """Whether `djinn doctor --fix` fixes it."""
    fixed: str | None = None
    """What `--fix` did about it."""


class Diagnosis(Struct, frozen=True):
    """The result of `djinn doctor`."""

    home: Path
    """Its folder."""
    findings: tuple[DoctorFinding, ...]
    """The results of all checks."""

    @property
    def well(self) -> bool:
        """Whether nothing above a hint is left."""
        bad = ("error", "warning")
        return not any(
            finding.severity in bad and finding.fixed is None for finding in self.findings
        )
