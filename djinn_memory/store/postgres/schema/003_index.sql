-- The search index of each scope, derived from `notes` by the home that pushes them. Texts are
-- compared byte by byte, as in the local index.

-- The sets of domains of memories. Terms are counted for each set, so that a memory that an agent
-- may not see moves no score.
create table index_domain_sets (
    user_id uuid not null references scopes on delete cascade,
    number integer not null,
    -- In the form in which they are compared, sorted.
    domains text[] not null,
    chunks bigint not null default 0,
    -- The terms of these chunks.
    length bigint not null default 0,
    -- The languages, English aside, whose stemmers made terms.
    languages text[] not null default '{}',
    primary key (user_id, number),
    unique (user_id, domains)
);

create table index_memories (
    user_id uuid not null,
    number bigint not null,
    note_id uuid not null,
    -- The file, which sections of a journal share.
    path text not null collate "C",
    folded text not null collate "C",
    file_name text not null collate "C",
    hash bytea not null,
    modified_ns bigint not null,
    problem text,
    -- Null for a memory that is a whole note.
    block text collate "C",
    uid text collate "C",
    type text collate "C",
    plane text collate "C",
    title text not null collate "C",
    -- The title as names are compared.
    name text not null collate "C",
    created text collate "C",
    updated text collate "C",
    date text not null collate "C",
    dated boolean not null,
    digest bytea,
    lines_above integer not null,
    domain_set integer not null,
    tags text[] not null,
    -- Each tag as it is compared, and the tags above it: `project` for `project/x`.
    tag_keys text[] not null,
    aliases text[] not null,
    alias_keys text[] not null,
    -- The names by which a link may mean it; see `notes.link_resolution.lookup_keys`.
    link_keys text[] not null,
    -- Pairs of key and value, in order.
    fields jsonb not null,
    -- Each key and value as they are compared, separated by `=`.
    field_keys text[] not null,
    -- When it expires, as the fields are compared.
    expires text[],
    -- The ids of its Logseq blocks.
    blocks text[] not null,
    -- The number of its chunks. Their numbers follow that of the memory.
    chunks integer not null,
    -- The revision that wrote the row.
    rev bigint not null,
    primary key (user_id, number),
    foreign key (user_id, note_id) references notes (user_id, note_id) on delete cascade,
    foreign key (user_id, domain_set) references index_domain_sets (user_id, number)
        on delete cascade
);
create index index_memories_note on index_memories (user_id, note_id);
create index index_memories_path on index_memories (user_id, path);
create index index_memories_uid on index_memories (user_id, uid) where uid is not null;
create index index_memories_name on index_memories (user_id, name);
create index index_memories_file_name on index_memories (user_id, file_name);
create index index_memories_date on index_memories (user_id, date);
create index index_memories_type on index_memories (user_id, type);
create index index_memories_expires on index_memories (user_id, number) where expires is not null;
create index index_memories_tags on index_memories using gin (tag_keys);
create index index_memories_aliases on index_memories using gin (alias_keys);
create index index_memories_links on index_memories using gin (link_keys);
create index index_memories_fields on index_memories using gin (field_keys);

create table index_chunks (
    user_id uuid not null,
    number bigint not null,
    memory bigint not null,
    ordinal integer not null,
    headings jsonb not null,
    first_line integer not null,
    last_line integer not null,
    page integer,
    -- Where another page or section begins: offset, page, headings.
    parts jsonb not null,
    text text not null,
    -- What a search asks of a candidate need not be read from the row with its text.
    primary key (user_id, number) include (memory, ordinal, first_line),
    foreign key (user_id, memory) references index_memories (user_id, number) on delete cascade
);
create index index_chunks_memory on index_chunks (user_id, memory, ordinal);

-- The terms of a chunk in order, for phrases. Each column is a line that begins and ends with a
-- space; a space separates terms.
create table index_terms (
    user_id uuid not null,
    chunk bigint not null,
    domain_set integer not null,
    -- The number of terms in all columns.
    length integer not null,
    -- Title and body.
    telling text not null collate "C",
    -- Aliases, headings, tags and path.
    naming text not null collate "C",
    primary key (user_id, chunk),
    foreign key (user_id, chunk) references index_chunks (user_id, number) on delete cascade
);

-- The number of chunks with a term.
create table index_counts (
    user_id uuid not null references scopes on delete cascade,
    term text not null collate "C",
    domain_set integer not null,
    chunks integer not null,
    primary key (user_id, term, domain_set)
);

-- The chunks with a term, for BM25. An entry has 12 bytes: the chunk's number and length as 4
-- bytes, its set of domains and the weighted count as 2, least byte first. Entries of chunks that
-- are gone stay until the segments are merged, unless no chunk has the term any more.
create table index_postings (
    user_id uuid not null references scopes on delete cascade,
    term text not null collate "C",
    -- The first number of a chunk of the transaction that wrote it.
    segment bigint not null,
    entries bytea not null,
    primary key (user_id, term, segment)
);
alter table index_postings alter column entries set storage external;

create table index_segments (
    user_id uuid not null references scopes on delete cascade,
    segment bigint not null,
    chunks integer not null,
    primary key (user_id, segment)
);

-- The parts of chunks that are embedded.
create table index_windows (
    user_id uuid not null,
    chunk bigint not null,
    number integer not null,
    memory bigint not null,
    domain_set integer not null,
    start integer not null,
    stop integer not null,
    -- The key of the text in the cache of vectors.
    hash bytea not null,
    -- The number of tokens.
    length integer not null,
    vector vector({dimensions}),
    primary key (user_id, chunk, number),
    foreign key (user_id, chunk) references index_chunks (user_id, number) on delete cascade
);
create index index_windows_waiting on index_windows (user_id, chunk) where vector is null;

-- The signs of the vector of each token of a window.
create table index_token_signs (
    user_id uuid not null,
    chunk bigint not null,
    number integer not null,
    signs bytea not null,
    primary key (user_id, chunk, number),
    foreign key (user_id, chunk, number) references index_windows (user_id, chunk, number)
        on delete cascade
);
alter table index_token_signs alter column signs set storage external;

create table index_links (
    user_id uuid not null,
    memory bigint not null,
    number integer not null,
    target text not null,
    heading text,
    block text,
    label text,
    kind text not null,
    embed boolean not null,
    field text,
    line integer not null,
    start integer not null,
    stop integer not null,
    -- How the target was found; null while it is unresolved.
    how text,
    -- The vault of the target, which may be another scope. Null for a file that is no note.
    target_scope uuid,
    target_path text collate "C",
    target_block text collate "C",
    -- Whether the target is a memory. A journal as a whole is none.
    target_is_memory boolean not null,
    -- Pairs of vault and path, if several notes could be meant.
    candidates jsonb not null,
    primary key (user_id, memory, number),
    foreign key (user_id, memory) references index_memories (user_id, number) on delete cascade
);
create index index_links_target on index_links (user_id, target_path);
