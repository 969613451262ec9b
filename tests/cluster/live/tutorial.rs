//! The tutorial of a management cluster, walked through.

use capstan_test_parts::page;
use capstan_test_parts::walk::{access, walk};

use super::ground::{Capstan, Ground};
use super::sample::Sample;
use super::town::{REPOSITORY as FLEET, Town as LiveTown};

/// Bot, reconciler and management cluster are those of the fleet demo, with one of its clusters.
#[test]
fn the_tutorial_of_a_management_cluster_ends_with_new_machines() {
    let cluster =
        Sample { provider: "mem".to_owned(), kubernetes: "v1.35.1".to_owned(), ..Sample::new("shop01") };
    let Some(ground) = Ground::start(Capstan::Installed) else { return };
    let town = LiveTown::start(&ground, std::slice::from_ref(&cluster), &[]);
    town.wait_until_done_at_first(&cluster);
    let folder = tempfile::tempdir().unwrap();
    let (repository, credentials) = access(&town.forge, FLEET, folder.path());
    let kubeconfig = ground.plane.admin_kubeconfig();
    let variables = [
        ("KUBECONFIG", kubeconfig.to_str().unwrap()),
        ("REPOSITORY", repository.as_str()),
        ("CREDENTIALS", credentials.to_str().unwrap()),
    ];
    walk(&page::of("docs/tutorials/management-cluster.md"), &variables, &[ground.plane.programs()], || ());
}
