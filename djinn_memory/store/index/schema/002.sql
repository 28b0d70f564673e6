-- The dialect in which all notes of the vault were read; null before the first reading.
alter table vault add column dialect text;
