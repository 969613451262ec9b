//! The rest of the table of attempts, one after the other on one API server: faults of the branch, a cluster, the API
//! server and the state folder. In the middle of each the process is killed, and another one continues.

mod clusters;
mod state_folder;
mod taken_over;
mod tips;

use std::time::Instant;

use jiff::Timestamp;
use serde_json::Value;

use super::{CUSTOMER, HOME, Parts, Town, rows, tail};
use capstan_test_parts::plane::audit::Request;

/// Plain clusters, each with two ConfigMaps.
const CLUSTERS: [&str; 4] = ["one", "two", "three", "four"];

#[tokio::test]
async fn whatever_is_attempted_a_kill_in_its_middle_ends_as_without_it() {
    let Some(town) = Town::found(Parts::Kinds).await else { return };
    let mut table = Table { town, says: 0, last: 0, lines: Vec::new() };
    table.say();
    table.commit("Everything as it should be");
    table.town.reconciler.start();
    table.applied().await;
    tips::attempt(&mut table).await;
    clusters::attempt(&mut table).await;
    taken_over::attempt(&mut table).await;
    state_folder::attempt(&mut table).await;
    println!("{}", table.lines.join("\n"));
}

/// What was attempted so far, and what the ConfigMaps say.
struct Table {
    town: Town,
    says: usize,
    /// The last that was said.
    last: usize,
    lines: Vec<String>,
}

impl Table {
    /// Has every ConfigMap say something that none said before.
    fn say(&mut self) {
        self.last += 1;
        self.says = self.last;
        for name in CLUSTERS {
            for (path, text) in rows::plain(CUSTOMER, name) {
                let says = format!("key: \"{}\"", self.says);
                self.town.repository.write(&path, &text.replace("key: \"1\"", &says));
            }
        }
    }

    /// Commits what was written, and asks for a look at it.
    fn commit(&self, message: &str) {
        let claims = self.town.claims(&[]);
        self.town.repository.write(".capstan.yaml", &claims);
        self.town.repository.commit_all(message);
        self.town.ask();
    }

    /// Waits until every ConfigMap of the plain clusters says what was said last, and they are done.
    async fn applied(&self) {
        self.applied_but(&[]).await;
    }

    /// The same of all but these.
    async fn applied_but(&self, but: &[&str]) {
        let wanted = self.says.to_string();
        let names = || CLUSTERS.iter().filter(|name| !but.contains(name));
        let missing = self
            .town
            .wait(async || {
                let statuses = self.town.statuses().await;
                let is_done = |name: &&&str| {
                    let status = statuses.get(&format!("{CUSTOMER}-{name}"));
                    status.is_some_and(|status| rows::ready_and_reasons(status).0 == "True Done")
                };
                let mut missing: Vec<String> =
                    names().filter(|name| !is_done(name)).map(|name| format!("{name} is not done")).collect();
                for map in names().flat_map(|name| ["a", "b"].map(|part| format!("{name}-{part}"))) {
                    if self.says_of(&map).as_ref() != Some(&wanted) {
                        missing.push(format!("{map} does not say {wanted}"));
                    }
                }
                missing
            })
            .await;
        assert_eq!(missing, [""; 0], "{}", tail(&self.town.reconciler.log(), 30));
    }

    /// What a ConfigMap says.
    fn says_of(&self, name: &str) -> Option<String> {
        let path = ["get", "configmap", name, "-n", CUSTOMER, "--ignore-not-found", "-o"];
        let said = self.town.plane.kubectl(&[&path[..], &["jsonpath={.data.key}"]].concat());
        (!said.is_empty()).then_some(said)
    }

    /// The requests since then of the reconciler and of the service account that it impersonates, except for Leases.
    fn asked(&self, since: Timestamp) -> Vec<Request> {
        let is_ours =
            |request: &Request| request.is_by(HOME, "capstan") || request.is_by(CUSTOMER, "capstan-applier");
        let mut all = self.town.plane.audit();
        all.retain(|request| request.at >= since && is_ours(request) && request.resource != "leases");
        all
    }

