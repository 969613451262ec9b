-- Boxes of the dashboard that somebody ticked: Capstan may have written over them.
ALTER TABLE deliveries ADD COLUMN ticked_by TEXT;
ALTER TABLE deliveries ADD COLUMN ticks TEXT;                   -- JSON
-- Who holds a target back, why, and until when, as people see it.
ALTER TABLE campaign_targets ADD COLUMN hold TEXT;              -- NULL where nobody does
