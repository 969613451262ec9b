//! `capstan upgrade CLUSTER… [--to RELEASE] [--write]`
//!
//! All plans are made and kept before the first file is written: all files are written or none. So this takes
//! memory by the number of clusters, where `plan` lets each plan go.

use std::collections::BTreeSet;

use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_plan::patch;
use capstan_plan::upgrade::{Explanation, Retarget};

use super::arguments::Upgrade;
use super::context::Context;
use super::harmless::harmless;
use super::overwriting::Overwritten;
use super::{ChangeFormat, CommandFailure, CommandOutcome, explain, inventory, output, plan, progress, text};
use capstan_fleet::generator::{Fleet, Planned, plan_values, valued_clusters};
use capstan_fleet::inventory::tell_restore;
use capstan_report::Refusal;

pub(super) fn run(context: &Context<'_>, command: &Upgrade) -> Result<CommandOutcome, CommandFailure> {
    let workspace = context.workspace()?;
    let mut fleet = context.fleet_with_releases(workspace.as_ref())?;
    let allowed = command.overwriting.allowed();
    let (clusters, planned, explained) = if command.inventory {
        inventory::settings_of(&fleet)?;
        let (mut clusters, to_come) =
            context.clusters_and_to_come(workspace.as_ref(), &fleet, &command.clusters)?;
        context.find_old_releases(workspace.as_ref(), &mut fleet, &clusters);
        fleet.supplement_mut().overwrite = allowed.clone();
        allow_retarget(&mut fleet, &SourceKind::INVENTORY, command, &clusters);
        clusters.extend(to_come);
        let restores = context.restores(workspace.as_ref(), &fleet, &clusters);
        let values = |cluster: &ClusterId| {
            let mut planned = plan_values(&fleet, cluster)?;
            planned.iter_mut().for_each(|upgrade| tell_restore(upgrade, &restores));
            Some(planned)
        };
        let known: BTreeSet<ClusterId> = valued_clusters(&fleet).into_iter().collect();
        let (clusters, others): (Vec<ClusterId>, Vec<ClusterId>) =
            clusters.into_iter().partition(|cluster| known.contains(cluster));
        tell_undefined(clusters.is_empty(), &others)?;
        let (mut planned, mut changed) = (Vec::new(), Vec::new());
        for cluster in clusters {
            match values(&cluster) {
                Some(of_one) => {
                    planned.push(of_one);
                    changed.push(cluster);
                }
                None => progress::say!("{cluster}: nothing to change"),
            }
        }
        let clusters = changed;
        let unexplained = planned.iter().map(|_: &Planned| None).collect();
        (clusters, planned, unexplained)
    } else {
        let clusters = context.clusters(workspace.as_ref(), &fleet, &command.clusters)?;
        fleet.supplement_mut().overwrite = allowed.clone();
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
    let mut overwritten = Overwritten::default();
    planned.iter().for_each(|planned| overwritten.add(Overwritten::by(&allowed, planned)));
    overwritten.tell(&allowed);
    // Where the explanation is not part of the output it goes to standard error too.
    if matches!(command.output, ChangeFormat::Diff | ChangeFormat::Text) {
        let texts = explained.iter().flatten().map(explain::text);
        texts.for_each(|text| progress::beside(|| anstream::eprint!("{}", harmless(&text))));
    }
    Ok(plan::outcome(&planned))
}

/// Says which clusters the inventory does not define; an error where it defines none of them.
fn tell_undefined(defines_none: bool, others: &[ClusterId]) -> Result<(), CommandFailure> {
    let why = |cluster: &ClusterId| format!("the inventory does not define {cluster}");
    if let (true, Some(first)) = (defines_none, others.first()) {
        let message = match others.len() {
            1 => why(first),
            all => format!("the inventory defines none of these {all} clusters"),
        };
        let message = format!("{message} (`capstan inventory list` lists what it defines)");
        return Err(CommandFailure::Usage(Refusal::NotFound, message));
    }
    for cluster in others {
        progress::say!("{}: nothing to change", why(cluster));
    }
    Ok(())
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
            fleet
                .supplement_mut()
                .instruct(kind.clone(), cluster.clone(), |given| given.retarget = Retarget::Allowed);
        }
    }
}
