//! The program on a real API server; but for `adopted` with Cluster API's kinds and nobody who acts upon them.
//!
//! `killed` and `drifting` have a server of their own each, and so has `adopted`, with Cluster API's webhooks. What folders try (`attempts`) and what Git does to them (`deletions`) happens
//! beside one another, in one commit on one server: so it is also shown that no folder harms another. `sources`
//! has a Fleet of its own there, behind ssh, and `fleets` one that renders what the first has. `moved_site` applies what the inventory proposes. `poisoned`, `leading`,
//! `hosts`, `interrupted`, `live_inventory`, `cloud_objects` and `provider_sets` have a server of their own each; `workloads`, `services` and
//! `owners` have two, one inside the other's clusters.

mod adopted;
mod attempts;
mod cloud_objects;
mod deletions;
mod drifting;
mod fleets;
mod hosts;
mod interrupted;
mod killed;
mod leading;
pub(crate) mod live_inventory;
mod moved_site;
mod oidc;
mod owners;
mod poisoned;
mod provider_sets;
mod services;
mod sources;
mod workloads;

use capstan_test_support::PATIENCE;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use capstan_k8s::KubeCluster;
use capstan_ports::{ApiKind, ApiObject, As, ManagementCluster as _};
use capstan_reconciler::reconcile::resources::ManagedClusterStatus;
use capstan_yaml::YamlFile;
use jiff::Timestamp;
use serde_json::Value;

use super::rows::{self, CUSTOMER};
use capstan_test_parts::plane::process::Process;
use capstan_test_parts::plane::reconciler::{self, HOME};
use capstan_test_parts::plane::{Parts, Plane, tail};
use capstan_test_parts::repository::TestRepository;

/// The other customer of this management cluster.
const OTHER_CUSTOMER: &str = "newton";

/// So often, and for so long at most, a process is killed while it applies what folders try.
const KILLS: usize = 8;
const KILLING: Duration = Duration::from_secs(60);

#[tokio::test]
async fn what_folders_try_and_what_git_does_to_them_on_a_real_api_server() {
    let Some(town) = Town::found(Parts::Kinds).await else { return };
    attempts::settle(&town);
    deletions::settle(&town);
    moved_site::settle(&town);
    let by_ssh = sources::settle(&town);
    town.commit("Everything as it should be", &[]);
    let unready = ["pool", "plane-renamed", "plane-lost", "waiting"];
    town.until("everything is applied", &unready, |name, status| {
        let told = rows::ready_and_reasons(status);
        if told == ("True Done".to_owned(), Vec::new()) { Ok(()) } else { Err(format!("{name}: {told:?}")) }
    })
    .await;
    let _second = fleets::settle(&town);
    deletions::prepare(&town).await;
    let aims = attempts::aims(&town).await;
    let uid = moved_site::uid(&town).await;

    let since = Timestamp::now();
    attempts::make(&town);
    deletions::make(&town);
    moved_site::make(&town);
    town.commit("What folders try, and what becomes of them", &deletions::claims());
    town.opened().await;
    let begun = town.kill_while_applying(since).await;
    println!("killed while these were begun: {}", begun.into_iter().collect::<Vec<_>>().join(", "));
    deletions::resume(&town);
    let wrong = town
        .wait(async || {
            let statuses = town.statuses().await;
            let wrong = attempts::wrong(&statuses).into_iter().chain(deletions::wrong(&statuses));
            wrong.chain(fleets::wrong(&statuses)).chain(moved_site::wrong(&statuses)).collect()
        })
        .await;
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), tail(&town.reconciler.log(), 20));
    // Another pass over every cluster gives the reconciler the time to change a decision about a deletion.
    town.look_again().await;
    attempts::judge(&town, &aims, since).await;
    moved_site::judge(&town, &uid).await;
    deletions::judge(&town, since);
    deletions::finish(&town, since).await;
    deletions::empty_tree(&town).await;
    if let Some(by_ssh) = by_ssh {
        sources::judge(&town, &by_ssh).await;
    }
}

