"""Eight languages in one index, found by words; the sentences are in `languages.txt`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct, field

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from tests.cli.test_imports import CODE


class Language(Struct):
    """Notes by name, and questions with the name of the note that answers."""

    notes: dict[str, str] = field(default_factory=dict)
    questions: list[tuple[str, str]] = field(default_factory=list)


def _read() -> dict[str, Language]:
    found: dict[str, Language] = {}
    name = ""
    for line in Path(__file__).with_name("languages.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            name = line[3:]
            found[name] = Language()
        elif line:
            key, _, text = line.removeprefix("? ").partition(": ")
            if line.startswith("? "):
                found[name].questions.append((key, text))
            else:
                found[name].notes[key] = text
    return found


LANGUAGES = _read()


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Djinn:
    """One home with the notes of all languages, under names that say nothing."""
    return _made(tmp_path_factory, times=1)


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Djinn:
    """The same, where each note says all its words twice."""
    return _made(tmp_path_factory, times=2)


def _made(tmp_path_factory: pytest.TempPathFactory, times: int) -> Djinn:
    home, _ = init(tmp_path_factory.mktemp("languages") / "home")
    _quiet(home)
    shared = home.root / "vaults" / "shared"
    for name, language in LANGUAGES.items():
        for number, text in enumerate(language.notes.values()):
            (shared / f"{name}-{number}.md").write_text(f"{text}\n" * times, encoding="utf-8")
    djinn = Djinn(home)
    djinn.index()
    return djinn


def _quiet(home: Home) -> None:
    home.edit((("embedding", "provider"), "hashing"))


@pytest.mark.few(4)
@pytest.mark.parametrize("name", LANGUAGES)
def test_questions_find_their_note_by_words(everything: Djinn, name: str) -> None:
    language = LANGUAGES[name]
    assert len(language.notes) >= 12
    assert len(language.questions) >= 20
    wrong = []
    for key, text in language.questions:
        place = list(language.notes).index(key)
        hits = everything.search(text, mode="words").hits
        if not hits or hits[0].path != f"{name}-{place}.md":
            wrong.append((text, language.notes[key], [hit.snippet for hit in hits[:2]]))
    right = 1 - len(wrong) / len(language.questions)
    told = "\n".join(f"{asked}\n  wanted {note}\n  found {found}" for asked, note, found in wrong)
    print(f"{name}: hit@1 {right:.2f} of {len(language.questions)}\n{told}")
    assert right >= 0.9


def marked(djinn: Djinn, text: str) -> list[str]:
    hit = djinn.search(text, mode="words").hits[0]
    return [hit.snippet[low:high] for low, high in hit.marks]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("rotes Fahrrad, Kette", ["Fahrrad", "Kette"]),
        ("Schluesseln der Wohnungen", ["Wohnung", "Schlüssel"]),
        ("велосипедам цепью", ["велосипеде", "цепь"]),
        ("سلسلة دراجتي", ["سلسلة", "الدراجة"]),
        ("路由器的苍鹭", ["路由器", "苍鹭"]),
        ("ｱｵｻｷﾞはどこ", ["アオサギ"]),
        ("왜가리는", ["왜가리"]),
        ("นกกระสา", ["นกกระสา"]),
    ],
)
def test_snippets_mark_the_words_that_answer(
    everything: Djinn, text: str, marks: list[str]
) -> None:
    assert marked(everything, text) == marks


@pytest.mark.parametrize(
    ("typo", "word"),
    [
        ("Zahnspamge", "zahnspange"),
        ("Bluthochdrcuk", "bluthochdruck"),
        ("терапефт", "терапевт"),
        ("electrichka", None),
        ("хазяин", "хозяин"),
        ("الاحتباطي", None),
        ("الطماصم", "الطماطم"),
        ("sprokets", "sprockets"),
    ],
)
def test_a_typo_has_a_near_spelling(repeated: Djinn, typo: str, word: str | None) -> None:
    assert repeated.search(typo, mode="words").suggestions == ((word,) if word else ())


def test_a_note_of_two_languages_is_found_in_both(home: Home, shared: Path) -> None:
    (shared / "two.md").write_text(
        "# Keller\n\n## Deutsch\n\nDie Schlüssel für die Kellertüren hängen neben dem Sicherungs"
        "kasten.\n\n## English\n\nThe keys of the cellar doors hang beside the fuse box.\n"
    )
    (shared / "en.md").write_text("The die was cast in the foundry; it was heard in the war.\n")
    _quiet(home)
    djinn = Djinn(home)
    djinn.index()
    for text, heading in (
        ("Kellertür", "Deutsch"), ("KELLERTUEREN", "Deutsch"),
        ("wo hängt der Schlüssel", "Deutsch"),
        ("fuse boxes", "English"),
        ('"cellar doors"', "English"), ('"die Schlüssel"', "Deutsch"),
    ):  # fmt: skip
        [hit] = djinn.search(text, mode="words").hits[:1]
        assert hit.heading[-1] == heading, text
    # `die` and `war` of an English question are not the German article and verb.
    assert [hit.path for hit in djinn.search("dies cast war", mode="words").hits] == ["en.md"]


def test_words_without_accents_find_those_with_them(home: Home, shared: Path) -> None:
    _quiet(home)
    for name, text in {
        "fr": "Les élèves ont mangé à la crêperie près de la forêt.",
        "es": "Los niños están en el jardín de la señora.",
        "pt": "As crianças estão na praça com o cão.",
        "it": "La città è più bella nella luce della sera.",
        "sv": "Nycklarna ligger på bordet i köket, och vi är här.",
        "nl": "De reünie van de familie is in het café bij de brug.",
    }.items():
        (shared / f"{name}.md").write_text(text)
    djinn = Djinn(home)
    djinn.index()
    for text, path in (
        ("creperies", "fr.md"), ("forets", "fr.md"), ("jardines", "es.md"), ("NINO", "es.md"),
        ("crianca", "pt.md"), ("pracas", "pt.md"), ("citta", "it.md"), ("koket", "sv.md"),
        ("reunies", "nl.md"), ("re\u0301unies", "nl.md"),
    ):  # fmt: skip
        assert [hit.path for hit in djinn.search(text, mode="words").hits] == [path], text


def test_an_english_index_pays_for_no_language(home: Home, shared: Path) -> None:
    _quiet(home)
    (shared / "a.md").write_text(LANGUAGES["English"].notes["bike"])
    Djinn(home).index()
    done = subprocess.run(
        [sys.executable, "-c", CODE, "--home", str(home.root),
         "memory", "search", "bicycle chains", "--mode", "words"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found, _, modules = done.stdout.rpartition("@")
    assert "chain" in found
    loaded = set(modules.split())
    assert "djinn_memory.search.legs.words" in loaded
    assert not {name for name in loaded if "Stemmer" in name}
    assert not {"djinn_memory.languages.scripts", "djinn_memory.languages.detection"} & loaded


def test_a_german_word_that_is_not_there_finds_its_compounds(home: Home, shared: Path) -> None:
    _quiet(home)
    (shared / "tonne.md").write_text("Die Mülltonnen stehen hinter dem Haus.")
    (shared / "torte.md").write_text("Zum Geburtstag gab es eine Kirschtorte von der Oma.")
    (shared / "foto.md").write_text("Das Foto von der Katze ist nicht auf dem Rechner.")
    djinn = Djinn(home)
    djinn.index()
    for text, path in (
        ("Wo ist der Müll?", "tonne.md"), ("Torten", "torte.md"), ("Passfoto", "foto.md"),
    ):  # fmt: skip
        assert [hit.path for hit in djinn.search(text, mode="words").hits] == [path], text
    for text in ("2026", "Oma 2026 x", "Tor", "Kamel"):
        paths = {hit.path for hit in djinn.search(text, mode="words").hits}
        assert paths <= {"torte.md"} if "Oma" in text else not paths, text
