-- Sessions of operators in browsers, and the one-time links by which they begin: both by an operator's token, whose row says what they
-- open, at each request. Neither table holds a secret: what a client holds is found by its digest (HMAC-SHA-256 by the key of tokens).

CREATE TABLE operator_sessions (
    id          TEXT NOT NULL PRIMARY KEY,  -- names it in lists and in the log
    digest      TEXT NOT NULL UNIQUE,
    token_id    TEXT NOT NULL,              -- of operator_tokens
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL
);

CREATE INDEX operator_sessions_of_token ON operator_sessions (token_id, created_at);

CREATE TABLE operator_links (
    id          TEXT NOT NULL PRIMARY KEY,  -- the digest
    token_id    TEXT NOT NULL,              -- of operator_tokens
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL
);

CREATE INDEX operator_links_of_token ON operator_links (token_id, created_at);