/// The status of each ManagedCluster, by name.
type Statuses = BTreeMap<String, ManagedClusterStatus>;

/// A management cluster of two customers whose folders are in one repository.
struct Town {
    plane: Plane,
    live: KubeCluster,
    repository: TestRepository,
    reconciler: Process,
    folder: tempfile::TempDir,
}

impl Town {
    async fn found(parts: Parts) -> Option<Self> {
        let plane = Plane::start(parts)?;
        reconciler::install(&plane);
        let (repository, folder) = (TestRepository::new(), tempfile::tempdir().unwrap());
        for customer in [CUSTOMER, OTHER_CUSTOMER] {
            reconciler::prepare_namespace(&plane, customer);
        }
        plane.apply(&format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet, namespace: {HOME}}}\nspec:\n  managementCluster: mc-eu\n  source: {{git: {{url: \"file://{}\"}}}}\n",
            repository.path().display()
        ));
        let connection = capstan_k8s::connect(Some(&plane.admin_kubeconfig())).await.unwrap();
        let reconciler = reconciler::process(&plane, folder.path());
        let live = KubeCluster::new(&connection);
        Some(Self { plane, live, repository, reconciler, folder })
    }

    fn write<'f>(&self, files: impl IntoIterator<Item = (&'f str, &'f str)>) {
        files.into_iter().for_each(|(path, text)| self.repository.write(path, text));
    }

    /// `.capstan.yaml` of everything that was written.
    fn claims(&self, claims: &[(String, rows::Claim)]) -> String {
        let folders = self.repository.git(&["ls-files", "-o", "-c", "--", "*/*/*"]);
        let mut claimed: BTreeMap<String, rows::Claim> = folders
            .lines()
            .filter_map(|path| path.splitn(3, '/').take(2).collect::<Vec<_>>().join("/").into())
            .map(|folder| (folder, rows::Claim::Here))
            .collect();
        claimed.extend(claims.iter().cloned());
        let claimed: Vec<_> = claimed.into_iter().collect();
        rows::settings(&self.plane.uid(), &claimed)
    }

    /// Commits what was written, and asks for a look at it.
    fn commit(&self, message: &str, claims: &[(String, rows::Claim)]) {
        self.repository.write(".capstan.yaml", &self.claims(claims));
        self.repository.commit_all(message);
        self.reconciler.start();
        self.ask();
    }

    /// Waits until the last commit is the one that is applied from.
    async fn opened(&self) {
        let head = self.repository.git(&["rev-parse", "HEAD"]);
        let path = "jsonpath={.status.commit}";
        let missing = self
            .wait(async || {
                let commit = self.plane.kubectl(&["get", "fleet", "fleet", "-n", HOME, "-o", path]);
                (commit != head).then_some(commit).into_iter().collect()
            })
            .await;
        assert_eq!(missing, [""; 0], "{head} is not opened");
    }

    /// Asks for a look at everything now.
    fn ask(&self) {
        let fleet = ["annotate", "--overwrite", "fleet", "fleet", "-n", HOME, "capstan.dev/reconcile=now"];
        self.plane.kubectl(&fleet);
    }

    /// The status of each ManagedCluster, by name.
    async fn statuses(&self) -> Statuses {
        let kind = ApiKind {
            group: "capstan.dev".to_owned(),
            version: Some("v1alpha1".to_owned()),
            kind: "ManagedCluster".to_owned(),
        };
        let all = self.live.list(&As::Reconciler, &kind, Some(HOME), &[]).await.unwrap();
        let status = |object: &Value| {
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            let status = object.get("status").cloned().unwrap_or_else(|| serde_json::json!({}));
            (name, serde_json::from_value(status).unwrap())
        };
        all.iter().map(status).collect()
    }

