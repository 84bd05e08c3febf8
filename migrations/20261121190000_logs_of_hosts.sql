-- Logs that hosts and installation controllers upload. Kept in the database, so that any replica can hand them out.

CREATE TABLE logs (
    id            TEXT   NOT NULL PRIMARY KEY,
    cluster_id    TEXT   NOT NULL,
    host_id       TEXT,                      -- NULL: of the controller
    infra_env_id  TEXT,
    size          BIGINT NOT NULL,           -- bytes; 0 while it is being uploaded
    chunks        BIGINT NOT NULL,           -- number of chunks; 0 while it is being uploaded
    created_at    BIGINT NOT NULL,
    completed_at  BIGINT                     -- NULL while it is being uploaded
);

CREATE INDEX logs_by_cluster ON logs (cluster_id, host_id);
CREATE INDEX logs_unfinished ON logs (created_at) WHERE completed_at IS NULL;

CREATE TABLE log_chunks (
    log_id   TEXT   NOT NULL REFERENCES logs (id) ON DELETE CASCADE,
    number   BIGINT NOT NULL,                -- from 0
    content  BYTEA  NOT NULL,
    PRIMARY KEY (log_id, number)
);
