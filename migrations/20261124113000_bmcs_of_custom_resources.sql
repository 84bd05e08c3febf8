-- The custom resource that a BMC belongs to; NULL: REST made it. It decides about the settings.

ALTER TABLE bmcs ADD COLUMN kube_namespace TEXT;
ALTER TABLE bmcs ADD COLUMN kube_name TEXT;
ALTER TABLE bmcs ADD COLUMN asked TEXT;       -- JSON: what the resource asked for last; the same again asks nothing

CREATE UNIQUE INDEX bmcs_by_kube ON bmcs (kube_namespace, kube_name) WHERE kube_name IS NOT NULL;
