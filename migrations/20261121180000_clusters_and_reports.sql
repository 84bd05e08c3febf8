-- Clusters that hosts are added to, and what hosts report of others. Conventions: see the first file.

CREATE TABLE clusters (
    id               TEXT   NOT NULL PRIMARY KEY,
    name             TEXT   NOT NULL,        -- chosen by its maker; not unique
    version          BIGINT NOT NULL,        -- number of writes; a write names the version that it was based on
    members_version  BIGINT NOT NULL,        -- grows with each change of its hosts that other hosts of it must know of
    data             TEXT   NOT NULL,        -- muster_core::cluster::ClusterData; holds the pull secret
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    deleted_at       BIGINT                  -- NULL while it lives
);

-- What a host reports of others. Apart from hosts for the reason that inventories are.
CREATE TABLE host_reports (
    host_id       TEXT NOT NULL,
    infra_env_id  TEXT NOT NULL,
    document      TEXT NOT NULL,             -- muster_core::host::HostReports
    PRIMARY KEY (host_id, infra_env_id),
    FOREIGN KEY (host_id, infra_env_id) REFERENCES hosts (id, infra_env_id) ON DELETE CASCADE
);

-- Hosts of clusters, with what the other hosts of the cluster need to know of each. Written together with the host, and only when it
-- differs: whoever keeps a cluster's members in memory learns from clusters.members_version that they are others now.
CREATE TABLE cluster_members (
    host_id       TEXT NOT NULL,
    infra_env_id  TEXT NOT NULL,
    cluster_id    TEXT NOT NULL,
    peer          TEXT NOT NULL,             -- muster_core::host::Peer, without its clock
    PRIMARY KEY (host_id, infra_env_id),
    FOREIGN KEY (host_id, infra_env_id) REFERENCES hosts (id, infra_env_id) ON DELETE CASCADE
);

CREATE INDEX cluster_members_by_cluster ON cluster_members (cluster_id, host_id);
