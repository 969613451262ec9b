-- What is left of GitHub's limits, for all processes together: an installation a row.
CREATE TABLE call_budgets (
    counted_for  TEXT NOT NULL PRIMARY KEY,     -- `installation 17`
    version      BIGINT NOT NULL,               -- whoever writes names the one that was read
    ledger       TEXT NOT NULL                  -- JSON
);
-- Deliveries that did not arrive and that GitHub was asked to make again: once each.
CREATE TABLE redeliveries (
    guid         TEXT NOT NULL PRIMARY KEY,
    asked_at_ms  BIGINT NOT NULL
);
-- When something that is done regularly was last done in full.
CREATE TABLE last_looks (
    what   TEXT NOT NULL PRIMARY KEY,           -- `deliveries`
    at_ms  BIGINT NOT NULL
);
