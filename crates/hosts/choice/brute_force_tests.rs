//! Random fleets of up to eight hosts, held against every assignment that there is.

use capstan_test_support::random::{Random, seed};
use serde_json::json;

use super::Choice;
use super::testing::{broken, choice, chosen_lines, cluster, had, host, used, with};
use crate::cluster::{NotedHost, SipCluster};
use crate::host::Host;

const FLEETS: usize = 2_000;

fn fleet(random: &mut Random) -> (SipCluster, Vec<Host>) {
    let names = ["ControlPlane", "Gpu", "Worker"];
    let mut nodes = serde_json::Map::new();
    for name in &names[..1 + random.below(3)] {
        let mut role = json!({"count": {"active": random.below(4), "standby": random.below(3)}});
        if random.percent(70) {
            role["topologyKey"] = json!(["rack", "row"][random.below(2)]);
            if random.percent(40) {
                role["maxPerDomain"] = json!(1 + random.below(3));
            }
        }
        if random.percent(60) {
            role["labelSelector"] = json!({"matchLabels": {(["x", "y"][random.below(2)]): "1"}});
        }
        nodes.insert((*name).to_owned(), role);
    }
    let mut hosts = Vec::new();
    for number in 0..random.below(9) {
        let mut one = host(&format!("h{number}"), ["r1", "r2", "r3", ""][random.below(4)]);
        for label in ["x", "y"] {
            if random.percent(60) {
                one = with(one, label, "1");
            }
        }
        if random.percent(80) {
            one = with(one, "row", ["w1", "w2"][random.below(2)]);
        }
        if random.percent(20) {
            one = had(one, "t", names[random.below(3)]);
        }
        if random.percent(10) {
            one = used(one, "someone");
        }
        if random.percent(10) {
            one = broken(one, "registration error");
        }
        hosts.push(one);
    }
    (cluster("t", nodes.into()), hosts)
}

/// What any assignment can reach: whether all active ones, and then how many hosts at most.
struct Search<'a> {
    cluster: &'a SipCluster,
    free: Vec<&'a Host>,
    /// For each role: hosts that it has, and those of them in each domain.
    has: Vec<Vec<&'a Host>>,
    best: Option<usize>,
}

impl<'a> Search<'a> {
    fn of(cluster: &'a SipCluster, hosts: &'a [Host]) -> Self {
        let mine = |host: &&Host| host.labelled_for() == Some(cluster.named());
        let sound = |host: &&Host| host.is_used() || host.error.is_none();
        let has =
            cluster.spec.nodes.keys().map(|role| {
                hosts.iter().filter(mine).filter(sound).filter(|host| host.role() == role).collect()
            });
        let free = hosts.iter().filter(|host| !mine(host) && host.why_not_free().is_none()).collect();
        let mut search = Self { cluster, free, has: has.collect(), best: None };
        search.go(0, 0);
        search
    }

    fn go(&mut self, at: usize, taken: usize) {
        let Some(host) = self.free.get(at).copied() else {
            let counts = self.cluster.spec.nodes.values().map(|role| role.count.active());
            if counts.zip(&self.has).all(|(active, has)| has.len() >= active) {
                self.best = self.best.max(Some(taken));
            }
            return;
        };
        self.go(at + 1, taken);
        for (number, role) in self.cluster.spec.nodes.values().enumerate() {
            let has = &self.has[number];
            let fits = has.len() < role.count.wanted()
                && role.label_selector.matches(&host.metadata.labels)
                && role.topology_key().is_none_or(|key| {
                    let domain = host.domain(key);
                    let there = has.iter().filter(|other| other.domain(key) == domain).count();
                    domain.is_some() && there < role.most_per_domain()
                });
            if fits {
                self.has[number].push(host);
                self.go(at + 1, taken + 1);
                self.has[number].pop();
            }
        }
    }
}

