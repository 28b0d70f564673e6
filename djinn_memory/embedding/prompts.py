"""The prompts that separate questions from answering texts, by model."""

from __future__ import annotations

import re

from msgspec import Struct


class Prompts(Struct, frozen=True):
    """Text put before a question, and before a text to be found; "" for none."""

    query: str = ""
    document: str = ""


_SENTENCE = Prompts("Represent this sentence for searching relevant passages: ")
_SIDES = Prompts("query: ", "passage: ")

# As the model cards give them. The first pattern that matches the beginning of a name counts.
_FAMILIES = (
    ("nomic-embed-text", Prompts("search_query: ", "search_document: ")),
    ("mxbai-embed-large", _SENTENCE),
    # The instruct models expect a description of the task, and none fits all tasks.
    ("(multilingual-)?e5-(small|base|large)(?!.*instruct)", _SIDES),
    ("bge-(small|base|large)-en", _SENTENCE),
    (r"snowflake-arctic-embed(2|.*-v2\b)", Prompts("query: ")),
    ("snowflake-arctic-embed", _SENTENCE),
    ("embeddinggemma", Prompts("task: search result | query: ", "title: none | text: ")),
    (
        "qwen3-embedding",
        Prompts(
            "Instruct: Given a web search query, retrieve relevant passages that answer the "
            "query\nQuery:"
        ),
    ),
)


def plain_name(model: str) -> str:
    """A model's name without its owner and its tag, in lower case."""
    return model.rstrip("/").rpartition("/")[2].partition(":")[0].strip().lower()


def prompts(model: str, query: str | None = None, document: str | None = None) -> Prompts:
    """The prompts of a model by its name; empty for a model that is not known to need them.

    `query` and `document` are set by the user and take precedence. An empty text means no prompt.
    """
    # LM Studio adds this prefix to the models it serves; OpenAI's own models need no prompts.
    name = plain_name(model).removeprefix("text-embedding-")
    known = next((own for family, own in _FAMILIES if re.match(family, name)), Prompts())
    return Prompts(
        known.query if query is None else query, known.document if document is None else document
    )
