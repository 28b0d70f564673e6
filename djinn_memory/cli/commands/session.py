"""djinn wake, context, checkpoint, sleep, and djinn session and agent summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, Paged, command
from djinn_memory.cli.output import clean, clean_lines, columns, dim, place, print_page, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.notes.dates import local_day, local_minute
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.briefing.requests import ContextBundle, WakeContext
    from djinn_memory.memories.sessions import requests as session_requests
    from djinn_memory.memories.sessions.requests import NarrativeSummary, SummaryChange
    from djinn_memory.memories.writing.remember import RememberResult


@command("wake", fields={"task": Field("TEXT")}, view=Paged)
def _wake(call: Call, answer: WakeContext) -> None:
    """Start a session and print its context.

    The context has the events of the day, the summary, the profile of the agent, the last handoff
    and checkpoint, open commitments, active projects, preferences, the end of the previous
    conversation, and what a recall of the task returns. A session that was not ended with `djinn
    sleep` is reported with its last checkpoint.

    Examples:
        djinn wake
        djinn wake --task "mend the login" --budget 3000
        djinn wake --agent finn --json
    """
    from djinn_memory.cli.markdown import say_briefing

    say_briefing(call, answer)


@command(
    "checkpoint",
    fields={
        "text": Field(stdin="text", help="The state of the work, in Markdown."),
        "decisions": Field(help="A decision that was made."),
    },
)
def _checkpoint(call: Call, answer: RememberResult) -> None:
    """Save the state of the work as a note.

    Each checkpoint is a separate note. If the session is interrupted, the next `djinn wake` begins
    with the last one.

    Examples:
        djinn checkpoint "working on the parser"
        djinn checkpoint "half of the tests pass" --focus "error messages" --decision "keep the old
            format"
    """
    say(f"{answer.id}  {place(answer)}")


@command(
    "sleep",
    fields={
        "summary": Field("TEXT", stdin="text", help="What was done, in Markdown."),
        "next": Field(help="A next step."),
        "blocked": Field(help="A blocked task and what blocks it."),
    },
)
def _sleep(call: Call, answer: RememberResult) -> None:
    """End the session with a handoff for the next `djinn wake`.

    Examples:
        djinn sleep --summary "The parser is done." --next "write its manual" --blocked "the
            licence is not decided"
    """
    say(f"{answer.id}  {place(answer)}")


@command("sessions.start")
def _start(call: Call, answer: session_requests.StartedSession) -> None:
    """Start a session and print its name.

    `djinn wake` starts a session too, and prints its context.

    Examples:
        djinn session start
        djinn session start --session review
    """
    say(clean(answer.session))


@command("sessions.end", fields={"session": Field(complete=candidates.sessions)})
def _end(call: Call, answer: session_requests.EndedSession) -> None:
    """End a session without a handoff.

    `djinn sleep` ends a session too, and saves a handoff for the next one.

    Examples:
        djinn session end
        djinn session end --session review
    """
    say(clean(f"ended {answer.session}"))


@command("sessions.extract", fields={"session": Field(complete=candidates.sessions)})
def _extract(call: Call, answer: session_requests.ExtractionReport) -> None:
    """Write the statements in idle sessions as memories.

    Sessions whose last turn is 30 minutes ago are read (`sessions.idle_minutes`). Statements such
    as "remember that ...", "I prefer X over Y", "we decided to ..." become facts, preferences,
    decisions, commitments and lessons, each with a link to its turn. A statement is written once: a
    memory that you edit or delete does not come back.

    Examples:
        djinn session extract
        djinn session extract --dry-run
        djinn session extract --session s20261120-093000-000000 --json
    """
    for memory in answer.written:
        status = f" ({memory.status})" if memory.status else ""
        value = f": {memory.text}" if memory.type == "fact" else ""
        verb = "would write" if answer.dry_run else memory.id or memory.path
        say(clean(f"{verb}  {memory.type}{status}  {memory.title}{value}"))
        if memory.type != "fact" and memory.text != memory.title:
            say(clean(f"  {memory.text}"))
        say(clean(f"  from {', '.join(memory.evidence)}"))
    for statement in answer.skipped:
        say(clean(f"skipped  {statement.type}  {statement.title}: {statement.reason}"))
    if not (answer.written or answer.skipped):
        if not call.request.session or answer.sessions:
            sessions = f"{count(answer.sessions, 'session')} read; " if answer.sessions else ""
            talk(f"{sessions}nothing to extract")
        elif not answer.problems:
            _print_no_turns(call.request.session, answer.near)


@command("sessions.list", fields={"channel": Field("NAME")})
def _list(call: Call, answer: session_requests.SessionPage) -> None:
    """List sessions, newest first.

    Each line has the days of the last and of the first turn, the number of turns, whether the
    session is open, the day and the result of the last extraction, the program, the agent and the
    name of the session. Imports and hooks name their sessions by themselves.

    Examples:
        djinn session list
        djinn session list --since 7d --channel chatgpt
        djinn session list --agent finn --json
    """
    rows = [
        (
            local_day(session.last),
            local_day(session.first),
            f"{session.turns:,}",
            "open" if session.open else "-",
            _extraction(session.extracted) or "-",
            session.client or session.channel or "-",
            session.agent,
            session.session,
        )
        for session in answer.sessions
    ]
    columns(
        rows, head="last first turns open extracted program agent session", empty="No sessions."
    )
    print_page(call.request.skip, len(answer.sessions), answer.total, "session")


@command("sessions.history", fields={"session": Field("SESSION", candidates.sessions)})
def _history(call: Call, answer: session_requests.SessionHistory) -> None:
    """Print the last turns of a session, oldest first.

    A turn is a message with its response, an observation or an outcome. Without SESSION these are
    the turns of the current session, or of all sessions if it has none. The events of calendars are
    shown only if SESSION is a calendar. `djinn session list` lists the sessions.

    Examples:
        djinn session history
        djinn session history s20261120-093000-000000 --last 10
        djinn session history --agent finn --json
    """
    from djinn_memory.memories.sessions.verbs import spoken_lines

    if not answer.turns:
        _print_no_turns(answer.session, answer.near)
    for turn in answer.turns:
        session = f"  {turn.session}" if answer.session is None and turn.session else ""
        at = local_minute(turn.created or turn.date)
        say(clean(f"{at}  {turn.type}{session}  {turn.id or turn.address}"))
        for text in spoken_lines(turn.message, turn.response, turn.type):
            say(clean_lines(text))
        say()
    if len(answer.turns) < answer.total:
        talk(f"the last {len(answer.turns):,} of {answer.total:,} turns; --last shows more")
    if answer.extracted:
        talk(f"extracted {_extraction(answer.extracted)}")


def _extraction(extracted: session_requests.SessionExtraction | None) -> str:
    if extracted is None:
        return ""
    known = f", {extracted.known:,} known" if extracted.known else ""
    return f"{local_day(extracted.at)}: {count(extracted.memories, 'memory')}{known}"


def _print_no_turns(session: str | None, near: Sequence[str]) -> None:
    if session is None:
        talk("No turns.")
        return
    hint = "run `djinn session list` to list the sessions"
    if near:
        hint = f"did you mean {' or '.join(map(repr, near))}?"
    talk(clean(f"No turns in session {session}; {hint}"))


@command("context", fields={"task": Field(words=True, stdin="value")}, view=Paged)
def _context(call: Call, answer: ContextBundle) -> None:
    """Print what memory knows about a task, within a token budget.

    It begins with the profile of the agent and the events of its day. One search ranks episodes,
    patterns, entities and documents. The best of each type are printed with their sources, and the
    type with the best memory comes first. Suggestions name due commitments, open gaps and patterns
    that apply now.

    Examples:
        djinn context "plan the trip to the island"
        djinn context "mend the login" --budget 2000 --limit-per-type 3
        djinn context
    """
    from djinn_memory.cli.markdown import say_briefing

    say_briefing(call, answer)


@command("summary.show")
def _show_summary(call: Call, answer: NarrativeSummary) -> None:
    """Print the summary.

    Examples:
        djinn agent summary show
    """
    talk(dim(clean(f"{place(answer)}, by {answer.by}")))
    say(clean_lines(answer.text))


@command("summary.set", fields={"text": Field(stdin="text", help="The summary, in Markdown.")})
def _set_summary(call: Call, answer: SummaryChange) -> None:
    """Write the summary. The previous one is kept.

    Examples:
        djinn agent summary set "Maren runs the harbour office."
        djinn agent summary set - < summary.md
    """
    _print_summary_change(answer)


@command("summary.build", schemas={"agent.summary.set": "summary.build"})
def _build_summary(call: Call, answer: SummaryChange) -> None:
    """Build the summary: three to eight sentences from what is known.

    They are about facts, preferences, projects, decisions, open commitments and the last
    conversation. The model of the setting `llm.model` writes it. Without that setting no model is
    asked.

    Examples:
        djinn agent summary build
    """
    _print_summary_change(answer)


def _print_summary_change(change: SummaryChange) -> None:
    previous = f" (before: {change.previous})" if change.previous else ""
    say(clean(f"{change.action} {place(change.summary)}{previous}"))
