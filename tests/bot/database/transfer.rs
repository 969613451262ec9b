//! A database leaves as a stream and comes back on either engine, whole or not at all.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::sync::Arc;

use capstan_database::{Database, TransferError};
use capstan_ports::{
    Jobs as _, PageRecords as _, Retention as _, SystemClock, Transferred, VisibleRepositories,
};

use super::engines::{each_empty_database, fresh_postgres};

/// One row or more of each kind of column, with values that quoting, encoding and arithmetic could lose.
pub(super) const ROWS: &str = r#"
INSERT INTO jobs (repository, installation, name, state, cause, requested, started, attempts, lost_leases,
                  not_before_ms, queued_at_ms, reason, put_off)
VALUES (9223372036854775807, 1, 'acme/gitops', 'queued', 'event', 3, 2, 0, 0, 0, 0, 'it''s "odd" \ ${x}', 0),
       (8, 1, 'acme/other', 'dead', 'event', 3, 2, 12, 0, 0, -5, NULL, 0);
INSERT INTO deliveries (guid, event, action, installation, repository, received_at_ms, state, ticked_by, ticks)
VALUES ('g-1', 'issues', 'edited', 1, 9223372036854775807, 5, 'waiting', 'ada', '{"edition":3,"ticked":[]}'),
       ('g-2', 'push', '', 1, NULL, 6, 'done', NULL, NULL);
INSERT INTO campaigns (repository, source_kind, source, changed_at_ms) VALUES (8, 'release', 'aws/v22.0.0', 5);
INSERT INTO campaign_targets (repository, target, source_kind, state, reason)
VALUES (8, 'gauss/peu01', 'release', 'waiting', E'zwei\nZeilen, ein Tab\t, ein Ü und 🚀');
INSERT INTO signing_keys (name, pkcs8, made_at_ms) VALUES ('agents', '00ff', 1);
INSERT INTO answered_issues (repository, issue, answered_at_ms) VALUES (8, 4, 7);
INSERT INTO audit (id, at_ms, repository, target, actor, action, detail, source_kind)
VALUES ('01', 5, 8, 'gauss/peu01', 'ada', 'command-refused', '', 'release'), ('02', 6, 8, NULL, 'ada', 'x', 'y', NULL);
"#;
const ROW_COUNT: u64 = 10;

pub(super) async fn execute(url: &str, sql: &str) {
    if url.starts_with("sqlite") {
        // SQLite knows no escapes in a text.
        let sql = sql.replace("E'zwei\\nZeilen, ein Tab\\t,", "'zwei\nZeilen, ein Tab\t,");
        let pool = sqlx::SqlitePool::connect(url).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&pool).await.unwrap();
        pool.close().await;
    } else {
        let pool = sqlx::PgPool::connect(url).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(&pool).await.unwrap();
        pool.close().await;
    }
}

pub(super) async fn make(url: &str) {
    Database::open(url, Arc::new(SystemClock)).await.unwrap().close().await;
}

async fn export(url: &str) -> String {
    let mut to = Vec::new();
    Database::export(url, Arc::new(SystemClock), &mut to).await.unwrap();
    String::from_utf8(to).unwrap()
}

async fn import(url: &str, stream: &str) -> Result<Transferred, TransferError> {
    Database::import(url, Arc::new(SystemClock), &mut Cursor::new(stream)).await
}

/// The rows, whatever their order; arrays of PostgreSQL have spaces.
fn rows(stream: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = stream.lines().collect();
    let rows = &lines[1..lines.len() - 1];
    rows.iter().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap().to_string()).collect()
}

