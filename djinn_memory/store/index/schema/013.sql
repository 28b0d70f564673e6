-- The date of a note that gives none: when djinn saw its text change, else that of its last commit.
alter table note add column changed text;
