//! A cluster that the inventory defines is made by its proposal and moved to another site by the next: the same live
//! objects, edited, and the machines that there were.

use std::collections::BTreeMap;

use capstan_forge::{Edit, PullState};

use super::super::sample::Sample;
use super::super::town::{LONG, REPOSITORY, SHORT, Town};
use super::super::waiting::{holds, until};

const RELEASE: &str = "sites/v1.0.0";

pub(super) fn play(town: &Town<'_>, cluster: &Sample) {
    let mut files = release();
    files.push(object("inventory", "Inventory", "{levels: [Site], folder: \"gauss/{name}\"}"));
    for zone in ["a", "b"] {
        let spec = format!("{{release: {RELEASE}, values: {{zone: {zone}}}}}");
        files.push(object(&format!("site-{zone}"), "Site", &spec));
    }
    files.push(definition(cluster, "site-a"));
    town.push("main", "A cluster of the inventory", &files);
    let number = proposal(town, cluster, "Create gauss/moved from the inventory");
    town.wait_for_check(number, "capstan", "success", SHORT);
    let commit = town.merge(number);
    town.wait_until_done(cluster, "v1.34.3", &commit);
    assert_eq!(site(town, cluster), "a");
    let before = identities(town, cluster);

    let edit = [definition(cluster, "site-b")];
    town.push("main", "To another site", &edit);
    let number = proposal(town, cluster, "Update gauss/moved from the inventory");
    town.wait_for_check(number, "capstan", "success", SHORT);
    town.merge_and_compare("moved to another site", cluster, number, "v1.34.3");
    until("the site of the live Cluster", LONG, || {
        let site = site(town, cluster);
        holds(site == "b", || format!("it is {site}"))
    });
    assert_eq!(identities(town, cluster), before, "objects were made anew");
}

fn object(name: &str, kind: &str, spec: &str) -> Edit {
    let text =
        format!("apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n");
    Edit::write(format!("inventory/{name}.yaml"), text)
}

fn definition(cluster: &Sample, site: &str) -> Edit {
    object(&cluster.name, "ClusterDefinition", &format!("{{in: {{site: {site}}}}}"))
}

/// A release whose templates make what a sample's folder holds, with the zone of the site on the Cluster.
fn release() -> Vec<Edit> {
    let of_cluster = Sample::new("{{ cluster.name }}");
    let labels = "  labels:\n";
    let mut files = vec![Edit::write(
        format!("{RELEASE}/schema.yaml"),
        "type: object\nrequired: [zone]\nproperties: {zone: {type: string}}\n",
    )];
    for file in ["cluster.yaml", "control-plane.yaml", "workers.yaml"] {
        let (_, mut text) = of_cluster.file(file);
        if file == "cluster.yaml" {
            text = text.replacen(labels, &format!("{labels}    example.com/zone: {{{{ zone }}}}\n"), 1);
        }
        files.push(Edit::write(format!("{RELEASE}/templates/{file}"), text));
    }
    files
}

/// The open proposal of the inventory for a cluster.
fn proposal(town: &Town<'_>, cluster: &Sample, title: &str) -> u64 {
    let branch = format!("capstan/inventory/{}", cluster.id());
    until(&format!("a proposal: {title}"), SHORT, || {
        let pulls = town.forge.pulls(REPOSITORY).map_err(|error| error.to_string())?;
        let mut open = pulls.into_iter().filter(|pull| pull.state == PullState::Open);
        let found = open.find(|pull| pull.head_branch == branch && pull.title == title);
        found.map(|pull| pull.number).ok_or_else(|| "there is none".to_owned())
    })
}

fn site(town: &Town<'_>, cluster: &Sample) -> String {
    let live = town.ground.world.object("Cluster", &cluster.namespace(), &cluster.name).unwrap();
    live["metadata"]["labels"]["example.com/zone"].as_str().unwrap_or_default().to_owned()
}

/// The UIDs of what the folder holds, by kind and name.
fn identities(town: &Town<'_>, cluster: &Sample) -> BTreeMap<String, String> {
    let kinds = ["Cluster", "KubeadmControlPlane", "MachineDeployment"];
    let all = kinds.into_iter().flat_map(|kind| {
        let live = town.ground.world.objects(kind, &cluster.namespace());
        live.into_iter().map(move |live| {
            let text = |key: &str| live["metadata"][key].as_str().unwrap().to_owned();
            (format!("{kind} {}", text("name")), text("uid"))
        })
    });
    let all: BTreeMap<String, String> = all.collect();
    assert_eq!(all.len(), kinds.len(), "{all:?}");
    all
}
