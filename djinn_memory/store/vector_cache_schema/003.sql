-- "djnE": by this a file is known to be a vector cache of djinn's, and not another program's.
pragma application_id = 0x646a6e45;