    /// Waits until every folder in Git but these has a status of which that holds.
    async fn until(
        &self,
        what: &str,
        but: &[&str],
        holds: impl Fn(&str, &ManagedClusterStatus) -> Result<(), String>,
    ) {
        let files = self.repository.git(&["ls-files", "--", "*/*/*"]);
        let mut names: Vec<String> = files
            .lines()
            .map(|path| path.splitn(3, '/').take(2).collect::<Vec<_>>())
            .filter(|folder| !but.contains(&folder[1]))
            .map(|folder| folder.join("-"))
            .collect();
        names.dedup();
        let missing = self
            .wait(async || {
                let statuses = self.statuses().await;
                let look = |name: &String| match statuses.get(name) {
                    Some(status) => holds(name, status).err(),
                    None => Some(format!("{name} has no ManagedCluster")),
                };
                names.iter().filter_map(look).collect()
            })
            .await;
        assert!(missing.is_empty(), "{what}: {}\n{}", missing.join("\n"), tail(&self.reconciler.log(), 30));
    }

    /// Looks until nothing is missing; what is missing still when nobody can wait any longer.
    async fn wait(&self, mut missing: impl AsyncFnMut() -> Vec<String>) -> Vec<String> {
        let begun = Instant::now();
        loop {
            self.reconciler.is_well().unwrap();
            let missing = missing().await;
            if missing.is_empty() || begun.elapsed() > PATIENCE {
                return missing;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Kills and restarts the process, `KILLS` times at most. Each time it first waits until the process has written a
    /// status that no process before it had written. Returns the names of those ManagedClusters: the process was killed
    /// soon after it began with them.
    async fn kill_while_applying(&self, since: Timestamp) -> BTreeSet<String> {
        let (begun, mut all, mut started) = (Instant::now(), BTreeSet::new(), since);
        for _ in 0..KILLS {
            loop {
                let written = self.plane.audit().into_iter().filter(|request| {
                    request.at >= started
                        && request.is_write()
                        && request.resource == "managedclusters/status"
                });
                let new: BTreeSet<String> =
                    written.map(|request| request.name).filter(|name| !all.contains(name)).collect();
                if !new.is_empty() {
                    all.extend(new);
                    break;
                }
                if begun.elapsed() > KILLING {
                    return all;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            self.reconciler.kill();
            started = Timestamp::now();
            self.reconciler.start();
        }
        all
    }

    /// Waits until the reconciler has read the Cluster of every applied folder once more.
    async fn look_again(&self) {
        let since = Timestamp::now();
        self.ask();
        let missing = self
            .wait(async || {
                let statuses = self.statuses().await;
                let applied =
                    statuses.values().filter(|status| rows::ready_and_reasons(status).0 == "True Done");
                let objects = applied.flat_map(|status| status.inventory.objects());
                let clusters = objects.filter(|object| object.kind == "Cluster");
                // The Fleet behind ssh is not asked.
                let names = clusters.map(|cluster| cluster.name.clone()).filter(|name| name != "by-ssh");
                let audit = self.asked(since);
                let is_read = |name: &String| {
                    let mut of_name = audit.iter().filter(|request| request.name == *name);
                    of_name.any(|request| request.verb == "get" && request.resource == "clusters")
                };
                names.filter(|name| !is_read(name)).collect()
            })
            .await;
        assert!(missing.is_empty(), "nobody looks at {missing:?} again");
    }

    /// A live object, read with all rights.
    async fn object(&self, manifest: &Value) -> Option<Value> {
        let object = ApiObject::of(manifest).unwrap();
        self.live.read(&As::Reconciler, &object).await.unwrap()
    }

    /// What the reconciler asked for with a customer's rights.
    fn asked(&self, since: Timestamp) -> Vec<capstan_test_parts::plane::audit::Request> {
        let mut all = self.plane.audit();
        all.retain(|request| {
            request.at >= since
                && request.user == format!("system:serviceaccount:{HOME}:capstan")
                && request.impersonated.is_some()
        });
        all
    }
}

/// The first document of a file.
fn document(text: &str) -> Value {
    YamlFile::read(text).unwrap().documents()[0].root.value().clone()
}
