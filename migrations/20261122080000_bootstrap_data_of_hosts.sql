-- The Ignition of a Cluster API bootstrap provider that a host is installed with. A table of its own, as polls and lists never need it,
-- and it can be as large as a Secret. It holds secrets; it goes when the host leaves its cluster.

CREATE TABLE host_bootstrap_data (
    host_id       TEXT NOT NULL,
    infra_env_id  TEXT NOT NULL,
    document      TEXT NOT NULL,             -- Ignition, JSON text
    PRIMARY KEY (host_id, infra_env_id),
    FOREIGN KEY (host_id, infra_env_id) REFERENCES hosts (id, infra_env_id) ON DELETE CASCADE
);
