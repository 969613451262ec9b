-- What people see beside a target's state: where it is, what there is for it, and what its check says.
ALTER TABLE campaign_targets ADD COLUMN at_source TEXT;         -- NULL where that is not known
ALTER TABLE campaign_targets ADD COLUMN offered TEXT;           -- NULL where nothing is
ALTER TABLE campaigns ADD COLUMN open_limit BIGINT;           -- NULL where nothing is written
ALTER TABLE campaigns ADD COLUMN hour_limit BIGINT;
ALTER TABLE checks ADD COLUMN conclusion TEXT;                  -- NULL while it is in progress
ALTER TABLE checks ADD COLUMN title TEXT;

CREATE INDEX deliveries_received ON deliveries (received_at_ms);
CREATE INDEX audit_target ON audit (repository, target);
CREATE INDEX audit_done ON audit (repository, action, at_ms);