#[test]
fn as_many_as_any_assignment_and_never_against_the_rules() {
    let seed = seed();
    println!("CAPSTAN_SEED={seed}");
    let mut random = Random::new(seed);
    let (mut found, mut short, mut scarce) = (0, 0, 0);
    for number in 0..FLEETS {
        let (cluster, hosts) = fleet(&mut random);
        let chosen = choice(&cluster, &hosts);
        let context = || format!("seed {seed}, fleet {number}: {cluster:#?}\n{hosts:#?}\n{chosen:#?}");
        let search = Search::of(&cluster, &hosts);
        let labelled =
            |name: &str| hosts.iter().any(|host| host.metadata.name == name && host.labelled_for().is_some());
        let new: Vec<_> = chosen.hosts.iter().filter(|one| !labelled(&one.name)).collect();
        match search.best {
            None => {
                assert!(!chosen.too_few.is_empty() && new.is_empty(), "{}", context());
                short += 1;
            }
            Some(most) => {
                assert!(chosen.too_few.is_empty(), "{}", context());
                assert_eq!(new.len(), most, "{}", context());
                found += 1;
                scarce += usize::from(!chosen.no_standby.is_empty());
            }
        }
        for one in &new {
            let role = &cluster.spec.nodes[&one.role];
            let of_host = |name: &str| hosts.iter().find(|host| host.metadata.name == name).unwrap();
            let host = of_host(&one.name);
            assert!(host.why_not_free().is_none(), "{}", context());
            assert!(role.label_selector.matches(&host.metadata.labels), "{}", context());
            if let Some(key) = role.topology_key() {
                let mates = chosen.hosts.iter().filter(|mate| mate.role == one.role);
                let same = mates.filter(|mate| of_host(&mate.name).domain(key) == host.domain(key)).count();
                assert!(host.domain(key).is_some() && same <= role.most_per_domain(), "{}", context());
            }
        }
        let mut uids: Vec<_> = chosen.hosts.iter().map(|one| &one.uid).collect();
        uids.dedup();
        assert_eq!(uids.len(), chosen.hosts.len(), "{}", context());
        let in_use = hosts.iter().filter(|host| host.is_used() && host.labelled_for().is_some());
        for host in in_use {
            assert!(chosen.hosts.iter().any(|one| one.name == host.metadata.name), "{}", context());
        }
    }
    // The fleets are of all sorts.
    assert!(found > 300 && short > 300 && scarce > 100, "{found} {short} {scarce}");
}

#[test]
fn the_order_of_facts_means_nothing() {
    let seed = seed();
    println!("CAPSTAN_SEED={seed}");
    let mut random = Random::new(seed);
    for number in 0..300 {
        let (cluster, mut hosts) = fleet(&mut random);
        let first = choice(&cluster, &hosts);
        for _ in 0..4 {
            for at in (1..hosts.len()).rev() {
                hosts.swap(at, random.below(at + 1));
            }
            assert_eq!(choice(&cluster, &hosts), first, "seed {seed}, fleet {number}");
        }
    }
}

/// What was chosen, noted and labelled is chosen again: nothing moves. A host that one role gives back is free for another, so
/// that comes to rest a pass later.
#[test]
fn a_choice_that_was_carried_out_is_at_rest() {
    let seed = seed();
    println!("CAPSTAN_SEED={seed}");
    let mut random = Random::new(seed);
    for number in 0..FLEETS {
        let (mut cluster, mut hosts) = fleet(&mut random);
        let mut chosen = choice(&cluster, &hosts);
        for _ in 0..2 {
            carry_out(&chosen, &mut cluster, &mut hosts);
            let next = choice(&cluster, &hosts);
            let stay = |one: &NotedHost| {
                next.hosts.iter().any(|other| (&other.uid, &other.role) == (&one.uid, &one.role))
            };
            assert!(chosen.hosts.iter().all(stay), "seed {seed}, fleet {number}: {chosen:#?}\n{next:#?}");
            chosen = next;
        }
        carry_out(&chosen, &mut cluster, &mut hosts);
        let again = choice(&cluster, &hosts);
        assert_eq!(
            (chosen_lines(&again), again.released.len()),
            (chosen_lines(&chosen), 0),
            "seed {seed}, fleet {number}"
        );
    }
}

fn carry_out(chosen: &Choice, cluster: &mut SipCluster, hosts: &mut [Host]) {
    cluster.status.hosts.clone_from(&chosen.hosts);
    for host in hosts {
        let name = host.metadata.name.clone();
        if let Some(one) = chosen.hosts.iter().find(|one| one.name == name) {
            *host = had(host.clone(), "t", &one.role);
        } else if chosen.released.iter().any(|one| one.host.name == name) {
            host.metadata.labels.retain(|key, _| !key.starts_with("sip.airshipit.org/"));
        }
    }
}
