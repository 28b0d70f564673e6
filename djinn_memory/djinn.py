"""Djinn: an opened home with its operations. All front ends use it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from djinn_memory.errors import set_default_wording
from djinn_memory.home.home import Home, discover
from djinn_memory.memories.briefing import requests as briefing
from djinn_memory.memories.hooks.intake import take_in
from djinn_memory.memories.imports.requests import ImportHistory, ImportReport
from djinn_memory.memories.proposals.new_notes import compare_new_notes
from djinn_memory.memories.recall.requests import RatingRequest, RecallOptions
from djinn_memory.memories.sessions.requests import Checkpoint, Handoff
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import IndexReport, Problem, ProgressCallback, SearchResult, silent
from djinn_memory.operations import NAMESPACES, imported
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.operations.wording import PythonWording
from djinn_memory.runtime import Runtime, utc_now
from djinn_memory.search.query import SearchOptions
from djinn_memory.upkeep import requests as upkeep

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.memories.agents import Agents
    from djinn_memory.memories.changes.verbs import Changes
    from djinn_memory.memories.entities.verbs import Entities
    from djinn_memory.memories.episodes.verbs import Episodes
    from djinn_memory.memories.facts.verbs import Facts
    from djinn_memory.memories.graph.verbs import Graph
    from djinn_memory.memories.library.verbs import Documents
    from djinn_memory.memories.patterns.outcomes import Outcomes
    from djinn_memory.memories.patterns.verbs import Patterns
    from djinn_memory.memories.proposals.gaps import Gaps
    from djinn_memory.memories.recall.rating import RatingResult
    from djinn_memory.memories.recall.recall import RecallResult
    from djinn_memory.memories.recall.scores import Scores
    from djinn_memory.memories.sessions.summary import Summaries
    from djinn_memory.memories.sessions.verbs import Sessions
    from djinn_memory.memories.verbs import Memories
    from djinn_memory.memories.working.verbs import WorkingMemory
    from djinn_memory.memories.writing.remember import RememberResult
    from djinn_memory.operations.keys import Keys
    from djinn_memory.sync.verbs import Sync
    from djinn_memory.upkeep.backups import Backups
    from djinn_memory.upkeep.lint import LintReport
    from djinn_memory.upkeep.review.verbs import Review
    from djinn_memory.upkeep.status import HomeStatus
    from djinn_memory.watch.heard import Heard, Tell

set_default_wording(PythonWording())


class Djinn(Namespace):
    """One home and all operations on it.

    Use it as a context manager, or call `close` at the end. Its namespaces are those of the table
    of verbs.
    """

    memories: Memories
    """Operations on the memories of the home."""
    facts: Facts
    """Operations on facts: values with a category and a key."""
    patterns: Patterns
    """Operations on patterns that consolidation learns from episodes."""
    outcomes: Outcomes
    """Operations on outcomes: how actions ended."""
    gaps: Gaps
    """Operations on gaps: information that agents looked for and did not find."""
    scores: Scores
    """Scores that show how usage and ratings affect ranking."""
    sessions: Sessions
    """Sessions: their start and end, and their turns."""
    summary: Summaries
    """The narrative summary, which `wake` returns first."""
    episodes: Episodes
    """Episodes: conversations and observations, recorded in journals."""
    entities: Entities
    """Entities: people, places, projects and concepts."""
    graph: Graph
    """The graph of links: neighbours, paths, communities, counts and exports."""
    agents: Agents
    """Agents: their profiles."""
    working: WorkingMemory
    """Working memory: values that expire, and tasks."""
    documents: Documents
    """Operations on documents: files that became notes."""
    review: Review
    """What waits for a decision of a person, from every source."""
    changes: Changes
    """Changes that djinn made to notes, and their undoing."""
    backups: Backups
    """Operations on backups of the home."""
    keys: Keys
    """Keys of programs that call the HTTP server."""
    sync: Sync
    """Synchronization with a Postgres server."""

    def __init__(
        self,
        home: Home,
        progress: ProgressCallback = silent,
        *,
        resident: bool = False,
        read_only: bool = False,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """See `Runtime` for the flags; `clock` returns the current time in UTC.

        Raises `TypeError` for a path, which `Djinn.open` takes.
        """
        if not isinstance(home, Home):
            raise TypeError(f"Djinn() takes a Home; call `Djinn.open({str(home)!r})` for a path")
        super().__init__(
            Runtime(home, progress, resident=resident, read_only=read_only, clock=clock)
        )
        self.runtime.intake = take_in
        self.runtime.recovery = _recover_changes

    def __enter__(self) -> Djinn:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def home(self) -> Home:
        """The opened home."""
        return self.runtime.home

    @property
    def models(self) -> ModelRegistry:
        """The embedder and the reranker of the home."""
        return self.runtime.models

    @property
    def problems(self) -> list[Problem]:
        """Problems of the home. Search and index results also list problems of their own."""
        return self.runtime.problems

    def __getattr__(self, name: str) -> Any:
        if name not in NAMESPACES:
            raise AttributeError(f"'Djinn' object has no attribute {name!r}")
        self.__dict__[name] = opened = imported(NAMESPACES[name])(self.runtime)
        return opened

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *NAMESPACES]

    def close(self) -> None:
        """Close the files of the home. The next call opens them again."""
        self.runtime.close()

    @classmethod
    def open(cls, place: str | Path | None = None, progress: ProgressCallback = silent) -> Djinn:
        """Open the home at `place`, or the home that `home.discover` finds."""
        return cls(discover(place), progress)

    @operation(NewMemory, writes=True, positional=("type", "title", "text"))
    def remember(self, request: NewMemory) -> RememberResult:
        """Write a memory as a note that the next search finds.

        It is written into the vault of the agent, or into the shared vault. Raises `Refused` in
        three cases: a note already has the title and `existing` is not set; another note that the
        agent sees says nearly the same and `force` is not set; or the text looks like a secret and
        `allow_secret` is not set.
        """
        from djinn_memory.memories.writing.remember import remember

        return remember(self.runtime, request)

    @operation(RecallOptions, logs=True, embeds=("query",), positional=("query",))
    def recall(self, request: RecallOptions) -> RecallResult:
        """Recall memories that answer a question, up to a budget of tokens.

        A recall is a search that is rescored by the agent's uses and ratings, by fields of the
        notes and by the profile. It is logged, so that it can be rated. If the ledger cannot be
        written, the answer is returned with a problem. Raises `UsageError` for an unknown profile.
        """
        from djinn_memory.memories.recall.recall import recall

        answer = recall(self.runtime, request)
        compare_new_notes(self.runtime)
        return answer

    @operation(briefing.BuildContext, logs=True, embeds=("task",), positional=("task",))
    def context(self, request: briefing.BuildContext) -> briefing.ContextBundle:
        """Collect what memory knows about a task, within a budget of tokens.

        One recall covers all planes and is logged, so that it can be rated. No session is started.
        """
        from djinn_memory.memories.briefing.recipes import build_context

        if not request.task:
            self.runtime.fresh_scope(request.agent)
        return build_context(self.runtime, request)

    @operation(RatingRequest, writes=True, positional=("target",))
    def rate(self, request: RatingRequest) -> RatingResult:
        """Rate the memories of a recall by rank or name, and report missing information.

        Memories that are not named are not judged. Rating again corrects the earlier rating. Raises
        `UsageError` for a rank or name that was not in the recall, with the valid ones.
        """
        from djinn_memory.memories.recall.rating import rate

        named = any(isinstance(name, str) for name in (*request.useful, *request.not_useful))
        agent = self.home.agent(request.agent)
        vaults = self.runtime.fresh_scope(agent) if named else ()
        return rate(self._state, vaults, request)

    @operation(ImportHistory, patient=True, writes=True, rights="person", positional=("paths",))
    def import_history(self, request: ImportHistory) -> ImportReport:
        """Record conversations and events in exports of other programs as episodes.

        Secrets are masked. Exchanges that were recorded or purged before are not recorded again.
        Files and conversations that cannot be read are problems of the report. Raises `UsageError`
        when nothing in the paths can be imported, and `Busy` while another import writes to the
        vault.
        """
        from djinn_memory.memories.imports.importer import import_history

        return import_history(self.runtime, request)

    @operation(upkeep.IndexOptions, rebuilds=True, patient=True, rights="person")
    def index(self, request: upkeep.IndexOptions) -> IndexReport:
        """Update the index from all vaults, or from the named vaults.

        With `rebuild` every note is read again; vectors come from the cache. With an agent, only
        the vaults that it sees are read and reported. Raises `Unavailable` when another process
        keeps indexing for too long.
        """
        from djinn_memory.indexing.refresh import index
        from djinn_memory.memories.changes.commit import recover_before_reading

        recover_before_reading(self._state)
        take_in(self.runtime, request.agent, seconds=math.inf)
        if request.model is not None:
            self._models.use(request.model)
        report = index(
            self._state,
            self._models,
            self.home.visible(request.agent, request.vaults),
            whole=not (request.vaults or request.agent),
            rebuild=request.rebuild,
            progress=self.runtime.progress,
            scoped=bool(request.agent),
        )
        compare_new_notes(self.runtime)
        return report

    def watch(self, vaults: Sequence[str], tell: Tell, heard: Heard) -> None:
        """Watch all or the named vaults until `heard` gets `StopWatch`; see `watch.follow`."""
        from djinn_memory.watch.follow import follow

        follow(self.home, vaults, tell, heard)

    def use_model(self, text: str) -> None:
        """Change the embedding model. The next `index` computes its vectors.

        See `ModelRegistry.use`.
        """
        self._models.use(text)

    @operation(SearchOptions, embeds=("query",), positional=("query",))
    def search(self, request: SearchOptions) -> SearchResult:
        """Search the vaults that the agent sees.

        Changed notes are read first, within the limits of `search.sweep_ms` and
        `search.sweep_notes`. If the meaning leg cannot answer, the result has a problem and only
        words are searched. If `rerank` or `expand` fails, the answer is returned without it, with a
        problem. Expired memories are left out unless requested. Raises `UsageError` when there is
        nothing to search for, or no reranker.
        """
        from djinn_memory.search.search import search

        backend = request.backend or self.runtime.home.config.backend
        result = search(self.runtime, replace(request, backend=backend))
        compare_new_notes(self.runtime)
        return result

    @operation(upkeep.ShowStatus, rights="person")
    def status(self, request: upkeep.ShowStatus) -> HomeStatus:
        """Show the state of the home, or the part that an agent may know. This only reads."""
        from djinn_memory.upkeep.status import status

        return status(self._state, self.problems, request.agent)

    @operation(upkeep.MaintainOptions, patient=True, writes=True, rights="person")
    def maintain(self, request: upkeep.MaintainOptions) -> upkeep.MaintenanceReport:
        """Run the jobs of upkeep, or only the named ones. `djinn maintain --help` lists them.

        Every note that a job writes or changes is reported, and `changes.undo` takes it back. With
        `dry_run` nothing is changed, and the report lists what would be done. With an agent, only
        its entries and the vaults that it sees are examined. A job that fails is a problem of the
        report, and the others run.
        """
        from djinn_memory.upkeep.runner import named_jobs, run_jobs

        skip = self.home.config.upkeep.skip
        jobs = named_jobs(request.only, skip)
        return run_jobs(
            jobs,
            self.runtime,
            dry_run=request.dry_run,
            agent=request.agent,
            skipped=() if request.only else skip,
        )

    @operation(upkeep.ListJobs, recover=False, rights="person")
    def jobs(self, request: upkeep.ListJobs) -> upkeep.JobList:
        """List the jobs of upkeep, when each ran last, and whether it is due."""
        from djinn_memory.upkeep.runner import list_jobs

        return list_jobs(self._state, self.runtime.now())

    @operation(upkeep.DoctorOptions, recover=False, patient=True, rights="person")
    def doctor(self, request: upkeep.DoctorOptions) -> upkeep.Diagnosis:
        """Check the installation and the home. With `fix`, apply the safe fixes."""
        from djinn_memory.upkeep.doctor import examine

        return examine(self.home, fix=request.fix, progress=self.runtime.progress)

    @operation(upkeep.LintOptions, patient=True, writes=True, rights="person")
    def lint(self, request: upkeep.LintOptions) -> LintReport:
        """Find dead links, ambiguous names, invalid front matter and notes without links.

        A note without links, or without a type, is an issue where most notes of its vault have one,
        and everywhere if `only` names the code. With `fix`, links to headings that differ only in
        case and punctuation are corrected. With an agent, only the vaults that it sees are checked.
        """
        from djinn_memory.indexing.refresh import read, resolve_pending_links
        from djinn_memory.upkeep.lint import lint

        vaults = self.home.visible(request.agent, request.vaults)
        visible = self.home.visible(request.agent)
        problems = read(self._state, visible, progress=self.runtime.progress)
        # The linter reports problems of notes as issues. These are vaults that cannot be read.
        names = {vault.name for vault in vaults}
        self.problems.extend(problem for problem in problems if problem.what in names)
        resolve_pending_links(self._state)
        return lint(self.runtime, vaults, request)

    @operation(briefing.WakeOptions, logs=True, embeds=("task",))
    def wake(self, request: briefing.WakeOptions) -> briefing.WakeContext:
        """Return the context for a new session of an agent, and start the session.

        The recall for the task is logged, so that it can be rated. If the ledger cannot be written,
        the answer is returned with a problem.
        """
        from djinn_memory.memories.briefing.recipes import wake

        if not request.task:
            # The recall of a task indexes what changed by itself.
            self.runtime.fresh_scope(request.agent)
        return wake(self.runtime, request)

    @operation(Checkpoint, writes=True, positional=("text",))
    def checkpoint(self, request: Checkpoint) -> RememberResult:
        """Save the state of the work as a separate note."""
        from djinn_memory.memories.sessions.marks import checkpoint

        return checkpoint(self.runtime, request)

    @operation(Handoff, writes=True)
    def sleep(self, request: Handoff) -> RememberResult:
        """End a session and save a handoff for the next one as a separate note."""
        from djinn_memory.memories.sessions.marks import sleep

        return sleep(self.runtime, request)


def _recover_changes(runtime: Runtime) -> None:
    """Take back interrupted changes of notes. Most of the time there are none."""
    from djinn_memory.memories.changes.plan import KeptBytes

    if not runtime.read_only and KeptBytes(runtime.home).pending():
        from djinn_memory.memories.changes.commit import recover_before_reading

        recover_before_reading(runtime.state)
