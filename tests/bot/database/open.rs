//! Opening a database: the errors where that is not possible.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use capstan_database::Database;
use capstan_ports::{JobCause, JobRequest, Jobs, RepositoryName, SystemClock};

use super::engines::each_empty_database;
use super::{each_engine, sqlite};

async fn error(url: &str) -> String {
    Database::open(url, Arc::new(SystemClock)).await.unwrap_err().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_is_there_after_a_restart() {
    each_engine(async |bench| {
        let name = RepositoryName::parse("acme/gitops").unwrap();
        let request = JobRequest { repository: 1, installation: 7, name, cause: JobCause::Event };
        bench.database.enqueue(&request).await.unwrap();
        bench.database.close().await;
        let reopened = bench.reopened().await;
        assert!(reopened.claim("worker", std::time::Duration::from_secs(1), 8).await.unwrap().is_some());
    })
    .await;
}

#[tokio::test]
async fn a_file_that_cannot_be_made_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("absent/capstan.sqlite");
    let error = error(&format!("sqlite://{}", file.display())).await;
    assert!(error.contains(file.to_str().unwrap()), "{error}");
    assert!(error.contains("check the folder's owner, permissions and free space"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_named_and_stays_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    let text = "these are my notes, and no database\n".repeat(100);
    std::fs::write(&file, &text).unwrap();
    let error = error(&format!("sqlite://{}", file.display())).await;
    assert!(error.contains("notes.txt") && error.contains("not a database"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[tokio::test]
async fn a_read_only_database_is_reported() {
    let bench = sqlite().await;
    bench.database.close().await;
    let file = bench.url.trim_start_matches("sqlite://");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o400)).unwrap();
    if std::fs::OpenOptions::new().write(true).open(file).is_ok() {
        println!("SKIPPED: this user (root?) may write to files that nobody may write to");
        return;
    }
    let error = error(&bench.url).await;
    assert!(error.contains("must be able to create and write this file"), "{error}");
}

#[tokio::test]
async fn urls_of_other_engines_are_refused_and_passwords_never_shown() {
    assert_eq!(
        error("mysql://capstan:hunter2@db/capstan").await,
        "database URL: `mysql:` is not an engine that Capstan knows; expected `sqlite:///path/to/file` or \
         `postgres://user@host/database`"
    );
    let unreachable = error("postgres://capstan:hunter2@127.0.0.1:1/fleet").await;
    assert!(unreachable.starts_with("PostgreSQL database `fleet` at 127.0.0.1:1: "), "{unreachable}");
    assert!(!unreachable.contains("hunter2"), "{unreachable}");
    let nonsense = error("postgres://capstan:hunter2@:port/fleet").await;
    assert!(!nonsense.contains("hunter2"), "{nonsense}");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_processes_may_open_a_new_database_at_once() {
    each_empty_database(async |url| {
        let mut opening = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let url = url.to_owned();
            opening.spawn(async move { Database::open(&url, Arc::new(SystemClock)).await.map(drop) });
        }
        for opened in opening.join_all().await {
            opened.unwrap();
        }
    })
    .await;
}
