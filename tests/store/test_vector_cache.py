"""The cache of vectors."""

from __future__ import annotations

from pathlib import Path

from djinn_memory.store.vector_cache import EmbeddingCache, text_hash


def test_vectors_are_kept_by_model_and_text(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "e.db")
    one, two = text_hash("one"), text_hash("two")
    cache.put("a", {one: b"1111", two: b"2222"})
    cache.put("b", {one: b"3333"})
    again = EmbeddingCache(tmp_path / "e.db")
    assert again.get("a", [one, two]) == {one: b"1111", two: b"2222"}
    assert again.get("b", [one, two]) == {one: b"3333"}
    assert again.get("c", [one]) == {}


def test_tokens_are_kept_beside_vectors(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "e.db")
    keys = [text_hash(str(number)) for number in range(3)]
    cache.put("a", dict.fromkeys(keys, b"vector"), {keys[0]: b"one", keys[1]: b"two"})
    assert cache.token_signs("a", keys) == {keys[0]: b"one", keys[1]: b"two"}
    assert cache.token_signs("b", keys) == {}
    assert not cache.lacks_tokens("a")
    assert not cache.lacks_tokens("b")
    cache.remove(keys[:1])
    assert cache.token_signs("a", keys) == {keys[1]: b"two"}


def test_many_are_asked_for_at_once(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "e.db")
    keys = [text_hash(str(number)) for number in range(3000)]
    cache.put("a", dict.fromkeys(keys, b"x"))
    assert len(cache.get("a", [*keys, text_hash("other")])) == 3000


def test_any_text_has_a_hash_of_its_own() -> None:
    texts = ["", "a", "A", "a ", "\ud800", "é", "e\u0301", "x" * 10**6]
    assert len({text_hash(text) for text in texts}) == len(texts)
