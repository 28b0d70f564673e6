-- Names as they are compared: a query that is one is looked up. `names.fill`
-- writes them.
alter table note add column name text not null default '';
alter table memory add column name text not null default '';
alter table alias add column name text not null default '';
create index note_name on note (name);
create index memory_name on memory (name);
create index alias_name on alias (name);
