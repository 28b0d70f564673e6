"""djinn lint, doctor, undo, help, and djinn backup create, restore."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from msgspec import Meta, Struct

from djinn_memory.cli import candidates, output, tree
from djinn_memory.cli.command import Call, NoRequest, command
from djinn_memory.cli.help import help_width, write_list
from djinn_memory.cli.output import clean, dim, place, problems, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import NotFound, Remedy
from djinn_memory.notes.dates import local_minute
from djinn_memory.system.plural import count
from djinn_memory.upkeep.requests import IssueCode, RestoredHome

if TYPE_CHECKING:
    from djinn_memory.upkeep.lint import LintReport
    from djinn_memory.upkeep.requests import BackupContent, CreatedBackup, Diagnosis


CODE = Field("CODE", lambda: [*get_args(IssueCode)])


@command(
    "lint",
    fields={"only": CODE, "skipped": CODE},
    progress=True,
    failed=lambda report: any(not issue.fixed for issue in report.issues) or bool(report.problems),
)
def _lint(call: Call, answer: LintReport) -> None:
    """Find dead links, ambiguous names, invalid front matter and notes without links.

    It reports links to missing notes, links that match several notes, links to headings and blocks
    that do not exist, titles and ids that two notes share, and front matter that cannot be parsed.
    It reports notes without any link, and notes without a type, in vaults where most notes have
    one; with `--only` in every vault. A note with the tag `project-anchor` is reported if notes of
    its project, which have the same tag `project:NAME`, do not link to it. Diaries, journals,
    documents, facts and templates need no links. With `--fix` it corrects links to headings that
    differ only in case and punctuation. Every other issue has to be fixed by hand. The exit code is
    1 if issues remain.

    Examples:
        djinn lint
        djinn lint --vault notes --fix
        djinn lint --only orphan --only untyped
        djinn lint --skip duplicate-title
        djinn lint --json
    """
    for issue in answer.issues:
        line = f":{issue.line}" if issue.line else ""
        say(clean(f"{place(issue)}{line}: {issue.what} [{issue.code}]"))
        if issue.fixed:
            say(dim(clean(f"    fixed: {issue.fix}")))
        elif issue.fix:
            say(dim(clean(f"    --fix changes it to {issue.fix}")))
    fixed = sum(issue.fixed for issue in answer.issues)
    left = len(answer.issues) - fixed
    done = f", {fixed:,} fixed" if fixed else ""
    say(f"{count(answer.notes, 'note')}, {count(left, 'issue')}{done}")


_COLOURS = {"ok": "green", "hint": "blue", "warning": "yellow", "error": "red"}


@command("doctor", progress=True, warns=False, failed=lambda diagnosis: not diagnosis.well)
def _doctor(call: Call, answer: Diagnosis) -> None:
    """Check the installation and suggest fixes.

    It checks the home, its settings, vaults, ledger, index, models, permissions and disk. With
    `--fix`, damaged databases are set aside and rebuilt, a damaged ledger is recovered as far as it
    can be read, and leftovers of killed processes are removed. The exit code is 1 if warnings or
    errors remain. The report covers the whole home: it names vaults and files of all agents.

    Examples:
        djinn doctor
        djinn doctor --fix
    """
    width = max(len(finding.part) for finding in answer.findings)
    hang = width + 11
    for finding in answer.findings:
        mark = "mended" if finding.fixed is not None else finding.severity
        colour = _COLOURS["ok" if finding.fixed is not None else finding.severity]
        label = typer.style(f"{mark:7}", fg=colour)
        say(f"{label}  {clean(finding.part):{width}}  {clean(finding.what)}", hang)
        below = finding.remedy if finding.fixed is None else finding.fixed
        if below:
            say(f"{'':{hang}}{dim(clean(below))}")
    left = [finding for finding in answer.findings if finding.fixed is None]
    counts = [
        count(number, severity)
        for severity in ("error", "warning", "hint")
        if (number := sum(finding.severity == severity for finding in left))
    ]
    fixable = sum(finding.fixable for finding in left)
    fix = f"; `djinn doctor --fix` can fix {fixable} of them" if fixable else ""
    say(f"{', '.join(counts)}{fix}" if counts else "No problems found.")


@command(
    "backups.create", fields={"file": Field("[FILE]")}, failed=lambda answer: bool(answer.problems)
)
def _create(call: Call, answer: CreatedBackup) -> None:
    """Write vaults, ledger, working memory and settings into one archive.

    The archive is a compressed tar file. It is verified before it gets its name. It does not
    contain links, or the index and the vectors, which `djinn index` rebuilds. Without a file, it is
    written to `~/djinn-backups/`, where only the newest archives of this home stay: as many as the
    setting `backup.keep` says.

    Examples:
        djinn backup create
        djinn backup create ~/memory-2026-11-20.tar.gz
        djinn backup create shared.tar.gz --vault shared
    """
    problems(answer.left_out)
    say(f"wrote {clean(str(answer.file))}, {answer.bytes / 1e6:,.1f} MB, and read it back")
    _print_content(answer)
    for file in answer.deleted:
        say(f"  deleted {clean(str(file))}")


class _RestoreBackup(Struct, frozen=True):
    """Restore a home from an archive."""

    file: Annotated[Path, Meta(description="A file that `djinn backup create` wrote.")]
    folder: Annotated[
        Path | None,
        Meta(description="The folder of the new home; else --home, DJINN_HOME or ~/djinn."),
    ] = None


def _run_restore(call: Call) -> RestoredHome:
    from djinn_memory.home.config import variable
    from djinn_memory.upkeep.backups import restore_backup

    request = call.request
    place = request.folder or call.ctx.obj or variable("DJINN_HOME") or Path.home() / "djinn"
    return restore_backup(request.file, Path(place))


@command(
    "backups.restore",
    request=_RestoreBackup,
    arguments=["file", "folder"],
    fields={"file": Field("FILE"), "folder": Field("[DIR]")},
    run=_run_restore,
)
def _restore(call: Call, answer: RestoredHome) -> None:
    """Restore a home from an archive.

    The folder must not exist, or be empty, or be a home without notes and ledger. All vaults of the
    archive are in `vaults/` of the new home, wherever they were before.

    Examples:
        djinn backup restore ~/memory-2026-11-20.tar.gz ~/memory
    """
    root = clean(str(answer.home))
    say(f"restored {root} from the backup of {local_minute(answer.created)}")
    _print_content(answer)
    talk(f"Next: `djinn --home {root} index`.")


def _print_content(content: BackupContent) -> None:
    for name, files in content.vaults.items():
        say(f"  vault {name}: {count(files, 'file')}")
    if content.ledger:
        say("  ledger")
    if content.working:
        say("  working memory")


_SCHEMAS = Path(__file__).parents[2] / "schemas"


class _ShowHelp(Struct, frozen=True):
    """Which help to print."""

    words: Annotated[
        tuple[str, ...],
        Meta(description="A command, a noun, `home` for the terms, or `all` for every command."),
    ] = ()
    json: Annotated[
        bool,
        Meta(description="Print the JSON Schema of the output. Without a command: list the names."),
    ] = False


def _schema_names() -> list[str]:
    """The names of all schemas."""
    return sorted(file.stem for file in _SCHEMAS.glob("*.json"))


def _print_schema(name: str) -> None:
    words = " ".join(filter(None, (tree.canonical(name), tree.DEFAULTS.get(name))))
    if words in tree.COMMANDS:
        declared = tree.load(words)
        declared.build(words)
        name = next(iter(declared.schemas))
    name = name.removeprefix("djinn.").partition("/")[0]
    if name not in _schema_names():
        raise NotFound(f"no schema {name!r}", Remedy("help", {"json": True}, "list the names"))
    sys.stdout.write((_SCHEMAS / f"{name}.json").read_text("utf-8"))


def _print_help(call: Call) -> None:
    words, width = call.request.words, help_width()
    lists = {"Terms": tree.TERMS} if words == ("home",) else {}
    if words == ("all",):
        lists = {f"djinn {noun}".strip(): tree.below(noun) for noun in ("", *tree.NOUNS)}
    if call.request.json and words:
        _print_schema(" ".join(words))
    elif call.request.json:
        for name in _schema_names():
            say(name)
    elif lists:
        texts = (write_list(title, [*rows.items()], width) for title, rows in lists.items())
        typer.echo("\n\n".join(texts))
    else:
        root = call.ctx.find_root().command
        root.main([*words, "--help"], prog_name="djinn", standalone_mode=False)


def _topics() -> list[str]:
    """The words that help explains."""
    return [*tree.below(""), "home", "all"]


@command(
    "help",
    request=_ShowHelp,
    arguments=["words"],
    fields={"words": Field("[WORD]...", _topics)},
    prints=NoRequest,
    run=_print_help,
)
def _help(call: Call, answer: Struct) -> None:
    """Explain a command, a noun, or the terms.

    With `--json` a command prints one object. Its `schema` field names the schema of the object,
    which `djinn help --json COMMAND` prints.

    Examples:
        djinn help memory
        djinn help all
        djinn help home
        djinn help --json list
    """


class _UndoView(Struct, frozen=True):
    """The options of `djinn undo` besides those of an undo."""

    list: Annotated[
        bool, Meta(description="List the changes that can be taken back, and earlier ones.")
    ] = False
    limit: Annotated[int, Meta(ge=1, le=1000, description="With --list: maximum number.")] = 20
    yes: Annotated[bool, Meta(description="Do not ask for confirmation.")] = False


def _run_undo(call: Call) -> Any:
    if call.view.list:
        call.schema = "undo.list"
        return call.run("changes.list")
    preview = call.run(dry_run=True)
    by = f", by {preview.change.by}" if preview.change.by else ""
    about = f"{preview.change.id}: {preview.change.what} ({count(len(preview.files), 'file')}{by})"
    if call.declined("Take this change back?", about):
        return preview
    return call.run(change=preview.change.id)


@command(
    "changes.undo",
    fields={"change": Field("ID", candidates.changes)},
    view=_UndoView,
    run=_run_undo,
    schemas={"undo": "changes.undo", "undo.list": "changes.list"},
    words="undo",
    also={"changes.list": "--list"},
)
def _undo(call: Call, answer: Any) -> None:
    """Take back a change that djinn made to notes.

    A command that changes notes, such as `remember`, `memory delete`, `import` or `lint --fix`, and
    a task of `djinn maintain` change them in one step. This takes back your last step that was not
    taken back, or the one with an id, also that of an agent. With `--agent`, it takes back only
    what that agent did. Every file gets the bytes, the permissions and the time of saving that it
    had before. A note that somebody asked for, and that did not exist before, goes to the trash of
    its vault. Episodes are removed from their journals, whatever was added since. If somebody
    edited one of the files or episodes since, nothing is taken back. The undo is a change itself,
    and can be taken back by its id. The bytes before a change are kept for a month.

    Examples:
        djinn undo
        djinn undo --list
        djinn undo chg_3v9qk2m7xd --dry-run
    """
    if call.schema:
        rows = [
            [
                change.id, local_minute(change.at), change.status, change.by or "person",
                change.command, change.what,
            ]
            for change in answer.changes
        ]  # fmt: skip
        output.columns(
            rows, head="id time status by command change", empty="djinn has changed no notes."
        )
        return
    verb = "took back" if answer.undone else "would take back"
    if not (answer.undone or call.request.dry_run):
        talk("Aborted; nothing was changed.")
        return
    say(clean(f"{verb} {answer.change.id}: {answer.change.what}"))
    for file in answer.files:
        say(clean(f"  {file.action} {place(file)}"))
