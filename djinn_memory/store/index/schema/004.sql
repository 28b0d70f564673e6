-- Where in the chunk of a document another page or section begins: JSON array of
-- [offset in its text, number of the page, headings].
alter table chunk add column parts text;
