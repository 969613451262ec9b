//! The provider set of a management cluster goes from Cluster API 1.13.4 to 1.14.2 through pull requests, with its real managers
//! as processes and two clusters that are at work: no machine is replaced, what is written is what was predicted, whatever is
//! killed meanwhile; a manager that never comes stops the set, and a second pull request frees it.
//!
//! It needs `tests/operator/managers/build` and says aloud where that was not run. `CAPSTAN_SEED` repeats the moments of the kills.

#![expect(clippy::print_stdout, reason = "a long story says how far it is")]

mod node;
mod set;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use capstan_forge::{Edit, Forge, MergeMethod, PullState, PullView};
use capstan_test_support::tally;
use rand::Rng as _;
use serde_json::Value;

use super::ground::Ground;
use super::kills;
use super::prediction::Prediction;
use super::sample::{CUSTOMER, Sample};
use super::setting::{self, Bot};
use super::town::{LONG, REPOSITORY, SHORT, brief, condition};
use super::waiting::{Look, holds, until};
use crate::installing::town::{BOOTSTRAP, CONTROL_PLANE, CORE, Row, publish};
use capstan_test_parts::plane::audit::Request;
use capstan_test_parts::plane::process::Process;
use capstan_test_parts::plane::reconciler::{HOME, deployed, install, process_with};
use capstan_test_parts::plane::world::Machine;
use capstan_test_parts::plane::{Parts, Plane, tail, tools};
use node::{Node, Program};
use set::{DOCKER, DOCKER_VERSION, FOLDER, ROWS, Set};

const OLD: &str = "v1.13.4";
const NEW: &str = "v1.14.2";
const THREE: [Row; 3] = [CORE, BOOTSTRAP, CONTROL_PLANE];

const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: capstan-providers-for-tests}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: capstan-providers, namespace: capstan-system}]
";

#[test]
fn a_set_is_upgraded_with_its_real_managers_and_no_machine_is_replaced() {
    let Some(tools) = tools() else { return };
    let (components, certificates) = (tools.join("components"), tools.join("cert-manager.crds.yaml"));
    let Some(older) = node::managers(&tools, OLD).filter(|_| components.join("complete").is_file()) else {
        println!(
            "SKIPPED: tests/operator/managers/build was not run: no set is upgraded with its real managers"
        );
        return;
    };
    let seed =
        std::env::var("CAPSTAN_SEED").map_or_else(|_| rand::rng().next_u64(), |seed| seed.parse().unwrap());
    println!("CAPSTAN_SEED={seed}");
    let _alone = only_one();
    let Some(plane) = Plane::start(Parts::Kubernetes) else { return };
    install(&plane);
    let printed =
        tally::command(env!("CARGO_BIN_EXE_capstan")).args(["crds", "--providers"]).output().unwrap();
    plane.apply(std::str::from_utf8(&printed.stdout).unwrap());
    plane.kubectl(&["create", "-f", &certificates.display().to_string()]);
    plane.apply(&deployed("providers/rbac.yaml"));
    plane.apply(RIGHTS);
    for row in THREE {
        publish(&plane, &components, row, OLD);
        publish(&plane, &components, row, NEW);
    }
    publish(&plane, &components, DOCKER, DOCKER_VERSION);

    let ground = Ground::on(plane);
    let programs = ROWS.map(|(_, name)| Program::new(name));
    let newer = ground.plane.programs().to_owned();
    let folders = BTreeMap::from([(OLD, older), (NEW, newer.clone()), (DOCKER_VERSION, newer)]);
    let node = Node { plane: &ground.plane, programs: &programs, folders };
    let authority = node::authority(&ground.plane);
    let set = Set { components: &components, programs: &programs, authority: &authority };
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| node.work(&over));
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(&ground, &set, seed)));
        over.store(true, Ordering::Relaxed);
        if let Err(failed) = played {
            std::panic::resume_unwind(failed);
        }
    });
}

