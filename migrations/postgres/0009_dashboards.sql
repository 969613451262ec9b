-- The dashboard issue of each repository that was looked at for one.
CREATE TABLE dashboards (
    repository  BIGINT NOT NULL PRIMARY KEY,
    issue       BIGINT,                         -- its number; NULL where there is none
    record      TEXT NOT NULL                   -- what Capstan noted in it last: JSON, or empty
);
