"""Turns files into documents: read by workers, written as notes, indexed."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from contextlib import closing, suppress
from pathlib import Path, PurePosixPath
from typing import Literal

from djinn_memory.chunking.plans import context_window
from djinn_memory.chunking.strategies import Plan, plan
from djinn_memory.documents.document import Document, ReadRequest
from djinn_memory.documents.note import body, stem
from djinn_memory.documents.pool.pool import FileFailed, FileRead, FileStarted, read_all
from djinn_memory.documents.pool.process import WorkerLimits
from djinn_memory.documents.sources import Source, fingerprint
from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.errors import DjinnError, NotFound, Refused, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.memories.library import files as shelf
from djinn_memory.memories.library.catalog import (
    StoredDocument,
    filed,
    head,
    run_lock,
    source_of,
    subject,
)
from djinn_memory.memories.library.ingest_run import FileJob, IngestRun
from djinn_memory.memories.library.requests import (
    Ask,
    FileOutcome,
    IngestOptions,
    IngestReport,
    Tell,
    no_password,
)
from djinn_memory.memories.library.versions import File, current, predecessors, unchanged
from djinn_memory.memories.library.writer import DocumentWriter, file, plan_fields
from djinn_memory.models import Problem, ProgressCallback, Vault
from djinn_memory.notes.slugs import slug
from djinn_memory.secrets import guard
from djinn_memory.store.state import State
from djinn_memory.system.locks import lock

MOST_WORKERS = 4
"""A worker may take a gigabyte, and the disk is one."""


def plan_of(home: Home, wish: IngestOptions) -> Plan:
    """How documents are to be cut; `UsageError` for a size out of range or an unknown model."""
    settings = home.config.documents
    window = context_window(wish.model_context or settings.model_context, settings.model_contexts)
    return plan(
        wish.strategy or settings.strategy,
        window=window,
        size=wish.chunk_size,
        overlap=wish.chunk_overlap,
    )


def ingest(
    state: State,
    models: ModelRegistry,
    sources: Sequence[Source],
    wish: IngestOptions,
    agent: str,
    *,
    missing: Sequence[tuple[str, DjinnError]] = (),
    tell: Tell,
    ask: Ask = no_password,
    embed: bool = True,
    progress: ProgressCallback,
) -> IngestReport:
    """Make documents of `sources` in the vault that `wish` names, else in the agent's own.

    `missing` are paths that lead to no file, for the report. A file that cannot be read costs
    only itself. Whatever is done when this is interrupted stays. Without `embed` the documents
    are found by words until somebody else embeds them.
    """
    from djinn_memory.indexing.refresh import read

    began = time.monotonic()
    home = state.home
    [vault] = home.scope(agent, (wish.vault or agent,))
    if vault.read_only:
        raise Refused(f"vault {vault.name} is read-only; choose another with --vault")
    if not vault.root.is_dir() and not vault.root.is_relative_to(home.root):
        # A disk that is not plugged in: what is written there now is hidden when it is.
        raise NotFound(f"the folder of vault {vault.name} is gone: {vault.root}; restore it")
    run = IngestRun(state, models, vault, wish, plan_of(home, wish), tell, ask)
    for path, error in missing:
        run.settle(FileOutcome(path, PurePosixPath(path).name, "failed", str(error)))
    # The index says what is there already, so it must know of all documents.
    read(state, [vault], progress=progress)
    _sweep(run)
    alive = run_lock(home.state / "locks", run.id)
    try:
        with lock(alive):
            jobs = _jobs(run, sources)
            run.note("pending", [job.source for job in jobs])
            _read(run, jobs)
    finally:
        alive.unlink(missing_ok=True)
    embedded, problems = _index(run, progress) if embed else (0, ())
    if not embed:
        read(state, [vault], progress=progress)
    return _report(run.outcomes, embedded, time.monotonic() - began, problems)


def _sweep(run: IngestRun) -> None:
    """Remove what killed runs left."""
    for path in (run.state.home.state / "locks").glob("ingest-*.lock"):
        # Under the lock, so that it is not taken from a run that begins just now.
        with suppress(Unavailable, OSError), lock(path, timeout=0):
            path.unlink()


def _report(
    outcomes: Sequence[FileOutcome], embedded: int, seconds: float, problems: Sequence[Problem]
) -> IngestReport:
    counts = Counter(one.status for one in outcomes)
    return IngestReport(
        done=counts["ingested"],
        skipped=counts["skipped"],
        failed=counts["failed"],
        documents=tuple(outcomes),
        embedded=embedded,
        seconds=seconds,
        problems=tuple(problems),
    )


def _index(run: IngestRun, progress: ProgressCallback) -> tuple[int, Sequence[Problem]]:
    """Make what was ingested findable, also by a run before that did not come so far."""
    paths = {f"{run.vault.name}/{one}" for one in run.written}
    waits = run.models.embedder and any(one.waiting for one in filed(run.state.index, [run.vault]))
    return index(run.state, run.models, run.vault, paths, progress) if paths or waits else (0, ())


def index(
    state: State, models: ModelRegistry, vault: Vault, paths: Set[str], progress: ProgressCallback
) -> tuple[int, Sequence[Problem]]:
    """Index a vault in which the documents at `paths` were written.

    Returns how many texts were embedded, and what went wrong with them or beside all notes.
    """
    from djinn_memory.indexing.refresh import index

    try:
        report = index(
            state, models, [vault], whole=False, rebuild=False, progress=progress, waits=False
        )
    except Unavailable as error:
        # The documents are written, and found by words.
        return 0, [Problem("embedding", str(error))]
    # A note that is broken elsewhere is `djinn index`'s to tell.
    return report.embedded, [
        one
        for one in report.problems
        if (one.what in paths or "/" not in one.what) and one not in state.problems
    ]


def _jobs(run: IngestRun, sources: Sequence[Source]) -> list[FileJob]:
    """The files that are not documents yet, and which document each one replaces."""
    there = filed(run.state.index, [run.vault])
    by_bytes = {one.fields.get("sha256"): one for one in there}
    first: dict[str, FileJob] = {}
    kinds: dict[str, set[str]] = {}
    for source in sources:
        kinds.setdefault(slug(stem(source.name)), set()).add(_kind(source))
    files = [one for one in (_file(run, source, kinds) for source in sources) if one]
    for one, before in zip(files, predecessors(there, files), strict=True):
        source = one.source
        if one.sha256 in by_bytes:
            document = by_bytes[one.sha256]
            _skip(run, source, _again(document.path, run.wish), document.id)
        elif one.sha256 in first and one.size:
            # Not "already ingested": that one may fail yet.
            job = first[one.sha256]
            job.twins.append(source)
            run.settle(_outcome(run, source, "skipped", f"has the same bytes as {job.source.name}"))
        else:
            # What is piped without a title has a name that says nothing.
            named = source.lasting or run.wish.title
            first[one.sha256] = FileJob(one, before if named else None)
    return list(first.values())


def _kind(source: Source) -> str:
    return PurePosixPath(source.name).suffix[1:].lower()


def _again(path: str, wish: IngestOptions) -> str:
    why = f"already ingested as {path}"
    if wish.strategy or wish.chunk_size or wish.chunk_overlap or wish.model_context:
        why += "; `djinn document reprocess` cuts it anew"
    return why


def _file(run: IngestRun, source: Source, kinds: Mapping[str, set[str]]) -> File | None:
    """What is known of a file before it is read; None for one that need not or cannot be.

    Of files that differ by extension only, each has it in its note's name: else which is first
    read would decide.
    """
    try:
        note = _note(run, source.path)
        if note:
            _skip(run, source, f"is a note already, {note}", None)
            return None
        sha256, size = fingerprint(source.path)
    except (DjinnError, OSError) as error:
        why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        _fail(run, source, why)
        return None
    label = stem(source.name)
    if len(kinds[slug(label)]) > 1:
        label += f" {_kind(source)}"
    return File(source, sha256, size, run.was.get(subject(run.vault, source_of(source))), label)


def _read(run: IngestRun, jobs: Sequence[FileJob]) -> None:
    settings = run.state.home.config.documents
    cores = os.cpu_count() or 1
    limits = WorkerLimits(
        settings.timeout, settings.memory, settings.workers or min(cores, MOST_WORKERS)
    )
    languages = settings.ocr_languages if run.wish.ocr else None

    def order(source: Source, password: str | None) -> ReadRequest:
        return ReadRequest(source.path, source.name, password, languages)

    orders = {order(job.source, run.wish.password): job for job in jobs}
    while orders:
        locked: dict[ReadRequest, FileJob] = {}
        with closing(read_all(orders, limits)) as events:
            for event in events:
                job = orders[event.order]
                run.tell(event)
                if isinstance(event, FileStarted):
                    run.note("processing", [job.source])
                elif isinstance(event, FileRead):
                    _finish(run, job, event.document)
                elif isinstance(event, FileFailed) and event.locked:
                    password = run.ask(job.source.name, event.why)
                    if password is None:
                        _fail(run, job.source, event.why)
                    else:
                        locked[order(job.source, password)] = job
                elif isinstance(event, FileFailed):
                    _fail(run, job.source, event.why)
        orders = locked


def _finish(run: IngestRun, job: FileJob, document: Document) -> None:
    """Write a document that was read."""
    filing = _filing(run)
    words = body(document)
    why = _secret(run, job, document, words)
    if why:
        _fail(run, job.source, why)
        return
    cut = plan_fields(run.plan, words, filing.model)
    before = job.replaces
    try:
        while True:
            with run.state.vault_lock(run.vault):
                twin = shelf.holder(run.vault, job.file.sha256, run.began_ns, run.written)
                if twin:
                    # Another process was faster.
                    why = f"already ingested as {twin}"
                    _skip(run, job.source, why, head(run.vault, twin).get("id"))
                    return
                if before is None or unchanged(before):
                    outcome = file(filing, job.file, before, document, words, cut)
                    break
            # Not under the lock: others need not wait while this waits for the index.
            before = _renewed(run, before)
            if before and before.fields.get("sha256") == job.file.sha256:
                _skip(run, job.source, f"already ingested as {before.path}", before.id)
                return
    except DjinnError as error:
        _fail(run, job.source, str(error))
    except OSError as error:
        _fail(run, job.source, f"cannot be written into the vault: {error.strerror or error}")
    else:
        for source in (job.source, *job.twins):
            run.done(source, outcome.document_id)
        run.settle(outcome)


def _secret(run: IngestRun, job: FileJob, document: Document, words: str) -> str | None:
    """Why a document is refused that holds a secret in its text or in what it says of itself."""
    said = (job.source.name, run.wish.title, document.title, document.author, document.subject)
    try:
        for what, text in (("its text", words), ("its title page", "\n".join(filter(None, said)))):
            guard(
                text,
                what=what,
                settings=run.state.home.config.secrets,
                allow=run.wish.allow_secret,
            )
    except Refused as error:
        return str(error)
    return None


def _filing(run: IngestRun) -> DocumentWriter:
    keep = run.state.home.config.documents.keep_originals
    return DocumentWriter(run.vault, run.wish, run.plan, keep, run.models.name)


def _renewed(run: IngestRun, before: StoredDocument) -> StoredDocument | None:
    """`before` as it is now: it has been moved, removed or superseded meanwhile."""
    from djinn_memory.indexing.refresh import read

    read(run.state, [run.vault])
    return current(before, filed(run.state.index, [run.vault]))


def _note(run: IngestRun, path: Path) -> str | None:
    """The note that a file is; None for what is no note of this home."""
    if path.suffix.lower() == ".md":
        # Unlike `resolve` this bears links in a circle.
        whole = Path(os.path.realpath(path))
        for vault in run.state.home.vaults:
            root = Path(os.path.realpath(vault.root))
            if whole.is_relative_to(root):
                return f"{vault.name}/{whole.relative_to(root).as_posix()}"
    return None


def _skip(run: IngestRun, source: Source, why: str, document: str | None) -> None:
    run.done(source, document)
    run.settle(_outcome(run, source, "skipped", why))


def _fail(run: IngestRun, source: Source, why: str) -> None:
    run.note("failed", [source], why=why)
    run.settle(_outcome(run, source, "failed", why))


def _outcome(
    run: IngestRun, source: Source, status: Literal["skipped", "failed"], why: str
) -> FileOutcome:
    vault = run.vault.name if status == "skipped" else None
    file = str(source.path) if source.lasting else source.name
    return FileOutcome(file, source.name, status, why, vault=vault)
