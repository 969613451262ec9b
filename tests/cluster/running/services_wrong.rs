//! A wrong entry never takes away what runs: each field of a service, once wrong.

use capstan_reconciler::reconcile::resources::ConditionType;
use serde_json::{Value, json};

use super::fake::FakeCluster;
use super::services::{SERVICES, come_up, with_services};
use super::world::World;

/// The name of a mistake (in the ingress, if nothing else is named), the mistake, and the expected message.
type Row = (&'static str, fn(&World), &'static str);

fn write(world: &World, list: &str) {
    world.write("gauss/peu01/capstan.yaml", list);
}

/// The entry of the ingress with something in its place.
fn entry(world: &World, from: &str, to: &str) {
    assert!(SERVICES.contains(from), "{from}");
    write(world, &SERVICES.replace(from, to));
}

const INGRESS: &str = "gauss/peu01/services/ingress/ingress.yaml";

const ROWS: &[Row] = &[
    ("name", |world| entry(world, "name: ingress", "name: In gress"), "`services[0].name`"),
    // What it brought passes to that one.
    ("name, another", |world| entry(world, "name: ingress", "name: ingres"), ""),
    (
        "name, another that cannot be rendered",
        |world| {
            entry(world, "name: ingress", "name: ingres");
            world.write(INGRESS, "a: [");
        },
        "service ingres: gauss/peu01/services/ingress/ingress.yaml:1: this is not YAML",
    ),
    ("role", |world| entry(world, "role: cni", "role: cnii"), "`services[1].role`"),
    ("role, another one's", |world| entry(world, "name: ingress\n", "name: ingress\n  role: csi\n"), ""),
    (
        "from, a folder that is not there",
        |world| entry(world, "services/ingress", "services/ingres"),
        "services/ingres",
    ),
    ("from, no folder of services", |world| entry(world, "services/ingress", "ingress"), "`services[0].from"),
    (
        "from, an object that is not there",
        |world| {
            entry(world, "{folder: services/ingress}", "{objects: [{kind: HelmChartProxy, name: ingress}]}")
        },
        "base has no HelmChartProxy ingress",
    ),
    (
        "from, both",
        |world| entry(world, "{folder: services/ingress}", "{folder: services/ingress, objects: []}"),
        "gauss/peu01/capstan.yaml:3: `services[0].from` must be a mapping of one key: keep one",
    ),
    (
        "enabled",
        |world| entry(world, "after: [cilium]", "enabled: sometimes"),
        "gauss/peu01/capstan.yaml:4: `services[0].enabled` must be true or false, found the string \\\"sometimes\\\"",
    ),
    (
        "optional",
        |world| entry(world, "after: [cilium]", "optional: 5"),
        "gauss/peu01/capstan.yaml:4: `services[0].optional` must be true or false, found the number 5",
    ),
    (
        "after, nobody",
        |world| entry(world, "[cilium]", "[nobody]"),
        "service ingress: gauss/peu01/capstan.yaml:2: it waits for the service `nobody`, which does not exist",
    ),
    ("after, itself", |world| entry(world, "[cilium]", "[ingress]"), "wait for one another"),
    ("when", |world| entry(world, "after: [cilium]", "when: never"), "`services[0].when`"),
    (
        "checks, none that can be read",
        |world| entry(world, "after: [cilium]", "checks: ['objects.size( > 0']"),
        "objects.size(",
    ),
    ("checks, none that is true", |world| entry(world, "after: [cilium]", "checks: ['false']"), "false"),
    (
        "force",
        |world| entry(world, "role: cni", "role: cni\n  force: {from: calico, to: cilium}"),
        "`services[1].force`",
    ),
    ("a key that nobody knows", |world| entry(world, "after: ", "afer: "), "`afer`"),
    ("two of one name", |world| entry(world, "name: cilium", "name: ingress"), "ingress"),
    ("no list", |world| write(world, "services: ingress\n"), "`services`"),
    ("no YAML", |world| write(world, "services: [\n"), "gauss/peu01/capstan.yaml"),
    (
        "the folder, no YAML",
        |world| world.write(INGRESS, "a: ["),
        "service ingress: gauss/peu01/services/ingress/ingress.yaml:1: this is not YAML",
    ),
    (
        "the folder, empty",
        |world| world.write(INGRESS, "# nothing\n"),
        "service ingress: its folder renders no objects",
    ),
    (
        "the folder, a kustomization that renders nothing",
        |world| world.write("gauss/peu01/services/ingress/kustomization.yaml", "resources: []\n"),
        "service ingress: its folder renders no objects",
    ),
    (
        "the folder, an object that the API server refuses",
        |world| world.write(INGRESS, "apiVersion: apps/v1\nkind: Deploymemt\nmetadata: {name: ingress}\n"),
        "Deploymemt",
    ),
];

/// Kind, UID and spec of the services' workloads inside the cluster.
fn running(workload: &FakeCluster) -> Vec<Value> {
    [("DaemonSet", "cilium"), ("Deployment", "ingress")]
        .into_iter()
        .filter_map(|(kind, name)| {
            let live = workload.object(kind, name)?;
            Some(json!({"kind": kind, "uid": live["metadata"]["uid"], "spec": live["spec"]}))
        })
        .collect()
}

#[tokio::test]
async fn a_wrong_field_takes_nothing_away() {
    let mut troubles = Vec::new();
    for (what, change, told) in ROWS {
        let world = World::new();
        with_services(&world, "peu01");
        world.reconcile("gauss/peu01").await;
        let workload = come_up(&world, "peu01");
        for _ in 0..2 {
            world.reconcile("gauss/peu01").await;
        }
        assert_eq!(world.condition("gauss-peu01", ConditionType::Ready), "True Done", "{what}");
        let before = running(&workload);
        assert_eq!(before.len(), 2, "{what}");
        workload.take_writes();
        change(&world);
        for _ in 0..3 {
            world.reconcile("gauss/peu01").await;
            world.pass_time(60);
        }
        let said = serde_json::to_string(&world.status("gauss-peu01")).unwrap();
        let is_ready = world.condition("gauss-peu01", ConditionType::Ready) == "True Done";
        let deletes = workload.take_writes().iter().any(|write| write.starts_with("delete "));
        let holds = [
            ("what runs is another", running(&workload) == before),
            ("something is deleted", !deletes),
            ("it is not said", said.contains(told)),
            ("it is ready all the same", is_ready == told.is_empty()),
        ];
        let failing = holds.iter().filter(|(_, holds)| !holds);
        troubles.extend(failing.map(|(otherwise, _)| format!("{what}: {otherwise}: {said}")));
    }
    assert!(troubles.is_empty(), "{}", troubles.join("\n"));
}
