//! `capstan providers rights [PATH] [--from REV]`

use capstan_live::live_objects::identity;
use capstan_providers::{InstalledSet, SetInstallation, installation};
use serde_json::Value;

use super::set::rendered_at;
use crate::cli::arguments::ProviderInputs;
use crate::cli::context::Context;
use crate::cli::{CommandFailure, CommandOutcome, Format, output};

pub(super) fn run(
    context: &Context<'_>,
    inputs: &ProviderInputs,
    from: Option<&str>,
    format: Format,
) -> Result<CommandOutcome, CommandFailure> {
    let now = rendered_at(context, inputs, context.arguments.at.as_deref())?;
    let mut before = InstalledSet { objects: Vec::new(), versions: now.versions };
    if let Some(from) = from {
        let then = rendered_at(context, inputs, Some(from))?;
        before.versions.extend(then.versions);
        before.objects = then.rendered.iter().flat_map(|one| &one.objects).filter_map(identity).collect();
    }
    let all: Vec<_> = now.set.providers().iter().zip(&now.rendered).collect();
    let SetInstallation { namespaces, roles, providers } = installation(&all, &before);
    match format {
        Format::Json => output::print_json(
            &serde_json::json!({"namespaces": namespaces, "installer": roles, "providers": providers}),
        )?,
        // In the order in which an API server takes them.
        Format::Yaml => namespaces.iter().chain(&roles).try_for_each(|object: &Value| {
            output::print("---\n")?;
            output::print_yaml(object)
        })?,
        Format::Text => {
            for provider in &providers {
                let word = |key: &str| provider[key].as_str().unwrap_or_default().to_owned();
                output::print_line(&format!("{} {}", word("label"), word("subject")))?;
                for rule in provider["rules"].as_array().into_iter().flatten() {
                    output::print_line(&format!("  {}", in_words(rule)))?;
                }
            }
        }
    }
    Ok(CommandOutcome::Done)
}

/// A rule in a line: `get, list secrets in own-system`.
fn in_words(rule: &Value) -> String {
    if let Some(role) = rule["role"].as_str() {
        return format!("all of {role}, which is not among these objects");
    }
    let list = |key: &str| {
        let all = rule[key].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).collect::<Vec<_>>()
    };
    let resources: Vec<String> = match (list("resources"), list("apiGroups")) {
        (resources, _) if resources.is_empty() => {
            list("nonResourceURLs").into_iter().map(str::to_owned).collect()
        }
        (resources, groups) => groups
            .iter()
            .flat_map(|group| resources.iter().map(move |resource| (group, resource)))
            .map(
                |(group, resource)| {
                    if group.is_empty() { (*resource).to_owned() } else { format!("{resource}.{group}") }
                },
            )
            .collect(),
    };
    let names = list("resourceNames");
    let names = if names.is_empty() { String::new() } else { format!(" named {}", names.join(", ")) };
    let namespace = rule["namespace"].as_str().map(|name| format!(" in {name}")).unwrap_or_default();
    format!("{} {}{names}{namespace}", list("verbs").join(", "), resources.join(", "))
}
