//! `capstan plan [CLUSTER…]`

use capstan_domain::cluster::ClusterId;
use capstan_domain::patch;
use capstan_domain::upgrade::{self, Explanation};
use serde_json::{Value, json};

use super::arguments::Plan;
use super::{Context, Failure, Format, Outcome, explain, output, path, text};
use crate::app::generator::{self, Planned, Refused};

pub(super) fn run(context: &Context<'_>, command: &Plan) -> Result<Outcome, Failure> {
    let workspace = context.workspace()?;
    let mut fleet = context.fleet_with_releases(workspace.as_ref())?;
    let clusters = context.clusters(&fleet, &command.clusters)?;
    let target = context.target(&fleet, &clusters, command.to.as_deref())?;
    if command.path {
        return path::run(&fleet, &clusters, target.as_ref(), command.output);
    }
    let planned = context.plan_all(workspace.as_ref(), &mut fleet, &clusters, target.as_ref());
    let explained =
        if command.explain { explain::all(&fleet, target.as_ref(), &planned)? } else { Vec::new() };
    print(command.output, &clusters, &planned, &explained)?;
    Ok(outcome(&planned))
}

/// `explained` is empty where nobody asked.
fn print(
    format: Format,
    clusters: &[ClusterId],
    planned: &[Planned],
    explained: &[Option<Explanation>],
) -> Result<(), Failure> {
    let both = || clusters.iter().zip(planned);
    match format {
        Format::Json => output::print_json(&elements(clusters, planned, explained)),
        Format::Yaml => output::print_yaml(&elements(clusters, planned, explained)),
        Format::Text => both().enumerate().try_for_each(|(at, (cluster, planned))| {
            let explanation = explained.get(at).and_then(Option::as_ref);
            match planned {
                Ok(upgrade) => output::print(&format!(
                    "{}{}",
                    text::upgrade(upgrade),
                    explanation.map(explain::text).unwrap_or_default()
                )),
                Err(refused) => output::print(&text::refused(cluster, refused)),
            }
        }),
        Format::Markdown => both().try_for_each(|(cluster, planned)| match planned {
            Ok(upgrade) => output::print(&text::markdown(upgrade)),
            Err(refused) => output::print(&format!("## {cluster}\n\nCannot be planned: {refused}\n\n")),
        }),
        Format::Diff => both().try_for_each(|(cluster, planned)| match planned {
            Ok(upgrade) => output::print(&patch::unified(&upgrade.files)),
            Err(refused) => {
                text::complain(cluster, refused);
                Ok(())
            }
        }),
    }
}

/// The array that the contract describes; with explanations, each element has one under `explain`.
pub(super) fn elements(
    clusters: &[ClusterId],
    planned: &[Planned],
    explained: &[Option<Explanation>],
) -> Value {
    let mut elements: Vec<Value> =
        clusters.iter().zip(planned).map(|(cluster, planned)| element(cluster, planned)).collect();
    for (element, explanation) in elements.iter_mut().zip(explained) {
        if let (Value::Object(fields), Some(explanation)) = (element, explanation) {
            fields.insert("explain".to_owned(), upgrade::explanation_to_json(explanation));
        }
    }
    Value::Array(elements)
}

/// One element of the array that the contract describes.
fn element(cluster: &ClusterId, planned: &Planned) -> Value {
    match planned {
        Ok(upgrade) => upgrade::to_json(upgrade),
        Err(refused) => refusal(cluster, refused),
    }
}

/// The element of a cluster that cannot be planned.
pub(super) fn refusal(cluster: &ClusterId, refused: &Refused) -> Value {
    let Refused { message, file, line, column } = refused;
    json!({
        "cluster": cluster.as_str(),
        "error": {
            "message": message,
            "file": file.as_ref().map(|file| file.as_str()),
            "line": line,
            "column": column,
        },
    })
}

/// Exit code 1 where a cluster could not be planned, else 3 where errors stand, else 0.
pub(super) fn outcome(planned: &[Planned]) -> Outcome {
    if planned.iter().any(Result::is_err) {
        Outcome::PartlyFailed
    } else if planned.iter().flatten().any(generator::errors_stand) {
        Outcome::ErrorsStand
    } else {
        Outcome::Done
    }
}
