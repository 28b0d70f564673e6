"""Pictures of text, read by the real ocrmypdf."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from djinn_memory.documents.document import Unreadable
from tests.documents.pdfs import new, picture, prose, put, read, saved


@pytest.fixture(scope="module")
def program() -> None:
    """The test is left out where ocrmypdf or tesseract is missing."""
    beside = Path(sys.executable).with_name("ocrmypdf")
    if not (beside.exists() or shutil.which("ocrmypdf")) or not shutil.which("tesseract"):
        pytest.skip("needs pip install -e '.[ocr]' and apt-get install tesseract-ocr")


@pytest.mark.usefixtures("program")
def test_a_scan_is_read(tmp_path: Path) -> None:
    page = Image.new("L", (900, 160), 255)
    ImageDraw.Draw(page).text((30, 50), "The harbour lamp is lit.", 0, ImageFont.load_default(48))
    page.save(tmp_path / "scan.png")
    made = new()
    made.image(str(tmp_path / "scan.png"), x=50, y=50, w=450)
    (text,) = read(saved(made, tmp_path), ocr="eng").pages
    assert text.split() == ["The", "harbour", "lamp", "is", "lit."]


@pytest.mark.soak
@pytest.mark.usefixtures("program")
def test_a_scanned_letter_is_read(data_dir: Path) -> None:
    found = read(data_dir / "pdfs" / "ocrmypdf__linn.pdf", ocr="eng")
    (text,) = found.pages
    assert len(text.split()) > 100
    assert "the" in text.lower().split()
    assert found.warnings == ()


@pytest.mark.usefixtures("program")
def test_why_ocrmypdf_failed_is_said(data_dir: Path) -> None:
    with pytest.raises(Unreadable, match=r"could not be read by ocrmypdf: .*xxx") as raised:
        read(data_dir / "pdfs" / "ocrmypdf__linn.pdf", ocr="xxx")
    assert "\n" not in str(raised.value)


def test_files_with_text_do_not_ask_for_it(tmp_path: Path) -> None:
    made = new()
    put(made, prose(9))
    assert read(saved(made, tmp_path), ocr="no-such-language").pages == ("\n".join(prose(9)),)


def test_an_encrypted_scan_is_not_handed_on(tmp_path: Path) -> None:
    made = new()
    picture(made, tmp_path)
    made.set_encryption(owner_password="captain", user_password="any")
    path = saved(made, tmp_path)
    with pytest.raises(Unreadable, match="save it without its password"):
        read(path, password="any", ocr="eng")


def test_what_is_missing_is_named(tmp_path: Path, data_dir: Path) -> None:
    """In a Python that has this one's packages but not its programs."""
    place = tmp_path / "bare"
    venv.create(place, with_pip=False, symlinks=True)
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    tried = (
        "from pathlib import Path\n"
        "from tests.documents.pdfs import read\n"
        f"read(Path({str(data_dir / 'pdfs' / 'ocrmypdf__linn.pdf')!r}), ocr='eng')"
    )
    paths = [str(Path(__file__).resolve().parents[2]), *filter(None, sys.path)]
    done = subprocess.run(
        [python, "-c", tried], capture_output=True, text=True, check=False,
        env={"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert done.stderr.splitlines()[-1].endswith(
        f"needs ocrmypdf: run {python} -m pip install '.[ocr]' in a clone of djinn, and install "
        "tesseract with the languages of documents.ocr_languages"
    )