/// Forge, bot and reconciler on that ground.
struct City<'a> {
    ground: &'a Ground,
    forge: Forge,
    bot: Bot,
    reconciler: Process,
    _folder: tempfile::TempDir,
}

fn play(ground: &Ground, set: &Set<'_>, seed: u64) {
    let city = City::found(ground, set);
    city.wait_until_installed(OLD);
    println!("installed at {OLD}");
    let clusters = [Sample::new("one"), Sample::new("two")];
    let before = city.bring(&clusters);
    println!("two clusters run");

    // A release whose core names an image that nobody has.
    let absent = "v1.14.2-absent";
    city.push("A release", &[Edit::write("mc/v2.0.0/base/providers.yaml", set.objects(NEW, absent))]);
    let proposal = city.proposal("mc/v2.0.0");
    assert_eq!(Prediction::read(&proposal.body).machines(), 0, "machines are predicted:\n{}", proposal.body);
    let (began, earlier) = (ground.plane.audit().len(), brought(&ground.plane));
    city.merge(proposal.number);
    until("the set stops", LONG, || {
        city.all_is_well()?;
        let conditions = city.provider(CORE)?["status"]["conditions"].clone();
        let told = conditions.to_string();
        holds(told.contains("TimedOutWaitingForDeployment"), || told.clone())
    });
    for row in [BOOTSTRAP, CONTROL_PLANE] {
        let status = city.provider(row).unwrap()["status"].clone();
        assert_eq!(status["installedVersion"], OLD, "{}: nobody else is begun", row.label);
        assert!(status.to_string().contains("WaitingForSet"), "{status}");
    }
    println!("stopped: core's manager never comes, the others are as they were");

    // The next release frees it; meanwhile the reconciler dies twenty times, and the API server once.
    city.push("A better release", &[Edit::write("mc/v2.0.1/base/providers.yaml", set.objects(NEW, NEW))]);
    let proposal = city.proposal("mc/v2.0.1");
    let predicted = predicted(set);
    city.merge(proposal.number);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let killing =
            scope.spawn(|| kills::spread_over(&city.reconciler, seed, Duration::from_secs(2), &over));
        std::thread::sleep(Duration::from_secs(10));
        ground.plane.kill("kube-apiserver");
        ground.plane.start_again("kube-apiserver");
        println!("the reconciler was killed {} times", killing.join().unwrap());
    });
    city.wait_until_installed(NEW);
    println!("installed at {NEW}");

    // Managers of the new version have reconciled every machine, and replaced none.
    city.wait_until_quiet(&clusters);
    let after: Vec<Machine> = clusters.iter().flat_map(|cluster| ground.machines(cluster)).collect();
    let names = |machines: &[Machine]| machines.iter().map(|one| one.uid.clone()).collect::<BTreeSet<_>>();
    assert_eq!(names(&after), names(&before), "machines were replaced");

    let now = brought(&ground.plane);
    let all: BTreeSet<&String> = earlier.keys().chain(now.keys()).collect();
    let changed: BTreeSet<String> =
        all.into_iter().filter(|id| earlier.get(*id) != now.get(*id)).cloned().collect();
    let untold: Vec<_> = changed.difference(&predicted).collect();
    let undone: Vec<_> = predicted.difference(&changed).collect();
    assert!(
        untold.is_empty() && undone.is_empty(),
        "changed and not predicted: {untold:#?}\npredicted and not changed: {undone:#?}"
    );
    // What was killed on its way applies again what it does not know; all that was ever written is of the set.
    let written = written(&ground.plane.audit()[began..]);
    let unwritten: Vec<_> = predicted.difference(&written).collect();
    let strange: Vec<_> =
        written.iter().filter(|id| !earlier.contains_key(*id) && !now.contains_key(*id)).collect();
    assert!(
        unwritten.is_empty() && strange.is_empty(),
        "predicted and not in the log: {unwritten:#?}\nof nobody: {strange:#?}"
    );
    println!("{} objects were changed, as predicted, of {} that were written", changed.len(), written.len());

    // The end is that of one that was not killed: there is nothing to do.
    let writes = || ground.plane.audit().iter().filter(|one| is_of_installer(one)).count();
    let known = writes();
    city.reconciler.kill();
    city.reconciler.start();
    std::thread::sleep(Duration::from_secs(15));
    assert_eq!(writes(), known, "a pass with nothing to do writes nothing");
    capstan_test_parts::conformance::assert_conforms(&city.forge);
}

