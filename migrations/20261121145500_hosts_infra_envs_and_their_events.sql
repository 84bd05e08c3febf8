-- The first tables: what is remembered of InfraEnvs and hosts, what happened to them, and what is still to be told.
--
-- One file serves SQLite and PostgreSQL, so only what both understand the same way is used:
--   ids        TEXT, lower-case UUID
--   moments    BIGINT, microseconds since 1970-01-01 UTC
--   documents  TEXT holding JSON; the Rust type is named beside the column
-- Ids of rows that nobody names (events, history) are version 7 UUIDs, so that sorting by id is sorting by age.

CREATE TABLE infra_envs (
    id          TEXT   NOT NULL PRIMARY KEY,
    name        TEXT   NOT NULL,             -- chosen by its maker; not unique
    cluster_id  TEXT,                        -- cluster that its hosts are bound to from the start
    boot_id     TEXT   NOT NULL,             -- random part of /boot/<boot_id>/... URLs
    version     BIGINT NOT NULL,             -- number of writes; a write names the version that it was based on
    settings    TEXT   NOT NULL,             -- muster_core::infra_env::Settings; holds the pull secret
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    deleted_at  BIGINT                       -- NULL while it lives
);

CREATE UNIQUE INDEX infra_envs_by_boot_id ON infra_envs (boot_id);
CREATE INDEX infra_envs_by_cluster ON infra_envs (cluster_id) WHERE deleted_at IS NULL;

CREATE TABLE hosts (
    id             TEXT   NOT NULL,          -- computed by the agent
    infra_env_id   TEXT   NOT NULL REFERENCES infra_envs (id),
    cluster_id     TEXT,                     -- cluster that it is bound to
    status         TEXT   NOT NULL,          -- wire name of the state, for counting
    version        BIGINT NOT NULL,          -- number of writes, check-ins not counted; never falls, not even over a deletion
    due_at         BIGINT,                   -- look at it again at this moment even if it stays silent
    checked_in_at  BIGINT NOT NULL,          -- last poll that was written down
    host_clock     BIGINT NOT NULL,          -- its clock at that poll, seconds since 1970; 0 = never told
    agent_version  TEXT   NOT NULL,          -- as told at that poll
    hostname       TEXT   NOT NULL,          -- as in the inventory; '' = unknown
    macs           TEXT   NOT NULL,          -- ' aa:bb:.. cc:dd:.. ', lower case, of the inventory's interfaces
    state          TEXT   NOT NULL,          -- muster_core::host::HostState
    data           TEXT   NOT NULL,          -- muster_core::host::HostData
    has_inventory  BIGINT NOT NULL,          -- 1 when there is a row in host_inventories
    created_at     BIGINT NOT NULL,
    deleted_at     BIGINT,                   -- NULL while it lives
    PRIMARY KEY (id, infra_env_id)
);

CREATE INDEX hosts_by_infra_env ON hosts (infra_env_id);
CREATE INDEX hosts_by_cluster ON hosts (cluster_id) WHERE deleted_at IS NULL;
CREATE INDEX hosts_by_deadline ON hosts (due_at) WHERE deleted_at IS NULL AND due_at IS NOT NULL;

-- What a host reports of itself. Apart from hosts because it is large and rarely changes: SQLite writes a whole row anew when
-- any column changes, and check-ins change rows of hosts all the time.
CREATE TABLE host_inventories (
    host_id       TEXT NOT NULL,
    infra_env_id  TEXT NOT NULL,
    document      TEXT NOT NULL,             -- muster_api::inventory::Inventory
    PRIMARY KEY (host_id, infra_env_id),
    FOREIGN KEY (host_id, infra_env_id) REFERENCES hosts (id, infra_env_id) ON DELETE CASCADE
);

-- Who moved a host from where to where, and why. One row for each change of state.
CREATE TABLE host_history (
    id            TEXT   NOT NULL PRIMARY KEY,
    host_id       TEXT   NOT NULL,
    infra_env_id  TEXT   NOT NULL,
    version       BIGINT NOT NULL,           -- of the host after the change
    at            BIGINT NOT NULL,
    who           TEXT   NOT NULL,           -- 'agent', 'user', 'deadline', ...
    event         TEXT   NOT NULL,           -- what was heard
    from_status   TEXT,                      -- NULL for the first registration
    to_status     TEXT   NOT NULL,
    reason        TEXT   NOT NULL            -- for people
);

CREATE INDEX host_history_by_host ON host_history (host_id, infra_env_id, version);

-- What users are told. No foreign keys: events outlive what they tell of.
CREATE TABLE events (
    id            TEXT   NOT NULL PRIMARY KEY,
    at            BIGINT NOT NULL,
    name          TEXT   NOT NULL,
    severity      TEXT   NOT NULL,           -- info, warning, error, critical
    category      TEXT   NOT NULL,           -- user, metrics
    message       TEXT   NOT NULL,
    props         TEXT,                      -- JSON object; NULL = none
    host_id       TEXT,
    infra_env_id  TEXT,
    cluster_id    TEXT,
    request_id    TEXT                       -- of the HTTP request that caused it
);

CREATE INDEX events_by_time ON events (at, id);
CREATE INDEX events_by_infra_env ON events (infra_env_id, at, id);
CREATE INDEX events_by_host ON events (host_id, at, id);
CREATE INDEX events_by_cluster ON events (cluster_id, at, id);

-- Records that changed and whose change has not been acted on yet. One row a record, naming its newest version,
-- so that it cannot grow beyond the number of records while nobody takes from it.
CREATE TABLE outbox (
    kind           TEXT   NOT NULL,          -- 'host', 'infra_env'
    key            TEXT   NOT NULL,          -- id, or infra_env_id/host_id
    id             TEXT   NOT NULL,          -- new with each change: an acknowledgement of an older change removes nothing
    version        BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,          -- of the oldest change not yet acknowledged
    claimed_until  BIGINT NOT NULL,          -- a taker has it until then; 0 = nobody
    PRIMARY KEY (kind, key)
);

CREATE INDEX outbox_by_age ON outbox (created_at);
CREATE UNIQUE INDEX outbox_by_id ON outbox (id);

-- Values that all replicas share and that are made once, such as the token-signing key. Secret.
CREATE TABLE settings (
    name        TEXT   NOT NULL PRIMARY KEY,
    value       TEXT   NOT NULL,
    created_at  BIGINT NOT NULL
);
