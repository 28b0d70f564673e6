"""Secrets that the text around them reveals, in many languages: rules, headers, URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from djinn_memory.secrets.rules import Candidate, Rule, SearchedText, secret_span
from djinn_memory.secrets.values import (
    IS,
    PLACEHOLDER,
    QUOTES,
    VALUE,
    WORDS,
    credential,
    literal,
    machine_made,
    mixed_word,
    password,
    plain,
    random_words,
    strong,
)

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

_QUALITY = re.compile(r"\w{2}(?:able|ible|ive|ous|ful|less|ical|al|ic|ent|ary|ory|est|ized)\Z")
"""Endings of words that describe a password."""

_BETWEEN = r"(?:[ \t][^\n:=.;!?]{1,40}?)?"
_LATIN_IS = rf"(?:{IS}|[ \t](?:on|je|to|va|là|adalah|ialah|er|är|luidt|–|—|-)[ \t])"
_IS = (
    r"(?:[:：=＝–—→]|(?<=[ \t])-(?=[ \t])|[是为為は가이은는]|คือ"
    r"|(?<=[ \t])(?:هي|هو|היא|הוא|है|είναι)(?=[ \t]))"
)
_UNTIL_IS = rf"[^\n:：=.。!?？]{{0,40}}?{_IS}"
_OPEN = rf"[ \t]{{0,4}}[{QUOTES}「『（(]{{0,2}}"
_LATIN_VALUE = rf"(?P<quoted>(?!))?(?P<bare>(?:(?![{QUOTES}])[!-~]){{4,100}})"


def _latin_word(value: str, quoted: bool) -> bool:
    """Whether the Latin text after a word for `password` in another script is a password."""
    word = value.isascii() and value.isalpha() and plain(value, quoted)
    return password(value, quoted) or word


def _hyphenated(value: str, quoted: bool) -> bool:
    """Whether words joined by hyphens are a password: three of them, or two with capitals."""
    words = value.split("-")
    several = len(words) > 2 or (len(words) == 2 and value != value.lower())
    return several and literal(value) and not quoted and random_words(map(str.lower, words))


def _stated_word(value: str, quoted: bool) -> bool:
    """Whether a single word after `password is` is a password, not a description of one."""
    return value.islower() and plain(value, quoted) and not _QUALITY.search(value)


def _translated() -> Iterator[Rule]:
    for word, stem in _LATIN.items():
        pattern = rf"{stem or word}\w{{0,8}}{_BETWEEN}{_LATIN_IS}{VALUE}"
        yield Rule(word, pattern, judge=password, more=True)
    for word, stem in (*_SPACED.items(), *((word, "") for word in _UNSPACED)):
        named = stem or word
        latin = rf"{named}{_UNTIL_IS}{_OPEN}{_LATIN_VALUE}"
        yield Rule(word, latin, judge=_latin_word, more=True)
        if word in _SPACED:
            yield Rule(word, rf"{named}{_UNTIL_IS}{_OPEN}{VALUE}", judge=password, more=True)
        yield Rule(word, rf"{named}[^\n。！？!-~]{{0,16}}{_OPEN}{_LATIN_VALUE}", judge=mixed_word)


_USER = r"(?P<user>[^\s/:@<>\"'`()\[\]{}|]{0,100})"
_URL = re.compile(
    rf"://{_USER}:(?:(?P<value>[^\s/<>\"'`]{{3,200}})"
    rf"|(?P<slashed>[^\s/@<>\"'`]{{1,100}}/[^\s@<>\"'`]{{0,100}}))@[\w\[.-]"
)
_SCHEME = re.compile(r"[A-Za-z][\w+.-]{0,30}\Z")

_BEARER = r"bearer[ \t]{1,4}(?P<value>[\w.~+/=-]{16,4000})"
_BASIC = (
    r"authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:basic|token|apikey|api-key|digest)"
    r"[ \t]{1,4}(?P<value>[\w.~+/=-]{12,4000})"
)

_REST = r"(?:[\w.]|-(?!>)){0,40}+"
"""The rest of a name after its keyword, as in `PASSWORD_OLD`."""
_OF = (
    r"(?:[ \t](?:for|of|to|on|at|f\u00fcr|zu[mr]|von|vom|im|de|du|del|del[al]|do|da|para|pour|per"
    r"|em|en|voor|van|till|til|f\u00f6r|do|k)[ \t][^\n:=]{1,40}?)?"
)
_BELOW = (
    r"\*{0,3}:\*{0,3}(?:[ \t]{0,8}\r?\n){1,2}(?:[ \t]{0,8}```\w{0,10}\r?\n)?"
    rf"[ \t>]{{0,8}}{VALUE}[ \t]{{0,8}}(?=\r?(?:\n|\Z))"
)
"""A value alone on the next line, perhaps in a fence."""
_JOINED = r"(?P<quoted>(?!))?(?P<bare>[^\W\d_]{2,24}(?:-[^\W\d_]{2,24}){1,5})"
_BARE_WORD = r"(?P<quoted>(?!))?(?P<bare>[^\W\d_]{4,24})"
_END = rf"(?=[{QUOTES}*_)]{{0,3}}[ \t]{{0,4}}(?:[.,;!|\r\n]|\Z|[ \t](?:and|und|for|on|user)\b))"
_PLAIN = rf"[{QUOTES}*_]{{0,2}}{_BARE_WORD}{_END}"
"""A word at the end of a sentence or clause."""
_LAST = r"(?=[ \t]{0,8}(?:[\r\n]|\Z))"
_GENERAL = (
    r"\b(?:an?|any|every|each|no|some|which|what|one|another|such|eine?|une?|una|cada|chaque|jedes"
    r"|ein)(?:[ \t][^\W\d_]{2,15}){0,2}[ \t]"
)
"""The start of a sentence about passwords in general: `a good password is short`."""

_COLON = rf"[{QUOTES}]?\*{{0,3}}[ \t]{{0,4}}[:\u2192]\*{{0,3}}[ \t]{{1,8}}"
_VERB = r"[ \t](?:is|was|ist|lautet|est|es)(?:[ \t](?:now|still))?[ \t]"
_APART = r"(?<![\w/.-])"

_PASSWORD = (
    r"(?:pass(?:wor[dt]|w\u00f6rter|wd|phrase|code|ord"
    r"|e(?:(?<=mot de passe)|(?<=palavra-passe)|(?<=mots de passe))|(?<=_pass)(?![a-z]))"
    r"|pwd|kennwort|contrase\u00f1a|senha)"
)
_PASSWORDS = "pass pw kennwort contrase\u00f1a senha"
_WORD = r"(?:password|passwort|passphrase|pass|pwd?)"
_NAME = rf"[{QUOTES}]?[\w.@+-]{{1,60}}[{QUOTES}]?"
_SIGN_IN = (
    r"(?:log(?:ged|ging|s)?[ -]?(?:in|on)(?:to)?|sign(?:ed|ing|s)?[ -]?(?:in|on)(?:to)?"
    r"|ssh(?: in)?|connect(?:ed)?)[ \t](?:\S{1,30}[ \t]){0,5}?"
)
_PAIR = rf" / {VALUE}{_LAST}"
_ACCOUNT = rf"(?:\A|\n)[ \t>]{{0,6}}(?:[*+\u2022-][ \t])?[^\n:/]{{2,40}}:[ \t]{{1,3}}{_NAME}"
_CREDENTIALS = (
    r"(?:creds|credentials|login|zugangsdaten|identifiants)"
    r"(?:[ \t](?:for|to|of|on)[ \t][^\n:]{1,40}?)?"
)
_NETWORK = r"(?:wi-?fi|wlan|wpa[23]?|ssid|hotspot|network|router|netz\w{0,8})\b[^\n]{0,60}"
_PAGES = ("next", "lock", "page", "change", "client", "cursor", "request", "forward", "backward")
"""Names of tokens that are not keys, but identify a request or a page of results."""
_NO_PAGE = "".join(f"(?<!{page})" for page in _PAGES) + r"(?:[_-]|(?<![_-]))"


def _key(value: str, _quoted: bool) -> bool:
    return machine_made(value, 16)


def _tagged(value: str, quoted: bool) -> bool:
    """Whether the content of an XML element for a password is one."""
    return password(value, quoted) or _hyphenated(value, quoted) or plain(value, quoted)


def _network_key(value: str, quoted: bool) -> bool:
    return password(value, quoted) or (len(value) >= 8 and value.isdigit())


RULES = (
    # Password: hunter2. The password for the router is hunter2. DB_PASSWORD_OLD=hunter2.
    Rule(_PASSWORDS, rf"{_PASSWORD}{_REST}{_OF}{IS}{VALUE}", judge=password, more=True),
    Rule(_PASSWORDS, rf"{_PASSWORD}{_BELOW}", judge=strong),
    # Password - hunter2. POSTGRES_PASSWORD hunter2.
    Rule(_PASSWORDS, rf"{_PASSWORD}{_OF}[ \t][\u2013\u2014-][ \t]{VALUE}{_LAST}", judge=password),
    Rule("pass", rf"pass(?:wor[dt]|wd|phrase)?[ \t]{{1,3}}{VALUE}{_LAST}",
         r"(?:\A|\n)[ \t]{0,8}(?:(?:env|arg|set|export)[ \t]{1,3})?[\w.-]{0,40}", password),
    Rule("pass", rf"pass[{QUOTES}]?[ \t]{{0,4}}[:=][ \t]{{0,8}}{VALUE}", _APART, strong),
    Rule("pw psk", rf"(?:pws?|psk){_OF}{IS}{VALUE}", _APART, judge=password, more=True),
    # Define("DB_PASSWORD", "hunter2"). Name="password" value="hunter2".
    # <Password>hunter2</Password>.
    Rule(_PASSWORDS, rf"{_PASSWORD}[\w.-]{{0,40}}[{QUOTES}][ \t]{{0,4}},[ \t]{{0,4}}(?=[\"'])"
         rf"(?:{VALUE})(?![\"'][ \t]*,)", judge=password),
    Rule(_PASSWORDS, rf"{_PASSWORD}[\w.-]{{0,40}}[{QUOTES}][ \t]{{1,4}}value[ \t]?={VALUE}",
         judge=password),
    Rule(_PASSWORDS, rf"{_PASSWORD}[\w.-]{{0,40}}>(?P<quoted>(?!))?"
         rf"(?P<bare>[^\s<>{QUOTES}]{{4,200}})</", r"<[\w:.-]{0,40}", judge=_tagged),
    # Password = Pelican-in-fog.
    Rule(_PASSWORDS, rf"{_PASSWORD}{_REST}{_OF}[{QUOTES}]?\*{{0,3}}[ \t]{{0,4}}[:=\u2192]\*{{0,3}}"
         rf"[ \t]{{0,8}}[{QUOTES}*_]{{0,2}}{_JOINED}{_END}", judge=_hyphenated),
    # Password: sunflower. PGPASSWORD=sunflower. The password is sunflower.
    Rule(_PASSWORDS, rf"{_PASSWORD}{_REST}{_OF}(?:[ \t]is)?{_COLON}{_PLAIN}", judge=plain),
    Rule("pw", rf"pw{_COLON}{_PLAIN}", _APART, plain),
    Rule(_PASSWORDS,
         rf"(?:{_PASSWORD}|pass|pwd?)=[{QUOTES}]?{_BARE_WORD}[{QUOTES}]?(?=[\s;&`]|\Z)",
         judge=plain),
    Rule(_PASSWORDS, rf"{_PASSWORD}{_OF}{_VERB}{_PLAIN}", unless=_GENERAL, judge=_stated_word),
    # Password hunter2! Log in as bob with the password sunflower.
    Rule("pass", rf"passwor[dt][ \t]{{1,4}}{VALUE}", judge=mixed_word),
    Rule("pass pw", rf"{_WORD}[ \t]{{1,4}}{_PLAIN}",
         rf"(?:{_NETWORK}|{_SIGN_IN}as[ \t]{_NAME}(?:,|,?[ \t](?:with|using)(?: the)?)"
         rf"|user(?:name)?{IS}{_NAME}|user(?:name)?[ \t]{_NAME}[ \t]?[,;/])"
         r"[,;/(]?[ \t]{1,3}(?:and[ \t])?", _stated_word),
    Rule("pass", rf"password[ \t](?=[{QUOTES}]){VALUE}", r"with[ \t](?:encrypted[ \t])?"),
    # Hunter2! is the password.
    Rule("pass", r"(?<=[ \t])passwor[dt]",
         rf"(?<![^\s{QUOTES}(])(?P<bare>[^\s{QUOTES}]{{6,60}})(?P<quoted>(?!))?[{QUOTES}]?"
         r"[ \t](?:is|was|as|ist)[ \t](?:[\w-]{1,20}[ \t]){0,4}?", mixed_word),
    # Use hunter2 as the password.
    Rule("pass", r"(?<=[ \t])passwor[dt]\b"
         r"(?![ \t-]?(?:hash|manag|algorithm|field|encod|encrypt|stor|scheme))",
         rf"\b(?:use|enter|type|try|set|put)[ \t]{{1,3}}[{QUOTES}]?(?P<bare>[^\s{QUOTES}]{{6,60}})"
         rf"(?P<quoted>(?!))?[{QUOTES}]?[ \t]as[ \t](?:[\w-]{{1,20}}[ \t]){{0,4}}?",
         password),
    # Wi-Fi: Harbour, key hunter2.
    Rule("key psk pw pass code", rf"(?:key|psk|{_WORD}|code){_OF}{IS}{VALUE}", _NETWORK + _APART,
         _network_key),
    Rule("wifi wlan",
         rf"(?:wifi|wlan)(?:[ -]?(?:schl(?:\u00fc|ue)ssel|pin){IS}"
         rf"|[^\n:=]{{0,20}}{IS}{_NAME}[ \t]/[ \t]){VALUE}", judge=_network_key),
    Rule("key", rf"key[ \t]{VALUE}", _NETWORK + r"[,;/(][ \t]{1,3}", _network_key),
    # Log in as admin with hunter2. Log in with admin and hunter2.
    Rule("log sign ssh connect",
         rf"{_SIGN_IN}(?:as[ \t]{_NAME}(?:,?[ \t]{{1,3}}(?:with|using|and|/)[ \t]|,[ \t]|/)"
         rf"|with[ \t]{_NAME}[ \t]?(?:/|:|and)[ \t]?)(?:the[ \t])?(?:{_WORD}[ \t:]{{1,3}})?{VALUE}",
         judge=credential),
    Rule("log sign ssh connect",
         rf"{_SIGN_IN}as[ \t]{_NAME},?[ \t]{{1,3}}(?:with|using)[ \t]{_PLAIN}", judge=_stated_word),
    Rule("log", rf"logs in with[ \t]{VALUE}", judge=credential),
    Rule("log", rf"login\s{{1,9}}\S{{1,100}}\s{{1,9}}password\s{{1,9}}{VALUE}", judge=password),
    Rule("log sign", r"(?<=[ \t]to[ \t])(?:log|sign)[ -]?(?:in|on)\b",
         rf"{_NAME}[ \t]?[/:][ \t]?{VALUE}[ \t]to[ \t]", credential),
    # Credentials: admin / hunter2. User admin, password hunter2.
    Rule("cred log zugangsdaten identifi",
         rf"{_CREDENTIALS}(?:{IS}|[ \t](?:are[ \t])?){_NAME}"
         rf"(?:[ \t]?[/:][ \t]?|[ \t]and[ \t])(?:{_WORD}[ \t:=]{{1,3}})?{VALUE}", judge=credential),
    Rule("cred zugangsdaten",
         rf"{_CREDENTIALS}(?:{IS}|[ \t]are[ \t]){_NAME}[ \t]?[/:][ \t]?{_PLAIN}",
         judge=_stated_word),
    Rule("pass pw", rf"{_WORD}[ \t:=]{{1,3}}{VALUE}",
         rf"user(?:name)?(?:{IS}|[ \t]{{1,3}}){_NAME}[,;/]?[ \t]{{1,3}}(?:and[ \t])?", credential),
    Rule("admin root", rf"(?:admin|root)[ \t]?[/:][ \t]?{VALUE}", _APART, judge=mixed_word),
    Rule("admin root", rf"(?:admin|root):(?!\S{{0,60}}/){VALUE}", _APART, credential),
    # Api_key = 5f3c...
    Rule("key", r"key[ \t]{1,3}(?P<quoted>(?!))?(?P<bare>(?:0x)?[a-f\d]{64})\b",
         r"\b(?:private|secret|signing|wallet)[ _-]?", judge=_key, kind="a private key"),
    Rule("secret", rf"secret_access_key[ \t]{VALUE}", judge=_key, kind="a secret"),
    *(Rule(word, rf"{name}{_REST}{IS}{VALUE}", before, _key, "a secret")
      for word, name, before in (
          ("secret", "secret", ""),
          ("token", r"token(?!i[sz])", _NO_PAGE),
          ("cred", "credentials?", ""),
          ("key", "key", r"(?:api|access|private|auth|encryption|signing|account|client|master"
           r"|shared)[ _.-]?"),
      )),
    *_translated(),
)  # fmt: skip


def _urls(text: SearchedText) -> Iterator[Candidate]:
    """Passwords in URLs."""
    for place in text.places("://"):
        match = _URL.match(text.text, place)
        scheme = match and _SCHEME.search(text.text, max(0, place - 32), place)
        if not match or not scheme:
            continue
        name = "value" if match["slashed"] is None else "slashed"
        value, user = match[name], match["user"]
        real = value.lower() not in WORDS and value != user and not PLACEHOLDER.search(value)
        if name == "slashed":
            # An @ may also follow a host with its port and path.
            real = real and user.isalnum() and user.lower() not in WORDS and password(value, False)
        if real and not re.match(r"[\[{$%*]|\d{1,5}(?:[/?#]|\Z)", value):
            yield "a password in a URL", *match.span(name), scheme.start()


def _pairs(text: SearchedText) -> Iterator[Candidate]:
    """The passwords of lines such as `- Mail: anna / hunter2!`."""
    for match in text.at((" / ",), _PAIR, _ACCOUNT):
        span = secret_span(text.text, match, mixed_word)
        if span:
            yield "a password", *span, match.start()


def _headers(text: SearchedText) -> Iterator[Candidate]:
    """The values of `Authorization` headers."""
    for word, pattern, least in (("bearer", _BEARER, 16), ("auth", _BASIC, 12)):
        for match in text.at((word,), pattern):
            if machine_made(text.text[slice(*match.span("value"))], least):
                yield "an authorization header", *match.span("value"), match.start()


SEARCHES = (_urls, _headers, _pairs)
