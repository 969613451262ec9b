//! What can be typed.

mod campaign;
mod format;
mod inventory;

use std::path::PathBuf;

use capstan_model::object::FieldPath;
use capstan_plan::migration::WantedVersion;
use capstan_plan::upgrade::Overwrite;
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(super) use campaign::{Campaign, CampaignCommand};
pub(super) use inventory::{
    Inventory, InventoryCommand, InventoryDiff, InventoryExplain, InventoryImport, InventoryRender,
    InventoryUses,
};

pub use format::Format;

use crate::config::{ReconcileOptions, ServeOptions};

/// Upgrades fleets of Kubernetes clusters kept in Git as Cluster API objects.
#[derive(Debug, Parser)]
#[command(
    name = "capstan",
    version,
    about,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "\
Exit codes: 0 done; 1 failed (unreadable input, I/O); 2 wrong usage, or a cluster, release or path that \
does not exist; 3 done, with findings of severity error or with conflicts that block."
)]
pub struct Arguments {
    /// A checkout of the repository [default: the one around the working directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// Read this commit, branch or tag instead of the work tree
    #[arg(long, global = true, value_name = "REV")]
    pub at: Option<String>,
    /// A checkout of the repository with the releases, if .capstan.yaml names another one
    #[arg(long, global = true, value_name = "DIR")]
    pub releases: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: AnyCommand,
}

/// An offline command, or one of those that `main` wires.
#[derive(Debug, Subcommand)]
pub enum AnyCommand {
    /// A command on a checkout.
    #[command(flatten)]
    Offline(CheckoutCommand),
    /// A command that runs a service.
    #[command(flatten)]
    Service(ServiceCommand),
}

/// Commands that run a service, or tell of one; `main` wires them.
#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
    /// Run the bot: receive webhooks, open pull requests, report checks
    Serve(Box<ServeOptions>),
    /// Run the reconciler: apply the clusters of this management cluster, watch their machines, report
    Reconcile(ReconcileOptions),
    /// Print the definitions of Capstan's own Kubernetes kinds (Fleet, ManagedCluster)
    Crds(Crds),
    /// Invite, list and revoke reconcilers; works on the bot's database
    Agents(Agents),
    /// Check the bot's database, write it to a file, or read it from one
    Database(DatabaseArguments),
    /// Plan what the bot asks on standard input; the bot starts it itself
    #[command(hide = true)]
    PlannerProcess(PlannerProcess),
}

/// `capstan planner-process`
#[derive(Debug, Args)]
pub struct PlannerProcess {
    /// Memory that it may use, in bytes
    #[arg(long, value_name = "BYTES")]
    pub memory: u64,
    /// Stack that each of its threads may use, in bytes
    #[arg(long, value_name = "BYTES")]
    pub stack: usize,
}

/// `capstan crds`
#[derive(Debug, Args)]
pub struct Crds {
    /// Print those of the seven kinds of providers instead (operator.cluster.x-k8s.io), for a management cluster
    /// without the Cluster API operator
    #[arg(long)]
    pub providers: bool,
    /// Print that of SIPCluster instead (airship.airshipit.org), which requests bare-metal hosts for a tenant cluster
    #[arg(long, conflicts_with = "providers")]
    pub hosts: bool,
}

/// Where the bot's database is, as in the bot's settings
#[derive(Debug, Args)]
pub struct DatabasePlace {
    /// The bot's YAML file with settings [env: CAPSTAN_CONFIG]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// The bot's database [env: CAPSTAN_DATABASE_URL] [default: SQLite in the state directory]
    #[arg(long, value_name = "URL", global = true)]
    pub database_url: Option<String>,
    /// The bot's state directory [env: CAPSTAN_STATE_DIR] [default: ~/.local/state/capstan]
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
}

/// `capstan agents`
#[derive(Debug, Args)]
pub struct Agents {
    /// Where the bot's database is.
    #[command(flatten)]
    pub place: DatabasePlace,
    /// What to do.
    #[command(subcommand)]
    pub command: AgentsCommand,
}

