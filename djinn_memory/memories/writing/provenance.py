"""Where a derived memory comes from: front matter that names its evidence, author and rule."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from msgspec import Struct

from djinn_memory.home.access import DOMAIN, distinct
from djinn_memory.models import Memory, MemoryRef
from djinn_memory.notes.markdown import inline

ORIGIN = ("rule", "evidence", "author", "client", "session")
"""The fields of front matter that say where a memory comes from, besides its domain."""

LEARNINGS_RULE = "maintain.learnings"
"""The rule of the copies of learnings that an agent shares."""

STATEMENT = "statement"
"""The field with the digest of what extraction found, by which its note is known."""

PROPOSED = "proposed"
"""The status of a memory that nobody has accepted yet."""

UNKNOWN = frozenset({"superseded", PROPOSED})
"""Values of `status` for memories that do not count as known."""

NO_MARKUP = str.maketrans("[]#`", "()  ")
"""Characters of links, tags and code, with what stands for them in prose."""


class Provenance(Struct, frozen=True):
    """The origin of a memory that was derived from others."""

    rule: str = ""
    """The rule that derived it, such as `extract.preference`; empty if nothing was derived."""
    evidence: tuple[str, ...] = ()
    """Links to the memories that it was derived from, as `evidence_link` returns them."""
    author: str | None = None
    """The person or the agent for whom it was derived."""
    client: str | None = None
    """The program of that agent, such as `claude`."""
    session: str | None = None
    """The session of the evidence."""
    domains: tuple[str, ...] = ()
    """The domains of all that it was derived from. Only agents that may see all of them see the
    memory."""

    def fields(self) -> dict[str, object]:
        """The front matter with these values. Fields without a value are left out."""
        fields = {
            DOMAIN: domain_value(self.domains),
            "rule": self.rule,
            "evidence": list(self.evidence),
            "author": self.author,
            "client": self.client,
            "session": self.session,
        }
        return {key: value for key, value in fields.items() if value}


def domain_value(domains: Iterable[str]) -> str | list[str] | None:
    """The field `domain` of a memory that was derived from memories with these domains.

    Only agents that may see all of them see the memory.
    """
    names = [*distinct(domains)]
    return names if len(names) > 1 else next(iter(names), None)


def evidence_link(memory: MemoryRef) -> str:
    """A wikilink to a memory, which also names the block of a section of a journal."""
    target = memory.path.removesuffix(".md")
    return f"[[{target}#^{memory.block}]]" if isinstance(memory.block, str) else f"[[{target}]]"


def evidence_line(memory: Memory) -> str:
    """A list entry with a link to a memory and its title, in which nothing is a link or a tag."""
    title = inline(memory.title).translate(NO_MARKUP)
    return f"- {evidence_link(memory)} {title}".rstrip()


def evidence_of(fields: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The links in the field `evidence` of a note, whose fields come without brackets."""
    texts = (text for key, text in fields if key == "evidence")
    return tuple(text if "[[" in text else f"[[{text}]]" for text in texts)


def text_digest(text: str) -> str:
    """A hash that shows whether a text was changed since djinn built it."""
    data = "\n".join(line.rstrip() for line in text.strip().splitlines()).encode("utf-8", "replace")
    return f"b{hashlib.blake2b(data, digest_size=8).hexdigest()}"
