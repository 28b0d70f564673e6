-- Blocks of a note that links name by their UUID, as Logseq's do.
create table block (
    note_id integer not null references note on delete cascade,
    uuid text not null,
    primary key (note_id, uuid)
) without rowid;
