import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.notes.encoding import decode

BOMS = (
    codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE,
    codecs.BOM_UTF32_BE,
)  # fmt: skip
WORDS = "# Café 小明 🎉\nzwei\n"


@pytest.mark.parametrize(
    ("data", "remark"),
    [
        (WORDS.encode(), None),
        (WORDS.replace("\n", "\r\n").encode(), None),
        (WORDS.replace("\n", "\r").encode(), None),
        (WORDS.encode("utf-8-sig"), None),
        (WORDS.encode("utf-16"), None),
        (codecs.BOM_UTF16_BE + WORDS.encode("utf-16-be"), None),
        (WORDS.encode("utf-32"), None),
        (codecs.BOM_UTF32_BE + WORDS.encode("utf-32-be"), None),
        (WORDS.encode("utf-16-le"), "UTF-16 without"),
        (WORDS.encode("utf-16-be"), "UTF-16 without"),
    ],
)
def test_the_same_text_in_every_encoding(data: bytes, remark: str | None) -> None:
    text, said = decode(data)
    assert text == WORDS
    assert (said or "").startswith(remark or "")
    assert bool(said) == bool(remark)


@pytest.mark.parametrize(
    ("data", "text", "remark"),
    [
        (b"", "", None),
        (b"caf\xe9", "café", "Windows-1252"),
        (b"\x81\xe9", "\ufffdé", "Windows-1252"),
        (b"\xef\xbb\xbfcaf\xe9", "caf\ufffd", "not valid UTF-8"),
        ("\ufffd".encode("utf-8-sig"), "\ufffd", None),
        (b"\xff\xfea\0b", "a\ufffd", "not valid UTF-16"),
        (b"torn\0\0\0 note", "torn\ufffd\ufffd\ufffd note", "NUL"),
        (b"\0\0\0", "\ufffd" * 3, "NUL"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff", "", "binary"),
        ("e\u0301".encode(), "e\u0301", None),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(data: bytes, text: str, remark: str | None) -> None:
    found, said = decode(data)
    assert found == text
    assert (remark or "") in (said or "")
    assert bool(said) == bool(remark)


@given(
    st.binary()
    | st.sampled_from([b"\xff\xfe", b"\xfe\xff", b"\0a"]).flatmap(
        lambda head: st.binary().map(lambda tail: head + tail)
    )
)
def test_any_bytes_are_text_that_can_be_written(data: bytes) -> None:
    text, remark = decode(data)
    text.encode()
    assert "\r" not in text
    assert "\0" not in text
    assert text or remark or not data or data in BOMS


def test_a_tail_of_zeros_does_not_make_it_utf_16() -> None:
    text, remark = decode(b"the tide turns" + bytes(2000))
    assert text.startswith("the tide turns\ufffd")
    assert remark and "NUL" in remark
