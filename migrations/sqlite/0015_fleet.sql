-- What the fleet is sorted and grouped by: versions of Kubernetes, waves, machines, and since when a state holds.
ALTER TABLE campaign_targets ADD COLUMN since_ms INTEGER;           -- NULL where that is not known
ALTER TABLE campaign_targets ADD COLUMN kubernetes TEXT;            -- NULL where that is not known
ALTER TABLE campaign_targets ADD COLUMN kubernetes_rank INTEGER;    -- orders the versions
ALTER TABLE campaign_targets ADD COLUMN kubernetes_offered TEXT;    -- NULL where the offer brings no other one
ALTER TABLE campaign_targets ADD COLUMN wave TEXT;                  -- NULL where it is in none
ALTER TABLE campaign_targets ADD COLUMN wave_place INTEGER;         -- 0 is the first wave
ALTER TABLE campaign_targets ADD COLUMN machines INTEGER;           -- NULL where Git does not say how many are replaced
ALTER TABLE standings ADD COLUMN state TEXT NOT NULL DEFAULT '';
UPDATE standings SET state = json_extract(report, '$.state');

CREATE INDEX standings_state ON standings (state);
