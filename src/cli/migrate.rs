//! `capstan migrate CLUSTER… [--to VERSIONS] [--write]`

use capstan_fleet::generator::Planned;
use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;

use super::arguments::Migrate;
use super::output::Elements;
use super::{Context, Failure, Outcome, plan, progress, text};

pub(super) fn run(context: &Context<'_>, command: &Migrate) -> Result<Outcome, Failure> {
    let workspace = context.workspace()?;
    let fleet = context.fleet_of(workspace.as_ref())?;
    // No name means all of them, which the arguments let through with `--all` alone.
    let clusters = context.clusters(workspace.as_ref(), &fleet, &command.clusters)?;
    progress::count_clusters(clusters.len());
    let planned: Vec<(ClusterId, Planned)> = clusters
        .into_iter()
        .map(|cluster| {
            let planned = fleet.plan_migration(&cluster, &command.to);
            progress::cluster_done();
            (cluster, planned)
        })
        .collect();
    if command.write {
        let files = planned.iter().filter_map(|(_, planned)| planned.as_ref().ok());
        let changes: Vec<FileChange> = files.flat_map(|upgrade| upgrade.files.iter().cloned()).collect();
        workspace.write(&changes)?;
    }
    let mut output = Elements::new(command.output);
    let mut outcome = Outcome::Done;
    for (cluster, planned) in &planned {
        outcome = outcome.max(plan::outcome_of(planned));
        plan::print(&mut output, plan::said(command.output, cluster, planned, None, None))?;
        if let (true, Ok(upgrade)) = (command.write, planned) {
            text::remark(upgrade, true);
        }
    }
    output.end()?;
    Ok(outcome)
}
