//! `capstan init --release PROVIDER/VERSION --from CLUSTER [--write]`: the first release, made from a cluster.

use capstan_plan::first_release::CLUSTER_NAME;
use capstan_plan::patch;
use capstan_report::Refusal;
use serde_json::{Value, json};

use super::arguments::Init;
use super::context::Context;
use super::progress::say;
use super::{ChangeFormat, CommandFailure, CommandOutcome, output};
use capstan_fleet::generator::{FirstReleaseFailed, MadeRelease, first_release};

impl From<FirstReleaseFailed> for CommandFailure {
    fn from(error: FirstReleaseFailed) -> Self {
        match error {
            FirstReleaseFailed::Usage(message) => Self::Usage(Refusal::NotBegun, message),
            FirstReleaseFailed::Workspace(error) => error.into(),
            FirstReleaseFailed::Files(_)
            | FirstReleaseFailed::Refused(_)
            | FirstReleaseFailed::Record(_)
            | FirstReleaseFailed::Differs(_) => Self::Failed(Refusal::NotBegun, error.to_string()),
        }
    }
}

pub(super) fn run(
    context: &Context<'_>,
    command: &Init,
    release: &str,
    from: &str,
) -> Result<CommandOutcome, CommandFailure> {
    let format = command.output.unwrap_or(ChangeFormat::Diff);
    let workspace = context.workspace()?;
    let fleet = context.fleet_of(workspace.as_ref())?;
    let cluster = context.cluster(workspace.as_ref(), &fleet, from)?;
    let made = first_release(&fleet, workspace.as_ref(), &cluster, release)?;
    if command.write {
        workspace.write(&made.changes)?;
    }
    let element = || element(&made, cluster.as_str(), command.write);
    match format {
        ChangeFormat::Diff if command.write => {}
        ChangeFormat::Diff => output::print(&patch::unified(&made.changes))?,
        ChangeFormat::Json => output::print_json(&element())?,
        ChangeFormat::Yaml => output::print_yaml(&element())?,
        ChangeFormat::Text => {
            for change in &made.changes {
                output::print_line(&format!("{}", change.path))?;
            }
        }
    }
    for left in &made.left {
        say!("not copied: {left}");
    }
    let done = if command.write { "is written" } else { "would be made (with `--write`)" };
    say!(
        "{} {done}, with {CLUSTER_NAME} for `{}`; {cluster} is at this release, and planning it to this release changes nothing",
        made.release,
        made.name
    );
    Ok(CommandOutcome::Done)
}

fn element(made: &MadeRelease, cluster: &str, written: bool) -> Value {
    let files = made.changes.iter().map(|change| {
        let action = if change.before.is_some() { "modify" } else { "add" };
        json!({"path": change.path, "action": action})
    });
    json!({
        "release": made.release,
        "from": cluster,
        "written": written,
        "variables": {CLUSTER_NAME: made.name},
        "files": files.collect::<Vec<_>>(),
        "left": made.left,
    })
}
