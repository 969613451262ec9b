//! `capstan providers fetch [PATH]`

use std::env;

use capstan_fleet::components::{NotFetched, config_map, fetch, files, layers};
use capstan_fleet::generator::Fleet;
use capstan_model::file_change::FileChange;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::cluster::Cluster;
use capstan_plan::settings::{HostName, OperatorHost};
use capstan_ports::{AllowedHosts, ComponentSource, FetchError, SourceCredentials, Workspace};
use capstan_providers::{OciArtifact, Provider, ProviderSet, Published, VariableValues, at_hand};
use capstan_report::Refusal;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::set::{failed, of_file, set};
use crate::cli::arguments::ProvidersFetch;
use crate::cli::context::Context;
use crate::cli::progress::say;
use crate::cli::{CommandFailure, CommandOutcome, Connect, Format, ObjectFormat, output, typed};

/// Where files go if nothing else was typed.
const KEPT_IN: &str = ".capstan/providers";

/// A provider's components, and what became of them.
struct FetchRow<'a> {
    provider: &'a Provider,
    published: Published,
    /// Where they are now.
    to: String,
}

pub(super) fn run(
    context: &Context<'_>,
    connect: Connect<'_>,
    command: &ProvidersFetch,
) -> Result<CommandOutcome, CommandFailure> {
    if context.arguments.at.is_some() && !command.config_maps && command.push.is_none() {
        let message = "`--at` reads a commit, and the files go into the work tree: leave it out, or add `--config-maps` or `--push`";
        return Err(CommandFailure::Usage(Refusal::Usage, message.to_owned()));
    }
    let values = credentials(command)?;
    let workspace = context.workspace()?;
    let fleet = context.fleet_of(workspace.as_ref())?;
    let tree = context.tree(workspace.as_ref(), context.arguments.at.as_deref())?;
    let set = set(workspace.as_ref(), tree.as_ref(), command.path.as_deref())?;
    let into = match &command.into {
        Some(into) => typed::new_folder(workspace.as_ref(), into),
        None => RepoPath::parse(KEPT_IN).ok(),
    };
    let into = into.ok_or_else(|| {
        let message = "--into: this is not a folder below the root of the repository".to_owned();
        CommandFailure::Usage(Refusal::Usage, message)
    })?;
    let of_settings = fleet.settings().providers.hosts.iter().map(|host| host.as_str().to_owned());
    let typed = typed_hosts(command)?;
    // A checkout is a stranger's until somebody types its hosts.
    let mut granted = OperatorHost::public();
    granted.extend(typed.iter().flat_map(|host| OperatorHost::typed(host)));
    let hosts = AllowedHosts::new(of_settings.chain(typed)).within(&granted);
    let source =
        connect(hosts).map_err(|error| CommandFailure::Failed(Refusal::Providers, error.to_string()))?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandFailure::Failed(Refusal::Providers, error.to_string()))?;

    let work = FetchWork {
        command,
        fleet: &fleet,
        source: source.as_ref(),
        runtime,
        set: &set,
        tree: tree.as_ref(),
        values,
    };
    let mut rows = work.fetched(&into)?;
    if command.config_maps {
        let maps: Vec<Value> = rows.iter().map(|row| config_map(row.provider, &row.published)).collect();
        let form = if command.output == Format::Json { ObjectFormat::Json } else { ObjectFormat::Yaml };
        output::print_objects(form, &maps.iter().collect::<Vec<_>>())?;
        rows.iter().for_each(|row| say!("note: {}", line(row)));
        return Ok(CommandOutcome::Done);
    }
    match &command.push {
        Some(address) => work.push(address, &mut rows)?,
        None => write(workspace.as_ref(), tree.as_ref(), &into, &mut rows)?,
    }
    match command.output {
        Format::Json => output::print_json(&rows.iter().map(as_json).collect::<Value>())?,
        Format::Yaml => output::print_yaml(&rows.iter().map(as_json).collect::<Value>())?,
        Format::Text => rows.iter().try_for_each(|row| output::print_line(&line(row)))?,
    }
    Ok(CommandOutcome::Done)
}

/// What fetching and pushing needs.
struct FetchWork<'a> {
    command: &'a ProvidersFetch,
    fleet: &'a Fleet,
    source: &'a dyn ComponentSource,
    runtime: Runtime,
    set: &'a ProviderSet,
    tree: &'a dyn Tree,
    values: VariableValues,
}

