-- Agents report the health of machines, and what is sick is a finding of the host. Metrics count these hosts, which must not read the
-- document of each.
-- A bit for each kind of finding: 1 disk-failing, 2 overheating, 4 memory-errors, 8 link-slow, 16 smaller-than-approved. Derived from `data`.
ALTER TABLE hosts ADD COLUMN unhealthy BIGINT NOT NULL DEFAULT 0;
CREATE INDEX hosts_by_health ON hosts (unhealthy) WHERE unhealthy > 0;
