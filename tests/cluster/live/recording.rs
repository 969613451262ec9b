//! Writes down what objects of Cluster API say while they are created, upgraded and get stuck: every version of every
//! object that a watch shows. Tests of verdicts replay excerpts. It proves nothing, so it runs only when asked:
//!
//! ```text
//! CAPSTAN_RECORD=FOLDER cargo test --test cluster live::recording -- --ignored
//! ```

use std::path::Path;
use std::time::Duration;

use capstan_test_support::tally;

use super::sample::Sample;
use super::waiting::{Look, holds, until};
use capstan_test_parts::plane::world::{CLUSTER_API, World};
use capstan_test_parts::plane::{Parts, Plane};

const PATIENCE: Duration = Duration::from_secs(600);

/// A plain cluster as `tests/controlplane/sample-cluster` prints it.
fn plain(plane: &Plane, name: &str, arguments: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controlplane/sample-cluster");
    let output = tally::command(script).arg(name).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    apply(plane, std::str::from_utf8(&output.stdout).unwrap());
}

/// Applies as Capstan does: verdicts ask when it last wrote an object.
fn apply(plane: &Plane, manifests: &str) {
    let arguments = ["apply", "--server-side", "--field-manager=capstan", "--force-conflicts", "-f", "-"];
    plane.kubectl_with(&arguments, manifests);
}

/// Whether all machines of a cluster run at this version.
fn runs(world: &World, namespace: &str, cluster: &str, version: &str) -> Look<()> {
    let machines = world.machines(namespace, cluster);
    holds(machines.len() == 3, || format!("{} machines", machines.len()))?;
    let all = machines
        .iter()
        .all(|machine| machine.has_node && machine.phase == "Running" && machine.version == version);
    holds(all, || format!("{machines:?}"))
}

/// Whether an object has had its last word: conditions and counters are those of its generation, and none of them says
/// that anything is going on.
fn is_quiet(world: &World, kind: &str, namespace: &str, name: &str) -> Look<()> {
    let object = world.object(kind, namespace, name).ok_or("not there")?;
    let conditions = object["status"]["conditions"].as_array().ok_or("no conditions")?;
    for (of, wanted) in [
        ("RollingOut", "False"),
        ("ScalingUp", "False"),
        ("ScalingDown", "False"),
        ("Available", "True"),
        ("TopologyReconciled", "True"),
    ] {
        let found = conditions.iter().find(|one| one["type"] == of);
        holds(found.is_none_or(|one| one["status"] == wanted), || format!("{kind} {name}: {found:?}"))?;
    }
    let generation = &object["metadata"]["generation"];
    holds(object["status"]["observedGeneration"] == *generation, || format!("{kind} {name}: not seen yet"))?;
    let wanted = &object["spec"]["replicas"];
    let counts = ["replicas", "upToDateReplicas", "readyReplicas"];
    let counted = wanted.is_null() || counts.iter().all(|count| object["status"][count] == *wanted);
    holds(counted, || format!("{kind} {name}: {}", object["status"]))
}

#[test]
#[ignore = "writes a recording; nothing is tested"]
fn histories() {
    let folder = std::env::var_os("CAPSTAN_RECORD").unwrap();
    let folder = Path::new(&folder);
    let Some(plane) = Plane::start(Parts::Everything) else { return };
    let admin = plane.admin_kubeconfig();
    let watch = |file: &str| World::watch(&admin, CLUSTER_API, Some(&folder.join(file)));
    let quiet = |world: &World, name: &str| {
        until(&format!("{name} quiet"), PATIENCE, || {
            is_quiet(world, "KubeadmControlPlane", "default", &format!("{name}-cp"))?;
            is_quiet(world, "MachineDeployment", "default", &format!("{name}-md"))
        });
    };

    let world = watch("create.jsonl");
    plain(&plane, "rec", &["--version", "v1.34.3"]);
    until("created", PATIENCE, || runs(&world, "default", "rec", "v1.34.3"));
    quiet(&world, "rec");
    drop(world);

    let world = watch("upgrade.jsonl");
    plain(&plane, "rec", &["--version", "v1.35.1", "--rev", "b"]);
    until("upgraded", PATIENCE, || runs(&world, "default", "rec", "v1.35.1"));
    quiet(&world, "rec");
    drop(world);

    let world = watch("stuck-worker.jsonl");
    plain(&plane, "rec", &["--version", "v1.35.1", "--rev", "c", "--worker-startup", "1h"]);
    until("a worker that does not boot", PATIENCE, || {
        let machines = world.machines("default", "rec");
        holds(
            machines.len() == 4 + 1 && machines.iter().any(|machine| machine.phase == "Provisioning"),
            || format!("{machines:?}"),
        )
    });
    // What it says while nothing happens is part of the history.
    std::thread::sleep(Duration::from_secs(60));
    plain(&plane, "rec", &["--version", "v1.35.1", "--rev", "d"]);
    until("freed", PATIENCE, || runs(&world, "default", "rec", "v1.35.1"));
    quiet(&world, "rec");
    drop(world);

    let world = watch("topology.jsonl");
    let sample = Sample { topology: true, ..Sample::new("rectopo") };
    plane.apply(&super::setting::class(&sample.namespace()));
    apply(&plane, &sample.file("cluster.yaml").1);
    let reaches = |version: &str| {
        until(&format!("the topology at {version}"), PATIENCE, || {
            runs(&world, &sample.namespace(), "rectopo", version)?;
            is_quiet(&world, "Cluster", &sample.namespace(), "rectopo")?;
            for kind in ["KubeadmControlPlane", "MachineDeployment"] {
                for object in world.objects(kind, &sample.namespace()) {
                    is_quiet(
                        &world,
                        kind,
                        &sample.namespace(),
                        object["metadata"]["name"].as_str().unwrap(),
                    )?;
                }
            }
            Ok(())
        });
    };
    reaches("v1.34.3");
    let newer = Sample { kubernetes: "v1.35.1".to_owned(), ..sample.clone() };
    apply(&plane, &newer.file("cluster.yaml").1);
    reaches("v1.35.1");
    drop(world);

    let world = watch("stuck-control-plane.jsonl");
    plain(
        &plane,
        "rec",
        &["--version", "v1.35.1", "--rev", "e", "--startup", "1h", "--worker-startup", "1s"],
    );
    until("a control plane machine that does not boot", PATIENCE, || {
        let machines = world.machines("default", "rec");
        holds(machines.iter().any(|machine| machine.phase == "Provisioning"), || format!("{machines:?}"))
    });
    std::thread::sleep(Duration::from_secs(60));
}
