//! The tutorial from a Flux repository, walked through.

use capstan_forge::Edit;
use capstan_test_parts::page;
use capstan_test_parts::walk::{access, walk};

use crate::running::town::{REPOSITORY, Town};

/// The forge and the bot of the tests replace those of the demo, which are the same.
#[tokio::test(flavor = "multi_thread")]
async fn the_tutorial_from_a_flux_repository_ends_with_a_pull_request() {
    let town = Town::with(&[Edit::write("README.md", "Another repository.\n")], None).await;
    let folder = tempfile::tempdir().unwrap();
    let (repository, credentials) = access(&town.forge, REPOSITORY, folder.path());
    let variables = [("REPOSITORY", repository.as_str()), ("CREDENTIALS", credentials.to_str().unwrap())];
    // The bot works while commands run, as it does elsewhere.
    let runtime = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        walk(&page::of("docs/tutorials/from-flux.md"), &variables, &[], || runtime.block_on(town.settle()));
    });
    let proposed: Vec<String> = town.open_pulls().into_iter().map(|pull| pull.head_branch).collect();
    assert_eq!(proposed, ["capstan/upgrade/clusters/web-eu", "capstan/upgrade/clusters/web-us"]);
    town.done();
}
