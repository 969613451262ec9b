-- Repositories of which something is kept and on which the App is no longer installed.
CREATE TABLE absent_repositories (
    repository     BIGINT NOT NULL PRIMARY KEY,
    since_ms       BIGINT NOT NULL
);

-- A join code is for one management cluster; one beside another agent has a name. Those that were good for any
-- are not any more: they live for an hour.
DELETE FROM join_codes WHERE management_cluster IS NULL;
ALTER TABLE join_codes ALTER COLUMN management_cluster SET NOT NULL;
ALTER TABLE join_codes ADD COLUMN agent TEXT;
ALTER TABLE join_codes ADD COLUMN invited_by TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN invited_by TEXT NOT NULL DEFAULT '';

-- Whose report it is: the ids of one agent grow, those of two say nothing of each other.
ALTER TABLE standings ADD COLUMN agent TEXT NOT NULL DEFAULT '';
CREATE INDEX standings_agent ON standings (agent);

ALTER TABLE waiting_reports ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE waiting_reports ALTER COLUMN agent DROP DEFAULT;
ALTER TABLE waiting_reports ADD COLUMN taken_at_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE waiting_reports ALTER COLUMN taken_at_ms DROP DEFAULT;
ALTER TABLE waiting_reports DROP CONSTRAINT waiting_reports_pkey;
ALTER TABLE waiting_reports ADD PRIMARY KEY (agent, id);
DROP INDEX waiting_reports_repository;
CREATE INDEX waiting_reports_repository ON waiting_reports (repository, taken_at_ms, id);
