-- An InfraEnv that REST made can be mirrored by a custom resource (kube_namespace, kube_name). NULL: it is not, or its resource is the truth. Else
-- a JSON object: digests, by field, of what record and resource had when they were the same last.

ALTER TABLE infra_envs ADD COLUMN mirror TEXT;
