//! Work is proportional to what changed: counted, over one snapshot after another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use capstan_fleet::generator::{Fleet, NoWatch, PlanCache, WatchRenders, plan_each_source};
use capstan_model::digest::sha256;
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_model::tree::{BlobId, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_plan::upgrade::Upgrade;
use capstan_test_support::Files;
use jiff::civil::date;

const SITES: usize = 3;
const CLUSTERS_OF_A_SITE: usize = 40;

type Texts = BTreeMap<String, String>;

fn object(kind: &str, name: &str, spec: &str) -> String {
    format!("apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n")
}

fn site(files: &mut Texts, site: usize, mtu: u32) {
    let text = object("Site", &format!("s{site}"), &format!("{{values: {{mtu: {mtu}}}}}"));
    files.insert(format!("inventory/sites/s{site}.yaml"), text);
}

fn inventory() -> Texts {
    let mut files = Texts::from([
        (".capstan.yaml".to_owned(), "inventory: {path: inventory}\n".to_owned()),
        (
            "inventory/inventory.yaml".to_owned(),
            object("Inventory", "inventory", "{levels: [Environment, Site], folder: \"acme/{name}\"}"),
        ),
        (
            "inventory/prod.yaml".to_owned(),
            object("Environment", "prod", "{release: openstack/v1.0.0, values: {replicas: 3}}"),
        ),
        (
            "openstack/v1.0.0/schema.yaml".to_owned(),
            "type: object\nproperties: {mtu: {type: integer}, replicas: {type: integer}}\n".to_owned(),
        ),
        (
            "openstack/v1.0.0/templates/cluster.yaml".to_owned(),
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: {{ cluster.name }}\n  namespace: org\n  annotations:\n    example.com/mtu: \"{{ mtu }}\"\n"
                .to_owned(),
        ),
    ]);
    for at in 0..SITES {
        site(&mut files, at, 1500);
        for number in 0..CLUSTERS_OF_A_SITE {
            let name = format!("c{at}x{number}");
            let spec = format!("{{in: {{environment: prod, site: s{at}}}}}");
            files
                .insert(format!("inventory/clusters/{name}.yaml"), object("ClusterDefinition", &name, &spec));
        }
    }
    files
}

/// Files whose ids are those of their contents, as Git's are: what is remembered goes by them.
struct Snapshot {
    files: Files,
    entries: Vec<TreeEntry>,
}

impl Snapshot {
    fn of(texts: &Texts) -> Self {
        let pairs: Vec<(&str, &str)> =
            texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let files = Files::new(&pairs);
        let id = |entry: &TreeEntry| BlobId::parse(&sha256(files.read(entry).unwrap())[..40]).unwrap();
        let entries =
            files.entries().iter().map(|entry| TreeEntry { blob: id(entry), ..entry.clone() }).collect();
        Self { files, entries }
    }
}

impl Tree for Snapshot {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        self.files.read(entry)
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.files.folder_id(folder)
    }
}

/// What the inventory brings, and how often templates were rendered for it.
fn looked(cache: &PlanCache, files: &Texts) -> (BTreeMap<ClusterId, Arc<Upgrade>>, usize) {
    let tree: Arc<dyn Tree> = Arc::new(Snapshot::of(files));
    let fleet = Fleet::open_with(cache, tree, date(2026, 11, 24)).unwrap();
    let before = fleet.renders();
    let found = Mutex::new(BTreeMap::new());
    let of_inventory = |_: &ClusterId, kind: &SourceKind| *kind == SourceKind::INVENTORY;
    plan_each_source(&fleet, of_inventory, &NoWatch, |id, _, plan| {
        found.lock().unwrap().extend(plan.map(|plan| (id.clone(), plan.unwrap())));
    });
    (found.into_inner().unwrap(), fleet.renders() - before)
}

/// The files once all of it is merged.
fn merge(files: &mut Texts, upgrades: &BTreeMap<ClusterId, Arc<Upgrade>>) {
    for file in upgrades.values().flat_map(|upgrade| &upgrade.files) {
        match &file.after {
            Some(text) => drop(files.insert(file.path.to_string(), text.clone())),
            None => drop(files.remove(file.path.as_str())),
        }
    }
}

#[test]
fn of_one_site_that_is_edited_its_clusters_alone_are_rendered_and_of_what_stays_none() {
    let cache = PlanCache::default();
    let mut files = inventory();
    let (made, _) = looked(&cache, &files);
    assert_eq!(made.len(), SITES * CLUSTERS_OF_A_SITE);
    merge(&mut files, &made);
    for look in ["first", "second"] {
        let (brought, renders) = looked(&cache, &files);
        assert_eq!((brought.len(), renders), (0, 0), "{look} look at what is settled");
    }

    site(&mut files, 1, 9000);
    let (brought, renders) = looked(&cache, &files);
    assert_eq!(brought.len(), CLUSTERS_OF_A_SITE);
    assert!(brought.keys().all(|id| id.as_str().starts_with("acme/c1x")));
    // Each once, as it is to be: as it was is known from when that was proposed.
    assert_eq!(renders, CLUSTERS_OF_A_SITE);
    let (again, renders) = looked(&cache, &files);
    assert_eq!((again.len(), renders), (CLUSTERS_OF_A_SITE, 0), "what is planned is kept");

    // A restart remembers nothing, and renders each as it was and as it is to be.
    let (after_restart, renders) = looked(&PlanCache::default(), &files);
    assert_eq!((after_restart.len(), renders), (CLUSTERS_OF_A_SITE, 2 * CLUSTERS_OF_A_SITE));
    assert_eq!(after_restart, again);
}