/// What `capstan plan` says of the objects of the step that is merged in the end: identities without versions.
fn predicted(set: &Set<'_>) -> BTreeSet<String> {
    let checkout = tempfile::tempdir().unwrap();
    let mut edits = set.at_hand(&[OLD, NEW]);
    edits.push(Edit::write("mc/v1.0.0/base/providers.yaml", set.objects(OLD, OLD)));
    edits.push(Edit::write("mc/v2.0.1/base/providers.yaml", set.objects(NEW, NEW)));
    edits.extend(folder(set));
    for edit in &edits {
        let Edit::Write { path, content } = edit else { continue };
        let file = checkout.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }
    assert!(tally::command("git").args(["init", "-q"]).current_dir(&checkout).status().unwrap().success());
    let path = checkout.path().display().to_string();
    let printed = tally::command(env!("CARGO_BIN_EXE_capstan"))
        .args(["--repo", &path, "plan", FOLDER, "-o", "json"])
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&printed.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&printed.stderr)));
    let mut all = BTreeSet::new();
    for provider in told[0]["providers"].as_array().unwrap() {
        for sort in ["add", "change", "remove"] {
            let objects = provider["objects"][sort].as_array().cloned().unwrap_or_default();
            all.extend(objects.iter().map(|one| id(&one["kind"], &one["namespace"], &one["name"])));
        }
    }
    all
}

/// `Deployment capi-system/capi-controller-manager`.
fn id(kind: &Value, namespace: &Value, name: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}/{}", text(kind), text(namespace), text(name))
}

/// What the providers brought, without what servers make.
fn brought(plane: &Plane) -> BTreeMap<String, Value> {
    let kinds: Vec<&str> = KINDS.iter().map(|(resource, _)| *resource).collect();
    let text =
        plane.kubectl(&["get", &kinds.join(","), "-A", "-l", "cluster.x-k8s.io/provider", "-o", "json"]);
    let list: Value = serde_json::from_str(&text).unwrap();
    let mut all = BTreeMap::new();
    for object in list["items"].as_array().unwrap() {
        let mut object = object.clone();
        object.as_object_mut().unwrap().remove("status");
        let metadata = object["metadata"].as_object_mut().unwrap();
        for key in
            ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences"]
        {
            metadata.remove(key);
        }
        if object.get("aggregationRule").is_some() {
            // A controller fills them in.
            object.as_object_mut().unwrap().remove("rules");
        }
        let metadata = &object["metadata"];
        all.insert(id(&object["kind"], &metadata["namespace"], &metadata["name"]), object);
    }
    all
}

/// Resources that providers bring, and their kinds.
const KINDS: [(&str, &str); 12] = [
    ("deployments", "Deployment"),
    ("services", "Service"),
    ("serviceaccounts", "ServiceAccount"),
    ("roles", "Role"),
    ("rolebindings", "RoleBinding"),
    ("clusterroles", "ClusterRole"),
    ("clusterrolebindings", "ClusterRoleBinding"),
    ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    ("issuers", "Issuer"),
    ("certificates", "Certificate"),
    ("customresourcedefinitions", "CustomResourceDefinition"),
];

/// Whether the installer wrote something that a provider brings, or of its kinds.
fn is_of_installer(request: &Request) -> bool {
    let own =
        ["managedproviders", "selfsubjectrulesreviews"].iter().any(|own| request.resource.starts_with(own))
            || request.group == "operator.cluster.x-k8s.io";
    request.is_by(HOME, "capstan-providers") && request.is_write() && request.code < 300 && !own
}

