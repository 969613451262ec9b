//! The providers of a set, read and rendered with what was typed; or all that is wrong with them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use capstan_model::tree::{RepoPath, Tree};
use capstan_providers::{
    Inputs, Overrides, ProviderSet, RenderedObjects, VariableValues, render, versions_at_hand,
};
use capstan_report::Refusal;
use capstan_yaml::YamlFile;

use crate::cli::CommandFailure;
use crate::cli::arguments::ProviderInputs;
use crate::cli::context::Context;
use crate::cli::progress::say;
use crate::cli::typed::file_or_folder;
use capstan_ports::Workspace;

/// The set below a path, which has providers.
pub(super) fn set(
    workspace: &dyn Workspace,
    tree: &dyn Tree,
    typed: Option<&str>,
) -> Result<ProviderSet, CommandFailure> {
    let path = match typed {
        Some(typed) => file_or_folder(workspace, &[tree], typed)?,
        None => RepoPath::root(),
    };
    let set = ProviderSet::read(tree, &path).map_err(|refused| failed(&refused))?;
    if set.providers().is_empty() {
        return Err(CommandFailure::Usage(
            Refusal::Providers,
            format!(
                "{} holds no provider object (`apiVersion: operator.cluster.x-k8s.io/v1alpha2`)",
                if path.is_root() { "the repository".to_owned() } else { format!("`{path}`") }
            ),
        ));
    }
    Ok(set)
}

/// All providers, or all that is wrong: a part of a set is never printed, since somebody might apply it.
pub(super) fn rendered(
    context: &Context<'_>,
    typed: &ProviderInputs,
) -> Result<(ProviderSet, Vec<RenderedObjects>), CommandFailure> {
    rendered_at(context, typed, context.arguments.at.as_deref()).map(|all| (all.set, all.rendered))
}

/// A set, rendered at a revision.
pub(super) struct SetAtRevision {
    pub(super) set: ProviderSet,
    pub(super) rendered: Vec<RenderedObjects>,
    /// Label and version of everything that is at hand.
    pub(super) versions: BTreeSet<(String, String)>,
}

/// [`rendered`], at a revision; in the work tree where there is none.
pub(super) fn rendered_at(
    context: &Context<'_>,
    typed: &ProviderInputs,
    revision: Option<&str>,
) -> Result<SetAtRevision, CommandFailure> {
    let variables = variables(typed)?;
    let configuration = typed.clusterctl_config.as_deref().map(configuration).transpose()?;
    let workspace = context.workspace()?;
    let tree = context.tree(workspace.as_ref(), revision)?;
    let set = set(workspace.as_ref(), tree.as_ref(), typed.path.as_deref())?;
    let inputs = Inputs {
        tree: tree.as_ref(),
        set: &set,
        variables: &variables,
        configuration: configuration.as_ref(),
    };
    let (mut all, mut refused) = (Vec::new(), Vec::new());
    for provider in set.providers() {
        match render(provider, inputs) {
            Ok(rendered) => {
                for note in &rendered.notes {
                    say!("note: {}: {note}", provider.subject());
                }
                all.push(rendered);
            }
            Err(refusal) => refused.push(refusal),
        }
    }
    if !refused.is_empty() {
        return Err(failed(&refused));
    }
    let versions = set.providers().iter().flat_map(|provider| {
        let label = provider.label();
        versions_at_hand(tree.as_ref(), &set, provider)
            .into_iter()
            .map(move |version| (label.clone(), version))
    });
    Ok(SetAtRevision { versions: versions.collect(), rendered: all, set })
}

/// Everything that is wrong, a line each.
pub(super) fn failed<E: ToString>(refused: &[E]) -> CommandFailure {
    let lines: Vec<String> = refused.iter().map(ToString::to_string).collect();
    CommandFailure::Failed(Refusal::Providers, lines.join("\n"))
}

/// What was typed counts before the file.
fn variables(typed: &ProviderInputs) -> Result<VariableValues, CommandFailure> {
    let mut values = VariableValues::default();
    for pair in &typed.variables {
        let (name, value) = pair.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            CommandFailure::Usage(
                Refusal::Providers,
                "`--variable` needs `NAME=VALUE`, with the name before the first `=`".to_owned(),
            )
        })?;
        values.insert(name, value);
    }
    if let Some(file) = &typed.variables_file {
        values.fill(&of_file(file)?);
    }
    Ok(values)
}

/// The variables of a file; their values are never printed.
pub(super) fn of_file(file: &Path) -> Result<VariableValues, CommandFailure> {
    let shown = file.display();
    let failed = |message: &str| CommandFailure::Failed(Refusal::Providers, format!("{shown}: {message}"));
    let read = YamlFile::read(&text_of(file)?)
        .map_err(|error| failed(&format!("line {}: this is not YAML", error.position.line)))?;
    let mut values = VariableValues::default();
    for document in read.documents().iter().filter(|document| !document.root.is_null()) {
        let entries =
            document.root.as_mapping().ok_or_else(|| failed("variables are a mapping of names to values"))?;
        for entry in entries {
            let scalar = entry.value.as_scalar().ok_or_else(|| {
                failed(&format!(
                    "the value of `{}` is not a single one: quote it, or make it a block of text (`|`)",
                    entry.key
                ))
            })?;
            values.insert(&entry.key, &scalar.text);
        }
    }
    Ok(values)
}

fn configuration(file: &Path) -> Result<Overrides, CommandFailure> {
    Overrides::of_configuration(&text_of(file)?).map_err(|refusal| {
        CommandFailure::Failed(Refusal::Providers, format!("{}: {refusal}", file.display()))
    })
}

fn text_of(file: &Path) -> Result<String, CommandFailure> {
    fs::read_to_string(file).map_err(|error| {
        CommandFailure::Failed(Refusal::Providers, format!("{} cannot be read: {error}", file.display()))
    })
}
