-- What a home knows of the server with which it synchronizes. These tables do not follow from the
-- events. Without them a home compares everything and deletes nothing. They have a rowid, so that
-- `salvage` takes none of their rows for an event.

-- One row: the id by which servers know this home.
create table sync_home (id text not null);

create table sync_scope (
    -- The id of the vault.
    scope text not null unique,
    -- Everything up to this revision of the server is in the home.
    rev integer not null,
    -- Whether both sides must be compared as a whole, and nothing may be deleted.
    whole integer not null,
    -- After the server was restored from a backup: the revision up to which its history is known.
    restored_rev integer
);

-- Revisions of the server that were seen, and the random mark of each.
create table sync_seen (
    scope text not null,
    rev integer not null,
    mark text not null,
    unique (scope, rev)
);

-- The state of each note that the home and the server last had in common.
create table sync_base (
    scope text not null,
    note_id text not null,
    path text not null,
    hash blob not null,
    -- The server's revision of that state; -1 if a restored server lost it.
    rev integer not null,
    -- The id in its front matter.
    uid text,
    -- Of an attachment: size and times of the file with these bytes.
    stat text,
    -- Whether it was purged here, so that the server and other homes remove all copies.
    purged integer not null default 0,
    -- The note of which it is a conflict copy.
    conflict_of text,
    unique (scope, note_id)
);

-- Hashes of files that were purged here, for the next run: other homes may have them in their trash.
create table sync_purged (
    scope text not null,
    hash blob not null,
    unique (scope, hash)
);

-- The steps of a run, written before they are carried out.
create table sync_plan (
    scope text not null,
    note_id text not null,
    -- `pull` or `push`.
    step text not null,
    -- The state that the step produces.
    path text not null,
    hash blob not null,
    -- Of `pull`: the server's state that becomes the base. Of `push`: the revision it replaces.
    server_path text not null,
    server_hash blob not null,
    rev integer not null
);
create index plan_note on sync_plan (scope, note_id);
