-- The texts that issues begin with are heard as comments are.
ALTER TABLE deliveries ADD COLUMN issue BIGINT;

CREATE TABLE answered_issues (
    repository BIGINT NOT NULL,
    issue BIGINT NOT NULL,
    answered_at_ms BIGINT NOT NULL,
    PRIMARY KEY (repository, issue)
);
