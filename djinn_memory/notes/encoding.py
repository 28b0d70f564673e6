"""Decodes the bytes of notes. Real vaults contain files that are not UTF-8."""

from __future__ import annotations

import codecs

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(data: bytes) -> tuple[str, str | None]:
    """The text of a file, with `\\n` line ends, and a remark on a fault of the file.

    Bytes that fit no other encoding are read as Windows-1252, which accepts every byte, so that no
    text is lost. Binary data returns an empty text.
    """
    bom, encoding, remark = detect(data)
    if encoding is None:
        return "", remark
    try:
        text = data[len(bom) :].decode(encoding)
    except UnicodeDecodeError:
        text = data[len(bom) :].decode(encoding, errors="replace")
        remark = remark or f"not valid {encoding.upper()}; broken characters were replaced"
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
        remark = remark or "the file contains NUL characters; remove them"
    return text.replace("\r\n", "\n").replace("\r", "\n"), remark


def writable(text: str) -> str:
    """`text` with replacements for characters that UTF-8 or a note cannot contain."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def detect(data: bytes) -> tuple[bytes, str | None, str | None]:
    """A file's byte order mark, its encoding (None for binary data), and a remark on a guess.

    A byte order mark decides. Otherwise zero bytes indicate UTF-16, and valid UTF-8 is UTF-8.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return bom, encoding, None
    head = data[:4096]
    if any(head) and b"\0" in head:
        even, odd = head[0::2], head[1::2]
        for encoding, high, low in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
            # Zeros on both sides are the end of a file that a power cut left unwritten.
            if high.count(0) > 0.4 * len(high) and low.count(0) < 0.1 * len(low):
                return b"", encoding, "UTF-16 without a byte order mark"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if b"\0" in head:
            return b"", None, "binary, not text; rename it or exclude it"
        why = f"not UTF-8 (byte {error.start}); it was read as Windows-1252, save it as UTF-8"
        return b"", "cp1252", why
    return b"", "utf-8", None
