-- A note holds one memory, a journal one in each section.
alter table memory add column block text;
-- Of all that the memory was read from; null in an index made before this version.
alter table memory add column digest blob;
-- Where its text begins in the file.
alter table memory add column lines_above integer not null default 0;
alter table memory add column characters_above integer not null default 0;

drop index memory_note;
create index memory_place on memory (note_id, block collate nocase);

-- Links belong to memories. `target_note_id` is the file that a link leads to; `target_memory_id`
-- the memory in it, null where it leads to a journal as a whole.
alter table link add column memory_id integer references memory on delete cascade;
alter table link add column target_memory_id integer references memory on delete set null;
update link set
    memory_id = (select id from memory where memory.note_id = link.note_id),
    target_memory_id = (select id from memory where memory.note_id = link.target_note_id);
create index link_memory on link (memory_id);
create index link_target_memory on link (target_memory_id);

alter table block rename to note_block;
create table block (
    memory_id integer not null references memory on delete cascade,
    uuid text not null,
    primary key (memory_id, uuid)
) without rowid;
insert into block
    select memory.id, uuid from note_block join memory on memory.note_id = note_block.note_id;
drop table note_block;

-- Files that may be journals are read anew.
update note set size = -1, hash = x'' where path glob 'journal/*';
