-- Hosts may be switched off by their BMCs and stay in their pools. The job that switches them looks for those that are to change every few
-- seconds, which must not read the document of each host.
-- 0: awake; 1: it sleeps, or did not wake; 2: its BMC has to switch it off or to boot it. Derived from `data`.
ALTER TABLE hosts ADD COLUMN sleep BIGINT NOT NULL DEFAULT 0;
CREATE INDEX hosts_by_sleep ON hosts (sleep, infra_env_id, id) WHERE sleep > 0;
