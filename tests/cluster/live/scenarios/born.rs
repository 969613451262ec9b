//! A cluster's life from the merge that creates it to the tombstone that deletes it, with proposals in between that
//! must not get green.

use capstan_forge::Edit;

use super::super::sample::Sample;
use super::super::town::{LONG, REPOSITORY, SHORT, Town};
use super::super::waiting::{holds, until};

pub(super) fn play(town: &Town<'_>, cluster: &Sample) {
    created(town, cluster);
    rejected(town, cluster);
    nameless(town, cluster);
    deleted(town, cluster);
}

fn created(town: &Town<'_>, cluster: &Sample) {
    let number = town.propose("A cluster of our own", &cluster.folder());
    town.wait_for_check(number, "capstan", "success", SHORT);
    town.merge_and_compare("created by a merge", cluster, number, "v1.34.3");
    town.wait_for_check(number, "capstan/rollout", "success", SHORT);
}

/// Changes that only the live cluster's webhooks know to be wrong, beside one that the rules know as well.
fn rejected(town: &Town<'_>, cluster: &Sample) {
    let (path, text) = cluster.file("control-plane.yaml");
    let attempts = [
        ("Two control planes", "replicas: 1", "replicas: 2", "even number"),
        (
            "Other certificates",
            "clusterConfiguration:\n",
            "clusterConfiguration:\n      certificatesDir: /certs\n",
            "cannot be modified",
        ),
        ("Two minors at once", "version: v1.34.3", "version: v1.36.3", "v1.36.3"),
    ];
    let generation = control_plane(town, cluster);
    for (title, old, new, words) in attempts {
        assert!(text.contains(old));
        let number = town.propose(title, &[Edit::write(path.clone(), text.replace(old, new))]);
        let line = 1 + text[..text.find(old).unwrap()].lines().count() as u64;
        // The rules may have failed it before the live cluster has answered.
        until(&format!("{title}: the webhook's words at {path}:{line}"), SHORT, || {
            let check = town.check(number, "capstan")?;
            let said = format!("{} {} {} {:?}", check.title, check.summary, check.text, check.annotations);
            let is_placed = check.annotations.iter().any(|annotation| {
                let at = annotation["start_line"].as_u64().unwrap_or_default();
                annotation["path"] == path && at.abs_diff(line) <= 2
            });
            let failed = check.conclusion.as_deref() == Some("failure");
            holds(failed && said.contains(words) && is_placed, || said.clone())
        });
        let head = town.pull(number).head;
        let green = town.forge.checks(REPOSITORY, &head).unwrap();
        assert!(
            green.iter().all(|check| check.conclusion.as_deref() != Some("success")),
            "{title} was green for a while"
        );
    }
    assert_eq!(control_plane(town, cluster), generation, "a proposal changed the live cluster");
}

/// The API takes a reference to nothing, and every condition stays green: Capstan does not send it.
fn nameless(town: &Town<'_>, cluster: &Sample) {
    let (path, text) = cluster.file("control-plane.yaml");
    let broken = text.replacen("        name: born-cp\n", "        name: born-nowhere\n", 1);
    assert_ne!(broken, text);
    let generation = control_plane(town, cluster);
    let number = town.propose("Another template", &[Edit::write(path.clone(), broken.clone())]);
    town.wait_for_check(number, "capstan", "failure", SHORT);
    // Somebody pushes it to the main branch although the check failed.
    town.push("main", "Another template", &[Edit::write(path.clone(), broken)]);
    town.wait_until_refused(cluster, "born-nowhere");
    assert_eq!(control_plane(town, cluster), generation, "the control plane was changed");
    let commit = town.push("main", "Back again", &[Edit::write(path, text)]);
    town.wait_until_done(cluster, "v1.34.3", &commit);
}

fn deleted(town: &Town<'_>, cluster: &Sample) {
    let file = format!("{}/capstan.yaml", cluster.id());
    let settings = town.forge.file(REPOSITORY, "main", &file).unwrap().unwrap();
    let number = town.propose("Not needed any more", &[Edit::write(file, settings + "delete: cluster\n")]);
    // The check fails so that a person confirms the deletion by merging it.
    let check = town.wait_for_check(number, "capstan", "failure", SHORT);
    let said = format!("{:?}", check.annotations);
    assert!(said.contains("deletes Cluster gauss-born/born with all its machines"), "{said}");
    let (prediction, before) = (town.prediction(number), town.machines(cluster));
    assert_eq!(prediction.machines(), 3);
    town.merge(number);
    let namespace = cluster.namespace();
    until("everything of the cluster gone", LONG, || {
        let machines = town.machines(cluster);
        holds(machines.is_empty(), || format!("{} machines are left", machines.len()))?;
        for kind in ["Cluster", "KubeadmControlPlane", "MachineDeployment"] {
            let left = town.ground.world.objects(kind, &namespace);
            holds(left.is_empty(), || format!("{kind} is left"))?;
        }
        let templates = town.ground.plane.kubectl(&[
            "get",
            "devmachinetemplates,devclusters,kubeadmconfigtemplates",
            "-n",
            &namespace,
            "-o",
            "name",
        ]);
        holds(templates.is_empty(), || format!("left are {templates}"))
    });
    town.ground.judge("deleted by a tombstone", &prediction, &before, &town.machines(cluster));
    let deleted = town.ground.plane.audit().into_iter().filter(|request| {
        request.is_write()
            && request.verb.starts_with("delete")
            && request.namespace == namespace
            && request.impersonated.is_some()
    });
    let first = deleted.map(|request| request.resource).next();
    assert_eq!(first.as_deref(), Some("clusters"), "the Cluster is deleted first, alone");
}

/// The generation of the control plane: it moves with every change of its spec.
fn control_plane(town: &Town<'_>, cluster: &Sample) -> u64 {
    let name = format!("{}-cp", cluster.name);
    let live = town.ground.world.object("KubeadmControlPlane", &cluster.namespace(), &name).unwrap();
    live["metadata"]["generation"].as_u64().unwrap()
}
