//! A hand on ConfigMaps and Secrets, with the rights that `deploy/` grants and no others: seen by a watch in the
//! namespace, as the account that applies there; where that may not watch, at the interval.

use capstan_test_support::PATIENCE;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use capstan_test_support::tally;
use jiff::Timestamp;

use capstan_test_parts::plane::audit::Request;
use capstan_test_parts::plane::process::Process;
use capstan_test_parts::plane::reconciler::{self, HOME};
use capstan_test_parts::plane::{Parts, Plane, tail};
use capstan_test_parts::repository::TestRepository;

/// Whose account may watch, and whose interval is an hour.
const WATCHED: &str = "gauss";
/// Whose account may not, and whose interval is short.
const UNWATCHED: &str = "newton";

struct Ground {
    plane: Plane,
    process: Process,
}

impl Ground {
    fn wait(&self, what: &str, done: &dyn Fn() -> bool) {
        let begun = Instant::now();
        while !done() {
            self.process.is_well().unwrap();
            let log = || tail(&self.process.log(), 30);
            assert!(begun.elapsed() < PATIENCE, "{what} does not happen:\n{}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn value(&self, kind: &str, name: &str, namespace: &str, path: &str) -> String {
        let path = format!("jsonpath={{{path}}}");
        self.plane.try_kubectl(&["get", kind, name, "-n", namespace, "-o", &path], "").unwrap_or_default()
    }

    fn patch(&self, kind: &str, name: &str, namespace: &str, patch: &str) {
        self.plane.kubectl(&["patch", kind, name, "-n", namespace, "--type=merge", "-p", patch]);
    }

    /// Requests in the name of those who apply, since a moment.
    fn asked(&self, since: Timestamp) -> Vec<Request> {
        let mut all = self.plane.audit();
        all.retain(|request| request.at >= since && request.impersonated.is_some());
        all
    }

    fn turns(&self, cluster: &str) -> usize {
        let audit = self.plane.audit();
        let reads = audit.iter().filter(|request| request.verb == "get" && request.name == cluster);
        reads.filter(|request| request.resource == "managedclusters").count()
    }
}

/// A repository with one cluster of a ConfigMap that is changed, one that is deleted, and a Secret; and its Fleet.
fn settle(plane: &Plane, customer: &str, interval: u32) -> TestRepository {
    let repository = TestRepository::new();
    let uid = plane.uid();
    repository.write(
        ".capstan.yaml",
        &format!("managementClusters:\n- {{name: here, uid: {uid}, clusters: ['{customer}/*']}}\n"),
    );
    repository.write(
        &format!("{customer}/web/base/all.yaml"),
        &format!(
            "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: web, namespace: {customer}}}\nspec: {{paused: true}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: changed}}\ndata: {{key: git}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: deleted}}\ndata: {{key: git}}\n---\napiVersion: v1\nkind: Secret\nmetadata: {{name: login}}\nstringData: {{password: git}}\n"
        ),
    );
    repository.commit_all("A cluster");
    plane.apply(&format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: {customer}, namespace: {HOME}}}\nspec:\n  managementCluster: here\n  intervalSeconds: {interval}\n  source: {{git: {{url: \"file://{}\", branch: main}}}}\n",
        repository.path().display()
    ));
    repository
}

#[test]
fn what_a_hand_does_is_repaired_at_once_where_the_folders_account_may_watch() {
    let Some(plane) = Plane::start(Parts::Kinds) else { return };
    reconciler::install(&plane);
    for customer in [WATCHED, UNWATCHED] {
        reconciler::prepare_namespace(&plane, customer);
    }
    // As it was granted by earlier versions of deploy/applier.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/applier/applier.yaml");
    let granted = std::fs::read_to_string(file).unwrap();
    let narrower = granted.replace("[get, list, watch, create,", "[get, create,");
    assert_ne!(narrower, granted);
    let apply = ["apply", "--server-side", "--force-conflicts", "--field-manager=admin", "-f", "-", "-n"];
    plane.kubectl_with(&[&apply[..], &[UNWATCHED]].concat(), &narrower);
    let _repositories = [settle(&plane, WATCHED, 3600), settle(&plane, UNWATCHED, 15)];
    let folder = tempfile::tempdir().unwrap();
    let process = reconciler::process(&plane, folder.path());
    let ground = Ground { plane, process };
    let begun = Timestamp::now();
    ground.process.start();
    let ready = ".status.conditions[?(@.type==\"Ready\")].status";
    for customer in [WATCHED, UNWATCHED] {
        ground.wait("everything is applied", &|| {
            ground.value("managedcluster", &format!("{customer}-web"), HOME, ready) == "True"
        });
    }

    // The watch may not have begun. It does not report a change before that, so the change is repeated.
    let by_hand = |change: &dyn Fn(u32), is_repaired: &dyn Fn() -> bool| {
        for number in 0..30 {
            change(number);
            let changed = Instant::now();
            while changed.elapsed() < Duration::from_secs(6) {
                if is_repaired() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        panic!("only the interval sees it:\n{}", tail(&ground.process.log(), 30));
    };
    by_hand(
        &|number| {
            ground.patch("configmap", "changed", WATCHED, &format!("{{\"data\":{{\"key\":\"{number}\"}}}}"))
        },
        &|| ground.value("configmap", "changed", WATCHED, ".data.key") == "git",
    );
    by_hand(
        &|number| {
            ground.patch(
                "secret",
                "login",
                WATCHED,
                &format!("{{\"stringData\":{{\"password\":\"{number}\"}}}}"),
            );
        },
        &|| ground.value("secret", "login", WATCHED, ".data.password") == "Z2l0",
    );
    for (kind, name) in [("configmap", "deleted"), ("secret", "login")] {
        let uid = ground.value(kind, name, WATCHED, ".metadata.uid");
        ground.plane.kubectl(&["delete", kind, name, "-n", WATCHED]);
        ground.wait("it is made again", &|| {
            let now = ground.value(kind, name, WATCHED, ".metadata.uid");
            !now.is_empty() && now != uid
        });
    }
    // The reconciler does not react to its own writes, nor to objects that it did not apply.
    let turns = Cell::new(0);
    ground.wait("it rests", &|| {
        std::thread::sleep(tally::wait(Duration::from_secs(4)));
        let before = turns.replace(ground.turns("gauss-web"));
        before == turns.get()
    });
    let strange = "{apiVersion: v1, kind: ConfigMap, metadata: {name: strange, namespace: gauss}}";
    ground.plane.apply(strange);
    std::thread::sleep(tally::wait(Duration::from_secs(3)));
    assert_eq!(ground.turns("gauss-web"), turns.get());

    // Without the right the interval does it, and nobody asks for it again and again.
    ground.patch("configmap", "changed", UNWATCHED, "{\"data\":{\"key\":\"hand\"}}");
    ground.patch("secret", "login", UNWATCHED, "{\"stringData\":{\"password\":\"hand\"}}");
    ground.wait("the interval repairs it", &|| {
        ground.value("configmap", "changed", UNWATCHED, ".data.key") == "git"
            && ground.value("secret", "login", UNWATCHED, ".data.password") == "Z2l0"
    });
    let minutes = usize::try_from(Timestamp::now().duration_since(begun).as_secs() / 60).unwrap();
    for resource in ["configmaps", "secrets"] {
        let refused = ground.asked(begun).into_iter().filter(|request| {
            request.code == 403 && request.namespace == UNWATCHED && request.resource == resource
        });
        let refused = refused.count();
        assert!(
            (1..=2 + 2 * minutes).contains(&refused),
            "{resource}: refused {refused} times in {minutes} min"
        );
    }
    let log = ground.process.log();
    assert_eq!(log.matches("may not be watched as the service account").count(), 2, "{log}");
    assert!(!log.contains("cannot be watched"), "{log}");

    // Room for one: one of the two kinds is watched, and it is said what to do for the other.
    let since = Timestamp::now();
    ground.process.kill();
    let flags = ["--namespace-watches", "1"];
    let narrow = reconciler::process_with(&ground.plane, folder.path(), &flags);
    let ground = Ground { process: narrow, ..ground };
    ground.process.start();
    ground.wait("it says that there is no room", &|| {
        ground.process.log().contains("more namespaces than Capstan watches one by one")
    });
    let watches = || -> BTreeSet<String> {
        let watches = ground.asked(since).into_iter();
        let watches = watches.filter(|request| request.verb == "watch" && request.code == 200);
        watches.map(|request| format!("{} in {}", request.resource, request.namespace)).collect()
    };
    ground.wait("one is watched", &|| !watches().is_empty());
    let turns = ground.turns("gauss-web");
    ground.plane.kubectl(&[
        "annotate",
        "managedcluster",
        "gauss-web",
        "-n",
        HOME,
        "capstan.dev/reconcile=now",
    ]);
    ground.wait("it goes on", &|| ground.turns("gauss-web") > turns);
    assert_eq!(watches().len(), 1, "{:?}", watches());
}
