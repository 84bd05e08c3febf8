-- Nothing grows for ever: what is found here is deleted when it is old.

-- Hosts that were deleted long ago, whose rows are gone. An Agent of one of them is not made into a host again.
CREATE TABLE host_tombstones (
    id            TEXT   NOT NULL,
    infra_env_id  TEXT   NOT NULL,
    version       BIGINT NOT NULL,           -- of the row when it went: versions of a host never fall
    PRIMARY KEY (id, infra_env_id)
);

CREATE INDEX host_tombstones_by_infra_env ON host_tombstones (infra_env_id);
CREATE INDEX hosts_deleted ON hosts (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX host_history_by_time ON host_history (at);
CREATE INDEX logs_by_age ON logs (completed_at) WHERE completed_at IS NOT NULL;

-- Finds the last event of a name about a host, for names that are stored only so often.
CREATE INDEX events_by_name ON events (name, host_id, at);
