-- The words of a chunk go with it, as its rows do. The vectors of a window go by a trigger of each
-- space, see `vectors.begin`.
create trigger chunk_words after delete on chunk begin
    delete from words where rowid = old.id;
end;
