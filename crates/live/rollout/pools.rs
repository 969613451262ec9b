//! What a change of a MachinePool does to the instances that are there, by the kind of its infrastructure object.
//!
//! Read in the providers' controllers: AWS `launchtemplate.go` (`LaunchTemplateNeedsUpdate`, tags, AMI, the name of the
//! bootstrap secret) and `nodegroup.go` of v2.13.0; Azure `azure/types.go` (an instance is outdated where its image
//! differs) and `scope/machinepool.go`; GCP `instancegroupmanagers_reconcile.go` (a new template without an update
//! policy); OCI `exp/controllers/machine_pool.go` of v0.24.0; Docker `dockermachinepool_backend.go` of test v1.14.0.

use capstan_model::kinds::{KindReader, is_managed_pool, version_fields_of_fragment};
use capstan_model::object::api_group;
use capstan_yaml::Value;

use super::pointer::{PointerTarget, is_below};
use super::references::text;

/// What becomes of the instances that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PoolEffect {
    /// They are replaced.
    Replaces,
    /// They stay as they are; only new ones get it.
    OnlyNew,
    /// They stay as they are, and new ones get it with the next change that the provider compares.
    NotYet,
    /// Nothing: a count, or what the provider sets on them where they are.
    InPlace,
    /// Only the provider could tell.
    ProviderDecides,
}

use PoolEffect::{InPlace, NotYet, OnlyNew, ProviderDecides, Replaces};

/// Whether a setting of the infrastructure object keeps all instances as they are.
pub(super) enum Keeping {
    Never,
    /// Where this field is true.
    Where(&'static str),
    Unless(&'static str),
}

pub(super) struct PoolRow {
    pub(super) kind: &'static str,
    /// The first that a field is at or below decides; then [`SHARED`], then `rest`.
    pub(super) fields: &'static [(&'static str, PoolEffect)],
    pub(super) rest: PoolEffect,
    /// The version of Kubernetes, unless the object sets this field.
    pub(super) version: PoolEffect,
    pub(super) but_for: &'static str,
    /// Another name of the bootstrap secret.
    pub(super) bootstrap: PoolEffect,
    pub(super) keeping: Keeping,
    /// What its Cluster's infrastructure, or control plane, adds to each pool.
    pub(super) of_cluster: &'static [&'static str],
    pub(super) how: &'static str,
}

/// A kind whose provider decides.
const MANAGED: PoolRow = PoolRow {
    kind: "",
    fields: &[],
    rest: ProviderDecides,
    version: Replaces,
    but_for: "",
    bootstrap: ProviderDecides,
    keeping: Keeping::Never,
    of_cluster: &[],
    how: "The provider replaces the nodes of its node group, by its own rules.",
};

const UNKNOWN: PoolRow =
    PoolRow { how: "The infrastructure provider replaces the instances of its group.", ..MANAGED };

/// Fields that replace no instance whatever the provider: bounds of the count, tags, and what is set on nodes that are
/// there.
pub(super) const SHARED: &[&str] = &[
    "/spec/additionalTags",
    "/spec/maxSize",
    "/spec/minSize",
    "/spec/providerID",
    "/spec/providerIDList",
    "/spec/scaling",
];

pub(super) const TABLE: &[PoolRow] = &[
    PoolRow {
        kind: "AWSMachinePool",
        fields: &[
            ("/spec/additionalTags", Replaces),
            ("/spec/awsLaunchTemplate/additionalSecurityGroups", Replaces),
            ("/spec/awsLaunchTemplate/ami", Replaces),
            ("/spec/awsLaunchTemplate/capacityReservationId", Replaces),
            ("/spec/awsLaunchTemplate/capacityReservationPreference", NotYet),
            ("/spec/awsLaunchTemplate/enclaveOptions", Replaces),
            ("/spec/awsLaunchTemplate/iamInstanceProfile", Replaces),
            ("/spec/awsLaunchTemplate/instanceMetadataOptions", Replaces),
            ("/spec/awsLaunchTemplate/instanceType", Replaces),
            ("/spec/awsLaunchTemplate/marketType", NotYet),
            ("/spec/awsLaunchTemplate/nonRootVolumes", NotYet),
            ("/spec/awsLaunchTemplate/privateDnsName", Replaces),
            ("/spec/awsLaunchTemplate/rootVolume", NotYet),
            ("/spec/awsLaunchTemplate/spotMarketOptions", Replaces),
            ("/spec/awsLaunchTemplate/sshKeyName", Replaces),
            // How the image is looked up.
            ("/spec/awsLaunchTemplate", ProviderDecides),
        ],
        rest: InPlace,
        but_for: "/spec/awsLaunchTemplate/ami/id",
        bootstrap: Replaces,
        keeping: Keeping::Where("/spec/refreshPreferences/disable"),
        of_cluster: &["/spec/additionalTags"],
        how: "The instance refresh ends instances without a drain, so disruption budgets are not asked. By default at least 90 % stay in service.",
        ..MANAGED
    },
    PoolRow {
        kind: "AzureMachinePool",
        fields: &[("/spec/template/image", Replaces), ("/spec/template", OnlyNew)],
        rest: InPlace,
        but_for: "/spec/template/image",
        bootstrap: OnlyNew,
        how: "The provider drains and replaces its instances, by default with one more at a time.",
        ..MANAGED
    },
    PoolRow {
        kind: "DevMachinePool",
        fields: &[("/spec/backend/docker/customImage", Replaces), ("/spec/backend", OnlyNew)],
        rest: InPlace,
        bootstrap: OnlyNew,
        ..UNKNOWN
    },
    PoolRow {
        kind: "DockerMachinePool",
        fields: &[("/spec/template/customImage", Replaces), ("/spec/template", OnlyNew)],
        rest: InPlace,
        bootstrap: OnlyNew,
        ..UNKNOWN
    },
    PoolRow { kind: "GCPMachinePool", rest: OnlyNew, version: OnlyNew, bootstrap: OnlyNew, ..UNKNOWN },
    PoolRow {
        kind: "OCIMachinePool",
        fields: &[("/spec/instanceConfiguration", OnlyNew)],
        rest: InPlace,
        version: OnlyNew,
        bootstrap: OnlyNew,
        ..UNKNOWN
    },
    PoolRow {
        kind: "AWSManagedMachinePool",
        fields: &[
            ("/spec/amiVersion", Replaces),
            ("/spec/labels", InPlace),
            ("/spec/taints", InPlace),
            ("/spec/updateConfig", InPlace),
        ],
        ..MANAGED
    },
    PoolRow {
        kind: "OCIManagedMachinePool",
        fields: &[("/spec/version", Replaces)],
        keeping: Keeping::Unless("/spec/nodePoolCyclingDetails/isNodeCyclingEnabled"),
        ..MANAGED
    },
];

