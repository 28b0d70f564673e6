-- Vaults with notes that were purged elsewhere, while their bytes may still be in the databases here.
create table sync_unerased (scope text not null unique);
