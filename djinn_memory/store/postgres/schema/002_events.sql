-- The events of the ledgers, which are canonical, and the tables that other programs read. All rows
-- of these follow from the notes and the events: see `projections.py` and `ratings.py`.

create table events (
    user_id uuid not null references scopes (user_id) on delete cascade,
    -- UUIDs of version 7: their order is the order of the events.
    id uuid not null,
    rev bigint not null,
    at timestamptz not null,
    -- What happened, as `noun.verb`; the noun says what `subject` names.
    kind text not null,
    subject text not null,
    data jsonb not null,
    -- The home that sent it.
    home_id uuid,
    primary key (user_id, id)
);
create index events_rev on events (user_id, rev, id);
create index events_subject on events (user_id, kind, subject);
-- Until when consolidations have read the episodes, and the younger ones that they have read.
create index events_read on events (user_id, ((data ->> 'until') collate "C"))
    where kind = 'consolidation.read';
create index events_marked on events using gin ((data -> 'marked'))
    where kind = 'consolidation.read';

-- The episodes of journals.
create table episodic_memories (
    user_id uuid not null,
    memory_id uuid not null,
    episode_type varchar not null,
    source_channel varchar,
    raw_content text not null,
    content_embedding vector({dimensions}),
    context_snapshot jsonb,
    importance_score double precision,
    extracted_entities jsonb not null,
    extracted_intents jsonb not null,
    access_count int not null default 0,
    consolidated_to_semantic boolean not null default false,
    session_id varchar,
    occurred_at timestamptz not null,
    djinn_id text not null,
    note_id uuid not null,
    rev bigint not null,
    primary key (user_id, memory_id),
    foreign key (user_id, note_id) references notes (user_id, note_id) on delete cascade
);
create index episodic_memories_note on episodic_memories (user_id, note_id);
create index episodic_memories_time on episodic_memories (user_id, occurred_at);
create index episodic_memories_name on episodic_memories (user_id, djinn_id);
create index episodic_memories_unread on episodic_memories (user_id, occurred_at)
    where not consolidated_to_semantic;

-- The notes of patterns.
create table semantic_patterns (
    user_id uuid not null,
    pattern_id uuid not null,
    pattern_type varchar,
    pattern_category varchar,
    pattern_name varchar not null,
    pattern_description text not null,
    pattern_embedding vector({dimensions}),
    confidence_score double precision,
    evidence_count int,
    status varchar,
    derived_from_episodes uuid[] not null,
    first_seen varchar,
    last_seen varchar,
    djinn_id text not null,
    note_id uuid not null,
    rev bigint not null,
    primary key (user_id, pattern_id),
    foreign key (user_id, note_id) references notes (user_id, note_id) on delete cascade
);
create index semantic_patterns_note on semantic_patterns (user_id, note_id);

-- What `djinn pattern correlations` lists. A home computes it from all its episodes.
create table semantic_correlations (
    user_id uuid not null references scopes (user_id) on delete cascade,
    correlation_id uuid not null,
    concept_a_type varchar not null,
    concept_a_value varchar not null,
    concept_b_type varchar not null,
    concept_b_value varchar not null,
    correlation_strength double precision not null,
    observations int not null,
    rev bigint not null,
    primary key (user_id, correlation_id)
);

-- The outcomes of actions, a row for each recorded outcome.
create table action_outcome_mappings (
    user_id uuid not null,
    mapping_id uuid not null,
    action_type varchar not null,
    action_context jsonb not null,
    outcome_type varchar not null,
    effectiveness_score double precision not null,
    observed_at timestamptz not null,
    djinn_id text not null,
    note_id uuid not null,
    rev bigint not null,
    primary key (user_id, mapping_id),
    foreign key (user_id, note_id) references notes (user_id, note_id) on delete cascade
);
create index action_outcome_mappings_note on action_outcome_mappings (user_id, note_id);

