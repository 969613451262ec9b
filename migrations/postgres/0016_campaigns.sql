-- How far releases are in campaigns, for the pages: JSON, written where it differs.
CREATE TABLE moving_campaigns (
    repository   BIGINT NOT NULL,
    campaign     TEXT NOT NULL,
    release      TEXT NOT NULL,
    progress     TEXT NOT NULL,                 -- JSON
    PRIMARY KEY (repository, campaign, release)
);
