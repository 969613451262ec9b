//! `capstan inventory …`

use std::path::PathBuf;

use capstan_model::object::FieldPath;
use clap::{Args, Subcommand};

use super::format::Format;

/// `capstan inventory`
#[derive(Debug, Args)]
pub struct Inventory {
    /// What to do.
    #[command(subcommand)]
    pub command: InventoryCommand,
}

/// What can be asked of an inventory.
#[derive(Debug, Subcommand)]
pub enum InventoryCommand {
    /// List definitions with their levels, release, folder and state
    List {
        /// Output format
        #[arg(short, long, value_enum, default_value = "text")]
        output: Format,
    },
    /// Print the values of a cluster after merging, defaults included
    Values {
        /// Name of the definition, or the cluster's folder
        cluster: String,
        /// Each value with the level and the place that it comes from
        #[arg(long)]
        origins: bool,
        /// Output format
        #[arg(short, long, value_enum, default_value = "text")]
        output: Format,
    },
    /// Show where a value comes from, what it overrides and which fields use it
    Explain(InventoryExplain),
    /// List the clusters that have a value from a level, and those that override it
    Uses(InventoryUses),
    /// Print the objects that templates make, before they are merged with the cluster's base
    Render(InventoryRender),
    /// Show what a change of the inventory does: which clusters change, which machines are replaced
    Diff(InventoryDiff),
    /// Print a `clusterctl.yaml`, or any flat file of `KEY: value`, as values
    Import(InventoryImport),
    /// Print all objects of a management cluster, in order and without values of secrets
    Bootstrap {
        /// Name of the ManagementClusterDefinition, or its folder
        name: String,
    },
}

fn pointer(text: &str) -> Result<FieldPath, String> {
    FieldPath::parse(text)
        .ok_or_else(|| "it is not a JSON Pointer: write it like `/kubernetes/version`".to_owned())
}

/// `capstan inventory explain`
#[derive(Debug, Args)]
pub struct InventoryExplain {
    /// Name of the definition, or the cluster's folder
    pub cluster: String,
    /// JSON Pointer of the value [default: all values]; with `--object` of the field
    #[arg(value_parser = pointer)]
    pub pointer: Option<FieldPath>,
    /// From this object's fields back to the template and the values read there
    #[arg(long, value_name = "KIND/NAME")]
    pub object: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: Format,
}

/// `capstan inventory uses`
#[derive(Debug, Args)]
pub struct InventoryUses {
    /// JSON Pointer of the value
    #[arg(value_parser = pointer)]
    pub pointer: FieldPath,
    /// Only where this object sets it [default: any level]
    #[arg(long, value_name = "KIND/NAME")]
    pub level: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: Format,
}

/// `capstan inventory import`
#[derive(Debug, Args)]
pub struct InventoryImport {
    /// The file
    pub file: PathBuf,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: Format,
}

/// `capstan inventory diff`
#[derive(Debug, Args)]
pub struct InventoryDiff {
    /// The commit, branch or tag with the inventory before
    #[arg(long, value_name = "REV")]
    pub from: String,
    /// The one with it after [default: the work tree]
    #[arg(long, value_name = "REV")]
    pub to: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: Format,
}

/// `capstan inventory render`
#[derive(Debug, Args)]
pub struct InventoryRender {
    /// Names of definitions, or folders of clusters
    pub clusters: Vec<String>,
    /// Every cluster
    #[arg(long, conflicts_with = "clusters")]
    pub all: bool,
    /// Write files below this directory, one folder per cluster, instead of printing them
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
