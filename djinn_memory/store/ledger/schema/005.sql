-- How far the events of a home and of a server's scope were exchanged. Without a row everything is
-- exchanged again, which changes nothing that both have.
create table sync_events (
    -- The id of the vault.
    scope text not null unique,
    -- Events up to this revision of the server are in the ledger.
    rev integer not null,
    -- Events of this home up to this id are on the server.
    pushed text not null
);
