//! With memory and without it the plans are equal, and a push costs what it changes.

use std::collections::{BTreeMap, BTreeSet, hash_map::DefaultHasher};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_model::tree::{BlobId, EntryKind, Folder, RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_plan::templates::TemplateNames;
use capstan_plan::upgrade::{Retarget, Upgrade};
use jiff::civil::date;

use crate::generator::{
    Fleet, NoWatch, PlanCache, PlanCacheLimits, Refused, WrittenInputs, missing_contents,
    missing_contents_of_all, plan_each_source, plan_target, write_inputs,
};

/// A repository in memory, with ids that tell contents apart.
#[derive(Clone, Default)]
struct Repository {
    files: BTreeMap<String, String>,
    /// The repository that holds the releases, where that is another one.
    releases: Option<Box<Repository>>,
    consent: Consent,
    /// Clusters in whose overlays names may be edited.
    retarget: BTreeSet<String>,
    /// The live names of the templates of every cluster: a name for one spec.
    live_name: Option<String>,
}

/// Whether the repository that holds the releases lets this one use them.
#[derive(Clone, Copy, Default, PartialEq)]
enum Consent {
    #[default]
    PlanInputs,
    Withdrawn,
}

struct Snapshot {
    entries: Vec<TreeEntry>,
    contents: BTreeMap<RepoPath, Arc<[u8]>>,
    folders: BTreeMap<RepoPath, TreeId>,
    root: Option<Arc<Folder>>,
    reads: AtomicUsize,
}

/// Whether a snapshot is made of folders that others share, as a commit is, or is a list of files.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    OfFolders,
    OfFiles,
}

fn allow_retarget(fleet: &mut Fleet, cluster: &ClusterId) {
    fleet
        .supplement_mut()
        .instruct(SourceKind::RELEASE, cluster.clone(), |given| given.retarget = Retarget::Allowed);
}

/// What releases bring to all clusters, as far as it is kept.
fn plan_releases(fleet: &Fleet) -> BTreeMap<ClusterId, Result<Upgrade, Refused>> {
    let plans = Mutex::new(BTreeMap::new());
    let of_release = |_: &ClusterId, kind: &SourceKind| *kind == SourceKind::RELEASE;
    plan_each_source(fleet, of_release, &NoWatch, |id, _, plan| {
        plans.lock().unwrap().extend(plan.map(|plan| (id.clone(), plan.map(Arc::unwrap_or_clone))));
    });
    plans.into_inner().unwrap()
}

fn id_of(content: impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("{:040x}", hasher.finish())
}

impl Repository {
    fn write(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.files.insert(path.into(), text.into());
    }

    fn snapshot(&self, made: Made) -> Arc<Snapshot> {
        let path = |path: &String| RepoPath::parse(path).unwrap();
        let mut entries: Vec<TreeEntry> = self
            .files
            .iter()
            .map(|(name, text)| TreeEntry {
                path: path(name),
                kind: EntryKind::File,
                blob: BlobId::parse(&id_of(text)).unwrap(),
            })
            .collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let above = |path: &RepoPath| std::iter::successors(path.parent(), RepoPath::parent);
        let folders: BTreeSet<RepoPath> = entries.iter().flat_map(|entry| above(&entry.path)).collect();
        let id = |folder: &RepoPath| {
            let inside =
                entries.iter().filter_map(|entry| Some((entry.path.below(folder)?, entry.blob.as_str())));
            TreeId::parse(&id_of(inside.collect::<Vec<_>>())).unwrap()
        };
        let folders: BTreeMap<RepoPath, TreeId> =
            folders.into_iter().map(|folder| (folder.clone(), id(&folder))).collect();
        let root = (made == Made::OfFolders).then(|| folder(&RepoPath::root(), &entries, &folders));
        let contents = self.files.iter().map(|(name, text)| (path(name), text.as_bytes().into())).collect();
        Arc::new(Snapshot { entries, contents, folders, root, reads: AtomicUsize::new(0) })
    }
}

