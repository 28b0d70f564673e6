"""Which models want which prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.embedding.embedder import Prompts, plain_name, prompts

_SENTENCE = "Represent this sentence for searching relevant passages: "


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("nomic-embed-text", "search_query: ", "search_document: "),
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("hf.co/nomic-ai/Nomic-Embed-Text-v1.5-GGUF:Q8_0", "search_query: ", "search_document: "),
        ("text-embedding-nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("mxbai-embed-large:335m", _SENTENCE, ""),
        ("intfloat/e5-base-v2", "query: ", "passage: "),
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large-instruct", "", ""),
        ("intfloat/e5-mistral-7b-instruct", "", ""),
        ("BAAI/bge-small-en-v1.5", _SENTENCE, ""),
        ("BAAI/bge-large-en", _SENTENCE, ""),
        ("bge-m3", "", ""),
        ("snowflake-arctic-embed:335m", _SENTENCE, ""),
        ("Snowflake/snowflake-arctic-embed-m-v1.5", _SENTENCE, ""),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("embeddinggemma:300m", "task: search result | query: ", "title: none | text: "),
        ("all-minilm", "", ""),
        ("sentence-transformers/all-MiniLM-L6-v2", "", ""),
        ("text-embedding-3-small", "", ""),
        ("text-embedding-ada-002", "", ""),
    ],
)
def test_known_families(model: str, query: str, document: str) -> None:
    assert prompts(model) == Prompts(query, document)


def test_qwen_is_asked_by_an_instruction() -> None:
    assert prompts("Qwen/Qwen3-Embedding-0.6B").query.endswith("\nQuery:")
    assert prompts("qwen3-embedding:8b").document == ""


@given(st.text(), st.text(), st.text())
def test_what_the_settings_say_counts(model: str, query: str, document: str) -> None:
    assert prompts(model, query, document) == Prompts(query, document)
    assert prompts(model, query).document == prompts(model).document


@given(
    st.from_regex(r"[a-z0-9.-]{1,30}", fullmatch=True),
    st.sampled_from(["", "owner/", "hf.co/a/b/"]),
    st.sampled_from(["", ":latest", ":8b"]),
)
def test_owner_tag_and_case_do_not_matter(name: str, owner: str, tag: str) -> None:
    assert plain_name(owner + name.upper() + tag) == name
    assert prompts(owner + name.upper() + tag) == prompts(name)
