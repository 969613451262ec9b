//! `capstan demo` is the program of the demo, where that is beside it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use capstan_test_support::tally;

#[test]
fn the_demo_is_started_with_its_arguments_where_it_is_built() {
    let capstan = Path::new(env!("CARGO_BIN_EXE_capstan"));
    // Beside the program, because it is too large to be copied.
    let folder = tempfile::tempdir_in(capstan.parent().unwrap()).unwrap();
    let own = folder.path().join("capstan");
    std::fs::hard_link(capstan, &own).unwrap();
    let said = || tally::command(&own).args(["demo", "--tour", "waves"]).output().unwrap();
    let without = said();
    assert_eq!(without.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&without.stderr).contains("`make demo`"), "{without:?}");

    let demo = folder.path().join("capstan-demo");
    std::fs::write(&demo, "#!/bin/sh\necho \"plays $*\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&demo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let with = said();
    assert_eq!((with.status.code(), with.stdout.as_slice()), (Some(7), b"plays --tour waves\n".as_slice()));
}
