create table identity (id integer primary key, name text not null unique);

create table embedding (
    identity_id integer not null references identity,
    hash blob not null,
    vector blob not null,
    primary key (identity_id, hash)
) without rowid;
