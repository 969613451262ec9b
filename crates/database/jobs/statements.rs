//! What is said to the database about jobs.

/// Whether a dead job is tried again. An event or a start (`$6` is [`REVIVE`]) resets it; a resync lets it
/// try once an hour, so that an outage of GitHub's leaves nothing behind, but not a job that killed
/// processes.
macro_rules! is_tried_again {
    () => {
        "(jobs.state = 'dead' AND ($6 = 1 OR (jobs.dead_since_ms <= $5 - 3600000 AND jobs.lost_leases < 20)))"
    };
}

/// `$1` repository, `$2` installation, `$3` name, `$4` cause, `$5` now, `$6` [`REVIVE`] or [`LEAVE`].
/// A resync (`LEAVE`) makes no running job run again: it comes again soon. A dead one that it lets try has had all its
/// failures but one.
pub(in super::super) const ENQUEUE: &str = concat!(
    "INSERT INTO jobs (repository, installation, name, state, cause, requested, started, attempts,
                      lost_leases, not_before_ms, queued_at_ms)
    VALUES ($1, $2, $3, 'queued', $4, 1, 0, 0, 0, $5, $5)
    ON CONFLICT (repository) DO UPDATE SET
        installation = excluded.installation,
        name = excluded.name,
        cause = excluded.cause,
        requested = jobs.requested + CASE WHEN jobs.state = 'running' AND $6 = 0 THEN 0 ELSE 1 END,
        attempts = CASE WHEN NOT ",
    is_tried_again!(),
    " THEN jobs.attempts WHEN $6 = 1 THEN 0 ELSE 11 END,
        put_off = CASE WHEN $6 = 1 THEN 0 ELSE jobs.put_off END,
        not_before_ms = CASE WHEN jobs.state = 'idle' OR ",
    is_tried_again!(),
    " OR (jobs.state = 'queued' AND jobs.put_off > 0 AND $6 = 1)
                             THEN excluded.not_before_ms ELSE jobs.not_before_ms END,
        queued_at_ms = CASE WHEN jobs.state = 'idle' OR ",
    is_tried_again!(),
    " THEN excluded.queued_at_ms ELSE jobs.queued_at_ms END,
        state = CASE WHEN jobs.state = 'idle' OR ",
    is_tried_again!(),
    " THEN 'queued' ELSE jobs.state END"
);
pub(in super::super) const REVIVE: i64 = 1;
pub(super) const LEAVE: i64 = 0;

/// A job whose process died again and again while working on it. `$1` now, `$2` most lost leases.
pub(super) const BURY: &str = "
    UPDATE jobs SET state = 'dead', dead_since_ms = $1, lease = NULL, worker = NULL, lease_until_ms = NULL,
        reason = 'the process that worked on it stopped without an answer, again and again'
    WHERE state = 'running' AND lease_until_ms <= $1 AND lost_leases >= $2";

