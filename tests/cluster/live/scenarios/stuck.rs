//! Workers that never boot: the rollout stops, reports where, and continues with the next pull request.

use capstan_forge::Edit;

use super::super::sample::Sample;
use super::super::town::{LONG, SHORT, Town, brief};
use super::super::waiting::{holds, until};
use capstan_test_parts::plane::world::Machine;

pub(super) fn play(town: &Town<'_>, cluster: &Sample) {
    let before = town.wait_until_done_at_first(cluster);
    let edit = |startup: &str| {
        let (path, text) =
            Sample { worker_startup: startup.to_owned(), ..cluster.clone() }.file("workers.yaml");
        [Edit::write(path, text)]
    };
    let number = town.propose("Workers that never boot", &edit("1h"));
    town.wait_for_check(number, "capstan", "success", SHORT);
    town.merge(number);
    until("the rollout said to be stuck", LONG, || {
        let status = town.managed(cluster)?["status"].clone();
        holds(status["rollout"]["state"] == "Stuck", || brief(&status))?;
        holds(status["rollout"].to_string().contains("stuck-md"), || brief(&status))
    });
    let check = until("the check says so", SHORT, || {
        let check = town.check(number, "capstan/rollout")?;
        holds(
            check.conclusion.as_deref() != Some("success")
                && format!("{} {}", check.title, check.summary).contains("stuck"),
            || check.title.clone(),
        )?;
        Ok(check)
    });
    assert!(check.summary.contains("stuck-md") || check.text.contains("stuck-md"), "{}", check.summary);
    // One worker of the old kind at least is still there: the rollout never goes below what is wanted.
    let now = town.machines(cluster);
    assert!(before.iter().filter(|machine| now.iter().any(|other| other.uid == machine.uid)).count() >= 2);

    let freeing = town.propose("Workers that boot", &edit("1200ms"));
    town.wait_for_check(freeing, "capstan", "success", SHORT);
    let commit = town.merge(freeing);
    let after = town.wait_until_done(cluster, "v1.34.3", &commit);
    let control_plane = |machines: &[Machine]| {
        machines
            .iter()
            .find(|machine| machine.owner.starts_with("Kubeadm"))
            .map(|machine| machine.uid.clone())
    };
    assert_eq!(control_plane(&before), control_plane(&after), "the control plane was not touched");
    town.wait_for_check(freeing, "capstan/rollout", "success", SHORT);
}
