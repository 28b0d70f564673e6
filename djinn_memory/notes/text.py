"""From bytes to text: what real vaults hold is not always UTF-8."""

from __future__ import annotations

import codecs

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(data: bytes) -> tuple[str, str | None]:
    """The text of a file, with `\\n` line ends, and a remark when it had to be guessed.

    A byte order mark decides; then UTF-8; UTF-16 without a mark shows by its zero bytes; what is
    left is read as Windows-1252, in which every byte is something, so no text is lost.
    """
    text, remark = _decode(data)
    return text.replace("\r\n", "\n").replace("\r", "\n"), remark


def _decode(data: bytes) -> tuple[str, str | None]:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            text = data.decode(encoding, errors="replace")
            broken = "\ufffd" in text
            return (
                text,
                f"not valid {encoding}; broken characters were replaced" if broken else None,
            )
    head = data[:4096]
    if b"\0" in head:
        for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[0::2])):
            if zeros.count(0) > 0.4 * len(zeros):
                return data.decode(encoding, errors="replace"), "UTF-16 without a byte order mark"
        return "", "binary, not text; rename it or exclude it"
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        remark = f"not UTF-8 (byte {error.start}); read as Windows-1252, save it as UTF-8"
        return data.decode("cp1252", errors="replace"), remark
