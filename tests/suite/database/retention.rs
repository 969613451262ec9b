//! What is old goes, and nothing else.

use capstan_ports::Retention as _;
use jiff::Timestamp;

use super::each_engine;
use super::transfer::execute;

/// An old row and a new one of everything that is kept for a time; `AT` is when.
const ROWS: &str = "
INSERT INTO deliveries (guid, event, action, installation, repository, received_at_ms, state)
VALUES ('AT', 'push', '', 1, 8, AT, 'done'), ('w-AT', 'push', '', 1, 8, AT, 'waiting');
INSERT INTO checks (repository, head, name, check_run, content, saved_at_ms) VALUES (8, 'AT', 'capstan', 1, '', AT);
INSERT INTO answered_comments (repository, comment, answered_at_ms) VALUES (8, AT, AT);
INSERT INTO answered_issues (repository, issue, answered_at_ms) VALUES (8, AT, AT);
INSERT INTO refused_writes (repository, what, content, refusals, not_before_ms, reason) VALUES (8, 'AT', '', 1, AT, '');
INSERT INTO audit (id, at_ms, repository, actor, action, detail) VALUES ('AT', AT, 8, 'ada', 'x', '');
INSERT INTO agents (id, management_cluster, name, public_key, enrolled_at_ms, revoked_at_ms)
VALUES ('AT', 'uid', 'mc', 'key', 1, AT);
";

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_checks_comments_and_audit_go_when_they_are_old() {
    each_engine(async |bench| {
        for at in ["1000", "5000"] {
            execute(&bench.url, &ROWS.replace("AT", at)).await;
        }
        execute(
            &bench.url,
            "INSERT INTO agents (id, management_cluster, name, public_key, enrolled_at_ms) VALUES ('x', 'uid', 'mc', 'key', 1);
             INSERT INTO proposals (repository, target, source_kind, source, plan, head, opened_at_ms)
             VALUES (8, 'gauss/peu01', 'release', 's', 'p', 'h', 1)",
        )
        .await;
        let before = Timestamp::from_millisecond(3000).unwrap();
        assert_eq!(bench.database.forget_before(before).await.unwrap(), 8);
        let left = bench.database.row_counts().await.unwrap();
        let left: Vec<_> = left.into_iter().filter(|(_, rows)| *rows > 0).collect();
        assert_eq!(
            left,
            [
                ("agents", 2),
                ("answered_comments", 1),
                ("answered_issues", 1),
                ("audit", 1),
                ("checks", 1),
                ("deliveries", 2),
                ("proposals", 1),
                ("refused_writes", 1),
            ]
        );
        assert_eq!(bench.database.forget_before(before).await.unwrap(), 0);
    })
    .await;
}