fn folder(at: &RepoPath, entries: &[TreeEntry], ids: &BTreeMap<RepoPath, TreeId>) -> Arc<Folder> {
    let directly = |path: &RepoPath| path.parent().as_ref() == Some(at);
    let files = entries.iter().filter(|entry| directly(&entry.path)).cloned().collect();
    let folders = ids.keys().filter(|path| directly(path)).map(|path| folder(path, entries, ids)).collect();
    let id = ids.get(at).cloned().unwrap_or_else(|| TreeId::parse(&"0".repeat(40)).unwrap());
    Arc::new(Folder::new(at.clone(), id, files, folders))
}

impl Tree for Snapshot {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::clone(&self.contents[&entry.path]))
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.folders.get(folder).cloned()
    }

    fn root(&self) -> Option<&Arc<Folder>> {
        self.root.as_ref()
    }
}

fn pool(name: &str, replicas: usize, version: &str) -> String {
    format!(
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachinePool\nmetadata:\n  name: {name}-mp-0\n  namespace: fleet\n\
         spec:\n  clusterName: {name}\n  replicas: {replicas}\n  template:\n    spec:\n      clusterName: {name}\n      \
         version: {version}\n      bootstrap: {{}}\n"
    )
}

fn write_release(repository: &mut Repository, minor: usize, patch: usize) {
    write_release_of("aws", repository, minor, patch);
}

fn write_release_of(provider: &str, repository: &mut Repository, minor: usize, patch: usize) {
    let text = pool("${NAME}", 2, &format!("v1.{}.{patch}", 30 + minor));
    let path = format!("{provider}/v1.{minor}.0/base/pool.yaml");
    match &mut repository.releases {
        Some(releases) => releases.write(path, text),
        None => repository.write(path, text),
    }
}

/// The id of a release's folder that holds nothing else.
fn release_tree(provider: &str, minor: usize, patch: usize) -> TreeId {
    let mut alone = Repository::default();
    write_release_of(provider, &mut alone, minor, patch);
    let folder = RepoPath::parse(&format!("{provider}/v1.{minor}.0")).unwrap();
    alone.snapshot(Made::OfFiles).folder_id(&folder).unwrap()
}

fn write_cluster(repository: &mut Repository, number: usize, replicas: usize) {
    write_cluster_at("aws/v1.0.0", repository, number, replicas);
}

fn write_cluster_at(release: &str, repository: &mut Repository, number: usize, replicas: usize) {
    let name = format!("c{number:03}");
    repository.write(format!("gauss/{name}/base/pool.yaml"), pool(&name, replicas, "v1.30.0"));
    let record = format!("release: {release}\nvariables: {{NAME: {name}}}\n");
    repository.write(format!("gauss/{name}/capstan.yaml"), record);
}

/// Where the releases are.
#[derive(Clone, Copy, PartialEq)]
enum Releases {
    Here,
    Elsewhere,
}

fn fleet_of(clusters: usize) -> Repository {
    fleet_with(Releases::Here, clusters)
}

fn fleet_with(releases: Releases, clusters: usize) -> Repository {
    let mut repository = Repository::default();
    repository.write(".capstan.yaml", "mode: propose\n");
    if releases == Releases::Elsewhere {
        repository.write(".capstan.yaml", "releases: {repository: acme/releases}\n");
        repository.releases = Some(Box::default());
    }
    write_release(&mut repository, 0, 0);
    write_release(&mut repository, 1, 0);
    (0..clusters).for_each(|number| write_cluster(&mut repository, number, 3));
    repository
}

/// The plans with memory, which must be those without; how many files were read for them.
fn look(plan_cache: &PlanCache, repository: &Repository, why: &str) -> usize {
    look_at(plan_cache, repository, Made::OfFolders, why)
}

