//! Work is proportional to what changed: counted, over one snapshot after another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use capstan_fleet::generator::{Fleet, PlanCache};
use capstan_model::digest::sha256;
use capstan_model::ids::ClusterId;
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
    fleet.plan_each_values(
        |_| true,
        (|_: &ClusterId| (), |_: &ClusterId| ()),
        |id, plan| drop(found.lock().unwrap().insert(id.clone(), plan.unwrap())),
    );
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
