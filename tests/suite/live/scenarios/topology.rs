//! A cluster with a managed topology: one version in Git, machines that the topology controller makes.

use super::super::sample::Sample;
use super::super::town::{SHORT, Town};

pub(super) fn play(town: &Town<'_>, cluster: &Sample) {
    town.wait_until_done_at_first(cluster);
    let newer = Sample { kubernetes: "v1.35.1".to_owned(), ..cluster.clone() };
    town.push("main", "Release topology/v1.1.0", &newer.release("v1.1.0"));
    let proposal = town.proposal(cluster, "v1.1.0");
    town.wait_for_check(proposal.number, "capstan", "success", SHORT);
    assert_eq!(town.prediction(proposal.number).machines(), 3, "{}", proposal.body);
    town.merge_and_compare("a topology upgraded", cluster, proposal.number, "v1.35.1");
    town.wait_for_check(proposal.number, "capstan/rollout", "success", SHORT);
}
