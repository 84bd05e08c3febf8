-- A BMC brings the host that its machine is back when it waits for a boot: who waits is looked for every few seconds.

ALTER TABLE bmcs ADD COLUMN host_id TEXT;  -- NULL: the machine was never found

CREATE INDEX bmcs_by_host ON bmcs (host_id) WHERE host_id IS NOT NULL;

-- JSON of a stage begins like this, with an id of 36 characters.
UPDATE bmcs SET host_id = substr(stage, 27, 36) WHERE phase = 'discovered' AND stage LIKE '{"discovered":{"host_id":"%';
