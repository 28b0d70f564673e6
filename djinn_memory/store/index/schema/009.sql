-- Sections of journals by their text, as `note_hash` finds notes.
create index memory_digest on memory (digest) where block is not null;
