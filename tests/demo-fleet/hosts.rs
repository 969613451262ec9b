//! A chapter of its own: two tenants share twelve bare-metal hosts in three racks. What Metal3 would do, the demo does by hand.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::story::{heading, say};
use capstan_test_parts::plane::{Plane, metal, reconciler};

const NAMESPACE: &str = "metal";
const PATIENCE: Duration = Duration::from_secs(120);

/// Tells it; nothing where Metal3's definitions are not at hand.
pub(super) fn tell(plane: &Plane) {
    let Some(definitions) = metal::definitions() else {
        return;
    };
    heading(9, "Bare metal: Metal3's kinds come, with twelve hosts in three racks and two tenants");
    reconciler::prepare_namespace(plane, NAMESPACE);
    metal::install(plane, &definitions);
    metal::prepare_namespace(plane, NAMESPACE);
    let hosts = (0..12).map(|number| (NAMESPACE, format!("bm-{number:02}"), format!("r{}", number % 3 + 1)));
    metal::add_hosts(plane, hosts);
    let room = Room { plane };
    room.wish("blue", 30_100, json!({"ControlPlane": {"topologyKey": "rack", "maxPerDomain": 2, "count": {"active": 3, "standby": 1}}}));
    room.wish("red", 30_200, red(2));
    room.until("both have their hosts", || room.is_ready("blue") && room.is_ready("red"));
    say(
        "   Nobody switched anything on: the reconciler saw the kinds. Each control plane is spread over the racks:",
    );
    room.show();
    assert_eq!((room.hosts_of("blue").len(), room.hosts_of("red").len()), (4, 5));

    heading(10, "One tenant grows, asks for more than there is, and shrinks");
    room.wish("red", 30_200, red(4));
    room.until("red grows", || room.hosts_of("red").len() == 7 && room.is_ready("red"));
    room.wish("red", 30_200, red(6));
    room.until("red is told", || room.ready("red").contains("Worker: 6 wanted"));
    assert_eq!(room.hosts_of("red").len(), 7, "all or nothing");
    say(&format!(
        "   6 workers cannot be had, and none is labelled in vain:\n      {}",
        room.ready("red").replace('\n', "\n      ")
    ));
    room.wish("red", 30_200, red(3));
    room.until("red shrinks", || room.hosts_of("red").len() == 6 && room.is_ready("red"));
    room.show();

    heading(11, "A host breaks, and another one takes its place");
    let broken = room.hosts_of("blue").into_iter().next().unwrap_or_default().0;
    metal::set_status(plane, NAMESPACE, &[&broken], "error", "power management error", "available");
    room.until("it is replaced", || {
        !room.hosts_of("blue").contains_key(&broken) && room.hosts_of("blue").len() == 4
    });
    say(&format!("   {broken} could not be switched on. Nobody used it, so blue has another one."));

    heading(12, "Upgrades: with a spare host, and without");
    let blue: Vec<String> = room.hosts_of("blue").into_keys().collect();
    let [spare, old @ ..] = blue.as_slice() else {
        return;
    };
    old.iter().for_each(|host| metal::set_consumer(plane, NAMESPACE, host, Some("blue")));
    metal::set_consumer(plane, NAMESPACE, spare, Some("blue"));
    metal::set_consumer(plane, NAMESPACE, &old[0], None);
    room.until("blue is at rest", || room.is_ready("blue") && room.hosts_of("blue").len() == 4);
    say(&format!(
        "   blue has standby: a new machine took {spare}, then {} became free. No label moved.",
        old[0]
    ));
    let of_red: Vec<String> = room.with_role("red", "ControlPlane");
    of_red.iter().for_each(|host| metal::set_consumer(plane, NAMESPACE, host, Some("red")));
    assert_eq!(room.free("red", "ControlPlane"), [""; 0]);
    say("   red has none: all three labelled hosts run machines, so a fourth one would wait for ever.");
    let mut spared = red(3);
    spared["ControlPlane"]["maxPerDomain"] = 2.into();
    spared["ControlPlane"]["count"]["standby"] = 1.into();
    room.wish("red", 30_200, spared);
    room.until("red has standby", || room.free("red", "ControlPlane").len() == 1);
    say(&format!("   With standby: 1 it gets {}.", room.free("red", "ControlPlane").concat()));

    heading(13, "A tenant goes");
    plane.kubectl(&["delete", "sip", "red", "-n", NAMESPACE, "--wait=false"]);
    room.until("what is in use is kept", || room.ready("red").contains("UnableToDecommission"));
    say(&format!("   {}", room.ready("red")));
    of_red.iter().for_each(|host| metal::set_consumer(plane, NAMESPACE, host, None));
    room.until("red is gone", || room.hosts_of("red").is_empty() && room.try_object("red").is_none());
    let left = plane.kubectl(&[
        "get",
        "deployments,services,secrets,configmaps",
        "-n",
        NAMESPACE,
        "-o",
        "name",
        "-l",
        "sip.airshipit.org/cluster-name=red",
    ]);
    assert_eq!(left.trim(), "");
    say("   Its machines gone, so are its load balancer and its labels; nothing is left.");
    room.show();
}