fn look_at(plan_cache: &PlanCache, repository: &Repository, made: Made, why: &str) -> usize {
    let (snapshot, again) = (repository.snapshot(made), repository.snapshot(Made::OfFiles));
    let today = date(2026, 1, 1);
    let opened = Fleet::open_with(plan_cache, snapshot.clone(), today);
    let fresh = Fleet::open(again, today);
    let (mut remembering, mut fresh) = match (opened, fresh) {
        (Ok(remembering), Ok(fresh)) => (remembering, fresh),
        (remembering, fresh) => {
            assert_eq!(remembering.err(), fresh.err(), "{why}");
            return 0;
        }
    };
    let releases = repository.releases.as_ref().map(|releases| releases.snapshot(made));
    if let Some(releases) = &releases {
        remembering.provide_releases(releases.clone());
        fresh.provide_releases(releases.clone());
        releases.reads.store(0, Ordering::Relaxed);
    }
    let clusters: Vec<ClusterId> = fresh.clusters().cloned().collect();
    for fleet in [&mut remembering, &mut fresh] {
        if repository.consent == Consent::Withdrawn {
            fleet.refuse_releases("they do not let it".to_owned());
        }
        let retarget = clusters.iter().filter(|id| repository.retarget.contains(id.as_str()));
        retarget.for_each(|id| allow_retarget(fleet, id));
        if let Some(name) = &repository.live_name {
            let names = Arc::new(live_names(name));
            fleet.supplement_mut().names =
                clusters.iter().map(|id| (id.clone(), Arc::clone(&names))).collect();
        }
    }
    assert_eq!(remembering.layout(), fresh.layout(), "{why}");
    assert_eq!(missing_contents(&remembering, &clusters), missing_contents(&fresh, &clusters), "{why}");
    let missing = missing_contents(&fresh, &clusters);
    assert_eq!(missing_contents_of_all(&remembering), missing, "{why}");
    for (plan, id) in plan_releases(&remembering).into_iter().zip(&clusters) {
        assert_eq!(plan, (id.clone(), plan_target(&fresh, id, None)), "{why}");
    }
    let reads = snapshot.reads.load(Ordering::Relaxed);
    // What a plan is given is enough to make it, wherever that is.
    for id in clusters.iter().take(2) {
        let given = write_inputs(&remembering, id, None).and_then(|plan| {
            let digest = plan.digest();
            let read = WrittenInputs::from_bytes(&plan.to_bytes().unwrap()).unwrap();
            assert_eq!(read.digest(), digest, "{why}");
            read.plan()
        });
        assert_eq!(given, plan_target(&fresh, id, None), "{why}: {id} from what was written out");
    }
    reads
}

fn live_names(name: &str) -> TemplateNames {
    let text = format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: TemplateNames\ntemplates:\n- {{group: infrastructure.cluster.x-k8s.io, \
         kind: DevMachineTemplate, namespace: fleet, name: md, live: {name}, spec: {}}}\n",
        "0".repeat(64)
    );
    TemplateNames::read(&text).unwrap()
}

#[test]
fn a_push_costs_what_it_changes_however_many_clusters_there_are() {
    let mut reads = Vec::new();
    for clusters in [20, 80] {
        let plan_cache = PlanCache::default();
        let mut repository = fleet_of(clusters);
        look(&plan_cache, &repository, "at first");
        assert_eq!(plan_cache.counts().planned, clusters);
        (0..5).for_each(|number| write_cluster(&mut repository, number * 3, 4));
        reads.push(look(&plan_cache, &repository, "five clusters changed"));
        assert_eq!(plan_cache.counts().planned, clusters + 5);
        assert_eq!(plan_cache.counts().reused, clusters - 5);
        assert_eq!(look(&plan_cache, &repository, "nothing changed"), 0);
    }
    // Of each of the five the one file that changed.
    assert_eq!(reads, [5, 5]);
}

#[test]
fn a_release_concerns_all_clusters() {
    let plan_cache = PlanCache::default();
    let mut repository = fleet_of(10);
    look(&plan_cache, &repository, "at first");
    write_release(&mut repository, 2, 0);
    look(&plan_cache, &repository, "a release came");
    assert_eq!(plan_cache.counts().planned, 20);
}