/// What can be done with agents.
#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// Print a join code, which one reconciler can use once, within an hour
    Invite {
        /// UID of the one management cluster that it is for
        /// (`kubectl get namespace kube-system -o jsonpath={.metadata.uid}`)
        #[arg(long, value_name = "UID")]
        management_cluster: String,
        /// Name of the reconciler, if the management cluster already has another one
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// List the reconcilers that enrolled
    List {
        /// Output format
        #[arg(short, long, value_enum, default_value = "text")]
        output: Format,
    },
    /// Revoke a reconciler: the bot no longer trusts it
    Revoke {
        /// Its id, as `list` prints it
        #[arg(value_name = "AGENT")]
        agent: String,
    },
}

/// `capstan database`
#[derive(Debug, Args)]
pub struct DatabaseArguments {
    /// Where the bot's database is.
    #[command(flatten)]
    pub place: DatabasePlace,
    /// What to do.
    #[command(subcommand)]
    pub command: DatabaseCommand,
}

/// What can be done with the bot's database.
#[derive(Debug, Subcommand)]
pub enum DatabaseCommand {
    /// Say whether it is healthy, and if not, what to do; writes nothing
    Check,
    /// Write all of it to a new file, which either engine can read; the bot may run meanwhile
    Export {
        /// The file; `-` is standard output
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Read all of a file that was exported into an empty database
    Import {
        /// The file; `-` is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// An offline command with the options that all of them share.
#[derive(Debug)]
pub struct Offline {
    pub repo: Option<PathBuf>,
    /// `--at`
    pub at: Option<String>,
    pub releases: Option<PathBuf>,
    pub command: CheckoutCommand,
}

/// Commands on a checkout.
#[derive(Debug, Subcommand)]
pub enum CheckoutCommand {
    /// Show the upgrades that would be proposed; writes nothing
    Plan(Plan),
    /// Print an upgrade as a unified diff, or write it to the work tree
    Upgrade(Upgrade),
    /// Bring objects to newer API versions, with what becomes of each field and of the machines
    Migrate(Migrate),
    /// Print a cluster's objects, base and overlay together, as they are applied
    Render(Render),
    /// Check layout, settings, YAML, references and rules, over the whole tree or below some paths
    Validate(Validate),
    /// Compare a cluster's rendered objects in two commits
    Diff(Diff),
    /// List the releases
    Releases(List),
    /// List the clusters with their current and offered release
    Clusters(List),
    /// Find the release that a cluster's base comes from, for clusters that record none
    Adopt(Adopt),
    /// Print or write the .capstan.yaml that fits a repository without one, and what it finds
    Init(Init),
    /// Make a new cluster from a release: print its files as a diff, or write them to the work tree
    Create(Create),
    /// Print the JSON Schema of .capstan.yaml
    Schema(Schema),
    /// Print the rule catalogue, or one rule with its reason
    Rules(Rules),
    /// Render the providers of a management cluster, as the Cluster API operator would
    Providers(Providers),
    /// Values that clusters share: what each cluster has, where it comes from, what templates render
    Inventory(Inventory),
    /// How a release would move through the fleet in waves, under a virtual clock
    Campaign(Campaign),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Explain a command, or print a page of the documentation
    Help(Help),
}

impl CheckoutCommand {
    /// What it does, as long as it does it.
    pub(super) const fn doing(&self) -> &'static str {
        match self {
            Self::Plan(_) | Self::Upgrade(_) | Self::Migrate(_) | Self::Clusters(_) => "planning",
            Self::Render(_) | Self::Diff(_) => "rendering",
            Self::Validate(_) => "validating",
            Self::Campaign(_) => "simulating",
            Self::Providers(providers) => match providers.command {
                ProvidersCommand::Fetch(_) => "fetching components",
                _ => "rendering providers",
            },
            Self::Inventory(_) => "reading the inventory",
            Self::Adopt(_) => "comparing with releases",
            Self::Create(_) | Self::Init(_) | Self::Releases(_) => "reading the repository",
            Self::Schema(_) | Self::Rules(_) | Self::Completions(_) | Self::Help(_) => "printing",
        }
    }
}

/// How plans are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// For people.
    Text,
    /// For programs: an array.
    Json,
    /// For programs and people: an array.
    Yaml,
    /// For pull requests and wikis.
    Markdown,
    /// A unified diff of files.
    Diff,
}

/// How changes of files are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChangeFormat {
    /// A unified diff of files.
    Diff,
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
}