-- The notes of people, places, projects, concepts and other things.
create table knowledge_entities (
    user_id uuid not null,
    entity_id uuid not null,
    entity_type varchar not null,
    entity_name varchar not null,
    entity_aliases varchar[] not null,
    entity_embedding vector({dimensions}),
    description text not null,
    -- The values that hold, by key.
    properties jsonb not null,
    -- All values of each key with their periods, the last to begin first.
    history jsonb not null,
    confidence double precision,
    -- The names by which links call it, as they are compared.
    name_keys text[] not null,
    djinn_id text not null,
    note_id uuid not null,
    rev bigint not null,
    primary key (user_id, entity_id),
    foreign key (user_id, note_id) references notes (user_id, note_id) on delete cascade
);
create index knowledge_entities_note on knowledge_entities (user_id, note_id);
create index knowledge_entities_names on knowledge_entities using gin (name_keys);

-- Properties of entities whose values are links, with the periods in which they hold.
create table knowledge_relations (
    user_id uuid not null,
    relation_id uuid not null,
    entity_id uuid not null,
    relation_type varchar not null,
    target_name varchar not null,
    target_key text not null,
    -- Null while no entity has the name.
    target_entity_id uuid,
    -- A year, a month, a day or a time in UTC.
    valid_from varchar,
    valid_to varchar,
    source varchar,
    confidence double precision,
    note_id uuid not null,
    rev bigint not null,
    primary key (user_id, relation_id),
    foreign key (user_id, entity_id) references knowledge_entities (user_id, entity_id)
        on delete cascade
);
create index knowledge_relations_note on knowledge_relations (user_id, note_id);
create index knowledge_relations_entity on knowledge_relations (user_id, entity_id);
create index knowledge_relations_target on knowledge_relations (user_id, target_entity_id);
create index knowledge_relations_key on knowledge_relations (user_id, target_key);

create table documents (
    user_id uuid not null,
    document_id uuid not null,
    filename varchar not null,
    content_type varchar,
    document_type varchar,
    -- Null above 2 GiB; `metadata` has the exact size.
    file_size_bytes int,
    total_pages int,
    title text not null,
    author text,
    subject text,
    chunk_strategy varchar,
    chunk_size_tokens int,
    total_chunks int not null,
    embedding_model varchar,
    uploaded_at timestamptz,
    processed_at timestamptz,
    metadata jsonb not null,
    djinn_id text not null,
    note_id uuid not null,
    rev bigint not null,
    primary key (user_id, document_id),
    foreign key (user_id, note_id) references notes (user_id, note_id) on delete cascade
);
create index documents_note on documents (user_id, note_id);

create table document_chunks (
    user_id uuid not null,
    chunk_id uuid not null,
    document_id uuid not null,
    document_name varchar not null,
    document_type varchar,
    chunk_index int not null,
    chunk_content text not null,
    chunk_embedding vector({dimensions}),
    page_number int,
    total_pages int,
    content_type varchar,
    metadata jsonb not null,
    created_at timestamptz,
    note_id uuid not null,
    rev bigint not null,
    primary key (user_id, chunk_id),
    foreign key (user_id, document_id) references documents (user_id, document_id)
        on delete cascade
);
create index document_chunks_note on document_chunks (user_id, note_id);
create index document_chunks_document on document_chunks (user_id, document_id, chunk_index);

-- The current values of facts.
create table memory_facts (
    user_id uuid not null,
    id uuid not null,
    category varchar not null,
    key varchar not null,
    value text not null,
    embedding vector({dimensions}),
    source varchar,
    -- In percent.
    confidence int,
    expires_at timestamptz,
    source_context text,
    last_verified_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    -- A year, a month, a day or a time in UTC.
    valid_from varchar,
    valid_to varchar,
    -- The earlier values with their periods, the last to begin first.
    history jsonb not null,
    djinn_id text not null,
    note_id uuid not null,
    rev bigint not null,
    primary key (user_id, id),
    unique (user_id, category, key),
    foreign key (user_id, note_id) references notes (user_id, note_id) on delete cascade
);
create index memory_facts_note on memory_facts (user_id, note_id);
create index memory_facts_expires on memory_facts (user_id, expires_at);
create index memory_facts_source on memory_facts (user_id, source, category);

