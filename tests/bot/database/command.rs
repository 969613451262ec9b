//! `capstan database` as it is typed.

use std::io::{Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use capstan_test_support::tally;

use super::transfer::{ROWS, execute, make};

fn capstan(arguments: &[&str]) -> Output {
    tally::command(env!("CARGO_BIN_EXE_capstan"))
        .arg("database")
        .args(arguments)
        .env_clear()
        .output()
        .unwrap()
}

/// The same, with something on standard input.
fn piped(arguments: &[&str], input: &[u8]) -> Output {
    let mut from = tempfile::tempfile().unwrap();
    from.write_all(input).unwrap();
    from.rewind().unwrap();
    tally::command(env!("CARGO_BIN_EXE_capstan"))
        .arg("database")
        .args(arguments)
        .env_clear()
        .stdin(from)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_made_checked_and_restored() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    std::fs::create_dir(&state).unwrap();
    let url = format!("sqlite://{}?mode=rwc", state.join("capstan.sqlite").display());
    make(&url).await;
    execute(&url, ROWS).await;
    let (state, file) = (state.to_str().unwrap(), folder.path().join("backup"));
    let file = file.to_str().unwrap();

    let well = capstan(&["check", "--state-dir", state]);
    assert_eq!(well.status.code(), Some(0), "{}", said(&well));
    assert!(said(&well).ends_with(", 10 rows\nIt is healthy.\n"), "{}", said(&well));

    let exported = capstan(&["export", "--state-dir", state, file]);
    assert_eq!(exported.status.code(), Some(0), "{}", said(&exported));
    assert!(said(&exported).starts_with("exported 10 rows of schema "), "{}", said(&exported));
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let beside: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(beside.len(), 2, "nothing else is left beside it: {beside:?}");

    let again = capstan(&["export", "--state-dir", state, file]);
    assert_eq!(again.status.code(), Some(1));
    assert!(said(&again).contains("already exists, and is not overwritten"), "{}", said(&again));
    assert!(said(&again).contains("see capstan help database#check-export-import"), "{}", said(&again));

    let elsewhere = format!("sqlite://{}", folder.path().join("other.sqlite").display());
    let imported = capstan(&["import", "--database-url", &elsewhere, file]);
    assert_eq!(imported.status.code(), Some(0), "{}", said(&imported));
    let mode = std::fs::metadata(folder.path().join("other.sqlite")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let twice = capstan(&["import", "--database-url", &elsewhere, file]);
    assert_eq!(twice.status.code(), Some(1));
    assert!(
        said(&twice).contains("the database is not empty: table `campaigns` has 1 rows"),
        "{}",
        said(&twice)
    );

    let streamed = capstan(&["export", "--state-dir", state, "-"]);
    assert_eq!(streamed.status.code(), Some(0), "{}", said(&streamed));
    let streamed = String::from_utf8(streamed.stdout).unwrap();
    // The first line says when it was made, and the last one is its digest.
    let rows =
        |text: &str| text.lines().filter(|line| line.starts_with('[')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(rows(&streamed), rows(&std::fs::read_to_string(file).unwrap()));
    let third = format!("sqlite://{}", folder.path().join("third.sqlite").display());
    let taken = piped(&["import", "--database-url", &third, "-"], streamed.as_bytes());
    assert_eq!(taken.status.code(), Some(0), "{}", said(&taken));
    let cut_off =
        piped(&["import", "--database-url", &third, "-"], &streamed.as_bytes()[..streamed.len() / 2]);
    assert_eq!(cut_off.status.code(), Some(1), "{}", said(&cut_off));

    execute(&elsewhere, "UPDATE jobs SET state = 'running'").await;
    let odd = capstan(&["check", "--database-url", &elsewhere]);
    assert_eq!(odd.status.code(), Some(3), "{}", said(&odd));
    assert!(said(&odd).contains("- 2 jobs that run without a worker.\n  Stop the bot"), "{}", said(&odd));
}

#[test]
fn a_database_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capstan.sqlite");
    let url = format!("sqlite://{}", file.display());
    for arguments in [vec!["check"], vec!["export", "backup"]] {
        let output = capstan(&[&arguments[..], &["--database-url", &url]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("capstan.sqlite does not exist"), "{}", said(&output));
    }
    assert!(!file.exists() && !Path::new("backup").exists());
}
