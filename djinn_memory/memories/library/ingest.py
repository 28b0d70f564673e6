"""Turns files into documents: workers read them, notes are written and indexed."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from djinn_memory.chunking.strategies import Plan, context_window, plan
from djinn_memory.documents.document import Document, ReadRequest
from djinn_memory.documents.note import body, clean, stem
from djinn_memory.documents.pool import FileFailed, FileRead, FileStarted, WorkerLimits, read_all
from djinn_memory.documents.sources import Source, fingerprint
from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.errors import DjinnError, NotFound, Refused, Remedy, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.indexing.refresh import index, read
from djinn_memory.memories.library import files
from djinn_memory.memories.library.catalog import (
    StoredDocument,
    history,
    run_lock,
    source_of,
    stored_documents,
    subject,
)
from djinn_memory.memories.library.files import read_fields
from djinn_memory.memories.library.ingest_run import IngestFile, IngestRun
from djinn_memory.memories.library.requests import (
    AskPassword,
    ChunkOptions,
    FileOutcome,
    IngestCallback,
    IngestOptions,
    IngestReport,
    no_password,
)
from djinn_memory.memories.library.writer import plan_fields, write_document
from djinn_memory.models import Problem, ProgressCallback, Vault
from djinn_memory.notes.slugs import slug
from djinn_memory.secrets import guard
from djinn_memory.store.state import State
from djinn_memory.system.locks import lock

_COPY = Remedy("documents.ingest", {"paths": None, "copy": True}, "ingest it here too")
_RETRY = Remedy("documents.ingest", {"paths": None, "retry": True}, "try again")

MOST_WORKERS = 4
"""Maximum number of workers. A worker may use a gigabyte, and all share one disk."""


def plan_of(home: Home, vault: Vault, options: ChunkOptions) -> Plan:
    """The chunking plan. Raises `UsageError` for a size out of range or an unknown model."""
    settings, own = home.config.documents, home.config.vaults[vault.name]
    model = options.model_context or settings.model_context
    strategy = options.strategy or own.chunk_strategy or settings.strategy
    size, overlap = options.chunk_size, options.chunk_overlap
    # The numbers of a vault are those of its strategy.
    if size is None and overlap is None and options.strategy in (None, own.chunk_strategy):
        size, overlap = own.chunk_size, own.chunk_overlap
    window = context_window(model, settings.model_contexts)
    return plan(strategy, window=window, size=size, overlap=overlap)


def ingest(
    state: State,
    models: ModelRegistry,
    options: IngestOptions,
    sources: Sequence[Source],
    *,
    missing: Sequence[tuple[str, DjinnError]] = (),
    tell: IngestCallback = lambda _: None,
    ask: AskPassword = no_password,
    embed: bool = True,
    progress: ProgressCallback,
) -> IngestReport:
    """Turn `sources` into documents in the vault of the options, or in the agent's own.

    `missing` are paths without a file, for the report. A file that cannot be read does not affect
    the other files. An interrupted run keeps its finished work. Without `embed`, only words find
    the documents until another run embeds them.
    """
    began = time.monotonic()
    home = state.home
    agent = home.agent(options.agent)
    [vault] = home.scope(agent, (options.vault or agent,))
    home.domain_to_write(vault, agent, options.domain)
    if vault.read_only:
        another = Remedy("", {"vault": None}, "choose another vault")
        raise Refused(f"vault {vault.name} is read-only", another)
    if not vault.root.is_dir() and not vault.root.is_relative_to(home.root):
        # A disk is not plugged in. Files that are written now would be hidden when it is.
        raise NotFound(f"the folder of vault {vault.name} does not exist: {vault.root}; restore it")
    run = IngestRun(state, models, vault, options, plan_of(home, vault, options), tell, ask)
    for path, error in missing:
        run.settle(FileOutcome(path, PurePosixPath(path).name, "failed", str(error)))
    # The index says which documents there are, so it must know all of them.
    read(state, [vault], progress=progress)
    _remove_stale_locks(home)
    running = run_lock(home.state / "locks", run.id)
    try:
        with lock(running):
            jobs = _jobs(run, sources)
            run.record("pending", [job.source for job in jobs])
            _read(run, jobs)
    finally:
        running.unlink(missing_ok=True)
    embedded, problems = _index(run, progress) if embed else (0, ())
    if not embed:
        read(state, [vault], progress=progress)
    return run.report(embedded, time.monotonic() - began, problems)


def _remove_stale_locks(home: Home) -> None:
    """Remove the locks of killed runs."""
    for path in (home.state / "locks").glob("ingest-*.lock"):
        # Under the lock, so that it is not taken from a run that begins just now.
        with suppress(Unavailable, OSError), lock(path, timeout=0):
            path.unlink()


def _index(run: IngestRun, progress: ProgressCallback) -> tuple[int, Sequence[Problem]]:
    """Index the new documents, and those that an earlier run did not embed."""
    paths = {f"{run.vault.name}/{path}" for path in run.written}
    if not paths:
        documents = stored_documents(run.state, [run.vault]) if run.models.embedder else []
        if not any(document.size.waiting for document in documents):
            return 0, ()
    return index_documents(run.state, run.models, run.vault, paths, progress)


def index_documents(
    state: State,
    models: ModelRegistry,
    vault: Vault,
    paths: Collection[str],
    progress: ProgressCallback,
) -> tuple[int, Sequence[Problem]]:
    """Index a vault after the documents at `paths` were written.

    Returns the number of embedded texts, and the problems of these documents and of the run.
    """
    try:
        report = index(
            state, models, [vault], whole=False, rebuild=False, progress=progress, waits=False,
            scoped=True,
        )  # fmt: skip
    except Unavailable as error:
        # The documents are written, and found by words.
        return 0, [Problem("embedding", str(error))]
    # A problem of another note is for `djinn index` to report.
    return report.embedded, [
        problem
        for problem in report.problems
        if (problem.what in paths or "/" not in problem.what) and problem not in state.problems
    ]


def _jobs(run: IngestRun, sources: Sequence[Source]) -> list[IngestFile]:
    """The files that are not documents yet, each with the document that it replaces."""
    documents = stored_documents(run.state, [run.vault])
    by_bytes = {document.sha256: document for document in documents}
    elsewhere = {} if run.options.copy else _elsewhere(run)
    jobs: dict[str, IngestFile] = {}
    kinds: dict[str, set[str]] = {}
    for source in sources:
        kinds.setdefault(slug(stem(source.name)), set()).add(_kind(source))
    candidates = [file for source in sources if (file := _file(run, source, kinds))]
    for file, before in zip(candidates, predecessors(documents, candidates), strict=True):
        source = file.source
        if file.sha256 in by_bytes:
            document = by_bytes[file.sha256]
            why = f"already ingested as {document.path}"
            if any((run.options.strategy, run.options.chunk_size, run.options.chunk_overlap,
                    run.options.model_context)):  # fmt: skip
                why += f"; {Remedy('documents.reprocess', {}, 'cut it into chunks again')}"
            run.skip(source, why, document.id)
        elif other := elsewhere.get(file.sha256):
            place = f"{other.vault.name}/{other.path}"
            run.skip(source, f"already in another vault, as {place}; {_COPY}", other.id)
        elif file.sha256 in jobs and file.size:
            # Not "already ingested": that file may still fail.
            first = jobs[file.sha256]
            first.duplicates.append(source)
            # The ledger records it when that file is done.
            run.report_file(source, "skipped", f"is identical to {first.source.name}")
        elif failure := run.failed_before(file):
            run.report_file(
                source, "failed", f"{failure} (the file has not changed since); {_RETRY}"
            )
        else:
            # A document from a pipe without a title has a name without meaning.
            named = source.lasting or run.options.title
            jobs[file.sha256] = replace(file, replaces=before if named else None)
    return list(jobs.values())


def _elsewhere(run: IngestRun) -> dict[str | None, StoredDocument]:
    """The documents of the other vaults that the agent sees, by the hashes of their files."""
    home = run.state.home
    vaults = home.scope(home.agent(run.options.agent))
    others = [vault for vault in vaults if vault.id != run.vault.id]
    return {document.sha256: document for document in stored_documents(run.state, others)}


def _kind(source: Source) -> str:
    return PurePosixPath(source.name).suffix[1:].lower()


def _file(run: IngestRun, source: Source, kinds: Mapping[str, set[str]]) -> IngestFile | None:
    """A file's record before it is read; None for a file that is skipped or fails.

    When files differ only by extension, the extension becomes part of their notes' names, so that
    the names do not depend on which file is read first.
    """
    try:
        if note := _note(run, source.path):
            run.skip(source, f"is already a note: {note}")
            return None
        sha256, size = fingerprint(source.path)
    except (DjinnError, OSError) as error:
        why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        run.fail(source, why)
        return None
    label = stem(source.name)
    if len(kinds[slug(label)]) > 1:
        label += f" {_kind(source)}"
    last_id = run.last_ids.get(subject(run.vault, source_of(source)))
    return IngestFile(source, sha256, size, last_id, label)


def _read(run: IngestRun, jobs: Sequence[IngestFile]) -> None:
    settings = run.state.home.config.documents
    workers = settings.workers or min(os.cpu_count() or 1, MOST_WORKERS)
    limits = WorkerLimits(settings.timeout, settings.memory, workers)
    languages = settings.ocr_languages if run.options.ocr else None

    def request(source: Source, password: str | None) -> ReadRequest:
        return ReadRequest(source.path, source.name, password, languages)

    requests = {request(file.source, run.options.password): file for file in jobs}
    while requests:
        locked: dict[ReadRequest, IngestFile] = {}
        with closing(read_all(requests, limits)) as events:
            for event in events:
                file = requests[event.request]
                run.tell(event)
                if isinstance(event, FileStarted):
                    run.record("processing", [file.source])
                elif isinstance(event, FileRead):
                    _finish(run, file, event.document)
                elif isinstance(event, FileFailed):
                    password = run.ask(file.source.name, event.why) if event.locked else None
                    if password is None:
                        # A locked file fails at once, and its next password may open it.
                        attempt = "" if event.locked else run.attempt(file)
                        run.fail(file.source, event.why, attempt)
                    else:
                        locked[request(file.source, password)] = file
        requests = locked


def _finish(run: IngestRun, file: IngestFile, document: Document) -> None:
    """Write a document that was read."""
    text = body(document)
    if why := _secret(run, file.source, document, text):
        run.fail(file.source, why, run.attempt(file))
        return
    chunk_fields = plan_fields(run.plan, text, run.models.name)
    before = file.replaces
    try:
        while True:
            with run.state.vault_lock(run.vault):
                path = files.holder(run.vault, file.sha256, run.began_ns, run.written)
                if path:
                    # Another process was faster.
                    document_id = read_fields(run.vault, path).get("id")
                    run.skip(file.source, f"already ingested as {path}", document_id)
                    return
                if before is None or _unchanged(before):
                    outcome = write_document(run, file, before, document, text, chunk_fields)
                    break
            # Not under the lock: others need not wait while this waits for the index.
            before = _reread(run, before)
            if before and before.sha256 == file.sha256:
                run.skip(file.source, f"already ingested as {before.path}", before.id)
                return
    except DjinnError as error:
        run.fail(file.source, str(error))
    except OSError as error:
        run.fail(file.source, f"cannot be written into the vault: {error.strerror or error}")
    else:
        for source in (file.source, *file.duplicates):
            run.done(source, outcome.document_id)
        run.settle(outcome)


def _secret(run: IngestRun, source: Source, document: Document, text: str) -> str | None:
    """The reason why a document with a secret in its text or properties is refused; else None."""
    about = (
        source.name, run.options.title, document.title, document.author, document.subject,
    )  # fmt: skip
    settings = run.state.home.config.secrets
    try:
        for what, words in (("its text", text), ("its title page", "\n".join(filter(None, about)))):
            guard(words, what=what, settings=settings, allow=run.options.allow_secret)
    except Refused as error:
        return str(error)
    return None


def _reread(run: IngestRun, before: StoredDocument) -> StoredDocument | None:
    """The current state of `before`, which may have been moved, removed or superseded."""
    read(run.state, [run.vault])
    documents = stored_documents(run.state, [run.vault])
    if before.id:
        same_name = [document for document in documents if document.filename == before.filename]
        return _successor(before.id, same_name)
    return next((document for document in documents if document.path == before.path), None)


def _note(run: IngestRun, path: Path) -> str | None:
    """The note of this home in the given file; None for any other file."""
    if path.suffix.lower() == ".md":
        # Unlike `resolve` this bears links in a circle.
        whole = Path(os.path.realpath(path))
        for vault in run.state.home.vaults:
            root = Path(os.path.realpath(vault.root))
            if whole.is_relative_to(root):
                return f"{vault.name}/{whole.relative_to(root).as_posix()}"
    return None


def predecessors(
    documents: Sequence[StoredDocument], files: Sequence[IngestFile]
) -> list[StoredDocument | None]:
    """The document that each file supersedes; None for a new document.

    A wrong match would hide a document. Returns None when the name is ambiguous, when two files
    match one document, or when another of `files` is still the source of that document.
    """
    hashes = {file.sha256 for file in files}
    names = Counter(clean(file.source.name) for file in files)
    known = {document.sha256 for document in documents}
    claims: list[StoredDocument | None] = []
    for file in files:
        name = clean(file.source.name)
        same_name = [document for document in documents if document.filename == name]
        if file.sha256 in known:
            claims.append(None)
        elif file.last_id:
            claims.append(_successor(file.last_id, same_name))
        else:
            alone = len(same_name) == 1 and names[name] == 1 and name == file.source.name
            claims.append(same_name[0] if alone else None)
    claimed = Counter(document.memory_id for document in claims if document)
    return [
        document
        if document and claimed[document.memory_id] == 1 and document.sha256 not in hashes
        else None
        for document in claims
    ]


def _successor(last_id: str, same_name: Sequence[StoredDocument]) -> StoredDocument | None:
    """The document that has the id, or that superseded the document with the id."""
    for document in same_name:
        if document.id == last_id:
            return document
    for document in same_name:
        earlier = (read_fields(document.vault, path).get("id") for path in history(document))
        if last_id in earlier:
            return document
    return None


def _unchanged(before: StoredDocument) -> bool:
    """Whether the note of `before` still has the path and version in the index."""
    now = read_fields(before.vault, before.path)
    return (now.get("id"), now.get("sha256")) == (before.id, before.sha256)
