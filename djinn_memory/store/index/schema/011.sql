-- Few memories have most types, and few are of most planes: a filter need not read all the others.
create index if not exists memory_type on memory (type);
create index if not exists memory_plane on memory (plane);
