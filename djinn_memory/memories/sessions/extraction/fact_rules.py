"""The rules for facts about the user: `my time zone is Europe/Warsaw`, `call me Anna`. Pure."""

from __future__ import annotations

import re

from djinn_memory.memories.sessions.extraction.claims import BLANK, Claim

USER = "user"
"""The category of facts about the person who speaks with the agent."""

MOST_WORDS = 6
"""Maximum words of a value."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_UPPER = r"[^\W\d_a-z][\w'’.&+-]*"
_NAME = rf"{_UPPER}(?:,? (?:(?:de|van|von|der|den|la|le|of|the|and|&|y) )?{_UPPER}){{0,4}}"
_NAMED = re.compile(_NAME)
_CODE = re.compile(r"(?=[^\s]*\d)[\w.@/:+#-]+(?: [\w.@/:+#-]*\d[\w.@/:+#-]*)?")
_AMOUNT = re.compile(
    r"(?:[€$£] ?)?\d[\d.,]*(?: ?(?:[€$£%]|k|euros?|dollars?|pounds?|francs?|kg|km|hours?|days?))?"
    r"(?: (?:an?|per) (?:hour|day|week|month|year|person|head))?"
)
_WHAT = re.compile(rf"(?:(?:an?|the|at|in) )?(?P<name>{_NAME})")

_MONTHS = r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_TIMES = re.compile(
    rf"(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|today|tonight|yesterday|asap|back|later"
    rf"|crazy|maybe|now|soon|mad|old|(?:{_MONTHS})\w*",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r",?\s+(?:right now|now|currently|these days|by the way|btw|actually|anyway|though|as well|too"
    r"|again|instead|please|from now on|for short|nowadays"
    rf"|since (?:(?:last|early|late|mid|the) )?(?:\d{{4}}|(?:{_MONTHS})\w*|spring|summer|autumn"
    r"|fall|winter|week|month|year)(?: \d{4})?)$",
    re.IGNORECASE,
)

_MY = re.compile(
    r"(?i:my) (?P<key>[^\W\d_][\w'’-]*(?: [^\W\d_][\w'’-]*){0,3}?) "
    r"(?i:(?P<verb>is called|are called|is named|are named|is|are)) (?P<value>\S.*)"
)
_CALL = re.compile(
    rf"(?i:(?:you can |you may |please |just |everyone can )*call me) (?P<value>{_NAME})"
)
_OCCUPATION = re.compile(
    r"(?:an? )?(?:[\w-]+ ){0,3}(?:\w{2,}(?:eer|ner|ter|ger|cher|per|der|ist|ian|tor|sor|yst|ect)"
    r"|nurse|chef|cook|student|assistant|consultant|architect|doctor|lawyer|lead)",
    re.IGNORECASE,
)
_I = (
    ("lives in", re.compile(rf"(?i:I)(?: now| currently)? live in (?P<value>{_NAME})")),
    (
        "lives in",
        re.compile(
            rf"(?i:I)(?:'ve|’ve| have)?(?: just| recently)? moved (?:from {_NAME} )?to "
            rf"(?P<value>{_NAME})(?: last \w+| this \w+| in \w+(?: \d{{4}})?| a \w+ ago)?"
        ),
    ),
    ("from", re.compile(rf"(?i:I)(?:'m|’m| am)(?: originally)? from (?P<value>{_NAME})")),
    ("works at", re.compile(rf"(?i:I)(?: now| currently)? work (?:at|for) (?P<value>{_NAME})")),
    ("job", re.compile(rf"(?i:I)(?: now| currently)? work as (?P<value>{_OCCUPATION.pattern})")),
    ("born", re.compile(rf"(?i:I) was born (?:in|on) (?P<value>{_NAME}|[\w ,.]*\d[\w ,.]*)")),
)
_PROGRAMS = _words(
    "android arch aws azure chrome css debian django docker emacs excel fedora firefox git "
    "github gitlab go helix html ios iphone java javascript kde kotlin kubernetes linux mac "
    "macos mysql neovim nixos node notion obsidian outlook php postgres powershell pycharm "
    "python react redis ruby rust safari scala slack sql sqlite swift teams trello typescript "
    "ubuntu vim vscode vue windows zed zoom"
)
"""Programs, languages and the like, to which a person may move without living there."""

_NOT_IN_KEY = _words(
    "said says say told tells thinks thought wants wanted that who which and or for in on "
    "about with to from at if when not only next biggest current new old best"
)
_SECRETS = _words("password passphrase token secret pin key credentials login passcode")

_ABSTRACT = _words(
    "advice answer app approach assumption bad branch bug build code concern conclusion day "
    "deadline deploy desire dream error event expectation experience fault fear feeling file "
    "flight goal guess head hope hypothesis idea impression intention internet intuition "
    "issue life list luck meeting message mind mistake mood mother's money next note opinion "
    "order part plan plane point pr priority problem project proposal purpose query question "
    "reason request response result screen script server suggestion suspicion take task test "
    "theory thing thought ticket time train trip turn understanding weekend week wish word "
    "work worry year"
)
"""Keys that name no lasting fact, such as `my guess is`."""

_DEMONYMS = re.compile(
    r"(?:british|english|french|german|polish|dutch|spanish|italian|american|canadian|australian"
    r"|indian|chinese|japanese|irish|scottish|welsh|swedish|norwegian|danish|finnish|russian"
    r"|ukrainian|greek|turkish|portuguese|brazilian|mexican|korean|czech|swiss|austrian|belgian"
    r"|catholic|jewish|muslim|christian|god|satan)\b",
    re.IGNORECASE,
)
_RELATIONS = _words(
    "aunt baby boss boyfriend brother cat child colleague cousin dad daughter dog doctor "
    "father fiance fiancee friend girlfriend grandfather grandmother grandma grandpa husband "
    "kid landlord lead manager mom mother mum neighbour neighbor nephew niece partner pet "
    "sister son supervisor therapist uncle vet wife assistant lawyer dentist teacher"
)
_PEOPLE_NAMES = (
    "name",
    "first name",
    "last name",
    "full name",
    "surname",
    "nickname",
    "middle name",
)
_CLAUSE = re.compile(
    r"\b(?:when|that|how|because|where|why|if|which|who|not|what|to|still|always|never|being|broken"
    r"|down|gone|n't|so|too|very|really|quite|wrong|unclear|unknown|here|there|over|killing|is|are"
    r"|was|were|going|changing|secret|different|same)\b",
    re.IGNORECASE,
)
_SHAPES: tuple[tuple[frozenset[str], re.Pattern[str]], ...] = (
    (
        frozenset({"birthday", "date of birth", "birth date", "birthdate", "anniversary",
                   "name day", "wedding anniversary"}),
        re.compile(
            rf"(?:on )?(?:the )?(?=.*(?:\d|\b(?:{_MONTHS})))[\w .,/-]{{3,30}}", re.IGNORECASE
        ),
    ),
    (frozenset({"email", "e-mail", "email address", "e-mail address", "mail address"}),
     re.compile(r"[^\s@]+@[^\s@]+\.\w+")),
    (frozenset({"phone", "mobile", "phone number", "mobile number", "number", "telephone number"}),
     re.compile(r"\+?\d[\d ()/-]{5,20}")),
    (frozenset({"age", "height", "weight", "shoe size", "ring size", "hat size"}),
     re.compile(r"\d[\w.,/ ]{0,12}")),
    (frozenset({"time zone", "timezone"}), re.compile(r"[A-Z][\w+-]*(?:/[\w+-]+)*(?: time)?")),
    (frozenset({"pronouns"}), re.compile(r"[a-z]+/[a-z]+(?:/[a-z]+)?", re.IGNORECASE)),
    (frozenset({"website", "blog", "homepage", "domain", "handle", "username", "user name", "login",
                "github", "gitlab"}), re.compile(r"[@\w][\w@.:/+-]*")),
    (frozenset({"address", "home address", "postal address", "work address"}),
     re.compile(r"(?=.*\d)[^\W_][\w .,'/-]{4,80}")),
    (frozenset({"job", "occupation", "profession", "role", "position", "title", "job title"}),
     re.compile(rf"(?:(?:an?|the) )?{_NAME}|{_OCCUPATION.pattern}")),
)  # fmt: skip
"""Keys whose values have a form of their own."""


def fact_of(text: str, masked: str) -> Claim | None:
    """The fact about the user that a clause states; None if it states none."""
    while tail := _TAIL.search(masked):
        text, masked = text[: tail.start()], masked[: tail.start()]
    if match := _CALL.fullmatch(masked):
        return _fact("call-me", "preferred name", text[match.start("value") : match.end("value")])
    for key, pattern in _I:
        match = pattern.fullmatch(masked)
        if match and match["value"].split()[0].lower() not in _PROGRAMS:
            return _fact("user-fact", key, text[match.start("value") : match.end("value")])
    return _of_my(text, masked)


def _of_my(text: str, masked: str) -> Claim | None:
    """The fact in `my KEY is VALUE`."""
    match = _MY.fullmatch(masked)
    if not match or BLANK in match["key"]:
        return None
    value = text[match.start("value") : match.end("value")].strip()
    key = match["key"].lower().removeprefix("new ").removeprefix("current ")
    words = key.split()
    if key.endswith(("'s", "’s")) or set(words) & _SECRETS:
        return None
    if set(words) & _NOT_IN_KEY or len(value.split()) > MOST_WORDS + 2 or BLANK in match["value"]:
        return None
    if "called" in match["verb"] or "named" in match["verb"]:
        return _fact("my-fact", f"{key}'s name", value) if _NAMED.fullmatch(value) else None
    shown = value if _fits(key, words, value, match["key"]) else None
    return _fact("my-fact", key, shown.removeprefix("on ")) if shown else None


def _fits(key: str, words: list[str], value: str, written: str) -> bool:
    """Whether a value has the form that values of a key have."""
    of_whom, _, whose = key.rpartition("'s ") if "'s " in key else key.rpartition("’s ")
    name = whose if of_whom else key
    if name in _PEOPLE_NAMES:
        return bool(_NAMED.fullmatch(value)) and not _TIMES.fullmatch(value)
    if words[0] in ("favourite", "favorite", "preferred", "default") and len(words) > 1:
        vague = words[-1] in ("part", "thing", "bit", "moment", "scene", "way")
        return not vague and len(value.split()) <= MOST_WORDS and not _CLAUSE.search(value)
    for keys, shape in _SHAPES:
        if name in keys or any(name.endswith(f" {each}") for each in keys if len(each) > 4):
            return bool(shape.fullmatch(value)) and not _CLAUSE.search(value)
    return _is_name_of(words, value, written)


def _is_name_of(words: list[str], value: str, written: str) -> bool:
    """Whether a value is a name or a code, which any key may have."""
    known = written.islower() or words[0] in ("github", "ide", "os")
    if set(words) & _ABSTRACT or not known:
        return False
    if _TIMES.match(value) or (words[-1] in _RELATIONS and _DEMONYMS.match(value)):
        return False
    match = _WHAT.fullmatch(value)
    return (
        bool(match or _CODE.fullmatch(value) or _AMOUNT.fullmatch(value))
        and len(value.split()) <= MOST_WORDS
    )


def _fact(rule: str, key: str, value: str) -> Claim | None:
    value = " ".join(value.split()).rstrip(".,") if not value.endswith(("Jr.", "Sr.")) else value
    if not value or "****" in value or (rule == "call-me" and _TIMES.fullmatch(value.split()[0])):
        return None
    # "My number" is that of a phone, by the form of its value.
    key = "phone" if key == "number" else key
    return Claim(rule, "fact", f"{USER}/{key}", value, USER, key)
