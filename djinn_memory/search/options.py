"""The request for a search."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from djinn_memory.models import Backend, Expand, Mode
from djinn_memory.search.narrowing import Narrowing, RawText


class SearchOptions(Narrowing, frozen=True):
    """Search by words and by meaning in all vaults that the agent sees."""

    query: Annotated[
        RawText,
        Meta(
            description='A question or words. "a b" asks for the phrase, -word leaves out, '
            "tag:x type:x path:x domain:x filter. words: and meaning: begin text for one leg alone."
        ),
    ]
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=1000)] | None, Meta(description="The maximum number of hits.")
    ] = None
    expired: Annotated[bool, Meta(description="Include memories that have expired.")] = False
    mode: Annotated[
        Mode | None,
        Meta(description="Search with both legs (keywords and meaning), or with one of them."),
    ] = None
    rerank: Annotated[
        bool | None,
        Meta(description="Rerank the best hits with the model of search.rerank."),
    ] = None
    expand: Annotated[
        Expand | None,
        Meta(
            description="Expand the query with words of the best notes (prf), or with the "
            "chat model (llm)."
        ),
    ] = None
    backend: Annotated[
        Backend | None,
        Meta(
            description="Search the index of this home (sqlite), or that of its server (postgres)."
        ),
    ] = None
