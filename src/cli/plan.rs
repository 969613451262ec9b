//! `capstan plan [CLUSTER…]`

use capstan_domain::cluster::ClusterId;
use capstan_domain::{patch, upgrade};
use serde_json::{Value, json};

use super::arguments::Plan;
use super::{Context, Failure, Format, Outcome, output, path, text};
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
    print(command.output, &clusters, &planned)?;
    Ok(outcome(&planned))
}

fn print(format: Format, clusters: &[ClusterId], planned: &[Planned]) -> Result<(), Failure> {
    let both = || clusters.iter().zip(planned);
    match format {
        Format::Json => {
            output::print_json(&both().map(|(cluster, planned)| element(cluster, planned)).collect())
        }
        Format::Yaml => {
            output::print_yaml(&both().map(|(cluster, planned)| element(cluster, planned)).collect())
        }
        Format::Text => both().try_for_each(|(cluster, planned)| match planned {
            Ok(upgrade) => output::print(&text::upgrade(upgrade)),
            Err(refused) => output::print(&text::refused(cluster, refused)),
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

/// One element of the array that the contract describes.
pub(super) fn element(cluster: &ClusterId, planned: &Planned) -> Value {
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
