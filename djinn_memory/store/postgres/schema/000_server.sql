-- What holds for the whole server. These tables have no scope and stay small: a cluster keeps a
-- copy of them on each node.

create table schema_migrations (
    version integer primary key,
    name text not null,
    applied_at timestamptz not null default now()
);

-- The model of all vectors on this server. There is one row.
create table server (
    only_row boolean primary key default true check (only_row),
    server_id uuid not null,
    identity text not null,
    dimensions integer not null,
    scale real not null,
    shift real not null
);
