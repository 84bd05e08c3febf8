-- Time that was the service's own is charged to no host: each replica writes down that it can hear and write, and
-- what it finds out about times in which it could not.

CREATE TABLE replicas (
    id       TEXT   NOT NULL PRIMARY KEY,    -- random, made when the replica starts
    beat_at  BIGINT NOT NULL,                -- last time at which it heard hosts and could write
    has_left BIGINT NOT NULL                 -- 1: it stopped in order, and no host waits for it
);

CREATE TABLE deaf_times (
    from_at BIGINT NOT NULL,
    to_at   BIGINT NOT NULL,
    PRIMARY KEY (from_at, to_at)
);
