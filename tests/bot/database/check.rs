//! `Database::check` finds what is not as Capstan writes it, and changes nothing.

use std::sync::Arc;

use capstan_database::Database;
use capstan_ports::{DatabaseCheck, SystemClock};

use super::engines::each_empty_database;
use super::transfer::{ROWS, execute, make};

async fn check(url: &str) -> DatabaseCheck {
    Database::check(url, Arc::new(SystemClock)).await.unwrap()
}

async fn found(url: &str) -> Vec<String> {
    check(url).await.findings.into_iter().map(|finding| finding.what).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_well_has_no_finding() {
    each_empty_database(async |url| {
        make(url).await;
        execute(url, ROWS).await;
        let check = check(url).await;
        assert_eq!(check.findings, []);
        assert_eq!((check.schema, check.rows), (Some(check.known_schema), Some(10)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orphaned_rows_are_reported_with_what_to_do() {
    each_empty_database(async |url| {
        make(url).await;
        execute(
            url,
            "INSERT INTO jobs (repository, installation, name, state, cause, requested, started, attempts, lost_leases,
                               not_before_ms, queued_at_ms)
             VALUES (1, 1, 'acme/a', 'idle', 'event', 1, 1, 0, 0, 0, 0), (2, 1, 'acme/b', 'running', 'event', 1, 1, 0, 0, 0, 0);
             INSERT INTO deliveries (guid, event, action, installation, repository, received_at_ms, state)
             VALUES ('a', 'push', '', 1, 1, 0, 'waiting'), ('b', 'push', '', 1, 2, 0, 'waiting'), ('c', 'push', '', 1, 3, 0, 'waiting');
             INSERT INTO dashboards (repository, issue, record) VALUES (4, 1, '');
             INSERT INTO followed_clusters (repository, pull_request, cluster, management_cluster, name, progress)
             VALUES (1, 5, 'gauss/peu01', 'uid', 'mc', '{}')",
        )
        .await;
        assert_eq!(
            found(url).await,
            [
                "1 rows of `followed_clusters` without their pull request",
                "2 deliveries that wait without a job for them",
                "1 jobs that run without a worker",
                "1 rows of `dashboards` of a repository that has no job, which Capstan never reads",
            ]
        );
        assert!(check(url).await.findings.iter().all(|finding| finding.remedy.ends_with(['.', '`'])));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_another_schema_are_reported_and_left_alone() {
    each_empty_database(async |url| {
        make(url).await;
        let known = check(url).await.known_schema;
        let later = "INSERT INTO capstan_migrations (version, description, success, checksum, execution_time)
                     VALUES (999, 'later', TRUE, CAST('0' AS TYPE), 0)";
        let bytes = if url.starts_with("sqlite") { "BLOB" } else { "BYTEA" };
        execute(url, &later.replace("TYPE", bytes)).await;
        assert_eq!(found(url).await, [format!("its tables have schema 999, but this Capstan knows at most {known}")]);
        let mut nowhere = Vec::new();
        let refused = Database::export(url, Arc::new(SystemClock), &mut nowhere).await.unwrap_err().to_string();
        assert_eq!(
            refused,
            format!(
                "the database's tables have schema 999, and those of this Capstan have {known}: export it with the Capstan that \
                 made it, or a newer one"
            )
        );
        // Another process cannot open the database either.
        let refused = Database::open(url, Arc::new(SystemClock)).await.unwrap_err().to_string();
        assert_eq!(
            refused,
            "the database was made by a newer Capstan (it knows migration 999): run that version, or start with an \
             empty database"
        );

        execute(url, "DELETE FROM capstan_migrations WHERE version > 11").await;
        assert_eq!(found(url).await, [format!("its tables have schema 11, and those of this Capstan have {known}")]);
        let still = found(url).await;
        assert_eq!(still.len(), 1, "it is left as it is: {still:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_tables_is_reported() {
    let Some(url) = super::engines::fresh_postgres().await else {
        println!("SKIPPED: PostgreSQL is not installed");
        return;
    };
    assert_eq!(found(&url).await, ["it has no tables of Capstan's"]);
}

#[tokio::test]
async fn a_damaged_file_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capstan.sqlite");
    let url = format!("sqlite://{}?mode=rwc", file.display());
    make(&url).await;
    let rows: Vec<String> = (0..2000).map(|n| format!("('guid-{n:06}', 'push', '', 1, 5, 'done')")).collect();
    let sql = "INSERT INTO deliveries (guid, event, action, installation, received_at_ms, state) VALUES ";
    execute(&url, &format!("{sql}{}", rows.join(","))).await;
    let mut bytes = std::fs::read(&file).unwrap();
    // Some pages of that table, far behind the descriptions of all tables.
    let at = bytes.windows(11).rposition(|window| window == b"guid-001000").unwrap();
    let page = at / 4096 * 4096;
    bytes[page..page + 4096].fill(0xa5);
    std::fs::write(&file, &bytes).unwrap();
    let findings = check(&url).await.findings;
    assert!(!findings.is_empty());
    assert!(findings.iter().all(|finding| finding.what.starts_with("the file is damaged: ")), "{findings:?}");
    assert!(findings[0].remedy.contains("import the last export into an empty database"), "{findings:?}");
}
