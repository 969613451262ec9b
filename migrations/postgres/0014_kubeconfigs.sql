-- Files in which the owners of clusters find a key: encrypted, or without any secret. The newest of each cluster.
CREATE TABLE kubeconfigs (
    repository         BIGINT NOT NULL,
    cluster            TEXT NOT NULL,
    management_cluster TEXT NOT NULL,
    agent              TEXT NOT NULL,           -- who sent it
    form               TEXT NOT NULL,           -- `kubeconfig.age` or `kubeconfig`
    said               TEXT NOT NULL,           -- JSON: recipients, end, SHA-256, place
    content            TEXT NOT NULL,           -- base64
    expires_at_ms      BIGINT,                  -- none: never
    stored_at_ms       BIGINT NOT NULL,
    PRIMARY KEY (repository, cluster)
);
