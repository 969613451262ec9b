-- The dashboard issue of each repository that was looked at for one.
CREATE TABLE dashboards (
    repository  INTEGER NOT NULL PRIMARY KEY,
    issue       INTEGER,                        -- its number; NULL where there is none
    record      TEXT NOT NULL                   -- what Capstan noted in it last: JSON, or empty
) STRICT;
