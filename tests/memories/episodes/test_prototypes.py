"""Action intents by similar sentences: sentences that are not among the prototypes."""

from __future__ import annotations

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.embedding.local import LocalEmbedder
from djinn_memory.home.home import Home
from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.home.setup import init
from djinn_memory.memories.episodes.intents import find_intents, nearest_intents

PARAPHRASES = {
    "create": """
Knock up a draft contract for the new tenant.
Get a shared calendar going for the crew.
I need a checklist for the trip.
We want a fresh page about the harbour.
Put a note in the log about the leak.
Fire up a new project for the website.
Spin up a test server for Jonas.
Bang out a short blog post on tides.
Give me a table of last year's costs.
A new ticket for the crash, please.
""",
    "update": """
Shove the review to Thursday.
Raise the limit to fifty.
Turn the font size down a bit.
Make the intro shorter.
Switch the database to Postgres.
Bring my address up to date, I moved.
Rework the summary so it is friendlier.
Put Wilma in charge instead of Finn.
Tweak the colours of the chart.
Set the alarm to seven instead of six.
""",
    "complete": """
The job is done and dusted.
We are through with the audit.
That bug is finally history.
The paperwork is out of the way.
The new site went live at noon.
I got the last chapter over with.
All boxes on the checklist are ticked.
The order has gone out to the customer.
We made it across the line with the release.
My part of the work is over.
""",
    "delete": """
Bin the old logs.
Wipe everything on that laptop.
Chuck out the duplicate photos.
Take me off the newsletter.
Scrap the plan for Saturday.
Call off tomorrow's lesson.
Strip the debug prints from the code.
Clear out the temp folder.
Kill the test account.
Lose the second picture on the page.
""",
}

OTHERS = """
The harbour was quiet this morning.
I love the smell of rain.
Jonas runs the test server.
The contract is forty pages long.
How long is the review on Thursday?
The newsletter reaches two thousand people.
Our plan for Saturday is a picnic.
The laptop is slow when it is hot.
My alarm goes off at six.
Wilma knows Finn from school.
The chart has nice colours.
He finished third in the race, she told me.
The site gets most visits at noon.
Tides depend on the moon.
I read the last chapter twice.
The crew has a shared calendar.
What does the checklist contain?
The second picture shows a boat.
There is a leak in the roof.
The log grows by a gigabyte a day.
Temp folders confuse my father.
We were in Bergen last summer.
The customer sounded happy on the phone.
Postgres is a database.
The limit is fifty.
The intro explains the basics.
I moved to Oslo in May.
This font is hard to read.
The release was in the news.
Old logs are kept for a year.
The audit takes two weeks.
Paperwork bores me.
My lesson is tomorrow at ten.
The blog has many readers.
Last year's costs were high.
The ticket for the concert was cheap.
That film was wonderful.
I feel better today.
She said that she would maybe come.
The office is closed on Sundays.
Duplicate photos take up space.
The debug prints are useful.
A test account belongs to QA.
You are right about that.
It takes an hour by ferry.
Our dog hates thunder.
The tenant pays on the first.
I wonder why the crash happened.
The project has a website.
The trip was fun.
The friendly summary was written by Ilse.
Prices rose by a tenth.
The page about the harbour is popular.
It was dark when we arrived.
Nobody knows the answer.
The weather will change, they say.
He used to build boats.
Two people were asleep.
The work of a pilot is hard.
Boxes were stacked in the hall.
"""


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder(EmbeddingConfig())


def test_paraphrases_have_their_intent(embedder: LocalEmbedder) -> None:
    given = [(kind, text) for kind, texts in PARAPHRASES.items() for text in texts.split("\n")]
    answers = [(kind, nearest_intents(text, embedder)) for kind, text in given if text]
    assert len(answers) == 40
    assert sum(bool(intents) for _, intents in answers) >= 14
    assert sum(intents == (kind,) for kind, intents in answers) >= 13


def test_other_sentences_have_none(embedder: LocalEmbedder) -> None:
    sentences = OTHERS.strip().split("\n")
    assert len(sentences) == 60
    assert [text for text in sentences if nearest_intents(text, embedder)] == []


def test_a_question_and_a_long_text_have_none(embedder: LocalEmbedder) -> None:
    assert nearest_intents("Bin the old logs?", embedder) == ()
    assert nearest_intents("Bin the old logs " + "and so on " * 20, embedder) == ()
    assert nearest_intents("", embedder) == ()


def test_an_episode_says_where_its_intents_come_from(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    home, _ = init(tmp_path_factory.mktemp("near") / "home")
    text = "Call it off, please."
    assert find_intents(text) == ()
    with Djinn(home) as djinn:
        # A process that has loaded no model loads none to record.
        plain = djinn.episodes.record_interaction(text)
    assert plain.similar_intents == ()
    with Djinn(Home(home.root)) as djinn:
        djinn.search("what is the plan")
        episode = djinn.episodes.record_interaction(text)
        shown = djinn.episodes.show(str(episode.id))
    assert episode.intents == () and episode.similar_intents == ("delete",)
    assert episode.importance.action == 0.1
    assert (shown.intents, shown.similar_intents) == ((), ("delete",))
    assert shown.parts == episode.importance
    assert shown.importance == episode.importance.total
