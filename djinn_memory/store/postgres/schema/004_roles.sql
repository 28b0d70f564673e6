-- Which scopes a role of the server sees, where row-level security is on (`djinn sync init --rls`).
-- Only the owner of the tables writes here.

create table role_scopes (
    role_name name not null,
    -- Null grants all scopes, for reading only.
    user_id uuid,
    unique nulls not distinct (role_name, user_id)
);

-- The names in the bodies are resolved here and now, so that a role cannot put tables of its own in
-- their place by its search path.
create function djinn_scopes() returns uuid[] language sql stable parallel safe
begin atomic
    select coalesce(array_agg(user_id) filter (where user_id is not null), '{}')
    from role_scopes where role_name = current_user;
end;

create function djinn_reads_all() returns boolean language sql stable parallel safe
begin atomic
    select exists (
        select from role_scopes where role_name = current_user and user_id is null
    );
end;
