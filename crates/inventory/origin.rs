//! The object that sets a value, and its place.

use std::fmt;
use std::sync::Arc;

use capstan_model::finding::Place;
use capstan_model::tree::RepoPath;
use capstan_yaml::YamlFile;

/// Who may say values, besides the schema's defaults: the kinds of an inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LevelKind {
    /// A default of the release's schema.
    Default,
    Environment,
    Customer,
    Site,
    InfraProvider,
    ClusterDefinition,
    ManagementClusterDefinition,
}

impl LevelKind {
    /// The levels that definitions share, in the order that they have where no `Inventory` says another.
    pub const SHARED: [Self; 4] = [Self::Environment, Self::Customer, Self::Site, Self::InfraProvider];

    /// All of whose objects there are: the shared levels, and the definitions of clusters.
    pub const OF_OBJECTS: [Self; 6] = [
        Self::Environment,
        Self::Customer,
        Self::Site,
        Self::InfraProvider,
        Self::ClusterDefinition,
        Self::ManagementClusterDefinition,
    ];

    /// The kind of its objects; `default` for the schema.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Environment => "Environment",
            Self::Customer => "Customer",
            Self::Site => "Site",
            Self::InfraProvider => "InfraProvider",
            Self::ClusterDefinition => "ClusterDefinition",
            Self::ManagementClusterDefinition => "ManagementClusterDefinition",
        }
    }

    /// The word for it in `in`, in a folder's pattern, in `x-capstan-levels` and in templates.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Environment => "environment",
            Self::Customer => "customer",
            Self::Site => "site",
            Self::InfraProvider => "infraProvider",
            Self::ClusterDefinition | Self::ManagementClusterDefinition => "cluster",
        }
    }

    /// The shared level of that word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::SHARED.into_iter().find(|level| level.word() == word)
    }

    /// The level of that kind.
    pub fn of_kind(kind: &str) -> Option<Self> {
        Self::OF_OBJECTS.into_iter().find(|level| level.kind() == kind)
    }

    /// Whether its objects are clusters, and not what clusters share.
    pub const fn is_cluster(self) -> bool {
        matches!(self, Self::ClusterDefinition | Self::ManagementClusterDefinition)
    }
}

/// One object that says values, and the file that holds it; or the schema of a release.
#[derive(Debug)]
pub struct InventoryLevel {
    pub kind: LevelKind,
    /// Its name; of a schema, the release's id.
    pub name: String,
    /// The file's path.
    pub path: RepoPath,
    pub file: YamlFile,
}

impl InventoryLevel {
    /// Line and column of a byte of the file.
    pub fn place(&self, offset: usize) -> Place {
        Place::at(self.path.clone(), self.file.position(offset))
    }
}

impl fmt::Display for InventoryLevel {
    /// `Environment prod`; `the default of openstack/v1.4.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            LevelKind::Default => write!(f, "the default of {}", self.name),
            kind => write!(f, "{} {}", kind.kind(), self.name),
        }
    }
}

/// The place of one value.
#[derive(Debug, Clone)]
pub struct InventoryOrigin {
    /// Who says it.
    pub level: Arc<InventoryLevel>,
    /// The byte of the level's file at which it begins.
    pub offset: usize,
}

impl InventoryOrigin {
    /// The value that begins at that byte.
    pub const fn new(level: Arc<InventoryLevel>, offset: usize) -> Self {
        Self { level, offset }
    }

    /// File, line and column.
    pub fn place(&self) -> Place {
        self.level.place(self.offset)
    }
}

impl fmt::Display for InventoryOrigin {
    /// `Environment prod, inventory/prod.yaml:9:16`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.level, self.place())
    }
}
