//! What plans ask of a whole snapshot: found out when the first of them asks, and carried over to the next
//! snapshot where nothing that it was made from has changed.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use capstan_model::ids::ClusterId;
use capstan_model::target::TargetKind;
use capstan_model::tree::Tree;
use capstan_plan::classes::{ClassRef, classes_used};
use capstan_plan::cluster::Cluster;
use capstan_plan::flux::FluxIndex;
use capstan_plan::inventory::FleetInventory;
use capstan_plan::layout::{Layout, TargetFolder};
use capstan_plan::policy::{self, CoreVersion, InstalledProviders};
use capstan_plan::provider_set::{ManagedWorkload, workload};
use capstan_plan::settings::RepositorySettings;

use super::definitions::Definitions;
use super::elsewhere::Lookups;
use super::following::Next;

/// Which clusters use which ClusterClass.
pub(super) type ClassUsers = BTreeMap<ClassRef, Vec<ClusterId>>;

/// The clusters that name a version of Kubernetes.
pub(super) type Workloads = BTreeMap<ClusterId, ManagedWorkload>;

/// What is known of one snapshot as a whole.
#[derive(Debug, Default)]
pub(super) struct Wide {
    /// What is known of objects' fields.
    pub(super) defined: OnceLock<Arc<Definitions>>,
    /// What Flux substitutes where.
    pub(super) flux: OnceLock<Arc<FluxIndex>>,
    /// The releases of providers that the repository installs.
    pub(super) installed: OnceLock<Arc<InstalledProviders>>,
    pub(super) class_users: OnceLock<Arc<ClassUsers>>,
    /// Which Kubernetes the clusters ask for: only where a provider set is planned.
    pub(super) workloads: OnceLock<Arc<Workloads>>,
    /// Which definition of the inventory has which folder; `None` if the settings name no inventory.
    pub(super) inventory: OnceLock<Option<Arc<FleetInventory>>>,
    /// What classes are that Clusters name and their folders lack.
    pub(super) elsewhere: Lookups,
}

impl Wide {
    pub(super) fn defined(&self, tree: &dyn Tree, layout: &Layout) -> &Arc<Definitions> {
        self.defined.get_or_init(|| Arc::new(Definitions::find(tree, layout)))
    }

    pub(super) fn flux(&self, tree: &dyn Tree, layout: &Layout) -> &FluxIndex {
        self.flux.get_or_init(|| Arc::new(FluxIndex::read(tree, layout)))
    }

    pub(super) fn cluster_api(&self, tree: &dyn Tree, layout: &Layout) -> Option<&CoreVersion> {
        self.installed(tree, layout).core()
    }

    pub(super) fn installed(&self, tree: &dyn Tree, layout: &Layout) -> &InstalledProviders {
        self.installed.get_or_init(|| Arc::new(InstalledProviders::read(tree, layout)))
    }

    pub(super) fn class_users(&self, read: impl FnOnce() -> ClassUsers) -> &ClassUsers {
        self.class_users.get_or_init(|| Arc::new(read()))
    }

    pub(super) fn workloads(&self, tree: &dyn Tree, layout: &Layout) -> &Workloads {
        self.workloads.get_or_init(|| {
            let of = |folder: &TargetFolder| Some((folder.id.clone(), workload(tree, folder)?));
            Arc::new(layout.clusters().filter_map(of).collect())
        })
    }

    pub(super) fn inventory(
        &self,
        tree: &dyn Tree,
        settings: &RepositorySettings,
    ) -> Option<&FleetInventory> {
        let read = || FleetInventory::read(tree, settings).map(Arc::new);
        self.inventory.get_or_init(read).as_deref()
    }

    /// Whether all that was found out here was [found to hold](Self::follow) in the next snapshot.
    pub(super) fn all_hold_in(&self, next: &Self) -> bool {
        fn holds<T>(known: &OnceLock<T>, next: &OnceLock<T>) -> bool {
            known.get().is_none() || next.get().is_some()
        }
        let Self { defined, flux, installed, class_users, workloads, inventory, elsewhere } = self;
        holds(defined, &next.defined)
            && holds(flux, &next.flux)
            && holds(installed, &next.installed)
            && holds(class_users, &next.class_users)
            && holds(workloads, &next.workloads)
            && holds(inventory, &next.inventory)
            && elsewhere.all_hold_in(&next.elsewhere)
    }

    /// What of this holds for the next snapshot too.
    pub(super) fn follow(&self, next: &Next<'_>) -> Self {
        let wide = Self { elsewhere: self.elsewhere.follow(next), ..Self::default() };
        if let Some(defined) = self.defined.get()
            && !next.changed.iter().any(|path| defined.may_change(next.tree, next.layout, path))
        {
            let _ = wide.defined.set(Arc::clone(defined));
        }
        if let Some(flux) = self.flux.get()
            && !next.changed.iter().any(|path| flux.may_change(next.earlier, next.tree, next.layout, path))
        {
            let _ = wide.flux.set(Arc::clone(flux));
        }
        if let Some(installed) = self.installed.get()
            && !next.changed.iter().any(|path| policy::may_name_providers(next.layout, path))
        {
            let _ = wide.installed.set(Arc::clone(installed));
        }
        if let Some(users) = self.class_users.get()
            && next.touched.iter().all(|at| uses_the_same(users, next, *at))
        {
            let _ = wide.class_users.set(Arc::clone(users));
        }
        if let Some(workloads) = self.workloads.get()
            && next.touched.iter().all(|at| asks_for_the_same(workloads, next, *at))
        {
            let _ = wide.workloads.set(Arc::clone(workloads));
        }
        if let Some(inventory) = self.inventory.get() {
            let may_change =
                |inventory: &Arc<FleetInventory>| next.changed.iter().any(|path| inventory.may_change(path));
            if !inventory.as_ref().is_some_and(may_change) {
                let _ = wide.inventory.set(inventory.clone());
            }
        }
        wide
    }
}

/// Whether a cluster asks for the Kubernetes that it asked for before.
fn asks_for_the_same(workloads: &Workloads, next: &Next<'_>, at: usize) -> bool {
    let Some(folder) = next.layout.targets.get(at) else { return false };
    folder.kind == TargetKind::Providers || workloads.get(&folder.id) == workload(next.tree, folder).as_ref()
}

/// Whether a cluster uses the classes that it used before.
fn uses_the_same(users: &ClassUsers, next: &Next<'_>, at: usize) -> bool {
    let Some(folder) = next.layout.targets.get(at) else { return false };
    let Ok(cluster) = Cluster::read(next.tree, folder) else { return false };
    let used = classes_used(&cluster);
    let mut before = users.iter().filter(|(_, clusters)| clusters.contains(&folder.id));
    before.clone().count() == used.len() && before.all(|(class, _)| used.contains(class))
}
