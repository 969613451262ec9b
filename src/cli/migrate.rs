//! `capstan migrate CLUSTER… [--to VERSIONS] [--write]`

use std::convert::Infallible;

use capstan_fleet::generator::Planned;
use capstan_model::file_change::FileChange;

use super::arguments::Migrate;
use super::output::Elements;
use super::plan::PlanOutput;
use super::{Context, Failure, Outcome, plan, progress, text};

pub(super) fn run(context: &Context<'_>, command: &Migrate) -> Result<Outcome, Failure> {
    let workspace = context.workspace()?;
    let fleet = context.fleet_of(workspace.as_ref())?;
    // No name means all of them, which the arguments let through with `--all` alone.
    let clusters = context.clusters(workspace.as_ref(), &fleet, &command.clusters)?;
    progress::count_clusters(clusters.len());
    let mut all: Vec<Planned> = Vec::with_capacity(clusters.len());
    let Ok(()) = fleet.migrate_each(&clusters, &command.to, |planned| {
        progress::cluster_done();
        all.push(planned);
        Ok::<(), Infallible>(())
    });
    if command.write {
        let changes: Vec<FileChange> =
            all.iter().flatten().flat_map(|upgrade| upgrade.files.iter().cloned()).collect();
        workspace.write(&changes)?;
    }
    let mut output = Elements::new(command.output);
    let mut outcome = Outcome::Done;
    for (cluster, planned) in clusters.iter().zip(&all) {
        outcome = outcome.max(plan::outcome_of(planned));
        let said = plan::said(command.output, cluster, planned, None, None);
        let is_remarked = matches!(said, PlanOutput::Blocked(..));
        plan::print(&mut output, said)?;
        if let (true, Ok(upgrade)) = (command.write && !is_remarked, planned) {
            text::remark(upgrade, true);
        }
    }
    output.end()?;
    Ok(outcome)
}