impl<'a> FetchWork<'a> {
    /// All providers' components, or all that is wrong. What is not kept in the repository is taken from there where
    /// it is; what is, is asked for again, so that one hears of a version that moved.
    fn fetched(&self, into: &RepoPath) -> Result<Vec<FetchRow<'a>>, CommandFailure> {
        let is_kept = !self.command.config_maps && self.command.push.is_none();
        let (mut rows, mut refused) = (Vec::new(), Vec::new());
        for provider in self.set.providers() {
            let found = if is_kept && !matches!(provider.origin(), Ok(None)) {
                Ok(None)
            } else {
                at_hand(self.tree, self.set, provider)
            };
            let of_set = self.recorded_of_set(provider)?;
            let published = match found {
                Ok(Some(published)) => as_recorded(provider, published, of_set),
                Ok(None) => {
                    let written = if is_kept { recorded(self.tree, into, provider) } else { None };
                    let recorded = of_set.or(written);
                    self.runtime.block_on(fetch(self.source, self.set, provider, &self.values, recorded))
                }
                Err(refusal) => Err(NotFetched::from(refusal)),
            };
            match published {
                Ok(published) => rows.push(FetchRow { provider, published, to: String::new() }),
                Err(error) => refused.push(error),
            }
        }
        if refused.is_empty() { Ok(rows) } else { Err(failed(&refused)) }
    }

    /// The SHA-256 that the `capstan.yaml` of a provider's set records of the version that it asks for.
    fn recorded_of_set(&self, provider: &Provider) -> Result<Option<String>, CommandFailure> {
        let Some(folder) = self.fleet.layout().target_around(provider.place.file()) else { return Ok(None) };
        let settings = Cluster::settings_of(self.tree, folder)
            .map_err(|error| CommandFailure::Failed(Refusal::Providers, error.to_string()))?;
        let record = settings.and_then(|mut settings| settings.components.remove(&provider.label()));
        let record = record.filter(|record| Some(record.version.as_str()) == provider.version());
        Ok(record.map(|record| record.sha256))
    }

    fn push(&self, address: &str, rows: &mut [FetchRow<'_>]) -> Result<(), CommandFailure> {
        for row in rows {
            let FetchRow { provider, published, .. } = row;
            let address = format!("{}/{}", address.trim_end_matches('/'), provider.label());
            let artifact = OciArtifact::parse(&address, Some(&published.version));
            let artifact = artifact
                .map_err(|refusal| CommandFailure::Usage(Refusal::Usage, format!("--push: {refusal}")))?;
            // Those of the environment: the account that may read a source need not be the one that may write a mirror.
            let credentials = SourceCredentials::read(|name| self.values.get(name).map(str::to_owned));
            let files = layers(provider, published);
            let digest = self.runtime.block_on(self.source.push(&artifact, &files, &credentials));
            let digest = digest
                .map_err(|error: FetchError| CommandFailure::Failed(Refusal::Providers, error.to_string()))?;
            row.to = format!("{artifact}@{digest}");
        }
        Ok(())
    }
}

/// Components that are at hand, where they are those that the set records.
fn as_recorded(
    provider: &Provider,
    published: Published,
    recorded: Option<String>,
) -> Result<Published, NotFetched> {
    let found = published.sha256();
    match recorded {
        Some(recorded) if recorded != found => {
            let (address, version) = (published.from, published.version);
            let error = FetchError::Moved { address, version, recorded, found };
            Err(NotFetched::Failed { subject: provider.subject(), error })
        }
        _ => Ok(published),
    }
}

/// Credentials of the file, then of the environment.
fn credentials(command: &ProvidersFetch) -> Result<VariableValues, CommandFailure> {
    let mut values = command.variables_file.as_deref().map(of_file).transpose()?.unwrap_or_default();
    let mut environment = VariableValues::default();
    for name in SourceCredentials::NAMES {
        if let Ok(value) = env::var(name) {
            environment.insert(name, value);
        }
    }
    values.fill(&environment);
    Ok(values)
}

fn typed_hosts(command: &ProvidersFetch) -> Result<Vec<String>, CommandFailure> {
    let mut hosts = Vec::new();
    for host in &command.hosts {
        let host = HostName::parse(host)
            .map_err(|error| CommandFailure::Usage(Refusal::Usage, format!("--host: {error}")))?;
        hosts.push(host.as_str().to_owned());
    }
    if let Some(address) = &command.push {
        let bare = address.strip_prefix("http://").unwrap_or(address);
        hosts.extend(bare.split('/').next().map(str::to_owned));
    }
    Ok(hosts)
}

/// The SHA-256 of the components that were written of the version that is asked for.
fn recorded(tree: &dyn Tree, into: &RepoPath, provider: &Provider) -> Option<String> {
    let version = provider.version()?;
    let file = format!("{}/{version}/{}", provider.label(), provider.kind.components_file());
    let entry = tree.entry(&into.join(&file).ok()?)?;
    let bytes = tree.read(entry).ok()?;
    Some(capstan_model::digest::sha256(&bytes))
}

/// Writes all files or none.
fn write(
    workspace: &dyn Workspace,
    tree: &dyn Tree,
    into: &RepoPath,
    rows: &mut [FetchRow<'_>],
) -> Result<(), CommandFailure> {
    let mut changes = Vec::new();
    for row in rows {
        for (path, text) in files(row.provider, &row.published) {
            let path = into
                .join(&path)
                .map_err(|error| CommandFailure::Failed(Refusal::Providers, error.to_string()))?;
            let before = match tree.entry(&path) {
                None => None,
                Some(entry) => {
                    let bytes = tree
                        .read(entry)
                        .map_err(|error| CommandFailure::Failed(Refusal::Providers, error.to_string()))?;
                    Some(String::from_utf8_lossy(&bytes).into_owned())
                }
            };
            row.to = path.parent().unwrap_or_default().to_string();
            if before.as_ref() != Some(&text) {
                changes.push(FileChange { path, before, after: Some(text) });
            }
        }
    }
    Ok(workspace.write(&changes)?)
}

fn line(row: &FetchRow<'_>) -> String {
    let FetchRow { provider, published, to } = row;
    let to = if to.is_empty() { String::new() } else { format!(" to {to}") };
    format!(
        "{} {} sha256:{} from {}{to}",
        provider.label(),
        published.version,
        published.sha256(),
        published.from
    )
}

fn as_json(row: &FetchRow<'_>) -> Value {
    json!({
        "label": row.provider.label(),
        "version": row.published.version,
        "sha256": row.published.sha256(),
        "from": row.published.from,
        "to": row.to,
    })
}
