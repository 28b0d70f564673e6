-- Each vault has a table of its words, `words_<id>`, so that no vault that a search may not see
-- counts in its scores; see `words.create`.
drop trigger chunk_words;
drop table vocabulary;
drop table words;
delete from meta where key = 'languages';

-- The languages, English aside, whose stemmers made words of the vault.
alter table vault add column languages text not null default '';

-- Says in whose table the words of a chunk are when its memory is gone already.
alter table chunk add column in_vault integer;
update chunk set in_vault = (
    select note.vault_id from memory join note on note.id = note_id where memory.id = memory_id
);
