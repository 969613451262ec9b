-- Times are milliseconds since 1970-01-01T00:00Z. Losing any of this costs work, never correctness:
-- it is found again in GitHub and Git.

-- One row a webhook delivery; what it named is a hint until its repository's job has completed.
CREATE TABLE deliveries (
    guid           TEXT NOT NULL PRIMARY KEY,
    event          TEXT NOT NULL,
    action         TEXT NOT NULL,
    installation   BIGINT NOT NULL,
    repository     BIGINT,                     -- NULL where it named several
    pull_request   BIGINT,
    comment        BIGINT,
    head           TEXT,
    received_at_ms BIGINT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('waiting', 'done')),
    lease          TEXT                         -- the claim that was given this hint
);

CREATE INDEX deliveries_waiting ON deliveries (repository) WHERE state = 'waiting';

-- One job a repository.
CREATE TABLE jobs (
    repository     BIGINT NOT NULL PRIMARY KEY,
    installation   BIGINT NOT NULL,
    name           TEXT NOT NULL,               -- owner/name when last heard of
    state          TEXT NOT NULL CHECK (state IN ('idle', 'queued', 'running', 'dead')),
    cause          TEXT NOT NULL,
    requested      BIGINT NOT NULL,            -- requests so far
    started        BIGINT NOT NULL,            -- `requested` when it was claimed last
    attempts       BIGINT NOT NULL,            -- failures since the last success
    lost_leases    BIGINT NOT NULL,            -- claims that ended without an answer, likewise
    not_before_ms  BIGINT NOT NULL,
    queued_at_ms   BIGINT NOT NULL,
    lease          TEXT,
    worker         TEXT,
    lease_until_ms BIGINT,
    reason         TEXT,                        -- of the last failure
    dead_since_ms  BIGINT,
    finished_at_ms BIGINT
);

CREATE INDEX jobs_open ON jobs (queued_at_ms) WHERE state IN ('queued', 'running');

-- What was last written for a cluster's proposal.
CREATE TABLE proposals (
    repository     BIGINT NOT NULL,
    cluster        TEXT NOT NULL,
    pull_request   BIGINT,
    source         TEXT NOT NULL,
    plan           TEXT NOT NULL,
    head           TEXT NOT NULL,
    opened_at_ms   BIGINT NOT NULL,
    PRIMARY KEY (repository, cluster)
);

-- One source state offered to the clusters of a repository.
CREATE TABLE campaigns (
    repository     BIGINT NOT NULL PRIMARY KEY,
    source         TEXT NOT NULL,
    changed_at_ms  BIGINT NOT NULL
);

CREATE TABLE campaign_clusters (
    repository     BIGINT NOT NULL REFERENCES campaigns (repository) ON DELETE CASCADE,
    cluster        TEXT NOT NULL,
    state          TEXT NOT NULL,
    reason         TEXT NOT NULL,
    PRIMARY KEY (repository, cluster)
);

-- What a check on a commit was made from.
CREATE TABLE checks (
    repository     BIGINT NOT NULL,
    head           TEXT NOT NULL,
    name           TEXT NOT NULL,
    check_run      BIGINT NOT NULL,
    content        TEXT NOT NULL,
    saved_at_ms    BIGINT NOT NULL,
    PRIMARY KEY (repository, head, name)
);

CREATE TABLE answered_comments (
    repository     BIGINT NOT NULL,
    comment        BIGINT NOT NULL,
    answered_at_ms BIGINT NOT NULL,
    PRIMARY KEY (repository, comment)
);

-- Only ever appended to.
CREATE TABLE audit (
    id             TEXT NOT NULL PRIMARY KEY,   -- ULID
    at_ms          BIGINT NOT NULL,
    repository     BIGINT NOT NULL,
    cluster        TEXT,
    actor          TEXT NOT NULL,
    action         TEXT NOT NULL,
    detail         TEXT NOT NULL
);