create table memory_summary (
    user_id uuid not null,
    content text not null,
    updated_at timestamptz,
    djinn_id text not null,
    note_id uuid not null,
    rev bigint not null,
    primary key (user_id),
    foreign key (user_id, note_id) references notes (user_id, note_id) on delete cascade
);

-- The notes that lost the name of a row to another note. When the name becomes free, its row is
-- written from one of them.
create table outranked_notes (
    user_id uuid not null,
    -- `fact`, `summary`, or `id` for the id of a memory.
    kind text not null,
    name text not null collate "C",
    note_id uuid not null,
    primary key (user_id, kind, name, note_id),
    foreign key (user_id, note_id) references notes (user_id, note_id) on delete cascade
);
create index outranked_notes_note on outranked_notes (user_id, note_id);

-- How far the sessions of an agent were read for facts.
create table session_memory_state (
    user_id uuid not null references scopes (user_id) on delete cascade,
    session_id varchar not null,
    agent_id varchar not null,
    extracted_at timestamptz not null,
    rev bigint not null,
    primary key (user_id, session_id, agent_id)
);

create table memory_retrieval_log (
    user_id uuid not null references scopes (user_id) on delete cascade,
    -- The id of the event, and the rank.
    id text not null,
    request_id text not null,
    agent_id text not null,
    session_id text,
    run_id text,
    memory_id text not null,
    memory_title text not null,
    query text not null,
    retrieval_source text not null,
    rank int not null,
    raw_score double precision,
    blended_score double precision,
    used boolean not null,
    created_at timestamptz not null,
    rev bigint not null,
    primary key (user_id, id)
);
create index memory_retrieval_log_memory on memory_retrieval_log (user_id, memory_id, agent_id);
create index memory_retrieval_log_request on memory_retrieval_log (user_id, request_id);

create table memory_valuations (
    user_id uuid not null references scopes (user_id) on delete cascade,
    id text not null,
    request_id text,
    agent_id text not null,
    session_id text,
    run_id text,
    memory_id text not null,
    memory_title text not null,
    useful boolean not null,
    created_at timestamptz not null,
    rev bigint not null,
    primary key (user_id, id)
);
create index memory_valuations_memory on memory_valuations (user_id, memory_id, agent_id);

create table memory_gaps (
    user_id uuid not null references scopes (user_id) on delete cascade,
    id text not null,
    agent_id text not null,
    session_id text,
    description text not null,
    query_attempted text,
    status text not null,
    closed_by text,
    created_at timestamptz not null,
    closed_at timestamptz,
    rev bigint not null,
    primary key (user_id, id)
);

create table memory_scores (
    user_id uuid not null references scopes (user_id) on delete cascade,
    agent_id text not null,
    memory_id text not null,
    access_count int not null,
    valuation_count int not null,
    useful_count int not null,
    not_useful_count int not null,
    -- Null while there is no rating.
    usefulness_rate double precision,
    -- As of `updated_at`.
    adaptive_score double precision not null,
    last_used timestamptz,
    last_valued timestamptz,
    updated_at timestamptz not null,
    rev bigint not null,
    primary key (user_id, agent_id, memory_id)
);
create index memory_scores_memory on memory_scores (user_id, memory_id);

-- Texts of facts are searched by trigrams where the server has them, and read in turn where not.
do $$
begin
    if exists (select from pg_extension where extname = 'pg_trgm') then
        create index memory_facts_category_text on memory_facts using gin (category gin_trgm_ops);
        create index memory_facts_key_text on memory_facts using gin (key gin_trgm_ops);
        create index memory_facts_value_text on memory_facts using gin (value gin_trgm_ops);
    end if;
end $$;
