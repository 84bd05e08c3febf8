-- The power of a BMC's machine is switched when somebody asks for it, by whichever replica works on the BMC.

ALTER TABLE bmcs ADD COLUMN power TEXT;           -- JSON: the last request, the state as the BMC told it last; NULL: never asked
ALTER TABLE bmcs ADD COLUMN power_due_at BIGINT;  -- a request is to be done since then; NULL: none is

CREATE INDEX bmcs_power_due ON bmcs (power_due_at) WHERE power_due_at IS NOT NULL;
