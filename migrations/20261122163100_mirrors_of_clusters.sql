-- As infra_envs.mirror: a cluster that REST imported can be mirrored by a ClusterDeployment (kube_namespace, kube_name).

ALTER TABLE clusters ADD COLUMN mirror TEXT;
