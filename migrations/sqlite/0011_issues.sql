-- The texts that issues begin with are heard as comments are.
ALTER TABLE deliveries ADD COLUMN issue INTEGER;

CREATE TABLE answered_issues (
    repository INTEGER NOT NULL,
    issue INTEGER NOT NULL,
    answered_at_ms INTEGER NOT NULL,
    PRIMARY KEY (repository, issue)
);
