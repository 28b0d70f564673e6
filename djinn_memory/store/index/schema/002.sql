-- Vectors of two models side by side: the space that answers, and the one that is being filled.
drop table if exists vectors;
delete from meta where key = 'identity';

create table space (
    id integer primary key,
    identity text not null unique,
    dimensions integer not null,
    -- JSON: the settings that make this space's embedder.
    recipe text not null,
    -- A calibrated cosine is `scale * cosine + shift`.
    scale real not null,
    shift real not null,
    -- Whether its vectors answer; at most one of the two does.
    serving integer not null
);

-- `embedded` now says: has a vector in the space that answers; `coming`: in the one being filled.
alter table window add column coming integer not null default 0;
update window set embedded = 0;

-- The dialect in which all notes of the vault were read; null before the first reading.
alter table vault add column dialect text;