/// Three in three racks, and so many workers.
fn red(workers: u32) -> Value {
    json!({
        "ControlPlane": {"topologyKey": "rack", "count": {"active": 3}},
        "Worker": {"topologyKey": "rack", "maxPerDomain": 2, "count": {"active": workers}}})
}

struct Room<'p> {
    plane: &'p Plane,
}

impl Room<'_> {
    fn wish(&self, name: &str, port: u16, nodes: Value) {
        let object = json!({
            "apiVersion": "airship.airshipit.org/v1", "kind": "SIPCluster",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"nodes": nodes, "services": {"loadBalancerControlPlane": [
                {"image": "haproxy:2.6", "nodePort": port, "nodeInterfaceId": "oam"}]}}});
        self.plane.apply(&object.to_string());
    }

    fn try_object(&self, name: &str) -> Option<Value> {
        let text = self.plane.try_kubectl(&["get", "sip", name, "-n", NAMESPACE, "-o", "json"], "").ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Reason and message of its condition Ready, where that is of its present generation.
    fn ready(&self, name: &str) -> String {
        let Some(object) = self.try_object(name) else {
            return String::new();
        };
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.iter().find(|one| one["type"] == "Ready");
        let current = ready.filter(|ready| ready["observedGeneration"] == object["metadata"]["generation"]);
        let text = |key: &str| current.and_then(|one| one[key].as_str()).unwrap_or_default();
        format!("{}: {}", text("reason"), text("message"))
    }

    fn is_ready(&self, name: &str) -> bool {
        self.ready(name).starts_with("ReconciliationSucceeded")
    }

    fn hosts(&self) -> Vec<Value> {
        let text = self.plane.kubectl(&["get", "baremetalhosts", "-n", NAMESPACE, "-o", "json"]);
        let list: Value = serde_json::from_str(&text).unwrap();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Its hosts, each with rack, role and whether a machine runs there.
    fn hosts_of(&self, name: &str) -> BTreeMap<String, String> {
        let of = |host: &&Value| host["metadata"]["labels"]["sip.airshipit.org/cluster-name"] == name;
        let told = |host: &Value| {
            let label = |key: &str| host["metadata"]["labels"][key].as_str().unwrap_or_default().to_owned();
            let used = if host["spec"].get("consumerRef").is_some() { ", in use" } else { "" };
            let name = host["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            (name, format!("{}, {}{used}", label("rack"), label("sip.airshipit.org/node-type")))
        };
        self.hosts().iter().filter(of).map(told).collect()
    }

    fn with_role(&self, name: &str, role: &str) -> Vec<String> {
        self.hosts_of(name)
            .into_iter()
            .filter(|(_, told)| told.contains(role))
            .map(|(host, _)| host)
            .collect()
    }

    fn free(&self, name: &str, role: &str) -> Vec<String> {
        let hosts = self.hosts_of(name).into_iter();
        hosts
            .filter(|(_, told)| told.contains(role) && !told.contains("in use"))
            .map(|(host, _)| host)
            .collect()
    }

    fn show(&self) {
        for name in ["blue", "red"] {
            let hosts: Vec<String> =
                self.hosts_of(name).into_iter().map(|(host, told)| format!("{host} ({told})")).collect();
            if !hosts.is_empty() {
                say(&format!("      {name}: {}", hosts.join("; ")));
            }
        }
    }

    fn until(&self, what: &str, done: impl Fn() -> bool) {
        let begun = Instant::now();
        while !done() {
            metal::run_deployments(self.plane, NAMESPACE);
            assert!(
                begun.elapsed() < PATIENCE,
                "{what}: it does not come to that: {} {}",
                self.ready("blue"),
                self.ready("red")
            );
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}
