//! Whole passes over a cluster in memory, killed after any step and within any: the end is always the same.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::object::ObjectId;
use capstan_providers::ProviderKind;

use super::super::{
    DesiredProvider, InstallPhase, InstallStage, ObjectFit, ObjectsLook, ProviderFacts, ProviderRecord,
    ProviderStep, Revision, SeenObject, Stopped, is_definition, next,
};
use super::{after, available, components, definition, deployment, provider, revision, role, webhooks};
use crate::applying::InventoryObject;

/// A random number, the next after each; the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// What an API server holds of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Live {
    /// The digest of what was applied.
    content: String,
    replicas: i64,
    stored: BTreeSet<&'static str>,
}

/// A management cluster.
#[derive(Debug, Clone, Default)]
struct Cluster {
    objects: BTreeMap<ObjectId, Live>,
    records: BTreeMap<ObjectId, ProviderRecord>,
    /// How often anything was written.
    writes: usize,
}

/// A provider object.
#[derive(Debug, Clone)]
struct Asked {
    kind: ProviderKind,
    name: &'static str,
    version: &'static str,
    digest: &'static str,
    objects: Vec<ObjectId>,
    /// What each definition of it serves.
    versions: &'static [&'static str],
}

impl Asked {
    fn id(&self) -> ObjectId {
        provider(self.kind, self.name)
    }
}

fn asked(name: &'static str, kind: ProviderKind, version: &'static str, digest: &'static str) -> Asked {
    let mut objects = vec![definition(name), role(name), webhooks(name), deployment(name)];
    let versions: &[&str] = match version {
        "v1.0.0" => {
            objects.push(role(&format!("{name}-old")));
            &["v1alpha4", "v1beta1"]
        }
        _ => &["v1beta1", "v1beta2"],
    };
    Asked { kind, name, version, digest, objects, versions }
}

impl Cluster {
    fn facts(&self, all: &[Asked]) -> Vec<ProviderFacts> {
        let of = |asked: &Asked| {
            let record = self.records.get(&asked.id()).cloned();
            let inventory =
                record.iter().flat_map(|record| record.inventory.objects()).map(InventoryObject::id);
            let ids: BTreeSet<ObjectId> = asked.objects.iter().cloned().chain(inventory).collect();
            let look: ObjectsLook = ids.into_iter().map(|id| (id.clone(), self.seen(asked, &id))).collect();
            let wanted = components(revision(asked.version, asked.digest), &asked.objects);
            ProviderFacts { id: asked.id(), kind: asked.kind, wanted, record, look: Some(look), failed: None }
        };
        all.iter().map(of).collect()
    }

    fn seen(&self, asked: &Asked, id: &ObjectId) -> SeenObject {
        let Some(live) = self.objects.get(id) else { return SeenObject::default() };
        let runs = id.kind == "Deployment";
        let is_same = live.content == asked.digest && (!runs || live.replicas == 1);
        let gone = live.stored.iter().filter(|stored| !asked.versions.contains(*stored));
        SeenObject {
            fit: if is_same { ObjectFit::Same } else { ObjectFit::Differs },
            is_established: is_definition(id),
            going: gone.map(|version| (*version).to_owned()).collect(),
            health: if runs { available() } else { None },
            replicas: runs.then_some(live.replicas),
            pods: 0,
            is_own: true,
        }
    }

    /// Performs a step, or as much of it as is done before the process is killed.
    fn perform(&mut self, asked: &Asked, step: ProviderStep, most: usize) {
        let mut left = most;
        let mut may = || {
            let goes_on = left > 0;
            left = left.saturating_sub(1);
            goes_on
        };
        match step {
            ProviderStep::Note(record) | ProviderStep::Ask { then: record, .. } => {
                if may() {
                    self.records.insert(asked.id(), *record);
                    self.writes += 1;
                }
            }
            ProviderStep::Migrate { definition, versions } => {
                if may()
                    && let Some(live) = self.objects.get_mut(&definition)
                {
                    live.stored.retain(|stored| !versions.iter().any(|gone| gone == stored));
                    self.writes += 1;
                }
            }
            ProviderStep::Scale(deployments) => {
                for Stopped { namespace, name, replicas } in deployments {
                    if may() {
                        let id = super::id("apps", "Deployment", &namespace, &name);
                        self.objects.get_mut(&id).unwrap().replicas = replicas;
                        self.writes += 1;
                    }
                }
            }
            ProviderStep::Apply { objects, .. } => {
                for id in objects {
                    if may() {
                        self.apply(asked, &id);
                    }
                }
            }
            ProviderStep::Delete(objects) => {
                for id in objects {
                    if may() {
                        assert!(!is_definition(&id));
                        self.objects.remove(&id);
                        self.writes += 1;
                    }
                }
            }
            ProviderStep::Forget => drop(self.records.remove(&asked.id())),
        }
    }

