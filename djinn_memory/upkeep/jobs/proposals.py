"""The jobs that make proposals. They change no note.

A proposal is reported in the run that makes it, and again only if it was withdrawn or decided in
the meantime. `wake` and `context` say how many contradictions are open.

The job `gaps` closes a gap only for certain: with a memory that is newer than the gap, and whose
sentence has every content word of the gap, says something besides, and neither asks nor denies. A
newer note that is about the same is only proposed. `djinn gap reopen` opens a gap again, and the
job does not close it with the same memory again.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import timedelta

from djinn_memory.memories.proposals.kind import ProposalKind
from djinn_memory.memories.proposals.kinds import archive, contradiction, gap, merge
from djinn_memory.memories.proposals.lifecycle import propose, shown_subjects
from djinn_memory.memories.proposals.log import CONTRADICTION, RecordedProposal
from djinn_memory.memories.proposals.requests import ProposalSubject
from djinn_memory.memories.recall.gap_answers import CLOSED, PossibleAnswer, certain_answers
from djinn_memory.store.ledger import Event
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport, Work, for_each_agent
from djinn_memory.upkeep.requests import JobAction

GAP_RULE = "maintain.gaps"
"""The rule in the events of the gaps that the job closes."""


def _propose(
    context: JobContext, task: str, kind: ProposalKind, without: Container[str] = ()
) -> JobReport:
    """Propose the findings of a kind for each agent and, with None, for several agents together.

    A run for one agent looks only for findings about this agent. Findings about a subject
    in `without` are left out.
    """
    runtime = context.runtime
    runtime.refresh(context.vaults)
    reported: set[str] = set()

    def work(agent: str | None) -> Work:
        findings = [
            finding
            for finding in kind.find(runtime, agent)
            if not any(name in without for name, _ in finding.subjects)
        ]
        actions = []
        for proposal in propose(runtime, kind, findings, agent, dry_run=context.dry_run):
            record, subjects = proposal.record, shown_subjects(proposal, runtime.home.vaults)
            if record.id not in reported:
                what = _describe(record, subjects, context.dry_run)
                actions.append(JobAction(task, what, subjects[0].vault, subjects[0].path))
            reported.add(record.id)
        return actions, ()

    report = for_each_agent(context, task, work)
    whole = set(context.agents) == set(runtime.home.config.agents)
    actions, _ = work(None) if whole else ((), ())
    return JobReport((*report.actions, *actions), report.problems)


def _describe(
    proposal: RecordedProposal, subjects: Sequence[ProposalSubject], dry_run: bool
) -> str:
    titles = [repr(subject.title) for subject in subjects]
    if proposal.kind == CONTRADICTION:
        return f"{proposal.agent}: {' contradicts '.join(titles)} ({proposal.id})"
    verb = "is to be proposed" if dry_run else "is proposed"
    return f"{proposal.id} {verb}: {proposal.kind} {' and '.join(titles)}. {proposal.reason}"


def _gaps(context: JobContext) -> JobReport:
    certain: set[str] = set()

    def work(agent: str) -> Work:
        actions = []
        for answer in certain_answers(context.runtime, agent):
            if not context.dry_run:
                # `gaps.reopen` takes this back.
                closed = Event(CLOSED, answer.gap.id, {"by": answer.name, "rule": GAP_RULE})
                context.runtime.state.ledger.append([closed])
            certain.add(answer.gap.id)
            actions.append(_closed(agent, answer, context.dry_run))
        return actions, ()

    done = for_each_agent(context, "gaps", work)
    likely = _propose(context, "gaps", gap.KIND, certain)
    return JobReport((*done.actions, *likely.actions), (*done.problems, *likely.problems))


def _closed(agent: str, answer: PossibleAnswer, dry_run: bool) -> JobAction:
    verb = "is to be closed" if dry_run else "was closed"
    about = f"gap {answer.gap.id} {answer.gap.description!r}"
    what = f"{agent}: {about} {verb}, answered by {answer.sentence!r}"
    return JobAction("gaps", what, answer.hit.vault, answer.hit.path)


CONTRADICTIONS = Job(
    "contradictions",
    every=timedelta(days=1),
    at="04:30",
    does="Reports contradictions between memories, each once; see `djinn review`.",
    cost="Compares the facts and the sentences of the newest 20,000 memories. Writes no note.",
    run=lambda context: _propose(context, "contradictions", contradiction.KIND),
)

GAPS = Job(
    "gaps",
    every=timedelta(days=1),
    at="04:45",
    does="Closes gaps that a sentence of a newer memory clearly answers, and proposes to close "
    "those that a newer note may answer.",
    cost="Searches twice for each open gap. Writes no note.",
    run=_gaps,
)

DUPLICATES = Job(
    "duplicates",
    every=timedelta(days=1),
    at="04:00",
    does="Proposes to merge notes that say the same; see `djinn review`.",
    cost="Reads the texts and vectors of the notes in the vaults that djinn manages. Embeds "
    "nothing and changes no note.",
    run=lambda context: _propose(context, "duplicates", merge.KIND),
)

ROT = Job(
    "rot",
    every=timedelta(days=1),
    at="04:00",
    does="Proposes to archive notes that nobody has used for long; see `djinn review`.",
    cost="Reads dates, uses and links of all notes in the vaults that djinn manages. Changes no "
    "note.",
    run=lambda context: _propose(context, "rot", archive.KIND),
)
