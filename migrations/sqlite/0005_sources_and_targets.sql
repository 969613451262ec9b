-- A proposal and a campaign are of one target and one kind of source, so that several kinds may be open for one
-- target. Targets are written as clusters always were, and all that stands here so far came from releases.
CREATE TABLE new_proposals (
    repository     INTEGER NOT NULL,
    target         TEXT NOT NULL,
    source_kind    TEXT NOT NULL,
    pull_request   INTEGER,
    source         TEXT NOT NULL,
    plan           TEXT NOT NULL,
    head           TEXT NOT NULL,
    opened_at_ms   INTEGER NOT NULL,
    PRIMARY KEY (repository, target, source_kind)
) STRICT;
INSERT INTO new_proposals
SELECT repository, cluster, 'release', pull_request, source, plan, head, opened_at_ms FROM proposals;
DROP TABLE proposals;
ALTER TABLE new_proposals RENAME TO proposals;

CREATE TABLE new_campaigns (
    repository     INTEGER NOT NULL,
    source_kind    TEXT NOT NULL,
    source         TEXT NOT NULL,
    changed_at_ms  INTEGER NOT NULL,
    PRIMARY KEY (repository, source_kind)
) STRICT;
INSERT INTO new_campaigns SELECT repository, 'release', source, changed_at_ms FROM campaigns;

CREATE TABLE campaign_targets (
    repository     INTEGER NOT NULL,
    target         TEXT NOT NULL,
    source_kind    TEXT NOT NULL,
    state          TEXT NOT NULL,
    reason         TEXT NOT NULL,
    PRIMARY KEY (repository, target, source_kind),
    FOREIGN KEY (repository, source_kind) REFERENCES new_campaigns (repository, source_kind) ON DELETE CASCADE
) STRICT;
INSERT INTO campaign_targets SELECT repository, cluster, 'release', state, reason FROM campaign_clusters;
DROP TABLE campaign_clusters;
DROP TABLE campaigns;
ALTER TABLE new_campaigns RENAME TO campaigns;

ALTER TABLE audit RENAME COLUMN cluster TO target;
ALTER TABLE audit ADD COLUMN source_kind TEXT;      -- with a target
UPDATE audit SET source_kind = 'release' WHERE target IS NOT NULL;