/// What the installer wrote.
fn written(audit: &[Request]) -> BTreeSet<String> {
    let own = audit.iter().filter(|one| is_of_installer(one));
    own.map(|one| {
        let known = KINDS.iter().find(|(resource, _)| *resource == one.resource);
        let kind = known.map_or(one.resource.as_str(), |(_, kind)| kind);
        format!("{kind} {}/{}", one.namespace, one.name)
    })
    .collect()
}

/// The set's own folder, at the first release.
fn folder(set: &Set<'_>) -> Vec<Edit> {
    vec![
        Edit::write(format!("{FOLDER}/base/providers.yaml"), set.objects(OLD, OLD)),
        Edit::write(format!("{FOLDER}/capstan.yaml"), "release: mc/v1.0.0\n".to_owned()),
    ]
}

/// One in-memory provider on this machine: its ports cannot be chosen.
fn only_one() -> File {
    use std::os::unix::fs::MetadataExt as _;
    let namespace = std::fs::metadata("/proc/self/ns/net").unwrap().ino();
    let path = std::env::temp_dir().join(format!("capstan-in-memory-provider-{namespace}.lock"));
    let lock = File::options().append(true).create(true).open(path).unwrap();
    lock.lock().unwrap();
    lock
}

impl<'a> City<'a> {
    fn found(ground: &'a Ground, set: &Set<'_>) -> Self {
        let plane = &ground.plane;
        let forge = setting::forge();
        let folder_of_programs = tempfile::tempdir().unwrap();
        let bot = Bot::new(&forge, folder_of_programs.path());
        let flags = ["--providers-namespace", HOME, "--provider-timeout-seconds", "60"];
        let reconciler = process_with(plane, folder_of_programs.path(), &flags);
        let city = Self { ground, forge, bot, reconciler, _folder: folder_of_programs };
        let uid = plane.uid();
        let mut edits = set.at_hand(&[OLD, NEW]);
        edits.push(Edit::write(".capstan.yaml", settings(&uid)));
        edits.push(Edit::write("mc/v1.0.0/base/providers.yaml", set.objects(OLD, OLD)));
        edits.extend(folder(set));
        city.push("The set", &edits);
        city.bot.process.start();
        until("the bot answers", SHORT, || city.bot.answers());
        let code = city.bot.invite(&uid);
        plane.apply(&setting::fleet(&city.bot.url, &code));
        city.reconciler.start();
        city
    }

    fn push(&self, message: &str, edits: &[Edit]) {
        self.forge.commit(REPOSITORY, "main", "ada", message, edits).unwrap();
    }

