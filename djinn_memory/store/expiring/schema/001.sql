-- What expires or is replaced: neither a note nor an event, and nothing that could be made again.
create table entry (
    agent text not null,
    -- session, task or from, and its name: that of another agent for what it handed over.
    space text not null,
    name text not null,
    key text not null,
    -- A UUID of its own; a value that replaces another has a new one.
    id text not null,
    -- JSON.
    value text not null,
    type text,
    tier text not null,
    -- Seconds since 1970, here and below.
    created real not null,
    updated real not null,
    ttl integer not null,
    expires real not null,
    -- Until when the row stays: longer than it can be read where it waits to become a note.
    kept real not null,
    uses integer not null,
    used real,
    -- Who makes a note of it, and since when: copies of a home may share a store.
    claim text,
    claimed real,
    primary key (agent, space, name, key)
);
create index entry_kept on entry (kept);
-- "djnW": by this a file is known to be djinn's working memory, and not another program's.
pragma application_id = 0x646a6e57;