/// What is known of the pools of one infrastructure object.
pub(crate) struct PoolFacts<'v> {
    row: &'static PoolRow,
    kind: &'v str,
    object: Option<&'v Value>,
}

impl<'v> PoolFacts<'v> {
    /// Of a kind, and the object where it is known. The provider decides for kinds and versions that are not read.
    pub(crate) fn of(kind: &'v str, object: Option<&'v Value>) -> Self {
        let api_version = object.and_then(|object| text(object, "apiVersion"));
        let is_read = KindReader::Pools.unread(kind, api_version).is_none();
        let row = TABLE.iter().find(|row| row.kind == kind && is_read);
        let unknown = if is_managed_pool(kind) { &MANAGED } else { &UNKNOWN };
        Self { row: row.unwrap_or(unknown), kind, object }
    }

    /// What a changed field of the object does.
    pub(crate) fn field(&self, path: &str) -> PoolEffect {
        if !is_below(path, "/spec") {
            return InPlace;
        }
        // A part that comes or goes as a whole may hold a field that replaces instances.
        let holds = |(field, effect): &(&str, PoolEffect)| {
            *effect == Replaces && *field != path && is_below(field, path)
        };
        if path == "/spec" || self.row.fields.iter().any(holds) {
            return self.kept(ProviderDecides);
        }
        let known = self.row.fields.iter().find(|(field, _)| is_below(path, field));
        let shared = SHARED.iter().any(|field| is_below(path, field));
        self.kept(match known {
            Some((_, effect)) => *effect,
            None if shared => InPlace,
            None => self.row.rest,
        })
    }

    /// What another version of Kubernetes in the MachinePool does.
    pub(super) fn version(&self) -> PoolEffect {
        // Some providers read the version of their own object alone.
        let group = self.object.and_then(|object| text(object, "apiVersion")).map(api_group);
        if version_fields_of_fragment(group, Some(self.kind)).next().is_some() {
            return InPlace;
        }
        let is_set = self.object.is_some_and(|object| object.at(self.row.but_for).is_some());
        let own_image = is_set && !self.row.but_for.is_empty();
        self.kept(if own_image { OnlyNew } else { self.row.version })
    }

    /// What another name of the bootstrap secret does.
    pub(super) fn bootstrap(&self) -> PoolEffect {
        self.kept(self.row.bootstrap)
    }

    /// Fields of the Cluster's infrastructure and control plane that replace instances.
    pub(super) fn cluster_fields(&self) -> &'static [&'static str] {
        self.row.of_cluster
    }

    /// What a change of one of those does.
    pub(super) fn cluster_field(&self) -> PoolEffect {
        self.kept(Replaces)
    }

    /// How instances are replaced.
    pub(super) fn how(&self) -> &'static str {
        self.row.how
    }

    /// Why no instance is replaced, where a setting of the object decides it.
    pub(super) fn why_kept(&self) -> Option<String> {
        let words = |field: &str| field.trim_start_matches("/spec/").replace('/', ".");
        match self.row.keeping {
            Keeping::Where(field) => {
                self.is_true(field).then(|| format!("`{}: true` of {}", words(field), self.kind))
            }
            Keeping::Unless(field) => {
                (!self.is_true(field)).then(|| format!("`{}` of {} is not `true`", words(field), self.kind))
            }
            Keeping::Never => None,
        }
    }

    fn kept(&self, effect: PoolEffect) -> PoolEffect {
        if !matches!(effect, InPlace | NotYet) && self.why_kept().is_some() { OnlyNew } else { effect }
    }

    fn is_true(&self, field: &str) -> bool {
        self.object.and_then(|object| object.at(field)) == Some(&Value::Bool(true))
    }
}
