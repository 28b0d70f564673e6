from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.chunking.chunks import Lines


@given(st.text(alphabet="a\n\r\u2028"), st.lists(st.integers(0, 30)))
def test_the_line_of_any_place_in_any_order(text: str, places: list[int]) -> None:
    lines = Lines(text)
    assert [lines.of(place) for place in places] == [
        text.count("\n", 0, place) + 1 for place in places
    ]