/// How Kubernetes objects are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ObjectFormat {
    /// Documents, as `kubectl apply` takes them.
    Yaml,
    /// An array.
    Json,
}

/// How rules are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RulesFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
    /// The pages of the rules.
    Markdown,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FindingsFormat {
    /// For people.
    Text,
    /// For programs: an array.
    Json,
    /// For programs and people.
    Yaml,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Workflow commands of GitHub Actions, which annotate a pull request.
    Github,
}

/// `capstan plan`
#[derive(Debug, Args)]
pub struct Plan {
    /// Clusters by id or path, e.g. gauss/peu01, . or ./peu01; a folder means all clusters below it
    #[arg(value_name = "CLUSTER")]
    pub clusters: Vec<String>,
    /// Plan for this release instead of the offered one
    #[arg(long, value_name = "RELEASE")]
    pub to: Option<String>,
    /// Print the whole path instead: every step to the newest release, or to the one of `--to`
    #[arg(long, conflicts_with = "fields")]
    pub path: bool,
    /// Plan for every cluster (the same as naming none)
    #[arg(long, conflicts_with = "clusters")]
    pub all: bool,
    /// Also show where in the release each change comes from, and how lists and values were compared
    #[arg(long, conflicts_with = "path")]
    pub explain: bool,
    #[command(flatten)]
    pub overwriting: Overwriting,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: PlanFormat,
}

/// What may be overwritten in a cluster without a recorded release.
#[derive(Debug, Args)]
pub struct Overwriting {
    /// If the cluster's release is unknown, take the release's value instead of the cluster's: of one field by its
    /// path (may be given several times), or of all without a path
    #[arg(long = "overwrite", value_name = "PATH", num_args = 0..=1, default_missing_value = "", value_parser = field)]
    fields: Vec<FieldPath>,
}

impl Overwriting {
    /// The same for a plan.
    pub fn allowed(&self) -> Overwrite {
        match self.fields.as_slice() {
            [] => Overwrite::Nothing,
            fields if fields.iter().any(FieldPath::is_root) => Overwrite::All,
            fields => Overwrite::Fields(fields.to_vec()),
        }
    }
}

fn field(text: &str) -> Result<FieldPath, String> {
    FieldPath::parse(text).ok_or_else(|| {
        "a field's path begins with `/`, as in `/spec/replicas`; write the clusters before `--overwrite`"
            .to_owned()
    })
}

/// `capstan upgrade`
#[derive(Debug, Args)]
pub struct Upgrade {
    /// Clusters by id or path
    #[arg(value_name = "CLUSTER", required = true)]
    pub clusters: Vec<String>,
    /// The release to go to [default: the offered one]
    #[arg(long, value_name = "RELEASE")]
    pub to: Option<String>,
    /// Apply the current inventory, with the release that each cluster has; create clusters that it defines
    #[arg(long, conflicts_with = "to")]
    pub inventory: bool,
    /// Let patches in the overlay follow renamed templates: edits only those names
    #[arg(long)]
    pub retarget: bool,
    #[command(flatten)]
    pub overwriting: Overwriting,
    /// Change the work tree instead of printing a diff: all files or none
    #[arg(long, conflicts_with = "at")]
    pub write: bool,
    /// Also show where in the release each change comes from, and how lists and values were compared
    #[arg(long, conflicts_with = "inventory")]
    pub explain: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value = "diff")]
    pub output: ChangeFormat,
}