/// Whether a job may be taken; one that rests, where that was until now. `$now`, `$wait` and `$lease`: now, and the last
/// moment that a wait and a lease may name.
macro_rules! is_due {
    ($now:literal, $wait:literal, $lease:literal) => {
        concat!(
            "((due.state = 'queued' AND (due.not_before_ms <= ",
            $now,
            " OR due.not_before_ms > ",
            $wait,
            " OR due.queued_at_ms > ",
            $now,
            "))
             OR (due.state = 'idle' AND due.not_before_ms <= ",
            $now,
            " AND due.not_before_ms > COALESCE(due.finished_at_ms, due.not_before_ms))
             OR (due.state = 'running' AND (due.lease_until_ms <= ",
            $now,
            " OR due.lease_until_ms > ",
            $lease,
            ")))"
        )
    };
}

/// `$1` lease, `$2` worker, `$3` end of the lease, `$4` now, `$5` most of one installation, `$6` repositories of which none
/// is taken, as `,1,,2,`, `$7` and `$8` the last moments that a wait and a lease may name. Of PostgreSQL's workers each skips
/// the row that another is just taking; SQLite has one writer, and no such words.
macro_rules! claim {
    ($lock:literal) => {
        concat!(
            "UPDATE jobs SET
                lost_leases = lost_leases + CASE WHEN state = 'running' THEN 1 ELSE 0 END,
                state = 'running', started = requested, lease = $1, worker = $2, lease_until_ms = $3
            WHERE repository = (
                SELECT due.repository FROM jobs AS due
                LEFT JOIN (
                    SELECT installation, COUNT(*) AS anywhere,
                        SUM(CASE WHEN worker = $2 THEN 1 ELSE 0 END) AS here
                    FROM jobs WHERE state = 'running' AND lease_until_ms > $4 GROUP BY installation
                ) AS busy ON busy.installation = due.installation
                WHERE ",
            is_due!("$4", "$7", "$8"),
            "
                    AND COALESCE(busy.here, 0) < $5
                    AND $6 NOT LIKE '%,' || due.repository || ',%'
                ORDER BY CASE WHEN due.lost_leases > 1 THEN 1 ELSE 0 END, COALESCE(busy.anywhere, 0),
                    due.queued_at_ms, due.repository LIMIT 1",
            $lock,
            ")
            RETURNING repository, installation, name, attempts"
        )
    };
}

/// Takes a job.
pub(super) const CLAIM_IN_SQLITE: &str = claim!("");
/// The same.
#[cfg(feature = "postgres")]
pub(super) const CLAIM_IN_POSTGRES: &str = claim!(" FOR UPDATE OF due SKIP LOCKED");

/// Whether there is a job to be taken. `$1` now, `$2` and `$3` the last moments that a wait and a lease may name.
pub(super) const ANYTHING_DUE: &str =
    concat!("SELECT due.repository FROM jobs AS due WHERE ", is_due!("$1", "$2", "$3"), " LIMIT 1");

pub(super) const TAKE_HINTS: &str = "
    UPDATE deliveries SET lease = $1 WHERE repository = $2 AND state = 'waiting'
    RETURNING pull_request, comment, head, guid, received_at_ms, pressed_by, pressed, issue, ticked_by, ticks";

/// `$1` repository, `$2` since when. A comment on an issue is not a hint for a job, and is done as soon as it
/// is stored.
pub(super) const ARRIVALS: &str = "
    SELECT pull_request, comment, head, guid, received_at_ms, pressed_by, pressed, issue, ticked_by, ticks
    FROM deliveries WHERE repository = $1 AND received_at_ms >= $2 AND lease IS NULL
    AND (state = 'waiting' OR comment IS NOT NULL)";

/// `$1` repository, `$2` lease, `$3` now, `$4` when it is taken again though nobody asked; now where it is not. A job that
/// rests with a later time than that of its end is due then.
pub(super) const COMPLETE: &str = "
    UPDATE jobs SET state = CASE WHEN requested > started THEN 'queued' ELSE 'idle' END,
        attempts = 0, put_off = 0, lost_leases = 0, reason = NULL, dead_since_ms = NULL, lease = NULL, worker = NULL,
        lease_until_ms = NULL, finished_at_ms = $3, queued_at_ms = $3,
        not_before_ms = CASE WHEN requested > started THEN $3 ELSE $4 END
    WHERE repository = $1 AND lease = $2 AND state = 'running'";

pub(super) const USE_UP_HINTS: &str = "
    UPDATE deliveries SET state = 'done', lease = NULL
    WHERE repository = $1 AND lease = $2 AND state = 'waiting'";

/// `$1` repository, `$2` lease, `$3` state, `$4` attempts, `$5` not before, `$6` reason, `$7` now or NULL. An
/// answered claim is not a lost one, so those are counted from zero.
pub(super) const FAIL: &str = "
    UPDATE jobs SET state = $3, attempts = $4, put_off = 0, lost_leases = 0, not_before_ms = $5, reason = $6,
        dead_since_ms = $7, lease = NULL, worker = NULL, lease_until_ms = NULL
    WHERE repository = $1 AND lease = $2 AND state = 'running'";

/// `$1` repository, `$2` lease, `$3` how often in a row, `$4` not before, `$5` reason.
pub(super) const PUT_OFF: &str = "
    UPDATE jobs SET state = 'queued', attempts = 0, put_off = $3, lost_leases = 0, not_before_ms = $4,
        reason = $5, dead_since_ms = NULL, lease = NULL, worker = NULL, lease_until_ms = NULL
    WHERE repository = $1 AND lease = $2 AND state = 'running'";
