-- Which custom resource an InfraEnv or a cluster belongs to: an InfraEnv to the InfraEnv of that name, a cluster to the
-- ClusterDeployment. Both columns are NULL for what was made by REST.

ALTER TABLE infra_envs ADD COLUMN kube_namespace TEXT;
ALTER TABLE infra_envs ADD COLUMN kube_name TEXT;
ALTER TABLE clusters ADD COLUMN kube_namespace TEXT;
ALTER TABLE clusters ADD COLUMN kube_name TEXT;

-- A resource that is made again after its record was deleted gets a new record.
CREATE UNIQUE INDEX infra_envs_by_kube ON infra_envs (kube_namespace, kube_name)
    WHERE deleted_at IS NULL AND kube_name IS NOT NULL;
CREATE UNIQUE INDEX clusters_by_kube ON clusters (kube_namespace, kube_name)
    WHERE deleted_at IS NULL AND kube_name IS NOT NULL;
