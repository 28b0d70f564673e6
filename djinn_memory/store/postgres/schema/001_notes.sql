-- A scope is a vault. It comes first in every key, and no key crosses scopes.

create table scopes (
    user_id uuid primary key,
    name text not null,
    -- The number of the last transaction that wrote to the scope. Taking the next number locks the
    -- row, so that writers of a scope wait for each other and commit in the order of their numbers.
    rev bigint not null default 0,
    -- The next free number of a memory or a chunk.
    next_number bigint not null default 1,
    -- The revision of the newest tombstone that was removed. A home that has seen less cannot tell
    -- what was deleted.
    purged_rev bigint not null default 0,
    created_at timestamptz not null default now()
);

-- A random mark for each revision: a server that was restored from a backup counts on from an older
-- revision, and gives the same numbers other marks. Old marks are removed, except the last one that
-- each home has seen.
create table revisions (
    user_id uuid not null references scopes on delete cascade,
    rev bigint not null,
    mark uuid not null,
    written_at timestamptz not null default now(),
    primary key (user_id, rev)
);
create index revisions_time on revisions (user_id, written_at);

-- The homes that synchronize a scope, and the last revision that each has seen.
create table homes (
    user_id uuid not null references scopes on delete cascade,
    home_id uuid not null,
    name text not null,
    rev bigint not null,
    seen_at timestamptz not null default now(),
    -- The paths of its attachments that are too large to be sent.
    large_files text[] not null default '{}',
    primary key (user_id, home_id)
);

create table notes (
    user_id uuid not null references scopes on delete cascade,
    note_id uuid not null,
    -- Relative to the vault, with `/`.
    path text not null,
    -- The path as file systems compare it that ignore case and the form of Unicode.
    path_key text not null,
    -- The exact bytes; null in a tombstone.
    content bytea,
    -- BLAKE2b of the bytes, 16 bytes long.
    hash bytea not null,
    size bigint not null,
    -- The revision that wrote the row.
    rev bigint not null,
    deleted boolean not null default false,
    -- Whether its texts are to be removed everywhere, with all copies.
    purged boolean not null default false,
    -- The note of which this one is a conflict copy. The note may be gone.
    conflict_of uuid,
    -- The home that wrote the row.
    home_id uuid not null,
    written_at timestamptz not null default now(),
    -- Whether the rows that follow from it are still to be written, by a home that has the note.
    pending boolean not null default false,
    primary key (user_id, note_id),
    check (deleted = (content is null))
);
create index notes_pending on notes (user_id, note_id) where pending;
create unique index notes_path on notes (user_id, path_key) where not deleted;
create index notes_rev on notes (user_id, rev);
create index notes_deleted on notes (user_id, written_at) where deleted;

-- Files of a vault that are not notes: originals of documents, pictures.
create table attachments (
    user_id uuid not null references scopes on delete cascade,
    note_id uuid not null,
    path text not null,
    path_key text not null,
    content bytea,
    hash bytea not null,
    size bigint not null,
    rev bigint not null,
    deleted boolean not null default false,
    purged boolean not null default false,
    conflict_of uuid,
    home_id uuid not null,
    written_at timestamptz not null default now(),
    primary key (user_id, note_id),
    check (deleted = (content is null))
);
create unique index attachments_path on attachments (user_id, path_key) where not deleted;
create index attachments_rev on attachments (user_id, rev);
create index attachments_deleted on attachments (user_id, written_at) where deleted;
