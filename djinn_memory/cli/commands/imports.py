"""djinn import."""

from __future__ import annotations

from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.memories.imports.requests import ImportHistory, ImportReport
from djinn_memory.system.plural import count


@command(
    "import_history",
    ImportHistory,
    fields={
        "paths": Field("PATH...", help="Files, zip archives and folders."),
        "user": Field("NAME"),
    },
    progress=True,
    failed=lambda report: bool(report.problems),
    words="import",
)
def import_(call: Call, answer: ImportReport) -> None:
    """Record conversations and calendars of other programs as episodes.

    Reads the exports of Claude, ChatGPT and Slack, also as zip archives, chat logs as JSON Lines,
    transcripts of Claude Code and Codex, and calendar files. The format is detected from the
    content. Secrets are masked. What was imported before is skipped, so that an interrupted import
    can be repeated, and a newer export adds only what is new.

    Examples:
        djinn import conversations.json
        djinn import slack-export.zip --user anna
        djinn import ~/.claude/projects --dry-run
    """
    for file in answer.files:
        new = "would be recorded" if answer.dry_run else "recorded"
        parts = [f"{count(file.episodes, 'episode')} in {count(file.sessions, 'session')}"]
        parts.append(f"{file.recorded:,} {new}")
        if file.known:
            parts.append(f"{file.known:,} known")
        say(clean(f"{file.file}: {file.format}, {', '.join(parts)}"))
        for reason, number in file.left_out.items():
            say(clean(f"  left out: {reason} ({number:,})"))
    for note in answer.calendars:
        events = count(note.events, "event")
        say(clean(f"{note.vault}/{note.path}: lists {events} of the calendar {note.calendar}"))
    if answer.masked:
        talk(f"{count(answer.masked, 'secret')} masked.")
