-- A proposal and a campaign are of one target and one kind of source, so that several kinds may be open for one
-- target. Targets are written as clusters always were, and all that stands here so far came from releases.
ALTER TABLE proposals RENAME COLUMN cluster TO target;
ALTER TABLE proposals ADD COLUMN source_kind TEXT NOT NULL DEFAULT 'release';
ALTER TABLE proposals ALTER COLUMN source_kind DROP DEFAULT;
ALTER TABLE proposals DROP CONSTRAINT proposals_pkey;
ALTER TABLE proposals ADD PRIMARY KEY (repository, target, source_kind);

ALTER TABLE campaign_clusters DROP CONSTRAINT campaign_clusters_repository_fkey;
ALTER TABLE campaigns ADD COLUMN source_kind TEXT NOT NULL DEFAULT 'release';
ALTER TABLE campaigns ALTER COLUMN source_kind DROP DEFAULT;
ALTER TABLE campaigns DROP CONSTRAINT campaigns_pkey;
ALTER TABLE campaigns ADD PRIMARY KEY (repository, source_kind);

ALTER TABLE campaign_clusters RENAME TO campaign_targets;
ALTER TABLE campaign_targets RENAME COLUMN cluster TO target;
ALTER TABLE campaign_targets ADD COLUMN source_kind TEXT NOT NULL DEFAULT 'release';
ALTER TABLE campaign_targets ALTER COLUMN source_kind DROP DEFAULT;
ALTER TABLE campaign_targets DROP CONSTRAINT campaign_clusters_pkey;
ALTER TABLE campaign_targets ADD PRIMARY KEY (repository, target, source_kind);
ALTER TABLE campaign_targets ADD FOREIGN KEY (repository, source_kind)
    REFERENCES campaigns (repository, source_kind) ON DELETE CASCADE;

ALTER TABLE audit RENAME COLUMN cluster TO target;
ALTER TABLE audit ADD COLUMN source_kind TEXT;      -- with a target
UPDATE audit SET source_kind = 'release' WHERE target IS NOT NULL;
