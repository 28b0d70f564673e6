"""Fonts that do not say which letters they show, or that lie about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from djinn_memory.documents.document import Unreadable
from djinn_memory.documents.pdf.quality import is_no_language
from tests.documents.pdfs import by_hand_at, prose, read, stream

CHINESE = "人工智能正在改变我们的生活方式和工作方法。机器学习可以处理大量数据。"
JAPANESE = "人工知能は私たちの生活を変えている。機械学習で大量の資料を処理できる。"
ENGLISH = (
    "The harbour master keeps lanterns burning through winter because rivers freeze and ships "
    "arrive late from northern islands with copper grain timber letters medicine and strangers"
)


def cids(ordering: str) -> Callable[[str], bytes]:
    from pdfminer.cmapdb import CMapDB

    letters = CMapDB.get_unicode_map(f"Adobe-{ordering}", False).cid2unichr
    codes = {letter: code for code, letter in letters.items()}
    return lambda text: b"".join(codes[char].to_bytes(2, "big") for char in text)


def page(content: str, fonts: dict[int, str | bytes]) -> dict[int, str | bytes]:
    """A page whose font F1 is object 5; F2 is Helvetica."""
    return {
        1: "<</Type /Catalog /Pages 2 0 R>>",
        2: "<</Type /Pages /Kids [3 0 R] /Count 1>>",
        3: "<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources"
        " <</Font <</F1 5 0 R /F2 <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>>>>>>>",
        4: stream(content),
        **fonts,
    }


def font_elsewhere(encoding: str, ordering: str) -> dict[int, str | bytes]:
    """A font that the reader's system should have."""
    system = f"<</Registry (Adobe) /Ordering ({ordering}) /Supplement 2>>"
    return {
        5: f"<</Type /Font /Subtype /Type0 /BaseFont /Elsewhere-{encoding} /Encoding /{encoding}"
        " /DescendantFonts [6 0 R]>>",
        6: f"<</Type /Font /Subtype /CIDFontType0 /BaseFont /Elsewhere /CIDSystemInfo {system}"
        " /DW 1000 /FontDescriptor 7 0 R>>",
        7: "<</Type /FontDescriptor /FontName /Elsewhere /Flags 6 /FontBBox [0 -200 1000 900]"
        " /ItalicAngle 0 /Ascent 880 /Descent -120 /StemV 80 /CapHeight 880>>",
    }


def letter_by_letter(
    text: str, encode: Callable[[str], bytes], *, down: bool = False, top: int = 760
) -> str:
    shown = []
    for row in range(0, len(text), 18):
        x, y = (500 - row, top) if down else (60, top - row)
        shown.append(f"1 0 0 1 {x} {y} Tm")
        shown += [f"<{encode(char).hex()}> Tj" for char in text[row : row + 18]]
    return f"BT /F1 12 Tf {' '.join(shown)} ET "


def latin(lines: list[str]) -> str:
    shown = " ".join(f"({line}) Tj T*" for line in lines)
    return f"BT /F2 11 Tf 14 TL 60 700 Td {shown} ET"


def mapped(entries: str) -> dict[int, str | bytes]:
    """Helvetica with a map of its own from codes to letters."""
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /A def "
        f"1 begincodespacerange <00> <ff> endcodespacerange {entries} endcmap end end"
    )
    return {
        5: "<</Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R>>",
        6: stream(cmap),
    }


def each_letter(target: str) -> str:
    pairs = " ".join(f"<{ord('a') + at:02x}> <{target}>" for at in range(26))
    return f"26 beginbfchar {pairs} endbfchar"


@pytest.mark.parametrize(
    ("encoding", "ordering", "text", "encode"),
    [
        ("GBK-EUC-H", "GB1", CHINESE, lambda text: text.encode("gbk")),
        ("GBK-EUC-V", "GB1", CHINESE, lambda text: text.encode("gbk")),
        ("UniGB-UCS2-H", "GB1", CHINESE, lambda text: text.encode("utf-16-be")),
        ("Identity-H", "GB1", CHINESE, cids("GB1")),
        ("90ms-RKSJ-H", "Japan1", JAPANESE, lambda text: text.encode("cp932")),
        ("Identity-H", "Japan1", JAPANESE, cids("Japan1")),
        ("Identity-V", "Japan1", JAPANESE, cids("Japan1")),
    ],
)
def test_fonts_that_are_not_embedded_keep_their_text(
    tmp_path: Path, encoding: str, ordering: str, text: str, encode: Callable[[str], bytes]
) -> None:
    shown = letter_by_letter(text, encode, down=encoding.endswith("V"))
    document = read(by_hand_at(tmp_path, page(shown, font_elsewhere(encoding, ordering))))
    assert re.sub(r"\s", "", document.pages[0]) == text
    assert document.warnings == ()


@pytest.mark.parametrize("angle", [0, 90, 180, 270])
def test_turned_pages_are_read_upright(tmp_path: Path, angle: int) -> None:
    shown = letter_by_letter(CHINESE, lambda text: text.encode("gbk"))
    turned = page(shown, font_elsewhere("GBK-EUC-H", "GB1"))
    turned[3] = str(turned[3]).replace("/Type /Page ", f"/Type /Page /Rotate {angle} ")
    (text,) = read(by_hand_at(tmp_path, turned)).pages
    assert text.replace("\n", "") == CHINESE


