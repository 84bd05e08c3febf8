-- An operator's action on many hosts. It is kept here, with a result for each host, so that it survives a restart, continues in another
-- replica, and is seen by everybody. Actions hold no secrets.

CREATE TABLE host_jobs (
    id                TEXT NOT NULL PRIMARY KEY,
    infra_env_id      TEXT,                    -- the one that the token opens; NULL: everything
    token_id          TEXT,                    -- of operator_tokens; NULL: none was required, or it is of an older version
    token_name        TEXT,
    token_expires_at  BIGINT,                  -- of a token without an id; NULL: it does not end by itself
    action            TEXT NOT NULL,           -- JSON
    state             TEXT NOT NULL,           -- running, finished, cancelled or stopped
    reason            TEXT NOT NULL,           -- why it stopped
    retry_of          TEXT,                    -- the job whose failed hosts these are
    created_at        BIGINT NOT NULL,
    ended_at          BIGINT,                  -- NULL: it runs
    total             BIGINT NOT NULL,         -- hosts
    changed           BIGINT NOT NULL,
    already           BIGINT NOT NULL,
    failed            BIGINT NOT NULL,
    claim             TEXT NOT NULL,           -- of the replica that works on it
    claimed_until     BIGINT NOT NULL
);

CREATE INDEX host_jobs_that_run ON host_jobs (claimed_until) WHERE state = 'running';
CREATE INDEX host_jobs_by_end ON host_jobs (ended_at);

CREATE TABLE host_job_hosts (
    job_id        TEXT NOT NULL,
    place         BIGINT NOT NULL,             -- from 1
    infra_env_id  TEXT NOT NULL,
    host_id       TEXT NOT NULL,
    pool          TEXT NOT NULL,               -- name of the InfraEnv when the job was made
    name          TEXT NOT NULL,               -- of the host when the job was made
    value         TEXT NOT NULL,               -- its new name, or the id of its disk; empty for other actions
    outcome       TEXT NOT NULL,               -- pending, changed, already or refused
    reason        TEXT NOT NULL,               -- why it was refused
    ended_at      BIGINT,                      -- NULL: pending
    PRIMARY KEY (job_id, place)
);

CREATE INDEX host_job_hosts_by_outcome ON host_job_hosts (job_id, outcome, place);
