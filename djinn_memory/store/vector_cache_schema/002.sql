-- What is known of a model without asking it: the length of its vectors and what its cosines mean.
alter table identity add column dimensions integer;
alter table identity add column scale real;
alter table identity add column shift real;
