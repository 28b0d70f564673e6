"""How a written word may stand for a word of a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.entities.matching import compared, spoken_words, words_of


@pytest.mark.parametrize(
    ("mention", "name", "how"),
    [
        ("ZOE", "Zoë", "same"), ("Laskawy", "Łaskawý", "same"), ("Juergen", "Jürgen", "same"),
        ("Bob's", "Bob", "same"), ("Ayşe'nin", "Ayşe", "same"), ("O'Brien", "O'Brien", "same"),
        ("Helgas", "Helga", "form"), ("Марию", "Мария", "form"), ("Ивановой", "Иванова", "form"),
        ("Bob", "Robert", "nickname"), ("Kasia", "Katarzyna", "nickname"),
        ("Саша", "Александр", "nickname"), ("Bert", "Bob", None),
        ("R", "Robert", "initial"), ("Robrt", "Robert", "typo"), ("Ferdniand", "Ferdinand", "typo"),
        ("Marin", "Maren", "spelling"), ("Karen", "Maren", "spelling"), ("Jan", "Jana", None),
        ("田中さん", "田中太郎", "part"), ("太郎", "田中太郎", "part"), ("中", "田中太郎", None),
        ("김철수는", "김철수", "form"), ("Miller", "Alder", None), ("Марина", "Мария", None),
    ],
)  # fmt: skip
def test_words(mention: str, name: str, how: str | None) -> None:
    [[spoken], [word]] = words_of(mention), words_of(name)
    assert compared(spoken, word) == how


def test_titles_and_the_order_of_names() -> None:
    assert spoken_words("Dr. Alder") == ("alder",)
    assert spoken_words("the harbour lamp") == ("harbour", "lamp")
    assert spoken_words("The Sir") == ("the", "sir")
    assert words_of("Alder, Bob") == ("bob", "alder")
    assert spoken_words("?!") == ()


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text(mention: str, name: str) -> None:
    for spoken in spoken_words(mention):
        assert compared(spoken, spoken) == "same"
        for word in words_of(name):
            compared(spoken, word)
