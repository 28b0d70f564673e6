"""Lists the inputs of a run: the files of a vault, and the last common state with the server.

`match` and `find_copies`, which find the note that a file is or of which it is a copy, are pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeVar
from unicodedata import normalize
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import DjinnError, NotFound, Remedy
from djinn_memory.indexing.refresh import read, resolve_pending_links
from djinn_memory.notes.vault import attachments
from djinn_memory.store.index import memories
from djinn_memory.store.ledger import sync_state
from djinn_memory.store.ledger.sync_state import NoteBase, PlannedStep, ScopeState
from djinn_memory.store.postgres import notes as server_notes
from djinn_memory.store.postgres.notes import ServerNote
from djinn_memory.store.sqlite import explained
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.notes.names import is_note, original_path, path_key


class LocalFile(Struct, frozen=True):
    """A file of a vault in a home."""

    path: str
    hash: bytes
    size: int
    uid: str | None = None
    """The id in the front matter, if the file owns it."""
    stat: str | None = None
    """Of an attachment: size and times of the file."""


class Matches(Struct):
    """The notes that files are."""

    notes: dict[UUID, LocalFile]
    fresh: list[LocalFile]
    """Files that belong to no known note, by path."""


def match(files: Iterable[LocalFile], bases: Mapping[UUID, NoteBase]) -> Matches:
    """Find the known note of each file.

    A file at the path of a note is the note. A file with another path is a note whose file is
    missing if the paths differ only as `path_key` ignores, if both have the same id, or if they
    have the same bytes.
    """
    left = {file.path: file for file in files}
    missing = dict(bases)
    notes: dict[UUID, LocalFile] = {}

    def pair(of_file: Callable[[LocalFile], object], of_base: Callable[[NoteBase], object]) -> None:
        waiting: defaultdict[object, list[LocalFile]] = defaultdict(list)
        for path in sorted(left, reverse=True):
            if (key := of_file(left[path])) is not None:
                waiting[key].append(left[path])
        for note_id in sorted(missing, key=lambda note_id: missing[note_id].path):
            if candidates := waiting.get(of_base(missing[note_id])):
                notes[note_id] = candidates.pop()
                del left[notes[note_id].path], missing[note_id]

    pair(lambda file: file.path, lambda base: base.path)
    pair(lambda file: path_key(file.path), lambda base: path_key(base.path))
    pair(lambda file: file.uid, lambda base: base.uid or "")
    pair(lambda file: (is_note(file.path), file.hash), lambda base: (is_note(base.path), base.hash))
    return Matches(notes, [left[path] for path in sorted(left)])


def unambiguous(uids: Collection[str | None]) -> set[str]:
    """The ids that occur once."""
    seen: set[str] = set()
    repeated: set[str] = set()
    for uid in filter(None, uids):
        (repeated if uid in seen else seen).add(uid)
    return seen - repeated


def find_copies(
    files: Mapping[str, str | None], bases: Mapping[UUID, NoteBase]
) -> Iterator[tuple[str, str | None]]:
    """The conflict copies among files, by path, each with the path of its note.

    `files` has the id in the front matter of each file. The note is the one that the server has
    recorded for the copy, else the one with the id of the copy, else the one with its name. It is
    None if there is none.
    """
    originals = {path: uid for path, uid in files.items() if not original_path(path)}
    linked = {base.path: bases.get(base.conflict_of) for base in bases.values() if base.conflict_of}
    by_id = {uid: path for path, uid in originals.items() if uid}
    by_name = {path_key(path): path for path in files}
    for path in sorted(files.keys() - originals.keys()):
        note = linked.get(path)
        if note and note.path in originals:
            yield path, note.path
        else:
            named = by_name.get(path_key(original_path(path) or ""))
            yield path, by_id.get(files[path] or "", named)


S = TypeVar("S", NoteBase, ServerNote)


def exchanged(link: VaultLink, states: Mapping[UUID, S]) -> dict[UUID, S]:
    """The states of the files that this home exchanges: notes, and attachments if it takes them."""
    taken = link.attachment_bytes > 0
    return {note_id: state for note_id, state in states.items() if taken or is_note(state.path)}


def list_files(link: VaultLink, bases: Mapping[UUID, NoteBase]) -> list[LocalFile]:
    """The notes and attachments of a vault, under the paths that the server knows.

    Changed notes are indexed. Raises `NotFound` if the folder of the vault is missing: its files
    were not deleted.
    """
    return _respelled(link, [*list_notes(link), *_attachments(link, bases)], bases)


def list_notes(link: VaultLink) -> list[LocalFile]:
    """The notes of a vault, after changed ones were indexed."""
    state, vault = link.runtime.state, link.vault
    if not vault.root.is_dir():
        raise NotFound(
            f"the folder of vault {vault.name} does not exist: {vault.root}",
            Remedy(purpose="restore it"),
        )
    state.need_writable()
    for problem in read(state, [vault], progress=link.runtime.progress):
        link.add(problem)
    # The rows that are sent state the targets of links.
    resolve_pending_links(state)
    with explained(state.home.index_path):
        rows = memories.contents(state.index, vault)
    own = unambiguous([uid for *_, uid in rows])
    return [
        LocalFile(path, digest, size, uid if uid in own else None)
        for path, digest, size, uid in rows
    ]


def _attachments(link: VaultLink, bases: Mapping[UUID, NoteBase]) -> Iterator[LocalFile]:
    """The attachments of a vault. Only new and changed files are read."""
    link.too_large.clear()
    if not link.attachment_bytes:
        return
    known = {base.path: base for base in bases.values() if base.stat}
    for path in sorted(attachments(link.vault, link.runtime.home.config.exclude)):
        try:
            stat = link.files.stat(path)
            if stat is None or link.files.is_link(path):
                continue
            size = int(stat.split()[0])
            if size > link.attachment_bytes:
                link.too_large.append(path)
                continue
            base = known.get(path)
            digest = base.hash if base and base.stat == stat else link.files.hash(path)
        except (OSError, DjinnError) as error:
            link.report(path, f"cannot be read: {error}")
            continue
        if digest is not None:
            yield LocalFile(path, digest, size, stat=stat)


def _respelled(
    link: VaultLink, files: list[LocalFile], bases: Mapping[UUID, NoteBase]
) -> list[LocalFile]:
    """The files under the paths that the server knows, where the file system chose the spelling.

    A file system that ignores case keeps the spelling of a folder that is there already, and one
    that ignores the form of Unicode may choose the form. Neither is a rename by the user.
    """
    link.indexed.clear()
    if not link.files.folds:
        return files
    paths = {base.path for base in bases.values()}
    known = {(path_key(path), _composed_name(path)): path for path in paths}
    result = []
    for file in files:
        path = known.get((path_key(file.path), _composed_name(file.path)), file.path)
        if file.path not in paths and path != file.path:
            link.indexed[path] = file.path
            file = replace(file, path=path)
        result.append(file)
    return result


def _composed_name(path: str) -> str:
    return normalize("NFC", path.rpartition("/")[2])


def unlisted(
    link: VaultLink, files: list[LocalFile], bases: Mapping[UUID, NoteBase]
) -> frozenset[UUID]:
    """The known notes that are not listed although their files exist.

    A file may be excluded, unreadable, too large, or no longer regular.
    """
    # A file system that ignores case finds a listed file under other names too.
    key = path_key if link.files.folds else str
    listed = {key(file.path) for file in files}
    return frozenset(
        note_id
        for note_id, base in bases.items()
        if key(base.path) not in listed and link.files.exists(base.path)
    )


class ScopeHistory(Struct, frozen=True):
    """The state that the home and the server have in common."""

    state: ScopeState
    bases: dict[UUID, NoteBase]
    past: Mapping[UUID, frozenset[bytes]]
    """The hashes of the texts that they ever had in common, of notes whose base is lost."""


def recover_steps(link: VaultLink) -> None:
    """Conclude the steps of an interrupted run that were carried out."""
    if steps := sync_state.steps(link.ledger, link.scope):
        sync_state.record_bases(link.ledger, link.scope, _carried_out(link, steps))
        sync_state.plan(link.ledger, link.scope, [])


def current_history(link: VaultLink) -> ScopeHistory:
    """Their common state now. Records a restore of the server. Call `recover_steps` first."""
    common = _common_rev(link)
    if common is not None:
        sync_state.restored(link.ledger, link.scope, common)
    return _recorded(link)


def preview_history(link: VaultLink) -> ScopeHistory:
    """The result that `recover_steps` and `current_history` would have. Writes nothing."""
    history = _recorded(link)
    steps = sync_state.steps(link.ledger, link.scope)
    bases: dict[UUID, NoteBase | None] = {**history.bases, **_carried_out(link, steps)}
    known = {note_id: base for note_id, base in bases.items() if base}
    common = _common_rev(link)
    if common is None:
        return _history(link, history.state, known)
    return _history(link, *sync_state.after_restore(history.state, known, common))


def _recorded(link: VaultLink) -> ScopeHistory:
    return _history(
        link,
        sync_state.scope_state(link.ledger, link.scope),
        sync_state.bases(link.ledger, link.scope),
    )


def _history(link: VaultLink, state: ScopeState, bases: dict[UUID, NoteBase]) -> ScopeHistory:
    lost = [note_id for note_id, base in bases.items() if base.rev == sync_state.LOST]
    return ScopeHistory(state, bases, sync_state.past_hashes(link.ledger, link.scope, lost))


def _carried_out(link: VaultLink, steps: list[PlannedStep]) -> dict[UUID, NoteBase | None]:
    """The new bases of those of the steps that were carried out."""
    pushed = [step.note_id for step in steps if step.step == "push"]
    current = {}
    if pushed:
        with link.server.reading() as cursor:
            current = server_notes.states(cursor, link.scope, pushed)
    states: dict[UUID, NoteBase | None] = {}
    for step in steps:
        if step.step == "pull" and _has(link, step):
            states[step.note_id] = NoteBase(step.server_path, step.server_hash, step.rev)
        note = current.get(step.note_id)
        if step.step == "pull" or note is None or note.deleted or note.rev <= step.rev:
            continue
        if (note.path, note.hash) == (step.path, step.hash):
            states[step.note_id] = NoteBase(
                note.path, note.hash, note.rev, conflict_of=note.conflict_of
            )
    return states


def _has(link: VaultLink, step: PlannedStep) -> bool:
    try:
        return link.files.hash(step.path) == step.hash
    except (DjinnError, OSError):
        return False


def _common_rev(link: VaultLink) -> int | None:
    """The newest revision in common with a server that was restored; None if it was not."""
    seen = sync_state.seen(link.ledger, link.scope)
    if not seen:
        return None
    with link.server.reading() as cursor:
        marks = server_notes.marks(cursor, link.scope, list(seen))
    common = max((rev for rev in seen if marks.get(rev) == seen[rev]), default=0)
    return common if common < max(seen) else None
