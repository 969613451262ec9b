-- Reconcilers (agents). Times are milliseconds since 1970-01-01T00:00Z. Losing this costs a new enrolment.

-- The bot's own keys, PKCS#8 in hex.
CREATE TABLE signing_keys (
    name           TEXT NOT NULL PRIMARY KEY,
    pkcs8          TEXT NOT NULL,
    made_at_ms     INTEGER NOT NULL
) STRICT;

-- One-time codes, by their SHA-256.
CREATE TABLE join_codes (
    hash               TEXT NOT NULL PRIMARY KEY,
    management_cluster TEXT,                    -- the only one that it is good for
    made_at_ms         INTEGER NOT NULL,
    expires_at_ms      INTEGER NOT NULL,
    used_by            TEXT
) STRICT;

CREATE TABLE agents (
    id                 TEXT NOT NULL PRIMARY KEY,   -- ULID
    management_cluster TEXT NOT NULL,
    name               TEXT NOT NULL,
    public_key         TEXT NOT NULL,
    enrolled_at_ms     INTEGER NOT NULL,
    seen_at_ms         INTEGER,
    revoked_at_ms      INTEGER
) STRICT;

-- Ids of tokens that were used and are not over yet.
CREATE TABLE agent_tokens (
    agent          TEXT NOT NULL,
    jti            TEXT NOT NULL,
    until_ms       INTEGER NOT NULL,
    PRIMARY KEY (agent, jti)
) STRICT;

-- A repository as the last look at the tip of its default branch showed it.
CREATE TABLE watched_repositories (
    repository     INTEGER NOT NULL PRIMARY KEY,
    installation   INTEGER NOT NULL,
    name           TEXT NOT NULL,
    name_key       TEXT NOT NULL,               -- in lower case
    default_branch TEXT NOT NULL,
    node_id        TEXT NOT NULL,
    clone_url      TEXT NOT NULL,
    html_url       TEXT NOT NULL,
    tip            TEXT NOT NULL,
    managed_by     TEXT NOT NULL                -- JSON
) STRICT;

CREATE INDEX watched_repositories_name ON watched_repositories (name_key);

-- Commits that were the tip of the default branch: what agents may read and report on.
CREATE TABLE watched_commits (
    repository     INTEGER NOT NULL,
    commit_id      TEXT NOT NULL,
    seen_at_ms     INTEGER NOT NULL,
    PRIMARY KEY (repository, commit_id)
) STRICT;

CREATE TABLE preflights (
    id                 TEXT NOT NULL PRIMARY KEY,   -- ULID
    repository         INTEGER NOT NULL,
    head               TEXT NOT NULL,
    management_cluster TEXT NOT NULL,
    clusters           TEXT NOT NULL,               -- JSON
    asked_at_ms        INTEGER NOT NULL,
    until_ms           INTEGER NOT NULL,
    given_at_ms        INTEGER,
    state              TEXT NOT NULL CHECK (state IN ('asked', 'answered', 'not asked')),
    answer             TEXT,                        -- JSON; of one that was not asked, why
    UNIQUE (repository, head, management_cluster)
) STRICT;

CREATE INDEX preflights_open ON preflights (management_cluster, repository) WHERE state = 'asked';

-- The newest report on a cluster by each management cluster.
CREATE TABLE standings (
    repository         INTEGER NOT NULL,
    cluster            TEXT NOT NULL,
    management_cluster TEXT NOT NULL,
    name               TEXT NOT NULL,
    report_id          TEXT NOT NULL,
    report             TEXT NOT NULL,               -- JSON
    taken_at_ms        INTEGER NOT NULL,
    PRIMARY KEY (repository, cluster, management_cluster)
) STRICT;

-- Reports that wait to be told.
CREATE TABLE waiting_reports (
    id                 TEXT NOT NULL PRIMARY KEY,   -- ULID of the agent's
    repository         INTEGER NOT NULL,
    management_cluster TEXT NOT NULL,
    report             TEXT NOT NULL                -- JSON
) STRICT;

CREATE INDEX waiting_reports_repository ON waiting_reports (repository, id);

-- Merged pull requests whose machines are followed, and what GitHub was told of them.
CREATE TABLE followed_merges (
    repository     INTEGER NOT NULL,
    pull_request   INTEGER NOT NULL,
    head           TEXT NOT NULL,
    merge_commit   TEXT NOT NULL,
    merged_at_ms   INTEGER NOT NULL,
    check_run      INTEGER,
    told_check     TEXT NOT NULL,
    told_completed INTEGER NOT NULL,
    told_at_ms     INTEGER,
    told_status    TEXT NOT NULL,
    settled        INTEGER NOT NULL,
    PRIMARY KEY (repository, pull_request)
) STRICT;

CREATE INDEX followed_merges_open ON followed_merges (repository) WHERE settled = 0;

CREATE TABLE followed_clusters (
    repository         INTEGER NOT NULL,
    pull_request       INTEGER NOT NULL,
    cluster            TEXT NOT NULL,
    management_cluster TEXT NOT NULL,
    name               TEXT NOT NULL,
    progress           TEXT NOT NULL,               -- JSON
    PRIMARY KEY (repository, pull_request, cluster)
) STRICT;

-- Who does what only one process at a time may do.
CREATE TABLE leases (
    name           TEXT NOT NULL PRIMARY KEY,
    holder         TEXT NOT NULL,
    until_ms       INTEGER NOT NULL
) STRICT;
