//! The unit for systemd: what it starts is a command of the program's, and systemd finds nothing wrong with it.

use capstan::cli::Arguments;
use capstan_test_support::tally;
use clap::Parser as _;

use capstan_test_parts::deployed::read;

#[test]
fn what_the_unit_starts_is_a_command() {
    let unit = read("systemd/capstan.service").replace("\\\n", " ");
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[..2], ["/usr/local/bin/capstan", "serve"]);
    Arguments::try_parse_from(&words).unwrap();
    // Each file that is a credential is loaded.
    for file in words.iter().filter_map(|word| word.split_once("=%d/")).map(|(_, file)| file) {
        assert!(unit.contains(&format!("\nLoadCredential={file}:/etc/capstan/{file}\n")), "{file}");
    }
    assert!(unit.contains("\nStateDirectory=capstan\nStateDirectoryMode=0700\n"));
    assert!(line.contains("--state-dir=%S/capstan "), "{line}");
}

/// The version of the systemd that is here, as it says it: `systemd 252 (252.38-1~deb12u1)`.
fn systemd() -> Option<u32> {
    let told = tally::command("systemd-analyze").arg("--version").output().ok()?;
    let told = String::from_utf8_lossy(&told.stdout);
    told.split_whitespace().nth(1)?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    // The first that knows `%d` and judges a unit's security from its file.
    if systemd().is_none_or(|version| version < 250) {
        println!("SKIPPED: no systemd-analyze of 250 or newer: the unit is not verified");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capstan.service");
    let unit =
        read("systemd/capstan.service").replace("/usr/local/bin/capstan", env!("CARGO_BIN_EXE_capstan"));
    std::fs::write(&file, unit).unwrap();
    let verified = tally::command("systemd-analyze").arg("verify").arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&verified.stderr);
    // Other units of the machine may be spoken of too.
    let about: Vec<&str> = said.lines().filter(|line| line.contains("capstan")).collect();
    assert!(verified.status.success() && about.is_empty(), "{said}");
    let file = file.display().to_string();
    let judged = ["security", "--offline=true", "--threshold=20", &file];
    let judged = tally::command("systemd-analyze").args(judged).output().unwrap();
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
}