#[test]
fn a_release_concerns_the_clusters_that_follow_its_provider_alone() {
    let plan_cache = PlanCache::default();
    let mut repository = fleet_of(10);
    [0, 1].into_iter().for_each(|minor| write_release_of("gcp", &mut repository, minor, 0));
    (4..10).for_each(|number| write_cluster_at("gcp/v1.0.0", &mut repository, number, 3));
    look(&plan_cache, &repository, "at first");
    assert_eq!(plan_cache.counts().planned, 10);
    write_release(&mut repository, 2, 0);
    look(&plan_cache, &repository, "a release of aws came");
    assert_eq!(plan_cache.counts().planned, 14);
    write_release(&mut repository, 2, 1);
    look(&plan_cache, &repository, "it changed");
    assert_eq!(plan_cache.counts().planned, 18);
    write_release_of("gcp", &mut repository, 2, 0);
    write_cluster_at("gcp/v1.1.0", &mut repository, 9, 3);
    look(&plan_cache, &repository, "a release of gcp came");
    assert_eq!(plan_cache.counts().planned, 24);
    // The first of its provider: a cluster that names no provider may follow it.
    write_release_of("azure", &mut repository, 0, 0);
    look(&plan_cache, &repository, "a provider came");
    assert_eq!(plan_cache.counts().planned, 34);
    // And a cluster that names none is planned each time.
    repository.files.remove("gauss/c000/capstan.yaml");
    look(&plan_cache, &repository, "nobody knows whose releases one follows");
    write_release_of("azure", &mut repository, 1, 0);
    look(&plan_cache, &repository, "a release of azure came");
    assert_eq!(plan_cache.counts().planned, 36);
}

#[test]
fn plans_are_kept_while_the_repository_of_the_releases_is_unchanged() {
    let plan_cache = PlanCache::default();
    let mut repository = fleet_with(Releases::Elsewhere, 10);
    look(&plan_cache, &repository, "at first");
    assert_eq!(plan_cache.counts().planned, 10);
    write_cluster(&mut repository, 3, 4);
    assert_eq!(look(&plan_cache, &repository, "a cluster changed"), 1);
    assert_eq!((plan_cache.counts().planned, plan_cache.counts().reused), (11, 9));
    write_release(&mut repository, 2, 0);
    look(&plan_cache, &repository, "a release came there");
    assert_eq!(plan_cache.counts().planned, 21);
    assert_eq!(look(&plan_cache, &repository, "nothing changed"), 0);
    // The release of the same name in the other repository does not exist here.
    repository.releases = None;
    write_release(&mut repository, 3, 0);
    repository.write(".capstan.yaml", "mode: propose\n");
    look(&plan_cache, &repository, "the releases moved here");
    assert_eq!(plan_cache.counts().planned, 31);
}

#[test]
fn what_a_cluster_reads_elsewhere_concerns_it_and_no_other() {
    let plan_cache = PlanCache::default();
    let mut repository = fleet_of(10);
    repository.write("shared/patch.yaml", "kind: none\n");
    repository.write(
        "gauss/c003/overlay/kustomization.yaml",
        "resources: [../base]\npatches: [{path: ../../../shared/patch.yaml, target: {kind: MachinePool}}]\n",
    );
    repository.write("shared/patch.yaml", "metadata:\n  labels: {a: b}\n");
    look(&plan_cache, &repository, "at first");
    repository.write("shared/patch.yaml", "metadata:\n  labels: {a: c}\n");
    look(&plan_cache, &repository, "the shared patch changed");
    assert_eq!(plan_cache.counts().planned, 11);
}

