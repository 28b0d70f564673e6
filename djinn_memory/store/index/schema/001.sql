-- note -> memory -> chunk -> window. Everything here is derived from the vaults and may be deleted.

create table meta (key text primary key, value text not null) without rowid;

create table vault (
    id integer primary key,
    uuid text not null unique,
    name text not null
);

create table note (
    id integer primary key,
    vault_id integer not null references vault on delete cascade,
    path text not null,
    -- The path as names are compared, for filters.
    folded text not null,
    size integer not null,
    mtime_ns integer not null,
    ctime_ns integer not null,
    inode integer not null,
    -- When the file was looked at: a file changed within the clock's grain of this may have
    -- changed again without a trace in its times.
    seen_ns integer not null,
    hash blob not null,
    problem text,
    unique (vault_id, path)
);
create index note_hash on note (hash);

create table memory (
    id integer primary key,
    note_id integer not null references note on delete cascade,
    uid text,
    type text,
    plane text,
    title text not null,
    created text,
    updated text,
    date text not null,
    -- Whether `date` is the note's own word rather than its file's time.
    dated integer not null
);
create index memory_note on memory (note_id);
create index memory_uid on memory (uid) where uid is not null;

-- Tags, types and fields are stored as written; `folded` is what a filter compares.
create table tag (
    memory_id integer not null references memory on delete cascade,
    tag text not null,
    folded text not null,
    primary key (memory_id, folded)
) without rowid;
create index tag_folded on tag (folded);

create table alias (
    memory_id integer not null references memory on delete cascade,
    alias text not null,
    primary key (memory_id, alias)
) without rowid;

create table field (
    memory_id integer not null references memory on delete cascade,
    key text not null,
    value text not null,
    folded text not null
);
create index field_memory on field (memory_id);
create index field_folded on field (key, folded);

create table chunk (
    id integer primary key,
    memory_id integer not null references memory on delete cascade,
    ordinal integer not null,
    -- JSON array of the headings above the text.
    headings text not null,
    first_line integer not null,
    last_line integer not null,
    page integer,
    text text not null
);
create index chunk_memory on chunk (memory_id);

create table window (
    id integer primary key,
    chunk_id integer not null references chunk on delete cascade,
    -- Character span in the chunk's text.
    start integer not null,
    stop integer not null,
    hash blob not null,
    -- Tokens of the text that is embedded: windows of like length share a batch.
    length integer not null,
    embedded integer not null default 0
);
create index window_chunk on window (chunk_id);
create index window_pending on window (id) where not embedded;

-- The rowid is the chunk's id. Texts are folded and cut by `words.prepare` before they come here,
-- so scripts without spaces are bigrams and no tokenizer of our own is needed to open the file.
create virtual table words using fts5(
    title, aliases, headings, tags, path, body,
    content='', contentless_delete=1,
    tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);
create virtual table vocabulary using fts5vocab(words, row);

create table link (
    id integer primary key,
    note_id integer not null references note on delete cascade,
    target text not null,
    heading text,
    block text,
    label text,
    kind text not null,
    embed integer not null,
    field text,
    line integer not null,
    start integer not null,
    stop integer not null,
    target_note_id integer references note on delete set null,
    -- How the target was found; null while unresolved.
    how text,
    -- JSON array of note ids when several could be meant.
    candidates text
);
create index link_note on link (note_id);
create index link_target on link (target_note_id);