/// What planning reports about each target.
#[derive(Default)]
struct TargetLog(Mutex<BTreeMap<ClusterId, Vec<String>>>);

impl TargetLog {
    fn tell(&self, cluster: &ClusterId, what: String) {
        self.0.lock().unwrap().entry(cluster.clone()).or_default().push(what);
    }
}

impl WatchRenders for TargetLog {
    fn begun(&self, cluster: &ClusterId) {
        self.tell(cluster, "begun".to_owned());
    }

    fn ended(&self, _: &ClusterId) {}

    fn skips(&self, _: &ClusterId) -> bool {
        false
    }

    fn one_by_one(&self) -> bool {
        false
    }
}

/// What planning a snapshot reports, without the sources in `without`.
fn log_of(cache: &PlanCache, files: &Texts, without: &[(&str, SourceKind)]) -> BTreeMap<String, Vec<String>> {
    let fleet = Fleet::open_with(cache, Arc::new(Snapshot::of(files)), date(2026, 11, 24)).unwrap();
    let told = TargetLog::default();
    let wanted = |id: &ClusterId, kind: &SourceKind| {
        !without.iter().any(|(other, of)| *other == id.as_str() && of == kind)
    };
    plan_each_source(&fleet, wanted, &told, |id, kind, plan| {
        let plan = match plan {
            None => "nothing",
            Some(Ok(upgrade)) if upgrade.to.is_some() => "an upgrade",
            Some(Ok(_)) => "no upgrade",
            Some(Err(_)) => "a refusal",
        };
        told.tell(id, format!("{kind}: {plan}"));
    });
    let told = told.0.into_inner().unwrap();
    told.into_iter().map(|(id, told)| (id.to_string(), told)).collect()
}

#[test]
fn each_target_is_planned_in_one_pass_its_release_first_and_then_its_values() {
    let cache = PlanCache::default();
    let mut files = inventory();
    files.retain(|path, _| !path.starts_with("inventory/clusters/") || path.ends_with("x0.yaml"));
    // None of them has a folder.
    let to_come = ["begun", "inventory: an upgrade"].map(str::to_owned).to_vec();
    let all = ["acme/c0x0", "acme/c1x0", "acme/c2x0"];
    assert_eq!(log_of(&cache, &files, &[]), all.map(|id| (id.to_owned(), to_come.clone())).into());

    let (made, _) = looked(&cache, &files);
    merge(&mut files, &made);
    site(&mut files, 1, 9000);
    let later = files["openstack/v1.0.0/templates/cluster.yaml"].replace("mtu:", "mtu-of-nodes:");
    files.insert("openstack/v1.1.0/templates/cluster.yaml".to_owned(), later);
    files.insert("openstack/v1.1.0/schema.yaml".to_owned(), files["openstack/v1.0.0/schema.yaml"].clone());
    let prod = files["inventory/prod.yaml"].replace("v1.0.0", "v1.1.0");
    files.insert("inventory/prod.yaml".to_owned(), prod);
    let both = ["begun", "release: an upgrade", "begun", "inventory: an upgrade"].map(str::to_owned).to_vec();
    let released =
        ["begun", "release: an upgrade", "begun", "inventory: nothing"].map(str::to_owned).to_vec();
    let expected = [("acme/c0x0", &released), ("acme/c1x0", &both), ("acme/c2x0", &released)];
    let expected: BTreeMap<_, _> = expected.map(|(id, told)| (id.to_owned(), told.clone())).into();
    assert_eq!(log_of(&cache, &files, &[]), expected);

    // Once more: that the inventory brings nothing is known, so that nothing is begun for it.
    let known = ["begun", "release: an upgrade", "inventory: nothing"].map(str::to_owned).to_vec();
    let expected = [("acme/c0x0", &known), ("acme/c1x0", &both), ("acme/c2x0", &known)];
    let expected: BTreeMap<_, _> = expected.map(|(id, told)| (id.to_owned(), told.clone())).into();
    assert_eq!(log_of(&cache, &files, &[]), expected);

    // After a process ended, the caller names what was answered already. That is not planned twice.
    let without = [
        ("acme/c0x0", SourceKind::RELEASE),
        ("acme/c1x0", SourceKind::RELEASE),
        ("acme/c1x0", SourceKind::INVENTORY),
    ];
    let rest = ["begun", "inventory: nothing"].map(str::to_owned).to_vec();
    let expected = [("acme/c0x0".to_owned(), rest), ("acme/c2x0".to_owned(), released)];
    assert_eq!(log_of(&PlanCache::default(), &files, &without), expected.into());
}
