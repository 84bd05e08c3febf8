-- What machines fetched before their agent spoke, so that one that never comes up can be told from one that was never switched on.
-- One row for each file and machine; a boot that begins anew starts counting anew.

CREATE TABLE boot_requests (
    id            TEXT NOT NULL PRIMARY KEY,  -- InfraEnv, MAC, address and file
    infra_env_id  TEXT NOT NULL,
    mac           TEXT NOT NULL,              -- in lower case with colons; empty: the request named none
    address       TEXT NOT NULL,              -- of the client
    file          TEXT NOT NULL,
    user_agent    TEXT NOT NULL,
    first_at      BIGINT NOT NULL,
    last_at       BIGINT NOT NULL,
    requests      BIGINT NOT NULL,
    bytes         BIGINT NOT NULL,
    refusal       TEXT NOT NULL               -- empty: the last answer was the file
);

CREATE INDEX boot_requests_by_infra_env ON boot_requests (infra_env_id, last_at);
CREATE INDEX boot_requests_by_time ON boot_requests (last_at);
