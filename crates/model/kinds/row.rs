//! A row of the table: what it says of some kinds, and which they are.

/// What objects of a kind are for a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KindRole {
    /// The `Cluster`; with a topology its version is that of all its machines.
    Cluster,
    /// What Clusters with a topology are made from.
    Class,
    /// A control plane, and who runs its machines.
    ControlPlane(Machines),
    /// What makes worker machines.
    Workers(Workers),
    Machine,
    /// The infrastructure of a MachinePool, and who runs its instances.
    Pool(Machines),
    MachineInfrastructure,
    InfrastructureCluster,
    /// A template: of machines, of their bootstrap configs, of what a class is made of.
    Template,
    /// A template that other templates name.
    DataTemplate,
    /// The bootstrap config of one machine or of one MachinePool.
    BootstrapConfig,
    /// Tells which machines are unhealthy.
    HealthCheck,
    /// Brings ConfigMaps and Secrets into the cluster.
    ResourceSet,
    /// Credentials of an infrastructure provider.
    Identity,
    /// A provider object of the Cluster API operator.
    Provider,
    /// Kubernetes' own.
    Namespace,
    /// Kubernetes' own.
    ConfigMap,
    /// Kubernetes' own.
    Secret,
    /// Kubernetes' own.
    ServiceAccount,
    /// Something that one of the others is made of.
    Part,
}

impl KindRole {
    /// Whether machines go with an object: those it is, makes or runs.
    pub const fn has_machines(self) -> bool {
        matches!(self, Self::Cluster | Self::ControlPlane(_)) || self.is_worker()
    }

    /// Whether an object is a machine beside the control plane, or makes such.
    pub const fn is_worker(self) -> bool {
        matches!(self, Self::Workers(_) | Self::Machine)
    }
}

/// Who runs machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Machines {
    /// They are the cluster's own: an upgrade replaces them.
    Own,
    /// The provider does, by its own rules, or they are not machines at all.
    Provider,
}

/// What makes worker machines, by how it replaces them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Workers {
    /// By a new MachineSet beside the old one.
    Deployment,
    /// Not at all.
    Set,
    /// As the infrastructure provider does.
    Pool,
}

/// Whose version a field says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VersionRole {
    /// Machines' beside a control plane.
    Workers,
    /// The control plane's, or a whole topology's.
    ControlPlane,
}

/// What an edit of an object does to machines (U12, in `capstan_plan::templates`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Treatment {
    /// A change needs a new object with a new name.
    Rotate,
    /// May be edited in place; machines roll.
    MutableAndRolls,
    /// May be edited in place; nothing rolls.
    MutableSilent,
    /// Named by a ClusterClass only: rotated together with the class, never alone.
    Never,
}

/// A part of a cluster, in the order of applying.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApplyStage {
    Namespaces,
    /// Identities, Secrets, ConfigMaps, service accounts and their rights.
    Credentials,
    /// Templates, classes, and the cluster's own infrastructure.
    Templates,
    /// The `Cluster` and its control plane.
    ControlPlane,
    /// Everything except machines: health checks, add-ons, apps.
    AddOns,
    /// Machines beside the control plane.
    Workers,
}

/// What is lost with an object, and so how it may be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Loss {
    /// The cluster: no release takes it away.
    Cluster,
    /// The cluster, where a `Cluster` names the object, or none is at hand to say.
    ClusterIfNamed,
    /// Whatever depends on it, machines among it: it goes with a tombstone alone.
    Unknown,
    /// Other folders may use a class. One that a rotation left behind goes like a template.
    Class,
    /// Nothing, where nothing names it and every machine is up to date: it goes by itself.
    Template,
    /// Nothing, where nothing names it.
    WhileNamed,
    /// Nothing: it goes by itself.
    Nothing,
}

/// Keys from an object's root to a field.
pub type Keys = &'static [&'static str];

/// What the table says of some kinds.
pub(super) struct KindRow {
    pub(super) groups: Groups,
    /// Names; one that begins with `*` fits every kind that ends so.
    pub(super) kinds: &'static [&'static str],
    pub(super) role: KindRole,
    /// The places of the version. Several versions of the API may spell it differently.
    pub(super) versions: &'static [Keys],
    /// What an edit does; `None` where who names the object tells, or nothing needs telling.
    pub(super) edit: Option<Treatment>,
    /// When it is applied, and its turn in that stage.
    pub(super) stage: (ApplyStage, u8),
    pub(super) loss: Loss,
}

/// The API groups of a row.
pub(super) enum Groups {
    /// These.
    Are(&'static [&'static str]),
    /// `cluster.x-k8s.io` and everything below it, where Cluster API's providers have their kinds.
    Providers,
    /// Whatever it is.
    All,
}

impl KindRow {
    pub(super) fn fits_group(&self, group: &str) -> bool {
        match self.groups {
            Groups::Are(groups) => groups.contains(&group),
            Groups::Providers => is_cluster_api(group),
            Groups::All => true,
        }
    }

    pub(super) fn fits_kind(&self, kind: &str) -> bool {
        self.kinds.iter().any(|pattern| fits(pattern, kind))
    }

    /// Whether the kind alone says enough: a whole group's row needs the group.
    pub(super) fn names_kind(&self, kind: &str) -> bool {
        self.kinds.iter().any(|pattern| *pattern != "*" && fits(pattern, kind))
    }

    pub(super) const fn version_role(&self) -> VersionRole {
        match self.role {
            KindRole::Cluster | KindRole::ControlPlane(_) => VersionRole::ControlPlane,
            _ => VersionRole::Workers,
        }
    }
}

pub(super) fn fits(pattern: &str, kind: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(ending) => kind.ends_with(ending),
        None => kind == pattern,
    }
}

/// Whether a group is Cluster API's or one of its providers'.
pub fn is_cluster_api(group: &str) -> bool {
    group.strip_suffix("cluster.x-k8s.io").is_some_and(|before| before.is_empty() || before.ends_with('.'))
}