    fn merge(&self, number: u64) {
        self.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Merge).unwrap();
    }

    /// The bot's proposal for the set.
    fn proposal(&self, release: &str) -> PullView {
        until(&format!("a proposal to {release}"), LONG, || {
            self.all_is_well()?;
            let pulls = self.forge.pulls(REPOSITORY).map_err(|error| error.to_string())?;
            let mut open = pulls.iter().filter(|pull| pull.state == PullState::Open);
            let found = open.find(|pull| pull.title.ends_with(release)).cloned();
            found.ok_or_else(|| {
                let titles: Vec<&str> = pulls.iter().map(|pull| pull.title.as_str()).collect();
                format!("there is none among {titles:?}\n{}", tail(&self.bot.process.log(), 5))
            })
        })
    }

    /// A provider object as it is now.
    fn provider(&self, row: Row) -> Look<Value> {
        let resource = format!("{}s.operator.cluster.x-k8s.io", row.kind.to_lowercase());
        let arguments = ["get", &resource, row.name, "-n", row.namespace, "-o", "json"];
        let text = self.ground.plane.try_kubectl(&arguments, "")?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    /// Waits until every provider is ready, those of Cluster API at this version, and Capstan says that the set is done.
    fn wait_until_installed(&self, version: &str) {
        until(&format!("the set at {version}"), LONG, || {
            self.all_is_well()?;
            for (row, _) in ROWS {
                let version = if row.label == DOCKER.label { DOCKER_VERSION } else { version };
                let status = self.provider(row)?["status"].clone();
                let is_ready = status["installedVersion"] == version && condition(&status, "Ready") == "True";
                holds(is_ready, || format!("{}: {status}\n{}", row.label, tail(&self.reconciler.log(), 8)))?;
            }
            let status = self.managed(FOLDER)?["status"].clone();
            holds(status["phase"] == "Done" && condition(&status, "Ready") == "True", || brief(&status))
        });
    }

    fn managed(&self, id: &str) -> Look<Value> {
        let text =
            self.ground.plane.try_kubectl(&["get", "managedclusters", "-n", HOME, "-o", "json"], "")?;
        let list: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let all = list["items"].as_array().cloned().unwrap_or_default();
        all.into_iter()
            .find(|one| one["spec"]["cluster"] == id)
            .ok_or_else(|| format!("no ManagedCluster of {id}"))
    }

    /// Brings clusters, and waits until their machines run; those.
    fn bring(&self, clusters: &[Sample]) -> Vec<Machine> {
        let mut edits = Vec::new();
        for cluster in clusters {
            setting::prepare_namespace(&self.ground.plane, cluster);
            edits.extend(cluster.folder());
            edits.extend(cluster.release("v1.0.0"));
        }
        self.push("Two clusters", &edits);
        let mut machines = Vec::new();
        for cluster in clusters {
            machines.extend(until(&format!("{} runs", cluster.id()), LONG, || {
                self.all_is_well()?;
                self.ground.running(cluster, &cluster.kubernetes)
            }));
        }
        self.wait_until_quiet(clusters);
        machines
    }

    /// Waits until each control plane and MachineDeployment has observed its present generation and rolls nothing out.
    fn wait_until_quiet(&self, clusters: &[Sample]) {
        let quiet = |kind: &str, cluster: &Sample, suffix: &str| -> Look<()> {
            let name = format!("{}-{suffix}", cluster.name);
            let object =
                self.ground.world.object(kind, &cluster.namespace(), &name).ok_or("it is not there")?;
            let status = &object["status"];
            let is_quiet = status["observedGeneration"] == object["metadata"]["generation"]
                && ["RollingOut", "ScalingUp", "ScalingDown"]
                    .iter()
                    .all(|kind| condition(status, kind) == "False")
                && condition(status, "MachinesUpToDate") == "True";
            holds(is_quiet, || format!("{kind} {name}: {}", status["conditions"]))
        };
        for cluster in clusters {
            until(&format!("{} is quiet", cluster.id()), LONG, || {
                quiet("KubeadmControlPlane", cluster, "cp")?;
                quiet("MachineDeployment", cluster, "md")
            });
        }
        // A manager that would roll machines begins in its first pass.
        std::thread::sleep(Duration::from_secs(20));
        for cluster in clusters {
            until(&format!("{} is quiet still", cluster.id()), LONG, || {
                quiet("KubeadmControlPlane", cluster, "cp")?;
                quiet("MachineDeployment", cluster, "md")
            });
        }
    }

    fn all_is_well(&self) -> Look<()> {
        for process in [&self.bot.process, &self.reconciler] {
            if let Err(why) = process.is_well() {
                panic!("{why}\n{}", tail(&process.log(), 30));
            }
        }
        Ok(())
    }
}

/// One management cluster, asked before every merge, whose set Capstan installs.
fn settings(uid: &str) -> String {
    format!(
        "managementClusters:\n- name: here\n  uid: {uid}\n  clusters: [\"{CUSTOMER}/*\"]\n  \
         providers: {{path: {FOLDER}, by: capstan}}\n\
         clusters:\n  paths: [\"{CUSTOMER}/*\"]\n\
         upgrade:\n  proposals: {{open: 1000, perHour: 10000}}\n\
         policy: {{provider-gains-rights: warning}}\n"
    )
}
