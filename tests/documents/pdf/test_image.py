"""Pages of a PDF as pictures."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from djinn_memory.documents.document import Unreadable
from djinn_memory.documents.pdf.image import MOST_PIXELS, page_image

SAMPLE = Path(__file__).resolve().parents[3] / "docs" / "samples" / "tide-gauge-manual.pdf"


def test_a_page_is_a_picture_of_the_width_that_was_asked() -> None:
    picture = Image.open(BytesIO(page_image(SAMPLE, 1, 400)))
    assert picture.format == "PNG" and picture.width == 400
    assert len(picture.convert("L").getcolors(256) or ()) > 2


@pytest.mark.parametrize("wide", [b"10.0", b".001"])
def test_a_page_that_is_a_very_high_strip_stays_small(tmp_path: Path, wide: bytes) -> None:
    strip = tmp_path / "strip.pdf"
    Image.new("L", (10, 14_000)).save(strip, "PDF")
    strip.write_bytes(strip.read_bytes().replace(b"10.0 14000.0 ]", wide + b" 14000.0 ]"))
    picture = Image.open(BytesIO(page_image(strip, 1, 2000)))
    assert picture.width * picture.height <= MOST_PIXELS * 1.1


def test_a_page_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(IndexError):
        page_image(SAMPLE, 99, 400)
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 nothing")
    with pytest.raises(Unreadable):
        page_image(broken, 1, 400)
