-- Repositories of which something is kept and on which the App is no longer installed.
CREATE TABLE absent_repositories (
    repository     INTEGER NOT NULL PRIMARY KEY,
    since_ms       INTEGER NOT NULL
) STRICT;

-- A join code is for one management cluster; one beside another agent has a name. Those that were good for any
-- are not any more: they live for an hour.
DELETE FROM join_codes WHERE management_cluster IS NULL;
ALTER TABLE join_codes ADD COLUMN agent TEXT;
ALTER TABLE join_codes ADD COLUMN invited_by TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN invited_by TEXT NOT NULL DEFAULT '';

-- Whose report it is: the ids of one agent grow, those of two say nothing of each other.
ALTER TABLE standings ADD COLUMN agent TEXT NOT NULL DEFAULT '';
CREATE INDEX standings_agent ON standings (agent);

CREATE TABLE new_waiting_reports (
    agent              TEXT NOT NULL,
    id                 TEXT NOT NULL,               -- ULID of the agent's
    repository         INTEGER NOT NULL,
    management_cluster TEXT NOT NULL,
    taken_at_ms        INTEGER NOT NULL,
    report             TEXT NOT NULL,               -- JSON
    PRIMARY KEY (agent, id)
) STRICT;
INSERT INTO new_waiting_reports SELECT '', id, repository, management_cluster, 0, report FROM waiting_reports;
DROP TABLE waiting_reports;
ALTER TABLE new_waiting_reports RENAME TO waiting_reports;
CREATE INDEX waiting_reports_repository ON waiting_reports (repository, taken_at_ms, id);
