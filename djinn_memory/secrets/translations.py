"""Passwords that a text names with a word of another language than English."""

from __future__ import annotations

from collections.abc import Iterator

from djinn_memory.secrets.rules import Rule
from djinn_memory.secrets.values import IS, QUOTES, VALUE, labelled, password, spoken

_LATIN = {
    "wachtwoord": "",
    "kodeord": "",
    "adgangskode": "",
    "lösenord": "",
    "salasan": "",
    "lozink": "",
    "jelsz": "",
    "slaptažod": "",
    "fjalëkalim": "",
    "şifre": "",
    "Şifre": "",
    "hasł": r"(?<!\w)hasł",
    "esl": r"(?<=\b[hg])esl(?:o|u|em|om)\b",
    "parol": r"(?<!\w)parol(?:ă|[ae]i?|ası|o)",
    "clave": r"(?<!\w)(?<!palabra )(?<!palabras )clave\b",
    "mdp": r"(?<!\w)mdp\b",
    "sandi": r"(?<=kata )sandi\b",
    "ật": r"(?<=m)ật khẩu",
}
"""Words for a password in Latin script, or stems of them, each with its expression if it needs one.
Only letters of ASCII are searched for in both cases."""

_SPACED = {
    "арол": r"(?<=[пП])арол",
    "АРОЛ": r"(?<=П)АРОЛ",
    "озинк": r"(?<=[лЛ])озинк",
    "كلمة": r"كلمة (?:ال)?(?:مرور|سر)",
    "رمز": r"رمز (?:عبور|ی)",
    "گذرواژه": "",
    "סיסמ": r"סיסמ[אה]",
    "पासवर्ड": "",
    "ωδικ": r"(?<=[κΚ])ωδικ\w{1,3} πρ",
    "υνθηματ": r"(?<=[σΣ])υνθηματ",
}
"""The same in other scripts that have spaces between words."""

_UNSPACED = ("密码", "密碼", "口令", "パスワード", "パスフレーズ", "暗証番号",
             "비밀번호", "패스워드", "암호", "รหัสผ่าน")  # fmt: skip
"""The same in scripts where the password may follow without a space."""

_BETWEEN = r"(?:[ \t][^\n:=.;!?]{1,40}?)?"
_LATIN_IS = rf"(?:{IS}|[ \t](?:on|je|to|va|là|adalah|ialah|er|är|luidt|–|—|-)[ \t])"
_IS = (
    r"(?:[:：=＝–—→]|(?<=[ \t])-(?=[ \t])|[是为為は가이은는]|คือ"
    r"|(?<=[ \t])(?:هي|هو|היא|הוא|है|είναι)(?=[ \t]))"
)
_UNTIL_IS = rf"[^\n:：=.。!?？]{{0,40}}?{_IS}"
_OPEN = rf"[ \t]{{0,4}}[{QUOTES}「『（(]{{0,2}}"
_LATIN_VALUE = rf"(?P<quoted>(?!))?(?P<bare>(?:(?![{QUOTES}])[!-~]){{4,100}})"


def _rules() -> Iterator[Rule]:
    for word, stem in _LATIN.items():
        pattern = rf"{stem or word}\w{{0,8}}{_BETWEEN}{_LATIN_IS}{VALUE}"
        yield Rule(word, pattern, judge=password, more=True)
    for word, stem in (*_SPACED.items(), *((word, "") for word in _UNSPACED)):
        named = stem or word
        latin = rf"{named}{_UNTIL_IS}{_OPEN}{_LATIN_VALUE}"
        yield Rule(word, latin, judge=labelled, more=True)
        if word in _SPACED:
            yield Rule(word, rf"{named}{_UNTIL_IS}{_OPEN}{VALUE}", judge=password, more=True)
        yield Rule(word, rf"{named}[^\n。！？!-~]{{0,16}}{_OPEN}{_LATIN_VALUE}", judge=spoken)


RULES = tuple(_rules())
