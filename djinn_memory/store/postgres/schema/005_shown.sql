-- What agents had been shown is found by session and time.
create index events_shown on events (user_id, (data ->> 'session'), at)
    where kind = 'memory.retrieved';
create index episodic_memories_session on episodic_memories (user_id, session_id);

-- The next run of a home writes again what follows from these notes: `context_snapshot` of
-- interactions, and `valid_to` of facts that expire.
update notes set pending = true from episodic_memories as episode
where episode.user_id = notes.user_id and episode.note_id = notes.note_id
    and episode.episode_type = 'interaction' and not notes.deleted;
update notes set pending = true from memory_facts as fact
where fact.user_id = notes.user_id and fact.note_id = notes.note_id
    and fact.expires_at is not null and fact.valid_to is null and not notes.deleted;
