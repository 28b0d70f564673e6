"""Telling languages apart, and the stems of their words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.languages import detection, scripts

SENTENCES = {
    "english": "The keys of the cellar are in the drawer with the spare bulbs.",
    "german": "Die Schlüssel vom Keller liegen in der Schublade bei den Glühbirnen.",
    "french": "Les clés de la cave sont dans le tiroir avec les ampoules.",
    "spanish": "Las llaves del sótano están en el cajón con las bombillas.",
    "italian": "Le chiavi della cantina sono nel cassetto con le lampadine.",
    "portuguese": "As chaves do porão estão na gaveta com as lâmpadas.",
    "dutch": "De sleutels van de kelder liggen in de la bij het gereedschap.",
    "swedish": "Nycklarna till källaren ligger i lådan där vi har våra lampor.",
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_tells_its_language(name: str) -> None:
    assert detection.detect(SENTENCES[name]) == name


@pytest.mark.parametrize(
    "text",
    ["", "An educational program in computing", "git push -u origin main", "Keller, Regal 3",
     "東京都", "La Paz", "Use of MOBOL in preparing retrieval programs"],
)  # fmt: skip
def test_what_tells_nothing_is_no_language(text: str) -> None:
    assert detection.detect(text) in (None, "english")


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("german", "Haus Häuser Haeuser HÄUSERN hauses"),
        ("german", "Straße STRASSE Straßen strasse"),
        ("german", "Kündigung Kündigungen kuendigung"),
        ("french", "clé clés CLE cle\u0301s"),
        ("spanish", "canción canciones cancion"),
        ("italian", "libro libri"),
        ("portuguese", "cidade cidades"),
        ("dutch", "sleutel sleutels"),
        ("swedish", "flicka flickor flickorna"),
    ],
)
def test_forms_of_a_word_share_a_stem(language: str, forms: str) -> None:
    found = {detection.stem(scripts.fold(form), language) for form in forms.split()}
    assert len(found) == 1, found


@pytest.mark.parametrize(
    "forms",
    [
        "собака собаки собаке собакой СОБАК",
        "ёлка елки ёлкой",
        "сеть сети сетью",
        "المكتبة مكتبة المكتبه والمكتبة بالمكتبة مَكْتَبَةٌ مكتبـــة",
        "أحمد احمد",
        "الكتاب كتاب والكتاب للكتاب كتابها",
        "ﻣﻜﺘﺐ مكتب",
        "١٢٣ 123 １２３ ๑๒๓",
        "ﾈｯﾄﾜｰｸ ネットワーク",
        "ﾊﾞｽ バス",
        "ＴＯＫＹＯ tokyo",
        "한국 \u1112\u1161\u11ab\u1100\u116e\u11a8",
    ],
)
def test_forms_of_a_word_are_cut_alike(forms: str) -> None:
    assert len({scripts.cut(scripts.fold(form)) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ("歯医者の予約はいつですか", "歯医者 予約"),
        ("りんごはどこで買えますか", "りんご 買え 買"),
        ("あしたの会議", "あした 会議"),
        ("食べ物", "食べ物"),
        ("パスポートはどこにありますか？", "パスポート ？"),
        ("我的护照什么时候到期", "护照 到期"),
        ("병원 예약은 언제인가요?", "병원 예약 ?"),
        ("고양이는 어디에 있나요", "고양이"),
        ("Когда у меня приём у врача", "приём врача"),
        ("متى موعد الطبيب", "موعد الطبيب"),
        ("いつですか", "いつですか"),
        ("什么", "什么"),
        ("где", "где"),
    ],
)
def test_a_question_without_its_grammar(asked: str, left: str) -> None:
    assert scripts.without_question_words(scripts.fold(asked)).split() == scripts.fold(left).split()


LETTERS = st.text(
    st.sampled_from(
        "aeéüßœł1 _-'\u0301日本語東京がのですリンゴー한국은กำข้яёйсобакалимكتابةأوال\u064e٣"
    )
    | st.characters(),
    max_size=30,
)


@given(LETTERS, st.sampled_from([*SENTENCES][1:]))
def test_any_text_can_be_folded_cut_and_stemmed(text: str, language: str) -> None:
    folded = scripts.fold(text)
    detection.detect(text)
    assert bool(scripts.without_question_words(folded).strip()) >= bool(scripts.cut(folded).strip())
    for word in detection.stemmed(folded, language).split():
        assert word
    for low, high in scripts.pieces(text):
        assert 0 <= low < high <= len(text)


@given(LETTERS)
def test_folding_is_done_once(text: str) -> None:
    assert scripts.fold(scripts.fold(text)) == scripts.fold(text)


def test_code_and_addresses_make_no_english_note_foreign() -> None:
    code = "function App() { const [todos, setTodos] = useState([]); van.del(todos) }"
    assert detection.detect_part(code, detection.ENGLISH) in (None, "english")
    assert (
        detection.detect("- https://www.ingofonts.de/la/con/\n- https://los.una.es/para/") is None
    )
    german = "Der Hund ist im Garten und die Katze schläft auf dem Sofa, wenn es regnet."
    assert detection.detect_part(german, detection.ENGLISH) == "german"
