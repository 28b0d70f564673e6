"""The one way in which djinn writes a memory: whole, under the vault's lock, found on return."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from djinn_memory.errors import Changed, DjinnError, Refused, Unavailable
from djinn_memory.models import Problem, Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dates import moment
from djinn_memory.notes.ids import new_id
from djinn_memory.notes.slugs import slug, unique
from djinn_memory.notes.type_folders import folder
from djinn_memory.notes.vault import files as disk
from djinn_memory.notes.vault.walk import MAX_BYTES
from djinn_memory.store.state import State
from djinn_memory.system.files import create, inside
from djinn_memory.system.interrupts import deferred

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.home.settings import SecretsConfig


class Draft(Struct, frozen=True):
    """A memory before it is a note."""

    type: str
    title: str
    text: str = ""
    fields: Mapping[str, object] = {}
    """Front matter beside what every memory has; one without a value is left out."""
    folder: str | None = None
    """Where in the vault; the plural of the type if not given."""
    name: str | None = None
    """The file's name without extension; the slug of the title if not given."""

    def compose(self, now: datetime) -> tuple[str, str]:
        """Its new id, and the text of its note."""
        identity = new_id()
        fields = {
            "id": identity,
            "title": self.title,
            "type": self.type,
            "tags": None,
            "created": moment(now),
            "updated": moment(now),
            **self.fields,
        }
        text = self.text.rstrip()
        return identity, frontmatter.compose(fields, f"{text}\n" if text else "")


class SecretPolicy(Struct, frozen=True):
    """What may be written although it looks like a secret."""

    settings: SecretsConfig
    all: bool = False
    """Whether the user said that it may."""

    def guard(self, draft: Draft) -> None:
        """Raise `Refused` when what a draft says looks like a secret."""
        from djinn_memory.secrets import guard

        text = draft.text
        if len(text.split()) == 1:
            # The title says what a single word is: `WiFi password`, and `hunter2`.
            text = f"{draft.title}: {text}"
        said = {"the type": draft.type, "the title": draft.title, "the text": text, **draft.fields}
        for what, value in said.items():
            for one in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(one, str):
                    guard(one, what=what, settings=self.settings, allow=self.all)


class VaultWriter(Struct):
    """Writes notes of one vault while it is held."""

    vault: Vault
    now: datetime
    passes: SecretPolicy
    written: list[str] = field(default_factory=list)
    """Paths of the notes that were written, each once."""
    problems: list[Problem] = field(default_factory=list)
    """After the vault was let go of: what keeps the notes from being found at once."""
    embedded: bool = False
    """After the vault was let go of: whether they are found by meaning too."""

    def create(self, draft: Draft) -> tuple[str, str]:
        """Write a new note under a free name; returns its id and its path.

        `Refused` for what looks like a secret, which other ways of writing must look for.
        """
        self.passes.guard(draft)
        identity, text = draft.compose(self.now)
        place = folder(draft.type) if draft.folder is None else draft.folder
        return identity, self.put(
            place, draft.name or slug(draft.title), text.encode("utf-8", "replace")
        )

    def put(self, place: str, name: str, data: bytes) -> str:
        """Write a new note into a folder of the vault, as `name` or the first free `name-2` ..."""
        _check_size(data)
        root = inside(self.vault.root, place)
        root.mkdir(parents=True, exist_ok=True)
        # Ctrl-C waits until the note is whole.
        with deferred():
            free = unique(name, lambda one: _there(root / f"{one}.md"))
            try:
                create(root / f"{free}.md", data)
            except FileExistsError:
                raise Changed(root / f"{free}.md") from None
        path = f"{place}/{free}.md" if place else f"{free}.md"
        self._wrote(path)
        return path

    def rewrite(self, path: str, change: Callable[[bytes], bytes]) -> None:
        """Write what `change` makes of a note's bytes, by what somebody may save meanwhile."""

        def checked(data: bytes) -> bytes:
            changed = change(data)
            _check_size(changed)
            return changed

        with deferred():
            disk.edit(self.vault, path, checked)
        self._wrote(path)

    def _wrote(self, path: str) -> None:
        if path not in self.written:
            self.written.append(path)


@contextmanager
def writing(
    state: State,
    models: ModelRegistry,
    vault: Vault,
    *,
    now: datetime | None = None,
    allow_secret: bool = False,
) -> Iterator[VaultWriter]:
    """Hold a vault to write notes; behind this they are found by words, and by meaning if told so.

    `Refused` for a vault that is read-only.
    """
    from djinn_memory.indexing.refresh import index_notes

    if vault.read_only:
        raise Refused(f"vault {vault.name} is read-only; remove read_only from config.yaml first")
    passes = SecretPolicy(state.home.config.secrets, allow_secret)
    pen = VaultWriter(vault, now or datetime.now(UTC), passes)
    try:
        with state.vault_lock(vault):
            _make_root(state, vault)
            yield pen
    finally:
        if pen.written:
            try:
                pen.embedded = index_notes(state, models, vault, pen.written)
            except DjinnError as error:
                # The note is whole: whoever asks next reads it.
                pen.problems.append(Problem("index", str(error)))


def _make_root(state: State, vault: Vault) -> None:
    """The folder of a vault inside the home, which a clone without notes lacks."""
    if not vault.root.is_dir():
        if state.home.root not in (vault.root.resolve(), *vault.root.resolve().parents):
            raise Unavailable(f"{vault.root} of vault {vault.name} is not there; mount it")
        vault.root.mkdir(parents=True, exist_ok=True)


def _check_size(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise Refused(f"{len(data):,} bytes are too much for a note; split the text")


def _there(path: Path) -> bool:
    return path.exists() or path.is_symlink()
