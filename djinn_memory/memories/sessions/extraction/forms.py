"""Forms of sentences that state something to be kept by their words alone. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from djinn_memory.memories.sessions.extraction.claims import ClaimType
from djinn_memory.memories.sessions.extraction.clauses import IRREGULAR_PAST


class Form(NamedTuple):
    """A form of sentence, and the type of memory that it makes."""

    rule: str
    type: ClaimType
    pattern: re.Pattern[str]
    """What the whole clause matches. The statement is its group `what`, or else all of it."""
    tags: tuple[str, ...] = ()


def _form(rule: str, kind: ClaimType, *patterns: str, tags: tuple[str, ...] = ()) -> Form:
    return Form(rule, kind, re.compile("|".join(patterns), re.IGNORECASE), tags)


_WHAT = r"(?P<what>(?!(?:he|she|it|they|that|this|you)\b)\S+ \S+ \S.*)"
_SOME = r"(?!(?:the|this|that|it|them|these|those)\b)\S+.*"
_GROUP = (
    r"(?:(?:the |our |my )?(?:[\w-]+ )?(?:team|board|committee|council|client|customer|management"
    r"|boss|manager|company|group|family|parents|class|crew|jury|landlord|school)|we)"
)
_HAVING = r"(?:['’](?:ve|s)| have| has)?(?: all| finally| now| just| also)*"
_ADVERBS = (
    r"(?: (?:really|just|also|still|absolutely|truly|totally|personally|particularly|especially"
    r"|simply|usually|always|do|now))*"
)
_AM = rf"I(?:['’]m| am){_ADVERBS}"
_LIKED = (
    r"(?!(?:it|that|this|these|those|them|you|your|how|what|when|where|to|\w+ing|all|the)\b)\S+.*"
)
_ASKED = (
    r"(?:use|run|write|ask|answer|reply|send|add|include|commit|push|merge|deploy|delete|rename"
    r"|suggest|recommend|mention|schedule|book|sign|format|translate|quote|cite|propose|offer"
    r"|generate|install|import|invite|apologi[sz]e)"
)
_PERSON = (
    r"(?-i:(?!(?:I|We|My|Our|It|This|That|The|There|He|She|They)\b)[A-Z][^\W\d_]+)"
    r"(?:(?-i: [A-Z]\w+)? and (?-i:[A-Z]\w+)|(?-i: [A-Z]\w+)|['’]s [\w ]{2,20}?)?"
)
_DOES = (
    r"(?:does|runs|leads|handles|maintains|manages|owns|writes|tests|teaches|lives (?:in|with)"
    r"|works (?:as|at|for|in|on)|is (?:an?|the|our|my|on|in|from|in charge|responsible|allergic"
    r"|moving|leaving)|got (?:married|promoted|a new)|joined|took over|has|loves|hates|prefers"
    r"|speaks)"
)
_RELATIVE = (
    r"(?:an? |\d+ |one |two |three |four |five |twin |older |younger |little )+(?:[\w-]+ )?"
    r"(?:son|daughter|kid|child|children|brother|sister|sibling|dog|cat|horse|boy|girl)s?\b.*"
)

FORMS = (
    _form(
        "lesson", "lesson",
        r"(?:(?:the |my |our |one |a )?(?:big |main |key )?lessons?(?: learn(?:ed|t))?"
        r"(?: for (?:next time|me|us|the future))?\s*:"
        r"|(?:the |my |our )(?:main |key |big )?takeaway(?: here| for me)?(?: is(?: that)?|:)"
        r"|(?:it )?turn(?:s|ed) out(?: that)?"
        r"|(?:I|we)(?: just| have|['’]ve)? (?:learn(?:ed|t)|reali[sz]ed|found out)(?: (?:that|it))?"
        r" the hard way(?: that|:)?"
        r"|what I (?:learned|took)(?: from (?:this|that|it)| away)?(?: is(?: that)?|:)"
        r"|next time,?(?= (?:I|we)\b)|in (?:hindsight|retrospect),?)\s+" + _WHAT,
    ),
    _form(
        "decision", "decision",
        rf"(?:the )?(?:decision|plan)(?: now)?(?: is(?: to| that)?:?|:)\s+{_WHAT}",
        rf"{_GROUP}{_HAVING} (?:agreed|decided|voted|settled|approved|chosen?|rejected|picked|opted"
        r"|hired|elected|turned down)(?! to disagree)(?: that| to| on| for| against|:|,)* \S+.*",
        r"let['’]s (?:go (?:with|for)|use|stick (?:with|to)|keep(?! \w+ing\b)|drop"
        r"|take(?! an?\b)|postpone|move|switch to|call the|name the|skip)"
        r"\s+(?!(?:it|that|this|them)\b)\S.*",
        r"(?:we|I)(?:['’]re|['’]m| are| am) (?:going with|sticking with|switching to|dropping"
        r"|keeping|moving to|giving up|not (?:taking|renewing|going to|doing|buying|hiring"
        r"|supporting))\s.+",
        r"(?:we|I)(?:(?:['’]ll| will)(?: not)?| won['’]t) (?:go with|use|stick with|stick to"
        r"|switch to|drop|support|hire)\s.+",
        rf"(?:we|I){_HAVING} (?:chosen?|picked|opted for|settled on|went with|gone with|switched"
        r"|signed up for|turned down|made up my mind)\s.+",
    ),
    _form(
        "reminder", "commitment",
        r"(?:please |can you )?remind me (?:to|that|about)\s+(?P<what>\S+ .+)",
    ),
    _form(
        "instruction", "preference",
        rf"(?:please )?(?:don['’]t|do not|never|always|only) (?:ever )?{_ASKED}\s+{_SOME}",
        rf"(?:please )?(?:stop|avoid) \w+ing\s+{_SOME}",
        r"(?:please )?(?:keep|make) (?:your|the|all|my) [\w -]*(?:answers?|repl(?:y|ies)|tone|code"
        r"|responses?|explanations?|e?-?mails?|messages?|texts?|summar(?:y|ies))\s+.+",
        r"when(?:ever)? I (?:ask|send|give|write|say) [^,]+, (?:please )?"
        rf"(?:always |never |don['’]t )?(?:{_ASKED}|give|show|keep|make|leave|skip|put|correct"
        r"|check|tell)\b.+",
        r"(?:please )?(?:use|write|answer|reply|put|show|format|spell)\b.*\b(?:always|whenever"
        r"|every time|from now on|in (?:future|everything|all|every|any))\b.*",
        r"(?:please )?address me [\w ]+",
        tags=("rule",),
    ),
    _form(
        "wish", "preference",
        r"I(?: always| only| never| don['’]t)? want (?:all|every|no|my|tests?|answers?|code)\b.*",
        r"I always want .+", r"I expect (?:all|every|no|my|tests?|answers?|code)\b.*",
    ),
    _form(
        "liking", "preference",
        rf"I{_ADVERBS} (?:love|hate|adore|detest|dislike|like|enjoy|favou?r|can['’]t stand"
        r"|cannot stand|can['’]t bear|don['’]t (?:really |much )?(?:like|enjoy|care for))"
        rf"\s+{_LIKED}",
        rf"{_AM} (?:not )?(?:(?:a |such a )?(?:big |huge |great )?fan of|(?:really |very )?"
        r"(?:into|keen on|fond of|passionate about)|crazy about|scared of|afraid of)"
        rf"\s+{_LIKED}",
        r"I(?:['’]d| would) rather (?!not say)\S+ .*",
    ),
    _form(
        "habit", "preference",
        r"I (?:always|never|usually|normally|typically|generally|rarely|seldom)"
        r" (?!(?:want(?:ed)?|been|thought|knew|said|forget|wonder\w*|felt|dreamed|imagined|expected"
        r"|had|was|did|reali[sz]ed|saw|heard|met|get|feel|mind|have)\b)[a-z]+ \S+.*",
        r"I (?:don['’]t|do not|can['’]t|cannot) (?:eat|drink|smoke|drive|work on|have) \S+.*",
    ),
    _form("debt", "commitment", r"I (?:still )?owe \S+ .+"),
    _form(
        "appointment", "commitment",
        r"(?:my|our) (?:[\w'’-]+ ){0,4}?(?:appointment|exam|test|interview|surgery|operation"
        r"|flight|train|meeting|deadline|wedding|trip|move|call|review|talk|shift|defen[cs]e)"
        r" (?:is|starts|leaves|begins|was moved to)(?: scheduled| due| set)?(?: for| on| at| in)?"
        r" .+",
    ),
    _form(
        "fact", "fact",
        rf"{_AM} (?:an? |the )?(?:[\w-]+[- ]){{0,2}}?(?:vegetarian|vegan|pescatarian|diabetic"
        r"|dyslexic|asthmatic|intolerant|colou?r-?blind|(?:left|right)-handed|deaf|pregnant|coeliac"
        r"|celiac|autistic|epileptic|widow(?:ed|er)?|divorced|married|single|retired|self-employed"
        r"|unemployed|allergic to|\d+ years old)\b.*",
        r"I(?:['’]ve| have) been an? .+ (?:for|since) .+",
        rf"I(?:['’]ve| have) {_RELATIVE}",
        r"I (?:was (?:born|raised|diagnosed)|grew up|studied|speak|play the|drive an?|own an?|come"
        r" (?:originally )?from|wear|weigh|turned|graduated|retired|work (?:as|in)|teach"
        r"|live (?:in|with|near))\s+\S+.*",
        rf"{_AM} (?:an?|the) (?:[\w-]+ ){{1,3}}(?:of|for|at|in) (?:our|the|my|an?) .+",
        r"we have (?:an?|two|three|four) (?:[\w-]+ )+(?:called|named) .+",
    ),
    _form(
        "person", "fact",
        rf"{_PERSON} {_DOES}\s+\S+.*",
        rf"(?:my|our) (?:[\w-]+ ){{1,3}}(?-i:[A-Z]\w+)(?-i: [A-Z]\w+)? {_DOES}\s+\S+.*",
        r"(?:my|our) [\w-]+(?: [\w-]+)? is (?:from|called|named|Mr\.?|Mrs\.?|Ms\.?|Dr\.?)"
        r" (?-i:[A-Z]\w+).*",
    ),
)  # fmt: skip

PLAN = _form(
    "plan", "commitment",
    r"(?:(?:tomorrow|tonight|today|(?:on|next|this|in) [\w ]{3,20}?),? )?(?:I|we)"
    r"(?:(?:['’]ll| will| have to| need to| must| should| promised(?: \w+)? to|['’]m supposed to"
    r"| plan to)(?! be late\b)|(?:['’]ve got| have) (?:an?|my|our|the)"
    r"|['’](?:m|re)(?! feeling| being| doing| getting| wondering) \w+ing| (?:am|are) \w+ing"
    r"| start| fly| leave) (?!(?:try|see|be|think|miss|love|not|never|probably"
    r"|keep|let|do my best)\b)\S+.*",
)  # fmt: skip
"""A commitment, if it also names a day to come."""

ORDERED = _form("instruction", "preference", r".+", tags=("rule",))
"""An order without a known form, if its meaning is that of a standing one."""

ORDER = re.compile(
    r"(?:please|no|(?:don['’]t|do not)(?! (?:feel|think|know|worry|get|want|have|like|need|see"
    r"|forget|even))|never|always|only|stop|keep|make|use|write|answer|reply|put|show"
    r"|give|format|spell|explain|ask|start|end|leave|speak|suggest|recommend|avoid|address|call)\b",
    re.IGNORECASE,
)
ADDRESSED = re.compile(
    rf"(?:{ORDER.pattern}|(?:can you remind|let['’]s|remind|when(?:ever)? I"
    r"|(?:the|my|our|one|a)? ?(?:\w+ )?(?:decision|plan|takeaway|lessons?)|what I (?:learned|took)"
    r"|(?:it )?turn(?:s|ed) out|next time|in (?:hindsight|retrospect)"
    rf"|{_GROUP}{_HAVING} (?:agreed|decided))\b)",
    re.IGNORECASE,
)
"""How sentences begin that are read whole, since they tell what to do or what was learned."""

VOID = re.compile(
    r"\b(?:you|your|yours|if|would|could|might|maybe|perhaps|possibly|suppose|imagine|assuming"
    r"|unless|whether|wish|pretend|i (?:think|guess|bet|believe|wonder)|not sure|hopefully"
    r"|for example|e\.g|hypothetically|or something|kidding|joking|or so (?:she|he|they))\b"
    r"|^(?:as \w+(?: \w+)?, |according to |in (?:the|this|my|his|her) (?:novel|book|film|game|dream"
    r"|story|example|text)\b|(?:the|my|this) (?:text|speaker|author|article|book|narrator|character"
    r"|hero|story|film|movie|song|sentence|paragraph|example|avatar"
    r"|protagonist)\b|I (?:need|want) (?:an? |the |some )?(?:function|script|regex|query|list|table"
    r"|example|summary|synonym|word|title)\b|I['’]m trying to (?:get|make|fix|run)\b)"
    r"|^(?:I|we)['’]d (?!rather\b|prefer\b|love\b|like\b)",
    re.IGNORECASE,
)
"""What is supposed, wished for, or about the other person."""

POINTS = re.compile(
    r"\b(?:it|these|those|ones?|both)\b(?!['’-])|^.(?-i:(?:[^A-Z]|\bI\b)*)\b(?:them|him)\b"
    r"|\b(?:that|this|her)(?=\s*(?:$|[,.!]"
    r"|\b(?:and|but|so|to|for|with|in|on|at|is|was|has|too|yet|way|one|all|as|really|when"
    r"|because)\b))|\bthere\b(?! (?:is|are|was|were)\b|['’])",
    re.IGNORECASE,
)
"""Words for a thing that another sentence names, without which they say nothing."""

VAGUE = re.compile(
    r"\b(?:this|that|these|those|here|such|someone|something|things|stuff|similar|another"
    r"|the event|too)\b",
    re.IGNORECASE,
)
"""Words that say less without the sentences around them."""

PAST = re.compile(
    rf"\b(?:was|were|{IRREGULAR_PAST}|[a-z]+ed|have|has|ago|last|yesterday)\b|['’]ve\b",
    re.IGNORECASE,
)
"""Words with which a day without a year lies behind, unless there are words of `COMING`."""

COMING = re.compile(
    r"\b(?:will|have to|need to|must|plan(?:ning)? to|tomorrow|next|remind|appointment|expires?"
    r"|due|scheduled|promised|by|until|hop(?:e|ing) to"
    r"|in (?:\d+|an?|two|three|four|five|six|ten) (?:days?|weeks?|months?))\b|['’]ll\b"
    r"|['’](?:m|re) \w+ing\b|\b(?:is|are|am) (?:on\b|\w+ing\b)",
    re.IGNORECASE,
)
"""Words with which a day without a year lies ahead."""