    fn apply(&mut self, asked: &Asked, id: &ObjectId) {
        let record = &self.records[&asked.id()];
        assert!(record.inventory.get(id).is_some(), "{id} is applied and not in the inventory");
        if InstallStage::of(id) > InstallStage::Definitions {
            for definition in asked.objects.iter().filter(|id| is_definition(id)) {
                assert_eq!(self.objects[definition].content, asked.digest, "{id} before {definition}");
            }
        }
        if is_definition(id)
            && let Some(live) = self.objects.get(id)
        {
            let lost = live.stored.iter().find(|stored| !asked.versions.contains(*stored));
            assert_eq!(lost, None, "a stored version of {id} would go");
            let version = |revision: &Option<Revision>| revision.as_ref().map(|one| one.version.clone());
            let is_upgrade =
                record.installed.is_some() && version(&record.installed) != version(&record.target);
            if live.content != asked.digest && is_upgrade {
                assert_eq!(
                    self.objects[&deployment(asked.name)].replicas,
                    0,
                    "the old manager answers still"
                );
            }
        }
        let stored: BTreeSet<&'static str> =
            if is_definition(id) { BTreeSet::from([asked.versions[0]]) } else { BTreeSet::new() };
        let before = self.objects.get(id).map(|live| live.stored.clone()).unwrap_or_default();
        let stored = if is_definition(id) { before.union(&stored).copied().collect() } else { stored };
        self.objects.insert(id.clone(), Live { content: asked.digest.to_owned(), replicas: 1, stored });
        self.writes += 1;
    }

    /// How many providers are down: stopped, or there without what they run.
    fn down(&self, all: &[Asked]) -> usize {
        let is_down = |asked: &&Asked| {
            let runs = self.objects.get(&deployment(asked.name)).is_some_and(|live| live.replicas > 0);
            self.records.get(&asked.id()).is_some_and(|record| record.installed.is_some()) && !runs
        };
        all.iter().filter(is_down).count()
    }

    /// Takes steps until there is none; `dice` kills now and then.
    fn settle(&mut self, all: &[Asked], dice: &mut Option<Dice>) {
        for _ in 0..10_000 {
            let decision = next(&self.facts(all), after(0));
            let Some((id, step)) = decision.step else {
                assert_eq!(decision.waits.len(), 0, "{:?}", decision.waits);
                return;
            };
            let asked = all.iter().find(|asked| asked.id() == id).unwrap();
            let most = dice.as_mut().map_or(usize::MAX, |dice| match dice.below(3) {
                0 => dice.below(3),
                _ => usize::MAX,
            });
            self.perform(asked, step, most);
            assert!(self.down(all) <= 1, "two providers are down at once");
        }
        panic!("it never settles");
    }
}

fn set(version: &'static str, digest: &'static str) -> Vec<Asked> {
    vec![
        asked("cluster-api", ProviderKind::Core, version, digest),
        asked("kubeadm", ProviderKind::Bootstrap, version, digest),
        asked("ipam", ProviderKind::Ipam, version, digest),
    ]
}

#[test]
fn a_pass_killed_at_any_point_reaches_the_same_end() {
    let seed = std::env::var("CAPSTAN_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = seed.map_or_else(|| (0..300).collect::<Vec<u64>>(), |seed| vec![seed]);
    let (old, new) = (set("v1.0.0", "old"), set("v1.1.0", "new"));
    let mut straight = Cluster::default();
    straight.settle(&old, &mut None);
    straight.settle(&new, &mut None);
    assert!(!straight.objects.contains_key(&role("ipam-old")));
    assert!(straight.records.values().all(|record| record.phase == InstallPhase::Settled));
    for seed in seeds {
        let mut dice = Some(Dice(seed));
        let mut cluster = Cluster::default();
        cluster.settle(&old, &mut dice);
        // The wanted set changes on the way: whatever was begun, the end is that of the last one.
        let steps = dice.as_mut().unwrap().below(20);
        for _ in 0..steps {
            let Some((id, step)) = next(&cluster.facts(&new), after(0)).step else { break };
            let asked = new.iter().find(|asked| asked.id() == id).unwrap();
            cluster.perform(asked, step, usize::MAX);
        }
        cluster.settle(&new, &mut dice);
        assert_eq!(cluster.objects, straight.objects, "seed {seed}");
        assert_eq!(cluster.records, straight.records, "seed {seed}");
        let writes = cluster.writes;
        cluster.settle(&new, &mut None);
        assert_eq!(cluster.writes, writes, "seed {seed}: a pass with nothing to do wrote");
    }
}

#[test]
fn a_spec_that_changes_on_the_way_is_followed_forward() {
    let (old, new, fixed) = (set("v1.0.0", "old"), set("v1.1.0", "new"), set("v1.1.0", "fixed"));
    for cut in 0..60 {
        let mut cluster = Cluster::default();
        cluster.settle(&old, &mut None);
        for _ in 0..cut {
            let Some((id, step)) = next(&cluster.facts(&new), after(0)).step else { break };
            let asked = new.iter().find(|asked| asked.id() == id).unwrap();
            cluster.perform(asked, step, usize::MAX);
        }
        cluster.settle(&fixed, &mut None);
        assert!(cluster.objects.values().all(|live| live.content == "fixed"), "after {cut} steps");
    }
}

#[test]
fn halfway_a_removed_provider_goes_and_the_others_stay() {
    let all = set("v1.0.0", "old");
    let mut cluster = Cluster::default();
    cluster.settle(&all, &mut None);
    let mut facts = cluster.facts(&all);
    facts[2].wanted = DesiredProvider::Nothing;
    while let Some((id, step)) = next(&facts, after(0)).step {
        assert_eq!(id, all[2].id());
        cluster.perform(&all[2], step, usize::MAX);
        facts = cluster.facts(&all);
        facts[2].wanted = DesiredProvider::Nothing;
    }
    assert!(cluster.objects.contains_key(&definition("ipam")));
    assert!(!cluster.objects.contains_key(&deployment("ipam")));
    assert!(cluster.objects.contains_key(&deployment("kubeadm")));
}
