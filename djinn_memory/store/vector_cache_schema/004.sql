-- One sign a dimension of the vector of each token, for late interaction.
create table token_signs (
    identity_id integer not null references identity,
    hash blob not null,
    signs blob not null,
    primary key (identity_id, hash)
) without rowid;

-- Whether the tokens of each text were kept. Earlier versions of djinn kept vectors only.
alter table identity add column tokens integer not null default 0;
