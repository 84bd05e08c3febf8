-- BMCs whose machines are discovered by booting them through it, with how far that has come.

CREATE TABLE bmcs (
    id              TEXT NOT NULL PRIMARY KEY,
    infra_env_id    TEXT NOT NULL,
    name            TEXT NOT NULL,
    place           TEXT NOT NULL,              -- host, port and system: two rows of one machine would fight for it
    version         BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    settings        TEXT NOT NULL,              -- JSON: address, user, trusted certificate, way of booting
    password        TEXT NOT NULL,
    run             BIGINT NOT NULL,            -- number of discoveries; work of an earlier one is void
    phase           TEXT NOT NULL,              -- of stage, to be looked for
    stage           TEXT NOT NULL,              -- JSON
    progress        TEXT NOT NULL,              -- JSON: reason, deadline, checks, what is left in the BMC
    inventory       TEXT,                       -- JSON: the machine as its BMC tells it
    due_at          BIGINT,                     -- somebody has to look at it then; NULL: nothing is to be done
    claimed_until   BIGINT NOT NULL DEFAULT 0,  -- a replica works on it until then
    claimed_by      TEXT NOT NULL DEFAULT '',
    image_requests  BIGINT NOT NULL DEFAULT 0,  -- for the image, by this BMC's own URL
    image_bytes     BIGINT NOT NULL DEFAULT 0,
    image_at        BIGINT
);

CREATE UNIQUE INDEX bmcs_by_name ON bmcs (infra_env_id, name);
CREATE UNIQUE INDEX bmcs_by_place ON bmcs (place);
CREATE INDEX bmcs_by_phase ON bmcs (infra_env_id, phase);
CREATE INDEX bmcs_due ON bmcs (due_at) WHERE due_at IS NOT NULL;
