-- Whether an offer replaces machines besides those that `machines` counts: their number is not in Git.
ALTER TABLE campaign_targets ADD COLUMN more_machines BIGINT NOT NULL DEFAULT 0;
