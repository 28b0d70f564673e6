-- What was called over MCP and HTTP, and the keys that may call.

create table tool_executions (
    user_id uuid not null references scopes (user_id) on delete cascade,
    -- The id of the event.
    id uuid not null,
    tool_name varchar not null,
    agent_id varchar not null,
    -- The program that called.
    client varchar,
    session_id varchar,
    -- `done`, or the kind of the error.
    outcome varchar not null,
    duration_ms double precision,
    created_at timestamptz not null,
    rev bigint not null,
    primary key (user_id, id)
);
create index tool_executions_time on tool_executions (user_id, created_at);

create table api_keys (
    user_id uuid not null references scopes (user_id) on delete cascade,
    -- The home whose server knows the key.
    home_id uuid not null,
    key_name varchar not null,
    -- `read`, `write`, `administer` or `read_all`.
    scope varchar not null,
    -- An empty limit allows all.
    agents varchar[] not null,
    vaults varchar[] not null,
    domains varchar[] not null,
    created_at timestamptz not null,
    -- A day or a time in UTC.
    expires varchar,
    -- Null while it is valid.
    revoked_at timestamptz,
    rev bigint not null,
    primary key (user_id, home_id, key_name)
);
