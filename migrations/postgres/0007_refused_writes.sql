-- What GitHub refused to take: it is left alone for a while, longer each time, unless it is to say something else.
CREATE TABLE refused_writes (
    repository     BIGINT NOT NULL,
    what           TEXT NOT NULL,               -- `answer 1026`, `check 9d1f…`, `proposal gauss/peu01`
    content        TEXT NOT NULL,               -- what it was to say, in a few letters
    refusals       BIGINT NOT NULL,
    not_before_ms  BIGINT NOT NULL,
    reason         TEXT NOT NULL,
    PRIMARY KEY (repository, what)
);