#[test]
fn a_command_that_allows_more_recomputes_the_plan() {
    let (plan_cache, repository) = (PlanCache::default(), fleet_of(3));
    look(&plan_cache, &repository, "at first");
    let mut fleet =
        Fleet::open_with(&plan_cache, repository.snapshot(Made::OfFolders), date(2026, 1, 1)).unwrap();
    let clusters: Vec<ClusterId> = fleet.clusters().cloned().collect();
    allow_retarget(&mut fleet, &clusters[1]);
    plan_releases(&fleet);
    assert_eq!(plan_cache.counts().planned, 4);
}

/// A Cluster in the base of a cluster, whose class is elsewhere.
fn write_topology(repository: &mut Repository, number: usize) {
    let name = format!("c{number:03}");
    let cluster = format!(
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: {name}, namespace: fleet}}\nspec:\n  \
         topology:\n    classRef: {{name: quick}}\n    version: v1.30.0\n    variables: [{{name: image, value: a0}}]\n    \
         workers: {{machineDeployments: [{{class: default, name: md, replicas: 4}}]}}\n"
    );
    repository.write(format!("gauss/{name}/base/topology.yaml"), cluster);
}

/// The releases change the variable.
fn write_variable(repository: &mut Repository, minor: usize) {
    let text =
        format!("kind: Cluster\nspec: {{topology: {{variables: [{{name: image, value: a{minor}}}]}}}}\n");
    repository.write(format!("aws/v1.{minor}.0/base/topology.yaml"), text);
}

/// A class whose patch brings the variable to workers of that class.
fn write_shared_class(repository: &mut Repository, workers: &str) {
    let infrastructure = "infrastructure.cluster.x-k8s.io/v1beta2";
    let class = format!(
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {{name: quick, namespace: fleet}}\nspec:\n  \
         workers:\n    machineDeployments:\n    - class: default\n      \
         infrastructure: {{templateRef: {{apiVersion: {infrastructure}, kind: DevMachineTemplate, name: md}}}}\n  \
         variables: [{{name: image, schema: {{openAPIV3Schema: {{type: string}}}}}}]\n  patches:\n  - name: p\n    definitions:\n    \
         - selector: {{apiVersion: {infrastructure}, kind: DevMachineTemplate, matchResources: {{machineDeploymentClass: {{names: [{workers}]}}}}}}\n      \
         jsonPatches: [{{op: add, path: /spec/template/spec/customImage, valueFrom: {{variable: image}}}}]\n\
         ---\napiVersion: {infrastructure}\nkind: DevMachineTemplate\nmetadata: {{name: md, namespace: fleet}}\nspec: {{template: {{spec: {{}}}}}}\n"
    );
    repository.write("clusterclasses/quick.yaml", class);
}

#[test]
fn a_class_far_away_concerns_those_who_use_it_and_no_others() {
    for made in [Made::OfFolders, Made::OfFiles] {
        let plan_cache = PlanCache::default();
        let mut repository = fleet_of(10);
        [0, 1].into_iter().for_each(|minor| write_variable(&mut repository, minor));
        [2, 5].into_iter().for_each(|number| write_topology(&mut repository, number));
        write_shared_class(&mut repository, "default");
        let look = |repository: &Repository, why: &str| look_at(&plan_cache, repository, made, why);
        look(&repository, "at first");
        assert_eq!(plan_cache.counts().planned, 10);
        write_shared_class(&mut repository, "other");
        look(&repository, "the class changed");
        assert_eq!(plan_cache.counts().planned, 12, "its two users");
        repository.write("docs/classes.md", "quick\n");
        repository.write("shared/kustomization.yaml", "resources: [map.yaml]\n");
        repository.write("shared/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n");
        look(&repository, "something that concerns nobody changed");
        assert_eq!(plan_cache.counts().planned, 12);
        write_cluster(&mut repository, 7, 4);
        look(&repository, "another cluster changed");
        assert_eq!(plan_cache.counts().planned, 13);
        let overlay = "resources: [quick.yaml]\npatches:\n- target: {kind: DevMachineTemplate}\n  patch: '[{\"op\": \"add\", \"path\": \"/spec/template/spec/a\", \"value\": 1}]'\n";
        repository.write("clusterclasses/kustomization.yaml", overlay);
        look(&repository, "a kustomization patches the class's template");
        assert_eq!(plan_cache.counts().planned, 15);
    }
}

