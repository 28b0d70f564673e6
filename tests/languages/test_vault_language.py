"""Whether the notes of a folder are mostly in another language than English."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.languages.vault_language import mostly_foreign
from tests.conftest import Run

GERMAN = "Die Müllabfuhr kommt am Dienstag, und wir stellen die Tonne nicht auf den Weg."
RUSSIAN = "Ключи от подвала лежат в ящике, see README."
CHINESE = "地下室的钥匙在抽屉里。"
ENGLISH = "The keys of the cellar are in the drawer with the spare bulbs."
CODE = "git push -u origin main"


def write(folder: Path, *texts: str) -> Path:
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"{number}.md").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("texts", "foreign"),
    [
        ((), False),
        ((CODE,), False),
        ((ENGLISH, ENGLISH, GERMAN), False),
        ((ENGLISH, GERMAN), False),
        ((ENGLISH, GERMAN, CHINESE), True),
        ((RUSSIAN, CODE, CODE), True),
    ],
)
def test_the_greater_part_of_the_notes_counts(
    tmp_path: Path, texts: tuple[str, ...], foreign: bool
) -> None:
    assert mostly_foreign(write(tmp_path / "notes", *texts)) is foreign


def test_init_and_doctor_suggest_the_multilingual_model(tmp_path: Path, run: Run) -> None:
    notes, home = write(tmp_path / "notizen", GERMAN, CHINESE), tmp_path / "home"
    made = run("init", home, "--notes", notes)
    assert "notizen are not in English: `djinn index --model multilingual`" in made.stderr
    run("config", "set", "embedding.provider", "local", home=home)
    looked = run("doctor", home=home)
    assert "most notes of notizen are not in English" in looked.stdout
    run("config", "set", "embedding.model", "multilingual", home=home)
    assert "not in English" not in run("doctor", home=home).stdout
