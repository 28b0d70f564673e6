"""Statements that contradict each other, and statements that do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.contradictions.statements import (
    difference,
    parse_statement,
    statements,
)

CONTRADICT = """\
The harbour opens at 9 am. | The harbour opens at 10 am. | number
The harbour opens at 9:00. | The harbour opens at 9:30. | number
The harbour opens at nine. | The harbour opens at ten. | number
Anna has three children. | Anna has 4 children. | number
The lamp burns 40 litres of oil. | The lamp burns 45 litres of oil. | number
The budget of the pier is 12,000 euros. | The budget of the pier is 15,000 euros. | number
The server has 16 GB of memory. | The server has 32 GB of memory. | number
Backups are kept for 30 days. | Backups are kept for 90 days. | number
The API allows 100 requests a minute. | The API allows 200 requests a minute. | number
The mast is 7.5 metres high. | The mast is 8.5 metres high. | number
Maren's boat has two engines. | Maren's boat has one engine. | number
The crew consists of 12 people. | The crew consists of 14 people. | number
The timeout of the gateway is 30 seconds. | The gateway's timeout is 60 seconds. | number
PostgreSQL listens on 5432 here. | PostgreSQL listens here on 5433. | number
Berlin has 3.6 million inhabitants. | Berlin has 3.8 million inhabitants. | number
The lease costs 900 euros. | The lease costs 950 euros. | number
The ferry takes 40 minutes. | The ferry takes 55 minutes. | number
- The tank holds 300 litres. | - The tank holds 350 litres. | number
The **tank** holds 300 litres. | The tank holds 200 litres. | number
The archive keeps ten copies. | The archive keeps twelve copies. | number
Ada pays 20 percent tax. | Ada pays 25 percent tax. | number
The bridge carries 40 tons. | The bridge carries 30 tons. | number
The retry limit is 3. | The retry limit is 5. | number
Our office has 24 desks. | Our office has 30 desks. | number
The default port is 8080. | The default port is 9090. | number
The cache expires at midnight. | The cache expires at noon. | number
Der Hafen hat 12 Boote. | Der Hafen hat 14 Boote. | number
Das Licht brennt 8 Stunden. | Das Licht brennt 9 Stunden. | number
The launch is on 3 May 2026. | The launch is on 5 May 2026. | date
The launch is on May 3. | The launch is on June 3. | date
The launch is on 2026-05-03. | The launch is on 2026-06-03. | date
The launch is planned for Monday. | The launch is planned for Tuesday. | date
Anna was born in 1990. | Anna was born in 1991. | date
Anna's birthday is 9 December. | Anna's birthday is 8 December. | date
The lease ends on 31 March 2027. | The lease ends on 30 June 2027. | date
The company was founded in 2004. | The company was founded in 2006. | date
The deadline of the grant is 1 June. | The deadline of the grant is 15 June. | date
The contract ends in August. | The contract ends in September. | date
The church was built in 1850. | The church was built in 1860. | date
The certificate expires on 2026-10-01. | The certificate expires on 2027-10-01. | date
The exam is on 12.03.2026. | The exam is on 13.03.2026. | date
The release freeze begins on Friday. | The release freeze begins on Thursday. | date
The harbour lamp needs oil. | The harbour lamp does not need oil. | negation
The harbour lamp needs oil. | The harbour lamp doesn't need oil. | negation
Anna eats meat. | Anna never eats meat. | negation
Anna likes coffee. | Anna does not like coffee. | negation
We use Docker for deployment. | We do not use Docker for deployment. | negation
MyApp uses PostgreSQL. | MyApp no longer uses PostgreSQL. | negation
The door is locked at night. | The door is not locked at night. | negation
Kira works on Fridays. | Kira doesn't work on Fridays. | negation
The key is under the mat. | The key is not under the mat. | negation
The service supports IPv6. | The service doesn't support IPv6. | negation
Logs contain personal data. | Logs contain no personal data. | negation
The pier has a railing. | The pier has no railing. | negation
Ben is allergic to nuts. | Ben is not allergic to nuts. | negation
The API requires a token. | The API requires no token. | negation
Guests can park behind the house. | Guests cannot park behind the house. | negation
The old lighthouse was demolished. | The old lighthouse was not demolished. | negation
The motor starts in cold weather. | The motor never starts in cold weather. | negation
Der Motor braucht Öl. | Der Motor braucht kein Öl. | negation
Deployments need an approval. | Deployments don't need an approval. | negation
The backup runs without encryption. | The backup runs with encryption. | negation
"""

PARAPHRASED = """\
The office opens at 9 am. | Our office's opening time is 10 am. | number
We keep logs for 30 days. | Logs are retained for 90 days. | number
The backup begins at 2 am. | The backup starts every day at 3 am. | number
The ferry takes 40 minutes. | The ferry lasts 55 mins. | number
Postgres runs on port 5432. | We run Postgres on port 5433. | number
A ticket costs 30 euros. | The price of a ticket is 35 EUR. | number
The retry limit of the gateway is 3. | The gateway's maximum of retries is 5. | number
Anna has three children. | Anna has 2 kids. | number
The house was built for 12 people. | The house is built for 14 persons. | number
The exam of the pilots is on Tuesday. | The pilots' exam takes place on Wednesday. | date
The grant ends in August. | The grant finishes in September. | date
The launch of the app is planned for May 3. | The launch of the app is scheduled for June 3. | date
Deploys need approval. | No approval is required for deploys. | negation
Guests are allowed in the tower. | Guests are not permitted in the tower. | negation
The harbour lamp needs oil. | The harbour lamp requires no oil. | negation
We purchase milk from Arla. | We do not buy milk from Arla. | negation
The deployment needs approval. | No approval is required for a deploy. | negation
The translation costs 300 euros. | The price of translating is 400 euros. | number
"""

DIFFERENT_THINGS = """\
The lamp in the hall burns 40 litres. | The lamp in the attic burns 45 litres.
The staging server has 16 GB. | The production server has 32 GB.
The server has 16 GB of memory. | The staging server has 32 GB of memory.
The office opens at 9 am. | The office closes at 6 pm.
Anna has two children. | Ben has three kids.
Logs are kept for 30 days. | Backups are retained for 90 days.
The red team needs approval. | The blue team requires no approval.
Port 5432 serves Postgres. | Port 6379 serves Redis.
The morning ferry takes 40 minutes. | The evening ferry lasts 55 minutes.
The total amount is 40 euros. | The value is 50 euros.
The meeting with Ilse is on Tuesday. | The meeting with Maren takes place on Wednesday.
A ticket costs 30 euros. | The price of a berth is 35 euros.
The build starts at 9. | The build ends at 10.
Deploys to staging need approval. | No approval is required for deploys.
Guests are allowed in the tower. | Guests are not allowed in the cellar.
We buy milk. | We do not purchase bread.
The port of the ferry has 12 berths. | The portal of the ferry has 14 berths.
The eastern gate opens at 9. | The western gate opens at 10.
"""

AGREE = """\
The harbour opens at 9 am. | The harbour opens at 9 am.
The harbour opens at nine. | The harbour opens at 9.
The budget is 12,000 euros for the pier. | The budget is 12000 euros for the pier.
The mast is 7.50 metres high. | The mast is 7.5 metres high.
The launch is on 3 May 2026. | The launch is on May 3, 2026.
The launch is on 03.05.2026. | The launch is on 3.5.2026.
The harbour opens at 9 am. | The museum opens at 10 am.
The harbour opens at 9 am. | The harbour closes at 10 pm.
Anna has three children. | Ben has four children.
Chapter 3 is about the sea. | Chapter 4 is about the sea.
Step 1 cleans the tank. | Step 2 cleans the tank.
Version 2.1 fixes the leak. | Version 2.2 fixes the leak.
Room 12 has a window. | Room 14 has a window.
Table 4 shows the results. | Table 5 shows the results.
Ticket 512 blocks the release. | Ticket 513 blocks the release.
Task 1 depends on the parser. | Task 2 depends on the parser.
Bus 12 goes to the harbour. | Bus 14 goes to the harbour.
Week 3 begins with a review. | Week 4 begins with a review.
The team met on 3 May. | The team met on 4 May.
Anna visited the museum on Monday. | Anna visited the museum on Friday.
We deployed the service on Monday. | We deployed the service on Tuesday.
Ben paid the rent in March. | Ben paid the rent in April.
Kira called the harbour on 2026-01-03. | Kira called the harbour on 2026-02-03.
The team discussed the budget on 3 May. | The team discussed the budget on 4 June.
On 3 May Anna earned 20 euros. | On 4 May Anna earned 30 euros.
In 2020 the town had 300 boats. | In 2021 the town had 320 boats.
The pump costs about 100 euros. | The pump costs about 110 euros.
The pump costs at least 100 euros. | The pump costs at least 90 euros.
The pump costs up to 100 euros. | The pump costs 90 euros.
The pump lasts between 3 and 5 years. | The pump lasts between 4 and 6 years.
The motor may fail in winter. | The motor may not fail in winter.
The motor sometimes fails in winter. | The motor does not fail in winter.
If the lamp is lit, ships come. | If the lamp is not lit, ships come.
Unless the tank is full, open the valve. | Unless the tank is not full, open the valve.
Does the lamp need oil? | The lamp does not need oil.
The lamp needs oil? | The lamp needs no oil.
It takes 30 minutes. | It takes 40 minutes.
This costs 30 euros a month. | This costs 40 euros a month.
They have 4 boats in the harbour. | They have 5 boats in the harbour.
He does not like coffee. | He likes coffee.
There are 3 boats in the harbour. | There are 4 boats in the harbour.
- [ ] Buy 3 litres of oil | - [ ] Buy 4 litres of oil
| The tank | 300 litres | of oil | The tank holds 300 litres.
> The tank holds 300 litres. | > The tank holds 400 litres.
# The tank holds 300 litres | # The tank holds 400 litres
The red lamp burns 40 litres. | The green lamp burns 45 litres.
The lamp burns 40 litres of oil. | The lamp burns 40 litres of gas.
The server has 16 GB of memory. | The server has 16 GB of memory and 4 cores.
The server has 16 GB of memory. | The server has memory.
The lamp needs oil in winter. | The lamp does not need oil in summer.
The lamp does not need oil. | The lamp needs no oil.
Nothing never works in the harbour. | Everything works in the harbour.
Not 9 boats came to the regatta. | Not 10 boats came to the regatta.
Costs: 300 | Costs: 400
To my 2021 self, | To my 2022 self,
300 euros | 400 euros
2026-05-03 | 2026-05-04
See https://example.com/1 for the harbour. | See https://example.com/2 for the harbour.
The A4 sheet lies on the desk. | The A5 sheet lies on the desk.
Python v3.11 runs on the server. | Python v3.12 runs on the server.
The score was 3 to 2 for Hamburg. | The score was 4 to 1 for Hamburg.
When the tide is high the bridge opens at 9. | When the tide is high the bridge opens at 10.
The meeting takes 30 or 40 minutes. | The meeting takes 50 or 60 minutes.
Anna runs 5 km every Monday. | Anna runs 6 km every Tuesday.
"""


def pairs(table: str, columns: int) -> list[list[str]]:
    lines = [line for line in table.splitlines() if line.count(" | ") == columns - 1]
    return [line.split(" | ") for line in lines]


def found(first: str, second: str) -> str | None:
    kinds = [
        kind
        for left in statements(first)
        for right in statements(second)
        if (kind := difference(left, right))
    ]
    return kinds[0] if kinds else None


@pytest.mark.parametrize(("first", "second", "kind"), pairs(CONTRADICT, 3))
def test_these_contradict_each_other(first: str, second: str, kind: str) -> None:
    assert found(first, second) == kind
    assert found(second, first) == kind


@pytest.mark.parametrize(("first", "second"), pairs(AGREE, 2))
def test_these_do_not(first: str, second: str) -> None:
    assert found(first, second) is None
    assert found(second, first) is None


def test_there_are_sixty_of_each() -> None:
    assert len(pairs(CONTRADICT, 3)) >= 60 and len(pairs(AGREE, 2)) >= 60


@given(st.text(max_size=200))
def test_no_text_breaks_the_rules(text: str) -> None:
    for statement in statements(text):
        assert difference(statement, statement) is None
    parse_statement(text)


def test_code_and_quotations_state_nothing() -> None:
    text = "```\nThe tank holds 300 litres.\n```\n> The tank holds 400 litres.\n"
    assert list(statements(text)) == []


@pytest.mark.parametrize("row", PARAPHRASED.splitlines())
def test_statements_in_other_words_contradict_each_other(row: str) -> None:
    first, second, kind = (part.strip() for part in row.split(" | "))
    left, right = parse_statement(first), parse_statement(second)
    assert left and right
    assert difference(left, right) == kind


@pytest.mark.parametrize("row", DIFFERENT_THINGS.splitlines())
def test_statements_about_different_things_do_not(row: str) -> None:
    first, second = map(parse_statement, row.split(" | "))
    assert first is None or second is None or difference(first, second) is None
