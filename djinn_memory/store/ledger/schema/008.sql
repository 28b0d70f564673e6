-- The hashes of the texts that a note had before, oldest first: a server that was restored from a
-- backup gets one of them again from a home that knows no newer text.
alter table sync_base add column past blob not null default x'';
