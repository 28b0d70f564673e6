-- Append only. Ids are UUIDs of version 7, so their order is the order of the events.
create table event (
    id text primary key,
    at text not null,
    -- What happened, as `noun.verb`; the noun says what `subject` names.
    kind text not null,
    subject text not null,
    -- JSON object.
    data text not null
) without rowid;
create index event_kind on event (kind, subject);
