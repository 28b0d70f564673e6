"""djinn backup create, restore."""

from __future__ import annotations

from pathlib import Path

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, problems, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.system.plural import count
from djinn_memory.upkeep.requests import (
    BackupContent,
    CreateBackup,
    CreatedBackup,
    RestoreBackup,
    RestoredHome,
)


@command(
    "backups.create",
    CreateBackup,
    fields={"file": Field("FILE"), "vaults": Field("NAME", candidates.vaults)},
    failed=lambda answer: bool(answer.problems),
)
def create(call: Call, answer: CreatedBackup) -> None:
    """Write vaults, ledger, working memory and settings into one archive.

    The archive is a compressed tar file. It is verified before it gets its name. It does not
    contain links, or the index and the vectors, which `djinn index` rebuilds.

    Examples:
        djinn backup create ~/memory-2026-11-20.tar.gz
        djinn backup create shared.tar.gz --vault shared
    """
    problems(answer.left_out)
    say(f"wrote {clean(str(answer.file))}, {answer.bytes / 1e6:,.1f} MB, and read it back")
    _print_content(answer)


def _restore(call: Call) -> RestoredHome:
    from djinn_memory.home.config import variable
    from djinn_memory.upkeep.backups import restore_backup

    request = call.request
    place = request.folder or call.ctx.obj or variable("DJINN_HOME") or Path.home() / "djinn"
    return restore_backup(request.file, Path(place))


@command(
    "backups.restore",
    request=RestoreBackup,
    arguments=["file", "folder"],
    fields={"file": Field("FILE"), "folder": Field("[DIR]")},
    run=_restore,
    failed=lambda answer: False,
)
def restore(call: Call, answer: RestoredHome) -> None:
    """Restore a home from an archive.

    The folder must not exist, or be empty, or be a home without notes and ledger. All vaults of the
    archive are in `vaults/` of the new home, wherever they were before.

    Examples:
        djinn backup restore ~/memory-2026-11-20.tar.gz ~/memory
    """
    root = clean(str(answer.home))
    say(f"restored {root} from the backup of {answer.created}")
    _print_content(answer)
    talk(f"Next: `djinn --home {root} index`.")


def _print_content(content: BackupContent) -> None:
    for name, files in content.vaults.items():
        say(f"  vault {name}: {count(files, 'file')}")
    if content.ledger:
        say("  ledger")
    if content.working:
        say("  working memory")
