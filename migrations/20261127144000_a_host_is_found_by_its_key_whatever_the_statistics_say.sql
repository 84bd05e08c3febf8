-- A host is looked up by its id and its InfraEnv's. PostgreSQL plans a prepared statement once, by what it knows of the tables then. Of new ones
-- it knew nothing, and an index of living hosts alone, which was empty, looked cheaper than the primary key: until the next analysis each look-up
-- read all hosts. An index with all rows is no way to one host, and one of both keys is as good as the primary key.

CREATE INDEX hosts_of_cluster ON hosts (cluster_id);
DROP INDEX hosts_by_cluster;

CREATE INDEX hosts_of_infra_env ON hosts (infra_env_id, id);
DROP INDEX hosts_by_infra_env;

CREATE INDEX infra_envs_of_cluster ON infra_envs (cluster_id);
DROP INDEX infra_envs_by_cluster;
