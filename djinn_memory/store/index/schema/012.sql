-- A compartment holds the memories of a vault from which the same agents are excluded. Words and
-- vectors are kept by compartment, so that what an agent may not see counts in none of its scores.
create table compartment (
    id integer primary key,
    vault_id integer not null references vault on delete cascade,
    -- The agents that may not see it, separated by spaces.
    excluded text not null default '',
    -- The languages, English aside, whose stemmers made words of it.
    languages text not null default '',
    unique (vault_id, excluded)
);
-- Words and vectors that are there already are known by the number of their vault.
insert into compartment (id, vault_id, languages) select id, id, languages from vault;
alter table vault drop column languages;

alter table memory add column compartment_id integer references compartment on delete cascade;
update memory set compartment_id = (select vault_id from note where note.id = note_id);
alter table chunk rename column in_vault to in_compartment;