def test_lines_within_many_pages_are_no_headers(tmp_path: Path) -> None:
    objects = page("", font_elsewhere("GBK-EUC-H", "GB1"))
    first, numbers = str(objects[3]), range(20, 28)
    shown = letter_by_letter(CHINESE, lambda text: text.encode("gbk"), top=500)
    for number in numbers:
        objects[number] = first.replace("4 0 R", f"{number + 20} 0 R", 1)
        above, below = latin(prose(8, number)), latin(prose(8, number + 90))
        objects[number + 20] = stream(above + shown + below.replace("700 Td", "400 Td"))
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects[2] = f"<</Type /Pages /Kids [{kids}] /Count {len(numbers)}>>"
    document = read(by_hand_at(tmp_path, objects))
    assert all(CHINESE[:18] in text for text in document.pages)


def test_latin_beside_vertical_text_keeps_its_lines(tmp_path: Path) -> None:
    shown = letter_by_letter(CHINESE, lambda text: text.encode("gbk"), down=True)
    fonts = font_elsewhere("GBK-EUC-V", "GB1")
    lines = prose(12)
    (text,) = read(by_hand_at(tmp_path, page(shown + latin(lines), fonts))).pages
    assert all(line in text for line in lines)


def test_what_no_reader_can_tell_is_named_with_its_share(tmp_path: Path) -> None:
    shown = letter_by_letter(CHINESE * 4, lambda text: text.encode("utf-16-be"))
    fonts = font_elsewhere("Identity-H", "Identity")
    with pytest.raises(Unreadable, match=r"fonts that do not map glyphs to letters"):
        read(by_hand_at(tmp_path, page(shown, fonts)))
    few = page(shown + latin(["twelve lamps burn here"] * 3), fonts)
    first, second = read(by_hand_at(tmp_path, few)).warnings
    assert first.startswith("page 1 is read in part: the fonts do not map glyphs to letters; ")
    assert second == "the text has only 30% of the letters that the pages show"
    many = page(shown + latin(prose(40)), fonts)
    assert read(by_hand_at(tmp_path, many)).warnings == ()


@pytest.mark.parametrize(
    ("entries", "apart"),
    [
        (each_letter("fffd"), False),
        (each_letter("fffd"), True),
        (each_letter("0000"), False),
        ("1 beginbfrange <61> <7a> <e061> endbfrange", False),
        ("1 beginbfrange <61> <7a> <e061> endbfrange", True),
        ("1 beginbfrange <61> <7a> <0001> endbfrange", False),
        ("1 beginbfrange <61> <7a> <00a1> endbfrange", False),
        ("3 beginbfchar <61> <fffd> <65> <fffd> <6f> <fffd> endbfchar", False),
    ],
)
def test_letters_that_are_none_are_no_text(tmp_path: Path, entries: str, apart: bool) -> None:
    lines = [" ".join(line.replace(" ", "")) if apart else line for line in prose(30)]
    shown = latin(lines).replace("/F2", "/F1")
    with pytest.raises(Unreadable, match="fonts that do not map glyphs to letters"):
        read(by_hand_at(tmp_path, page(shown, mapped(entries))))


@pytest.mark.parametrize(
    "entries",
    [
        "2 beginbfrange <61> <77> <0064> <78> <7a> <0061> endbfrange",
        "1 beginbfrange <61> <7a> <0044> endbfrange",
        "1 beginbfrange <61> <7a> <6a61> endbfrange",
    ],
)
def test_letters_that_form_no_words_are_named(tmp_path: Path, entries: str) -> None:
    shown = latin([ENGLISH.lower()] * 4).replace("/F2", "/F1")
    (warning,) = read(by_hand_at(tmp_path, page(shown, mapped(entries)))).warnings
    assert warning.startswith("its letters form no known words")


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni "
        "obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa",
        "Genir pawb yn rhydd ac yn gydradd â'i gilydd mewn urddas a hawliau. Fe'u cynysgaeddir â "
        "rheswm a chydwybod, a dylai pawb ymddwyn y naill at y llall mewn ysbryd cymodlon",
        "Hver maður er borinn frjáls og jafn öðrum að virðingu og réttindum. Menn eru gæddir "
        "vitsmunum og samvizku, og ber þeim að breyta bróðurlega hverjum við annan, ævinlega",
        "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana "
        "sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler, herkes",
        "Watu wote wamezaliwa huru, hadhi na haki zao ni sawa. Wote wamejaliwa akili na dhamiri, "
        "hivyo yapasa watendeane kindugu kila mtu bila ubaguzi, rangi, taifa, lugha, dini, siasa",
        CHINESE * 2,
        JAPANESE * 2,
        "人工智慧正在改變我們的生活方式與工作方法。機器學習可以處理大量資料。",
    ],
)
def test_texts_of_any_language_form_words(text: str) -> None:
    assert not is_no_language(text)


@pytest.mark.parametrize("shift", [1, 3, 7, 13, 19])
def test_a_shifted_alphabet_forms_none(shift: int) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    moved = letters[shift:] + letters[:shift]
    assert is_no_language(ENGLISH.lower().translate(str.maketrans(letters, moved)))


def test_streams_of_brotli_are_named(tmp_path: Path) -> None:
    packed = page("", {5: "<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>"})
    packed[4] = stream(b"\x0b\x02\x80BT /F1 12 Tf\x03", "/Filter /BrotliDecode")
    with pytest.raises(Unreadable, match="is compressed with Brotli"):
        read(by_hand_at(tmp_path, packed))
    packed[2] = "<</Type /Pages /Kids [3 0 R 8 0 R] /Count 2>>"
    packed[8] = str(packed[3]).replace("4 0 R", "9 0 R", 1)
    packed[9] = stream(latin(prose(20)))
    document = read(by_hand_at(tmp_path, packed))
    assert document.warnings == ("page 1 is left out: compressed with Brotli",)
    del packed[1]
    with pytest.raises(Unreadable, match="is compressed with Brotli"):
        read(by_hand_at(tmp_path, packed))
