-- Tokens that were made for people and programs that use the API. The tokens themselves are kept nowhere. One that is not in this table,
-- or is revoked in it, opens nothing; every replica reads the row at each request.

CREATE TABLE operator_tokens (
    id            TEXT NOT NULL PRIMARY KEY,
    name          TEXT NOT NULL,             -- who uses it; for people
    read_only     BIGINT NOT NULL,
    infra_env_id  TEXT,                      -- the one that it opens; NULL: everything
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT,                    -- NULL: it does not end by itself
    revoked_at    BIGINT
);