    /// What was written to customers' objects since.
    fn written(&self, since: Timestamp) -> Vec<String> {
        let asked = self.asked(since).into_iter();
        let of_customer = asked.filter(|request| request.is_write() && request.namespace == CUSTOMER);
        of_customer.filter(|request| request.code < 300).map(|request| request.words()).collect()
    }

    /// What was deleted since, as `resource name`.
    fn deleted(&self, since: Timestamp) -> Vec<String> {
        let asked = self.asked(since).into_iter().filter(|request| request.verb.starts_with("delete"));
        asked
            .filter(|request| request.code < 300 && !request.dry_run)
            .map(|request| format!("{} {}", request.resource, request.name))
            .collect()
    }

    /// Waits for the first request of that kind, kills the process just then and starts the next one.
    async fn kill_at(&self, since: Timestamp, is_middle: impl Fn(&Request) -> bool) -> String {
        let begun = Instant::now();
        loop {
            if let Some(request) = self.asked(since).into_iter().find(&is_middle) {
                self.town.reconciler.kill();
                self.town.reconciler.start();
                return request.words();
            }
            let log = || tail(&self.town.reconciler.log(), 30);
            assert!(begun.elapsed() < super::PATIENCE, "nothing is asked\n{}", log());
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Waits until the Fleet says so of its source.
    async fn source_is(&self, reason: &str) {
        let path = "jsonpath={.status.conditions[?(@.type==\"SourceReady\")].reason}";
        let missing = self
            .town
            .wait(async || {
                let said = self.town.plane.kubectl(&["get", "fleet", "fleet", "-n", HOME, "-o", path]);
                (said != reason).then_some(said).into_iter().collect()
            })
            .await;
        assert_eq!(missing, [""; 0], "{}", tail(&self.town.reconciler.log(), 30));
    }

    /// Waits until a ManagedCluster has this condition `Ready`, and its reasons begin with these texts in this order.
    async fn wait_for_status(&self, name: &str, ready: &str, says: &[&str]) {
        let missing = self
            .town
            .wait(async || {
                let statuses = self.town.statuses().await;
                let told = statuses.get(&format!("{CUSTOMER}-{name}")).map(rows::ready_and_reasons);
                let is_so = told.as_ref().is_some_and(|(is, said)| {
                    is == ready
                        && said.len() == says.len()
                        && said.iter().zip(says).all(|(said, begins)| said.starts_with(begins))
                });
                (!is_so).then(|| format!("{name}: {told:?}")).into_iter().collect()
            })
            .await;
        assert_eq!(missing, [""; 0], "not {ready} {says:?}\n{}", tail(&self.town.reconciler.log(), 30));
    }

    /// A field of a live object of the customer, as text.
    fn field(&self, kind: &str, name: &str, path: &str) -> String {
        let path = format!("jsonpath={{{path}}}");
        self.town.plane.kubectl(&["get", kind, name, "-n", CUSTOMER, "-o", &path])
    }

    /// The UIDs of the customer's Clusters, in the order of their names.
    fn uids(&self) -> String {
        let path = "jsonpath={.items[*].metadata.uid}";
        self.town.plane.kubectl(&["get", "clusters", "-n", CUSTOMER, "-o", path])
    }

    /// The customer's objects of a kind.
    fn live(&self, kind: &str) -> Vec<String> {
        let listed = self.town.plane.kubectl(&["get", kind, "-n", CUSTOMER, "-o", "json"]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let items = listed["items"].as_array().unwrap();
        items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    fn note(&mut self, attempt: &str, outcome: &str, killed_at: &str) {
        self.lines.push(format!("{attempt}: {outcome} (killed at {killed_at})"));
    }
}

/// A write of a customer's object.
fn is_applied(request: &Request) -> bool {
    request.is_write() && request.namespace == CUSTOMER
}

/// A status of the Fleet.
fn is_fleet_status(request: &Request) -> bool {
    request.is_write() && request.resource == "fleets/status" && request.code < 300
}

/// A status of the ManagedCluster of a folder.
fn is_status_of(name: &str) -> impl Fn(&Request) -> bool {
    move |request| {
        request.is_write()
            && request.resource == "managedclusters/status"
            && request.name == format!("{CUSTOMER}-{name}")
    }
}
