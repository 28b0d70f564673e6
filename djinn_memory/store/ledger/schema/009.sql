-- Calls of tools and keys go to the server too, also those that were recorded before.
update sync_events set pushed = '';
