-- The inventory of each host in short, some 500 bytes, so that a search over all hosts reads no inventories. Written with the inventory, from
-- which alone it follows; those of inventories that were stored before are made by the program.

CREATE TABLE host_summaries (
    host_id       TEXT NOT NULL,
    infra_env_id  TEXT NOT NULL,
    document      TEXT NOT NULL,             -- the form, and muster_core::query::HardwareSummary
    PRIMARY KEY (host_id, infra_env_id),
    FOREIGN KEY (host_id, infra_env_id) REFERENCES hosts (id, infra_env_id) ON DELETE CASCADE
);