/// `capstan migrate`
#[derive(Debug, Args)]
pub struct Migrate {
    /// Clusters and provider sets by id or path
    #[arg(value_name = "CLUSTER", required_unless_present_any = ["all", "new_releases"], conflicts_with = "all")]
    pub clusters: Vec<String>,
    /// All of them
    #[arg(long)]
    pub all: bool,
    /// Also the newest release of each provider: a new version of it, beside it
    #[arg(long)]
    pub new_releases: bool,
    /// Versions to go to: `v1beta2`, or `GROUP/v1beta2` for one API group
    /// [default: the newest that Capstan converts to and the providers serve]
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',')]
    pub to: Vec<WantedVersion>,
    /// Also edit patches in the overlay, so that they follow their objects
    #[arg(long)]
    pub overlay: bool,
    /// Change the work tree: all files or none
    #[arg(long, conflicts_with = "at")]
    pub write: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: PlanFormat,
}

/// `capstan render`
#[derive(Debug, Args)]
pub struct Render {
    /// Cluster by id or path
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Live names of the templates of a claimed cluster, as the reconciler reports them
    /// [default: names by content]
    #[arg(long, value_name = "FILE")]
    pub names: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "yaml")]
    pub output: ObjectFormat,
}

/// `capstan validate`
#[derive(Debug, Args)]
pub struct Validate {
    /// Files or folders to report on [default: the whole repository]
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Also run the rules that compare with this commit
    #[arg(long, value_name = "REV")]
    pub from: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: FindingsFormat,
}

/// `capstan diff`
#[derive(Debug, Args)]
pub struct Diff {
    /// Cluster by id or path
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// The commit before
    #[arg(long, value_name = "REV")]
    pub from: String,
    /// The commit after [default: the work tree]
    #[arg(long, value_name = "REV")]
    pub to: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: Format,
}

/// `capstan releases`, `capstan clusters`
#[derive(Debug, Args)]
pub struct List {
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: Format,
}

/// `capstan adopt`
#[derive(Debug, Args)]
pub struct Adopt {
    /// Clusters by id or path [default: all of them]
    #[arg(value_name = "CLUSTER")]
    pub clusters: Vec<String>,
    /// Record what was found in the clusters' capstan.yaml: all files or none
    #[arg(long, conflicts_with = "at")]
    pub write: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: Format,
}

/// `capstan init`
#[derive(Debug, Args)]
pub struct Init {
    /// Make this release, e.g. aws/v1.0.0, from a cluster's base instead
    #[arg(long, value_name = "PROVIDER/VERSION", requires = "from")]
    pub release: Option<String>,
    /// The cluster that the release is made from, e.g. gauss/peu01
    #[arg(long, value_name = "CLUSTER", requires = "release")]
    pub from: Option<String>,
    /// Write to the work tree, all files or none; what is there is never overwritten
    #[arg(long, conflicts_with = "at")]
    pub write: bool,
    /// Move clusters that share a folder or a file into folders of their own first
    #[arg(long = "move", requires = "write", conflicts_with = "release")]
    pub moves: bool,
    /// With --move: what applies the clusters' folders takes their subfolders, too, although nothing here shows it
    #[arg(long, requires = "moves")]
    pub applied_below: bool,
    /// Output format [default: text, of a release diff]
    #[arg(short, long, value_enum)]
    pub output: Option<ChangeFormat>,
}

/// `capstan create`
#[derive(Debug, Args)]
pub struct Create {
    /// The new cluster's folder, relative to the working directory, e.g. gauss/peu01
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// The release that it is made from, e.g. aws/v21.0.0
    #[arg(long, value_name = "RELEASE")]
    pub from: String,
    /// A value of one of the release's variables; as often as it has variables without a default
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Write to the work tree, all files or none; what is there is never overwritten
    #[arg(long, conflicts_with = "at")]
    pub write: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value = "diff")]
    pub output: ChangeFormat,
}

