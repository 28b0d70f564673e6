"""Requests and answers about upkeep: index, status, maintain, doctor and backups."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from msgspec import Meta, Struct

from djinn_memory.models import Dialect, Problem, Vault, extended
from djinn_memory.search.narrowing import DryRun, OnlyAgent

_OnlyVaults = Annotated[Sequence[str], Meta(description="Only these vaults. Default: all vaults.")]
Severity = Literal["ok", "hint", "warning", "error"]

IssueCode = Literal[
    "ambiguous-link", "dead-heading", "duplicate-id", "duplicate-title", "front-matter", "orphan",
    "profile", "unknown-domain", "unlinked-anchor", "unresolved-link", "untyped",
]  # fmt: skip
"""What `lint` finds. The names are those that `only` and `skipped` take."""


class IndexOptions(Struct, frozen=True):
    """Update the index from the vaults: words first, then meaning.

    Only changed notes are read, and only new text is embedded. A run can be stopped at any time;
    the next run continues it. After a change of model the old vectors answer until the new ones are
    complete. Switching back embeds no text again.
    """

    vaults: _OnlyVaults = ()
    rebuild: Annotated[
        bool, Meta(description="Read every note again. Unchanged texts are not embedded again.")
    ] = False
    model: Annotated[
        str | None,
        Meta(
            description="Embed with this model from now on: local, ollama:NAME, openai:NAME, or "
            "the name or folder, as in ./mine, of a sentence-transformers model."
        ),
    ] = None
    agent: OnlyAgent = None


class ShowStatus(Struct, frozen=True):
    """Show the home: its vaults, the index, and pending work."""

    agent: OnlyAgent = None


class MaintainOptions(Struct, frozen=True):
    """Run periodic maintenance."""

    only: Annotated[Sequence[str], Meta(description="Only these tasks. Default: all tasks.")] = ()
    dry_run: DryRun = False
    agent: OnlyAgent = None


class ListJobs(Struct, frozen=True):
    """List the jobs of upkeep, and their last runs."""


class DoctorOptions(Struct, frozen=True):
    """Check the installation and suggest fixes.

    Home, settings, vaults, ledger, index, models, permissions and disk. With `fix`, damaged
    databases are set aside and rebuilt, a damaged ledger is recovered as far as it can be read, and
    leftovers of killed processes are removed.
    """

    fix: Annotated[
        bool, Meta(description="Apply the safe fixes. Notes are never changed.")
    ] = False  # fmt: skip


class LintOptions(Struct, frozen=True):
    """Find dead links, ambiguous names, invalid front matter and notes without links."""

    vaults: _OnlyVaults = ()
    fix: Annotated[
        bool,
        Meta(description="Correct links to headings that differ only in case and punctuation."),
    ] = False
    only: Annotated[
        Sequence[str], Meta(description="Only issues with these codes, in all vaults.")
    ] = ()
    skipped: Annotated[Sequence[str], Meta(description="No issues with these codes.")] = ()
    agent: OnlyAgent = None


class VaultEntry(Struct, frozen=True):
    """A folder of notes that is searched."""

    name: str
    """The name, as `--vault` accepts it."""
    root: Path
    """The folder of the vault."""
    id: str
    """The permanent id, which survives changes of name and path."""
    agent: str | None
    """The agent that the vault is reserved for; null for all agents."""
    read_only: bool
    """Whether djinn never writes into it."""
    dialect: Dialect
    """The syntax of links, names and properties in its notes."""
    contexts: dict[str, str]
    """The descriptions of its folders, such as `minutes/`; `""` is the whole vault."""
    inner: Sequence[str]
    """Folders in it that are separate vaults, relative to `root`. Hidden vaults are left out."""

    @classmethod
    def of(cls, vault: Vault, shown: Collection[Vault], **extra: Any) -> Self:
        """The entry of a vault in an answer that names the vaults `shown`.

        A subclass adds fields.
        """
        folders = {other.root.resolve() for other in shown}
        inner = sorted(path for path in vault.inner if (vault.root.resolve() / path) in folders)
        return extended(vault, cls, contexts=dict(vault.contexts), inner=inner, **extra)


class CountedVault(VaultEntry, frozen=True):
    """A vault and the number of its indexed notes."""

    notes: int
    """The number of its notes in the index."""


class JobAction(Struct, frozen=True):
    """An action that a job did or would do."""

    task: str
    """The name of the job, as `--only` accepts it."""
    what: str
    """A description in one sentence."""
    vault: str | None = None
    """The vault of the note that was created or changed."""
    path: str | None = None
    """The path of that note, relative to the folder of the vault."""


class JobState(Struct, frozen=True):
    """A job, and its last run."""

    name: str
    """The name, as `--only` accepts it."""
    does: str
    """Its work, in one sentence without its subject."""
    last: str | None
    """The time when it last ran for all agents, as ISO 8601 in UTC; null if never."""
    actions: int
    """The number of actions of that run."""
    problems: int
    """The number of actions of that run that failed."""
    due: bool
    """Whether `djinn watch` would run it now. It runs no job in `upkeep.skip`."""


class JobList(Struct, frozen=True):
    """The jobs of upkeep."""

    jobs: Sequence[JobState]
    """The jobs, in the order in which they run."""


class JobRun(Struct, frozen=True):
    """A run of one job."""

    task: str
    """The name of the job."""
    actions: int
    """The number of its actions."""
    problems: int
    """The number of its actions that failed."""
    seconds: float
    """The time that it took."""


class MaintenanceReport(Struct, frozen=True):
    """The result of a maintenance run."""

    tasks: tuple[str, ...]
    """The jobs that ran, in order."""
    runs: tuple[JobRun, ...]
    """The runs of these jobs."""
    skipped: tuple[str, ...]
    """The jobs that did not run because of the setting `upkeep.skip`."""
    deeds: tuple[JobAction, ...]
    """The actions of the jobs; with `--dry-run`, the actions that they would take."""
    problems: tuple[Problem, ...]
    """Actions that failed."""


class DoctorFinding(Struct, frozen=True):
    """The result of one check."""

    severity: Severity
    """The severity; `ok` means no problem."""
    part: str
    """The part that was examined, such as `index` or `vault shared`."""
    what: str
    """The finding, in one sentence."""
    remedy: str | None = None
    """The command or action that fixes it."""
    fixable: bool = False
    """Whether `djinn doctor --fix` fixes it."""
    fixed: str | None = None
    """The result of the fix, with `--fix`."""


class Diagnosis(Struct, frozen=True):
    """The result of `djinn doctor`."""

    home: Path
    """The folder of the home."""
    findings: tuple[DoctorFinding, ...]
    """The results of all checks."""

    @property
    def well(self) -> bool:
        """Whether all findings are `ok` or hints."""
        left = {finding.severity for finding in self.findings if finding.fixed is None}
        return not left & {"error", "warning"}


FORMAT = "djinn.backup/1"


class CreateBackup(Struct, frozen=True):
    """Write vaults, ledger, working memory and settings into one archive."""

    file: Annotated[
        Path | None,
        Meta(
            description="The new file, such as memory.tar.gz. Default: "
            "~/djinn-backups/NAME-DATE-TIME.tar.gz, of which the last `backup.keep` stay."
        ),
    ] = None
    vaults: _OnlyVaults = ()


class ArchivedFile(Struct, frozen=True):
    """A file in an archive."""

    path: str
    """The path of the file in the home."""
    size: int
    """The size of the file in bytes."""
    sha256: str
    """The SHA-256 of the file."""


class Manifest(Struct, frozen=True):
    """The last file of an archive. It describes the other files."""

    format: str
    """`djinn.backup/1`."""
    created: str
    """The time when the archive was written, as ISO 8601 in UTC."""
    vaults: tuple[str, ...]
    """The vaults in the archive."""
    files: tuple[ArchivedFile, ...]
    """All other files."""


class BackupContent(Struct, frozen=True):
    """The content of an archive."""

    vaults: dict[str, int]
    """The number of files of each vault."""
    ledger: bool
    """Whether it contains the ledger: uses, ratings, gaps, tool calls."""
    working: bool
    """Whether it contains working memory."""


class CreatedBackup(BackupContent, frozen=True):
    """The result of creating an archive."""

    file: Path
    """The path of the archive."""
    bytes: int
    """The size of the archive."""
    left_out: Sequence[Problem]
    """Files that backups leave out, such as links."""
    problems: Sequence[Problem]
    """Files that could not be read and are not in the archive."""
    deleted: Sequence[Path]
    """Older archives of this home that made room for it; see `backup.keep`."""


class RestoredHome(BackupContent, frozen=True):
    """The result of restoring a home."""

    home: Path
    """The folder of the home."""
    created: str
    """The time when the archive was written."""
    problems: Sequence[Problem]
    """Differences from the original home."""


CONFIG, LEDGER, WORKING = "config.yaml", ".djinn/ledger.db", ".djinn/working.db"
"""The paths of files in an archive. They are the same as in a home with the default `state_dir`."""
