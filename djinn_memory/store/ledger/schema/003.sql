-- What the events say, as tables. Every row follows from the events and can be made anew from them:
-- see projections.py. They have a rowid, so that `salvage` takes none of their rows for an event.

-- One row: by which rules, and with which settings of `scoring`, the tables below were made.
create table projected (version integer not null, scoring text not null);

create table memory_retrieval_log (
    -- The event's id, and the rank.
    id text primary key,
    request_id text not null,
    agent_id text not null,
    session_id text,
    run_id text,
    memory_id text not null,
    memory_title text not null,
    query text not null,
    -- The verb that asked: recall, wake, ...
    retrieval_source text not null,
    rank integer not null,
    raw_score real,
    blended_score real,
    -- Whether it was opened or rated useful since.
    used integer not null,
    created_at text not null
);
create index retrieval_request on memory_retrieval_log (request_id);
create index retrieval_agent on memory_retrieval_log (agent_id, id);
create index retrieval_memory on memory_retrieval_log (memory_id, agent_id);

create table memory_valuations (
    id text primary key,
    request_id text,
    agent_id text not null,
    session_id text,
    run_id text,
    memory_id text not null,
    memory_title text not null,
    useful integer not null,
    created_at text not null,
    -- Who rates the same answer again corrects it.
    unique (memory_id, agent_id, request_id)
);

create table memory_uses (
    id text primary key,
    agent_id text not null,
    session_id text,
    memory_id text not null,
    created_at text not null
);
create index use_memory on memory_uses (memory_id, agent_id, created_at);

-- The texts with which a memory that has no id of its own was seen: by them it is followed.
create table memory_hashes (
    memory_id text not null,
    hash text not null,
    unique (hash, memory_id)
);
create index hash_memory on memory_hashes (memory_id);

create table memory_gaps (
    id text primary key,
    agent_id text not null,
    session_id text,
    description text not null,
    query_attempted text,
    status text not null check (status in ('open', 'closed')),
    closed_by text,
    created_at text not null,
    closed_at text
);
create index gap_agent on memory_gaps (agent_id, status);

create table memory_scores (
    agent_id text not null,
    memory_id text not null,
    -- Uses, not appearances in a list.
    access_count integer not null,
    valuation_count integer not null,
    useful_count integer not null,
    not_useful_count integer not null,
    -- Null while there is no rating.
    usefulness_rate real,
    -- As of `updated_at`.
    adaptive_score real not null,
    last_used text,
    last_valued text,
    updated_at text not null,
    unique (agent_id, memory_id)
);
create index score_memory on memory_scores (memory_id);

-- Who called which tool of the server, and what came of it.
create table tool_calls (
    id text primary key,
    tool text not null,
    agent text,
    session text,
    -- JSON, secrets masked.
    arguments text not null,
    outcome text not null,
    milliseconds real,
    created_at text not null
);