/// `capstan schema`
#[derive(Debug, Args)]
pub struct Schema {}

/// `capstan rules`
#[derive(Debug, Args)]
pub struct Rules {
    /// A rule's id
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: RulesFormat,
}

/// `capstan providers`
#[derive(Debug, Args)]
pub struct Providers {
    /// What to do.
    #[command(subcommand)]
    pub command: ProvidersCommand,
}

/// What can be done with provider objects.
#[derive(Debug, Subcommand)]
pub enum ProvidersCommand {
    /// Print the objects of all providers below a path as they would be applied; credentials included
    Render {
        /// What is rendered.
        #[command(flatten)]
        inputs: ProviderInputs,
        /// Output format
        #[arg(short, long, value_enum, default_value = "yaml")]
        output: ObjectFormat,
    },
    /// Fetch the components of all providers below a path into a folder, ConfigMaps or a registry
    Fetch(ProvidersFetch),
    /// Print the RBAC rules that the installation of these providers needs, and what the providers may do
    Rights {
        /// What is rendered.
        #[command(flatten)]
        inputs: ProviderInputs,
        /// Also what an upgrade from the set in this commit needs: the deletion of what it drops
        #[arg(long, value_name = "REV")]
        from: Option<String>,
        /// Output format
        #[arg(short, long, value_enum, default_value = "yaml")]
        output: Format,
    },
    /// List the images of all providers below a path after overrides, one per line
    Images {
        /// What is rendered.
        #[command(flatten)]
        inputs: ProviderInputs,
        /// Output format
        #[arg(short, long, value_enum, default_value = "text")]
        output: Format,
    },
}

/// `capstan providers fetch`
#[derive(Debug, Args)]
pub struct ProvidersFetch {
    /// A file or folder with provider objects [default: the whole repository]
    #[arg(value_name = "PATH")]
    pub path: Option<String>,
    /// The folder of the repository that files go into, laid out as clusterctl's local repository
    /// [default: .capstan/providers at the root]
    #[arg(long, value_name = "FOLDER")]
    pub into: Option<String>,
    /// Print ConfigMaps for the operator instead
    #[arg(long, conflicts_with_all = ["into", "push"])]
    pub config_maps: bool,
    /// Push an OCI artifact per provider below this address instead: ADDRESS/<label>:<version>
    #[arg(long, value_name = "[http://]REGISTRY[/REPOSITORY]", conflicts_with = "into")]
    pub push: Option<String>,
    /// A host that Capstan may contact, besides `providers.hosts` of .capstan.yaml and that of --push; several times
    #[arg(long = "host", value_name = "HOST[:PORT]")]
    pub hosts: Vec<String>,
    /// A YAML file with credentials that the config Secrets of the repository lack, names to values; those of the
    /// environment count last
    #[arg(long, value_name = "FILE")]
    pub variables_file: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: Format,
}

/// What provider objects are rendered from.
#[derive(Debug, Args)]
pub struct ProviderInputs {
    /// A file or folder with provider objects [default: the whole repository]
    #[arg(value_name = "PATH")]
    pub path: Option<String>,
    /// A variable that the config Secrets of the repository lack; may be given several times
    #[arg(long = "variable", value_name = "NAME=VALUE")]
    pub variables: Vec<String>,
    /// A YAML file of such variables, names to values
    #[arg(long, value_name = "FILE")]
    pub variables_file: Option<PathBuf>,
    /// The clusterctl.yaml that the operator is started with: its `images` override images last
    #[arg(long, value_name = "FILE")]
    pub clusterctl_config: Option<PathBuf>,
}

/// `capstan help`
#[derive(Debug, Args)]
pub struct Help {
    /// A command, or a page such as settings, commands#who-may or kubernetes-minor-skip; `pages` lists the pages
    #[arg(value_name = "COMMAND|PAGE")]
    pub words: Vec<String>,
}

/// `capstan completions`
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