/// An empty SQLite database and, where PostgreSQL is installed, one there.
async fn empty(folder: &std::path::Path, name: &str) -> Vec<String> {
    let own = format!("sqlite://{}?mode=rwc", folder.join(name).display());
    std::iter::once(own).chain(fresh_postgres().await).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_comes_back_on_either_engine() {
    let folder = tempfile::tempdir().unwrap();
    each_empty_database(async |from| {
        make(from).await;
        execute(from, ROWS).await;
        let stream = export(from).await;
        assert_eq!(rows(&stream).len() as u64, ROW_COUNT, "{stream}");
        let name = format!("{}.sqlite", ulid::Ulid::generate());
        for to in empty(folder.path(), &name).await {
            let done = import(&to, &stream).await.unwrap();
            assert_eq!(done.rows, ROW_COUNT);
            assert_eq!(rows(&export(&to).await), rows(&stream), "from {from} to {to}");
            // And it is a database that the bot works with.
            let database = Database::open(&to, Arc::new(SystemClock)).await.unwrap();
            assert_eq!(database.dead().await.unwrap()[0].name.to_string(), "acme/other");
            let job = database.claim("worker", std::time::Duration::from_secs(9), 8).await.unwrap().unwrap();
            assert_eq!((job.repository, job.hints.ticks.len()), (u64::try_from(i64::MAX).unwrap(), 0));
            database.close().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_empty_database_takes_a_stream() {
    each_empty_database(async |url| {
        make(url).await;
        execute(url, ROWS).await;
        let stream = export(url).await;
        let refused = import(url, &stream).await.unwrap_err().to_string();
        assert!(refused.starts_with("the database is not empty: table `campaigns` has 1 rows"), "{refused}");
        assert_eq!(rows(&export(url).await), rows(&stream), "and it is as it was");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_not_as_it_was_written_leaves_the_database_empty() {
    let folder = tempfile::tempdir().unwrap();
    let source = format!("sqlite://{}?mode=rwc", folder.path().join("source").display());
    make(&source).await;
    execute(&source, ROWS).await;
    let stream = export(&source).await;
    let lines: Vec<&str> = stream.lines().collect();
    let without_end = lines[..lines.len() - 1].join("\n") + "\n";
    let without_row = lines[..lines.len() - 2].join("\n") + "\n" + lines[lines.len() - 1] + "\n";
    let last = lines.len();
    let schema: u64 =
        serde_json::from_str::<serde_json::Value>(lines[0]).unwrap()["schema"].as_u64().unwrap();
    let cases = [
        ("", "line 1: the file ends here, before its last line".to_owned()),
        ("hello\n", "line 1: this is not an export of `capstan database export`".to_owned()),
        ("{\"capstanDatabase\":2}\n", "line 1: it has format 2, but this Capstan reads format 1".to_owned()),
        (without_end.as_str(), format!("line {last}: the file ends here, before its last line")),
        (without_row.as_str(), format!("line {}: 10 rows were announced, but there are 9", last - 1)),
        (
            &stream.replace("\"ada\"", "\"eve\""),
            format!("line {last}: the lines are not those that were written"),
        ),
        (&(stream.clone() + "{}\n"), format!("line {}: something follows the last line", last + 1)),
        (
            &stream.replace("[7,4,8]", "[7,\"4\",8]"),
            "`answered_issues.issue` cannot hold this value".to_owned(),
        ),
        (
            &stream.replace("[7,4,8]", "[7,4]"),
            "a row of `answered_issues` has 2 values for 3 columns".to_owned(),
        ),
        (&stream.replace("\"dead\"", "\"asleep\""), "table `jobs`: ".to_owned()),
        (&stream.replace("[\"audit\"", "[\"drop\""), "the header names no table `drop`".to_owned()),
        (
            &stream.replace(&format!("\"schema\":{schema}"), "\"schema\":999"),
            "line 1: it was made by a newer Capstan (0.1.0): its tables have schema 999".to_owned(),
        ),
        (
            &stream.replace("\"name\":\"jobs\"", "\"name\":\"passwords\""),
            "line 1: there is no table `passwords`".to_owned(),
        ),
    ];
    let mut targets = empty(folder.path(), "target").await;
    for (stream, expected) in cases {
        for to in &mut targets {
            let told = import(to, stream).await.unwrap_err().to_string();
            assert!(told.contains(&expected), "{told}\nexpected {expected}");
            if told.contains("line 1:") && !told.contains("passwords") {
                continue;
            }
            let database = Database::open(to, Arc::new(SystemClock)).await.unwrap();
            let left: u64 = database.row_counts().await.unwrap().iter().map(|(_, rows)| rows).sum();
            assert_eq!(left, 0, "{told}");
            database.close().await;
        }
    }
    // After all that, the whole one goes in.
    for to in targets {
        assert_eq!(import(&to, &stream).await.unwrap().rows, ROW_COUNT);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_an_older_capstan_is_brought_up_to_date() {
    let header = r#"{"capstanDatabase":1,"schema":7,"madeBy":"0.0.9","madeAt":"2026-01-01T00:00:00Z","tables":[{"name":"campaigns","columns":["repository","source_kind","source","changed_at_ms"]},{"name":"jobs","columns":["repository","installation","name","state","cause","requested","started","attempts","lost_leases","not_before_ms","queued_at_ms","lease","worker","lease_until_ms","reason","dead_since_ms","finished_at_ms","put_off"]}]}"#;
    let jobs = r#"["jobs",[7,1,"acme/gitops","idle","start",1,1,0,0,0,0,null,null,null,null,null,null,0]]"#;
    let campaigns = r#"["campaigns", [7, "release", "aws/v22.0.0", 5]]"#;
    let lines = format!("{header}\n{jobs}\n{campaigns}\n");
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, lines.as_bytes());
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let stream = format!("{lines}{{\"rows\":2,\"sha256\":\"{hex}\"}}\n");
    each_empty_database(async |url| {
        assert_eq!(import(url, &stream).await.unwrap(), Transferred { rows: 2, schema: 7 });
        let database = Database::open(url, Arc::new(SystemClock)).await.unwrap();
        // A column of migration 8 is there, and empty.
        let shown = database.shown_repositories(&VisibleRepositories::Everything).await.unwrap();
        assert_eq!(shown.len(), 1, "{shown:?}");
        database.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_while_others_write_is_one_state() {
    each_empty_database(async |url| {
        make(url).await;
        let database = Database::open(url, Arc::new(SystemClock)).await.unwrap();
        let writing = tokio::spawn({
            let database = database.clone();
            async move {
                for number in 0..400_u64 {
                    super::deliveries::store_comment(&database, &format!("guid-{number}"), 1000 + number)
                        .await;
                }
            }
        });
        let mut exports = 0;
        while !writing.is_finished() {
            let stream = export(url).await;
            let of = |table: &str| {
                rows(&stream).iter().filter(|row| row.starts_with(&format!("[\"{table}\""))).count()
            };
            assert_eq!(of("deliveries"), of("jobs"), "each came with its job, in one transaction");
            exports += 1;
        }
        writing.await.unwrap();
        assert!(exports > 0);
        database.close().await;
    })
    .await;
}
