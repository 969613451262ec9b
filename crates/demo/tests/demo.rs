//! `make demo` with `--once`, as a newcomer runs it: the built program, nothing else.

use capstan_test_support::tally;

#[test]
fn all_tours_are_played_and_the_demo_leaves_with_0() {
    let output = tally::command(env!("CARGO_BIN_EXE_capstan-demo"))
        .args(["--once"])
        // What the person who runs the tests has set is not the demo's.
        .env_remove("CAPSTAN_LOG")
        .env_remove("RUST_LOG")
        .output()
        .expect("the program starts");
    let told = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}\n{complaints}");
    assert_eq!(complaints, "", "nothing is logged over the story");
    for sentence in [
        "12 clusters of three customers",
        "pushes release aws/v1.5.0",
        "Capstan has opened 4 pull requests",
        "#1 Upgrade gauss/canary-eu from aws/v1.4.0 to aws/v1.5.0",
        "-  version: v1.31.9\n",
        "+  version: v1.32.7\n",
        "r6i.2xlarge",
        "the cluster's value is kept",
        "euler/batch  REFUSED",
        "runs Kubernetes v1.33.1, which is newer than the",
        "euler/staging  REFUSED",
        "euler/staging/base/workers.yaml:10:1: a conflict marker",
        "The overlay holds upgrades back until",
        "cluster's track is patch",
        "noether/lab",
        "check failure: 1 error",
        "gauss/prod-eu/base/workers.yaml, line 17",
        "Capstan answers:",
        "/capstan replan",
        "gauss/canary-eu/capstan.yaml on main says now:\n      release: aws/v1.5.0\n",
        "#4 Create shop/shop-dev from the inventory",
        "+    kubernetes: {version: v1.34.1}\n",
        "check success: The inventory: 4 of 6 clusters change, 4 roll 10 machines",
        "#12 Update shop/shop-staging from the inventory\n      replaced after the merge: 3 machines",
        "- canary: 0 of 1 done; is under way",
        "Campaign fleet is stopped (the audit is not over)",
        "check capstan/rollout in_progress: shop/canary-eu: 2 of 6 machines are up to date",
        "check capstan/rollout success: shop/canary-eu: done, 6 machines",
        "#4 Upgrade shop/web-eu from aws/v1.0.0 to aws/v1.1.0",
        "- canary: 1 of 1 done; has ended",
    ] {
        assert!(told.contains(sentence), "`{sentence}` is missing in:\n{told}");
    }
    assert!(!told.contains("Ctrl-C"), "--once does not ask anybody to stay:\n{told}");
}

#[test]
fn a_tour_that_is_not_there_is_said_with_those_that_are() {
    let output = tally::command(env!("CARGO_BIN_EXE_capstan-demo"))
        .args(["--once", "--tour", "wave"])
        .output()
        .expect("the program starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(
        complaint.contains("there is no tour `wave`; there are release, inventory, waves"),
        "{complaint}"
    );
}

#[test]
fn a_port_that_is_taken_is_said_with_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let output = tally::command(env!("CARGO_BIN_EXE_capstan-demo"))
        .args(["--once", "--port", &port])
        .output()
        .expect("the program starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains(&format!("cannot be served on port {port}")), "{complaint}");
    assert!(complaint.contains("--port"), "{complaint}");
}

#[test]
fn without_git_it_says_what_to_install() {
    let output = tally::command(env!("CARGO_BIN_EXE_capstan-demo"))
        .args(["--once"])
        .env("PATH", "/nowhere")
        .output()
        .expect("the program starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("there is no program `git` on the PATH; install Git"), "{complaint}");
}
