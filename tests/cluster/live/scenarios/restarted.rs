//! The API server dies at the first object of an upgrade that is written, and comes back.

use super::super::sample::Sample;
use super::super::town::{SHORT, Town};
use super::super::waiting::{holds, until};

pub(super) fn play(town: &Town<'_>, cluster: &Sample) {
    town.wait_until_done_at_first(cluster);
    let newer = Sample { kubernetes: "v1.35.1".to_owned(), ..cluster.clone() };
    town.push("main", "Release restarted/v1.1.0", &newer.release("v1.1.0"));
    let proposal = town.proposal(cluster, "v1.1.0");
    town.wait_for_check(proposal.number, "capstan", "success", SHORT);
    let namespace = cluster.namespace();
    let written = || {
        let audit = town.ground.plane.audit();
        audit
            .iter()
            .filter(|request| {
                request.is_write() && request.impersonated.is_some() && request.namespace == namespace
            })
            .count()
    };
    let before = written();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            until("the first object of the upgrade", SHORT, || {
                holds(written() > before, || "none yet".to_owned())
            });
            town.ground.plane.kill("kube-apiserver");
            town.ground.plane.start_again("kube-apiserver");
        });
        town.merge_and_compare("the API server restarted", cluster, proposal.number, "v1.35.1");
    });
    town.wait_for_check(proposal.number, "capstan/rollout", "success", SHORT);
}