/// More than 500 random fleets, each planned before and after a random edit of any sort, with much and with little
/// cache.
#[test]
fn plans_with_and_without_memory_are_equal() {
    let seed = std::env::var("CAPSTAN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x5eed_0003);
    let mut state: u64 = seed;
    let mut below = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound as u64).unwrap()
    };
    let whole = PlanCacheLimits::default();
    let little = PlanCacheLimits { plan_bytes: 20_000, content_bytes: 1_000, render_bytes: 1_000, ..whole };
    let kinds =
        [Made::OfFolders, Made::OfFiles].map(|made| [(PlanCacheLimits::default(), made), (little, made)]);
    let homes = [Releases::Here, Releases::Elsewhere];
    let runs = kinds.into_iter().flatten().flat_map(|run| homes.map(|home| (run, home)));
    let mut reused = 0;
    for ((limits, made), home) in runs {
        let plan_cache = PlanCache::new(limits);
        let mut repository = fleet_with(home, 8);
        if home == Releases::Here {
            [0, 1].into_iter().for_each(|minor| write_variable(&mut repository, minor));
        }
        for push in 0..66 {
            let number = below(10);
            let cluster = format!("gauss/c{number:03}");
            let why = match below(28) {
                0..=3 => {
                    let release = ["aws/v1.0.0", "gcp/v1.0.0", "gcp/1.1.0", "azure/v1.0.0"][below(4)];
                    write_cluster_at(release, &mut repository, number, below(5));
                    "a cluster came or changed"
                }
                4 => {
                    repository.files.retain(|path, _| !path.starts_with(&format!("{cluster}/")));
                    "a cluster went"
                }
                5 | 24 | 25 => {
                    let provider = ["aws", "gcp", "azure"][below(3)];
                    write_release_of(provider, &mut repository, below(4), below(3));
                    "a release came or changed"
                }
                6 => {
                    let claimed = "managementClusters: [{name: m, uid: 2f4e8c1a-0b7d-4e6f-9a31-5c8d7e0f1b22, clusters: [\"gauss/c00[0-4]\"]}]\n";
                    let own =
                        ["mode: propose\n", "upgrade: {conflicts: take}\n", claimed, "mode: [\n"][below(4)];
                    let elsewhere = if home == Releases::Elsewhere {
                        "releases: {repository: acme/releases}\n"
                    } else {
                        ""
                    };
                    repository.write(".capstan.yaml", format!("{elsewhere}{own}"));
                    "the settings changed"
                }
                7 => {
                    let overlay = format!(
                        "metadata:\n  name: c{number:03}-mp-0\n  namespace: fleet\nspec:\n  replicas: {}\n",
                        below(9)
                    );
                    let head = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachinePool\n";
                    repository.write(format!("{cluster}/overlay/pool.yaml"), format!("{head}{overlay}"));
                    "an overlay changed"
                }
                8 => {
                    repository.write(
                        format!("{cluster}/overlay/kustomization.yaml"),
                        "resources: [../base, ../../../shared]\n",
                    );
                    "an overlay takes what is shared"
                }
                9 => {
                    repository.write("shared/kustomization.yaml", "resources: [map.yaml]\n");
                    let map = format!(
                        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m}}\ndata: {{a: \"{}\"}}\n",
                        below(3)
                    );
                    repository.write("shared/map.yaml", map);
                    "what is shared changed"
                }
                10 => {
                    let flux = format!(
                        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: x, namespace: flux-system}}\nspec:\n  path: ./{cluster}\n  sourceRef: {{kind: GitRepository, name: r}}\n  postBuild:\n    substitute: {{NAME: f{}}}\n",
                        below(3)
                    );
                    repository.write(format!("flux/k{}.yaml", below(2)), flux);
                    "Flux substitutes otherwise"
                }
                11 => {
                    let class = format!(
                        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {{name: k, namespace: fleet}}\nspec: {{note: \"{}\"}}\n",
                        below(2)
                    );
                    repository.write(format!("{cluster}/base/class.yaml"), class);
                    "a class came or changed"
                }
                12 => {
                    let user = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: u, namespace: fleet}\nspec: {topology: {class: k, version: v1.30.0}}\n";
                    repository.write(format!("{cluster}/base/cluster.yaml"), user);
                    "a class is used"
                }
                13 => {
                    let definition = format!(
                        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: machinepools.cluster.x-k8s.io}}\nspec:\n  group: cluster.x-k8s.io\n  names: {{kind: MachinePool}}\n  versions:\n  - name: v1beta1\n    schema:\n      openAPIV3Schema:\n        properties:\n          spec: {{properties: {{f{}: {{type: string}}}}}}\n",
                        below(2)
                    );
                    repository.write("definitions/pool.yaml", definition);
                    "a definition came or changed"
                }
                14 => {
                    let core = format!(
                        "kind: CoreProvider\nmetadata: {{name: cluster-api}}\nspec: {{version: v1.{}.0}}\n",
                        below(2) * 9
                    );
                    repository.write("management/capi.yaml", core);
                    "Cluster API is installed otherwise"
                }
                15 => {
                    repository.write(format!("docs/{number}.md"), format!("{}", below(9)));
                    "something that concerns nobody changed"
                }
                16 => {
                    let old = repository.files.keys().find(|path| path.starts_with("flux/")).cloned();
                    old.map(|path| repository.files.remove(&path));
                    "Flux substitutes no more"
                }
                17 => {
                    write_topology(&mut repository, number);
                    "a class from elsewhere is used"
                }
                18 => {
                    write_shared_class(&mut repository, ["default", "other"][below(2)]);
                    "a class elsewhere came or changed"
                }
                19 => {
                    let text = [
                        "resources: [quick.yaml]\n",
                        "resources: [gone.yaml, quick.yaml]\n",
                        "resources: []\n",
                    ][below(3)];
                    repository.write("clusterclasses/kustomization.yaml", text);
                    "what is applied of classes changed"
                }
                20 if home == Releases::Elsewhere => {
                    repository.consent =
                        [Consent::PlanInputs, Consent::PlanInputs, Consent::Withdrawn][below(3)];
                    "whether the releases may be used"
                }
                21 => {
                    if !repository.retarget.remove(&cluster) {
                        repository.retarget.insert(cluster);
                    }
                    "whether an overlay may be edited"
                }
                22 => {
                    repository.live_name = [None, Some("md-a"), Some("md-b")][below(3)].map(str::to_owned);
                    "other live names"
                }
                26 => {
                    let gone = format!("{}/v1.{}.0/", ["aws", "gcp", "azure"][below(3)], below(4));
                    let home = repository.releases.as_deref_mut().map(|releases| &mut releases.files);
                    home.unwrap_or(&mut repository.files).retain(|path, _| !path.starts_with(&gone));
                    "a release went"
                }
                27 => {
                    let tree = release_tree(["aws", "gcp", "azure"][below(3)], below(4), below(3));
                    let record = format!(
                        "release: {}/v1.{}.0\nreleaseTree: {tree}\nvariables: {{NAME: c{number:03}}}\n",
                        ["aws", "gcp"][below(2)],
                        below(2)
                    );
                    repository.write(format!("{cluster}/capstan.yaml"), record);
                    "a cluster records the content of some release"
                }
                _ => {
                    repository.write(format!("{cluster}/base/broken.yaml"), ["a: [\n", "a: 1\n"][below(2)]);
                    "a file broke or was mended"
                }
            };
            look_at(&plan_cache, &repository, made, &format!("CAPSTAN_SEED={seed}, push {push}: {why}"));
        }
        reused += plan_cache.counts().reused;
    }
    assert!(reused > 400, "CAPSTAN_SEED={seed}: {reused} plans were reused");
}
