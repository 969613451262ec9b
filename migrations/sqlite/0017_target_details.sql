-- What the upgrade of a target is about, for its page: JSON, written where its digest differs.
CREATE TABLE target_details (
    repository   INTEGER NOT NULL,
    target       TEXT NOT NULL,
    source_kind  TEXT NOT NULL,
    digest       TEXT NOT NULL,
    detail       TEXT NOT NULL,                 -- JSON
    PRIMARY KEY (repository, target, source_kind)
) STRICT, WITHOUT ROWID;
