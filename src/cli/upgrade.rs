//! `capstan upgrade CLUSTER… [--to RELEASE] [--write]`
//!
//! All plans are made and kept before the first file is written: all files are written or none. So this takes
//! memory by the number of clusters, where `plan` lets each plan go.

use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_plan::patch;
use capstan_plan::upgrade::{Explanation, Retarget};

use super::arguments::Upgrade;
use super::harmless::harmless;
use super::{ChangeFormat, Context, Failure, Outcome, explain, output, plan, text};
use capstan_fleet::generator::{Fleet, Planned};
use capstan_fleet::inventory::tell_restore;

pub(super) fn run(context: &Context<'_>, command: &Upgrade) -> Result<Outcome, Failure> {
    let workspace = context.workspace()?;
    let mut fleet = context.fleet_with_releases(workspace.as_ref())?;
    let (clusters, planned, explained) = if command.inventory {
        let (mut clusters, to_come) =
            context.clusters_and_to_come(workspace.as_ref(), &fleet, &command.clusters)?;
        context.find_old_releases(workspace.as_ref(), &mut fleet, &clusters);
        fleet.allow_overwriting(command.overwriting.allowed());
        allow_retarget(&mut fleet, &SourceKind::INVENTORY, command, &clusters);
        clusters.extend(to_come);
        let restores = context.restores(workspace.as_ref(), &fleet, &clusters);
        let values = |cluster: &ClusterId| {
            let mut planned = fleet.plan_values(cluster)?;
            planned.iter_mut().for_each(|upgrade| tell_restore(upgrade, &restores));
            Some(planned)
        };
        let all = clusters.into_iter().filter_map(|cluster| Some((values(&cluster)?, cluster)));
        let (planned, clusters): (Vec<Planned>, Vec<ClusterId>) = all.unzip();
        let unexplained = planned.iter().map(|_| None).collect();
        (clusters, planned, unexplained)
    } else {
        let clusters = context.clusters(workspace.as_ref(), &fleet, &command.clusters)?;
        fleet.allow_overwriting(command.overwriting.allowed());
        allow_retarget(&mut fleet, &SourceKind::RELEASE, command, &clusters);
        let target = context.target(&fleet, &clusters, command.to.as_deref())?;
        let all = context.plan_all(workspace.as_ref(), &mut fleet, &clusters, target.as_ref());
        let (planned, explained): (Vec<Planned>, Vec<Option<Explanation>>) =
            all.into_iter().map(|planned| plan::explained(planned, command.explain)).unzip();
        (clusters, planned, explained)
    };
    let changes: Vec<FileChange> =
        planned.iter().flatten().flat_map(|upgrade| upgrade.files.iter().cloned()).collect();
    if command.write {
        workspace.write(&changes)?;
    }
    let elements = || plan::elements(&clusters, &planned, &explained);
    match command.output {
        ChangeFormat::Diff if command.write => {}
        ChangeFormat::Diff => output::print(&patch::unified(&changes))?,
        ChangeFormat::Json => output::print_json(&elements())?,
        ChangeFormat::Yaml => output::print_yaml(&elements())?,
        ChangeFormat::Text => {
            planned.iter().flatten().try_for_each(|upgrade| output::print_text(&text::upgrade(upgrade)))?;
        }
    }
    say(&clusters, &planned, command.write);
    // Where the explanation is not part of the output it goes to standard error too.
    if matches!(command.output, ChangeFormat::Diff | ChangeFormat::Text) {
        explained
            .iter()
            .flatten()
            .for_each(|explanation| anstream::eprint!("{}", harmless(&explain::text(explanation))));
    }
    Ok(plan::outcome(&planned))
}

/// What a person needs to know besides the diff goes to standard error, so that the diff can be piped.
fn say(clusters: &[ClusterId], planned: &[Planned], written: bool) {
    for (cluster, planned) in clusters.iter().zip(planned) {
        match planned {
            Err(refused) => text::complain(cluster, refused),
            Ok(upgrade) => text::remark(upgrade, written),
        }
    }
}

/// Lets the upgrades that sources of a kind bring edit names in overlays, where the command says so.
fn allow_retarget(fleet: &mut Fleet, kind: &SourceKind, command: &Upgrade, clusters: &[ClusterId]) {
    if command.retarget {
        for cluster in clusters {
            fleet.instruct(kind.clone(), cluster.clone(), |given| given.retarget = Retarget::Allowed);
        }
    }
}
