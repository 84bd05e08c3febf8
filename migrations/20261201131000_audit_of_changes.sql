-- Requests and commands that changed something, or tried to: who sent which, to what, with which outcome. No body, no secret and no token is
-- in it. The newest are kept, as many as the service is set to.

CREATE TABLE audit_entries (
    number        BIGINT NOT NULL PRIMARY KEY,  -- in the order of their commits, without gaps
    at            BIGINT NOT NULL,              -- when the response was made
    request_id    TEXT   NOT NULL,              -- '' for commands
    who           TEXT   NOT NULL,              -- name of an operator's token, 'anybody' or 'command line'
    token_id      TEXT,                         -- of operator_tokens
    session_id    TEXT,                         -- of operator_sessions
    method        TEXT   NOT NULL,              -- '' for commands
    operation     TEXT   NOT NULL,              -- id of a REST operation, or a command
    object_kind   TEXT   NOT NULL,              -- '' if the request names none
    object_id     TEXT   NOT NULL,
    infra_env_id  TEXT,                         -- of a host or a BMC
    object_name   TEXT   NOT NULL,              -- as it was when the row was written; '' = unknown
    status        BIGINT NOT NULL               -- of HTTP; 0 for commands, which succeeded
);
