"""Drafts: the validated content of a new memory, before it is written as a note."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from djinn_memory.errors import Remedy, UsageError
from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import Memory
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dates import date_field, moment
from djinn_memory.notes.encoding import writable
from djinn_memory.notes.ids import new_id
from djinn_memory.notes.markdown import inline
from djinn_memory.notes.note import DOCUMENT, MAX_TITLE
from djinn_memory.notes.slugs import fold
from djinn_memory.secrets import guard_parts

if TYPE_CHECKING:
    from djinn_memory.home.settings import SecretsConfig

MAX_TYPE = 100


class Draft(Struct, frozen=True):
    """A memory before it is written."""

    type: str
    title: str
    text: str = ""
    fields: Mapping[str, object] = {}
    """Front matter besides the standard fields."""

    def compose(self, now: datetime) -> tuple[str, str]:
        """The new id of the memory, and the text of its note."""
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

    def guard(self, settings: SecretsConfig, *, allow: bool) -> None:
        """Raise `Refused` for text that looks like a secret, unless `allow` is set."""
        text = self.text
        if len(text.split()) == 1:
            # The title says what a single word is: `WiFi password`, and `hunter2`.
            text = f"{self.title}: {text}"
        parts = {"the type": self.type, "the title": self.title, "the text": text, **self.fields}
        guard_parts(parts, settings=settings, allow=allow)


def draft_of(
    request: NewMemory, now: datetime, settings: SecretsConfig, supersedes: Memory | None = None
) -> Draft:
    """The draft of a request, with a link to the note that it `supersedes`.

    Raises `UsageError` for an invalid field, and `Refused` for text that looks like a secret,
    unless the request allows it.
    """
    kind, title = fold(request.type).strip(), " ".join(writable(request.title).split())
    if not kind or len(kind) > MAX_TYPE or not kind.isprintable():
        raise UsageError("a memory needs a type such as decision, lesson or preference")
    if kind == DOCUMENT:
        ingest = Remedy("documents.ingest", {"paths": None}, "turn a file into a document")
        raise UsageError("documents are made from files", ingest)
    if not inline(title):
        raise UsageError("a memory needs a title with at least one letter")
    if len(title) > MAX_TITLE:
        raise UsageError(f"the title has {len(title)} characters; {MAX_TITLE} are allowed")
    text = writable(request.text.replace("\r\n", "\n")).strip("\n").rstrip()
    links = ", ".join(f"[[{_target(name)}]]" for name in request.links)
    fields: dict[str, object] = {
        "tags": list(dict.fromkeys(map(checked_tag, request.tags))) or None,
        "importance": request.importance,
        "confidence": request.confidence,
        DOMAIN: writable(request.domain) if request.domain else None,
        "source": writable(request.source) if request.source else None,
        "expires": date_field("expires", request.expires, now),
        "due": date_field("due", request.due, now, past=True),
    }
    for key in request.fields:
        # A memory that was derived from memories of several domains has all the domains.
        derived = key == DOMAIN and request.domain is None
        if key in (*fields, "id", "type", "title", "supersedes") and not derived:
            why = f"{key!r} is a field of its own; set that field instead"
            raise UsageError(why, argument="fields")
    fields |= request.fields
    fields |= {"status": request.status} if request.status else {}
    fields["supersedes"] = link_to(supersedes.title, supersedes.path) if supersedes else None
    draft = Draft(
        type=kind,
        title=title,
        text="\n\n".join(filter(None, (text, links and f"See also {links}."))),
        fields={key: value for key, value in fields.items() if value is not None},
    )
    # Before anything is made of the draft, such as a vector that is kept.
    draft.guard(settings, allow=request.allow_secret)
    return draft


def checked_tag(text: str) -> str:
    """A tag without its `#`. Raises `UsageError` for more than one word."""
    tag = writable(text).strip().lstrip("#").strip("/")
    if not tag or re.search(r"[\s,]", tag):
        raise UsageError(f"{text!r}: a tag is one word, such as project/myapp", argument="tags")
    return tag


def link_to(title: str, path: str) -> str:
    """A link to a note: by its title, or by its path if links cannot contain the title."""
    return f"[[{path.removesuffix('.md') if re.search(r'[][|#^]', title) else title}]]"


def _target(text: str) -> str:
    name = writable(text).strip().removeprefix("[[").removesuffix("]]")
    if not name.strip() or re.search(r"[\[\]\n\r]", name):
        why = f"{text!r}: give a note's title or path, such as 'Project: MyApp'"
        raise UsageError(why, argument="links")
    return name
