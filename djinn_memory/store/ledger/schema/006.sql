-- Events of which texts were purged: each synchronization looks whether the server has them too.
create index event_purged on event (id) where instr(data, '(purged)') > 0;
create index base_path on sync_base (scope, path);
