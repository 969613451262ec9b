//! `capstan migrate CLUSTER… [--to VERSIONS] [--write]`

use std::collections::BTreeSet;
use std::convert::Infallible;

use capstan_fleet::generator::{
    Fleet, Instructions, Planned, migrate_each, migrate_releases, versions_of_releases,
};
use capstan_kustomize::conversion::versions_after;
use capstan_model::file_change::FileChange;
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_model::wording::list;
use capstan_plan::migration::WantedVersion;
use capstan_plan::upgrade::Retarget;
use capstan_report::Refusal;

use super::arguments::Migrate;
use super::context::Context;
use super::harmless::harmless;
use super::output::Elements;
use super::plan::PlanOutput;
use super::{CommandFailure, CommandOutcome, PlanFormat, plan, progress, text};

pub(super) fn run(context: &Context<'_>, command: &Migrate) -> Result<CommandOutcome, CommandFailure> {
    let workspace = context.workspace()?;
    let mut fleet = context.fleet_of(workspace.as_ref())?;
    // No name means all of them, which the arguments let through with `--all` alone.
    let mut clusters = if command.clusters.is_empty() && !command.all {
        Vec::new()
    } else {
        context.clusters(workspace.as_ref(), &fleet, &command.clusters)?
    };
    let is_checked = !command.to.is_empty() && (command.new_releases || !clusters.is_empty());
    let known = is_checked.then(|| KnownVersions::of(&fleet, &clusters, command.new_releases));
    let mut wanted = known.iter().flat_map(|known| command.to.iter().map(move |wanted| (known, wanted)));
    if let Some(unknown) = wanted.find_map(|(known, wanted)| unknown(known, wanted)) {
        return Err(unknown);
    }
    if command.overlay {
        for cluster in &clusters {
            let allow = |given: &mut Instructions| given.retarget = Retarget::Allowed;
            fleet.supplement_mut().instruct(SourceKind::MIGRATION, cluster.clone(), allow);
        }
    }
    progress::count_clusters(clusters.len());
    let mut all: Vec<Planned> = Vec::with_capacity(clusters.len());
    let Ok(()) = migrate_each(&fleet, &clusters, &command.to, |planned| {
        progress::cluster_done();
        all.push(planned);
        Ok::<(), Infallible>(())
    });
    let releases = if command.new_releases { migrate_releases(&fleet, &command.to) } else { Vec::new() };
    for (id, planned) in releases {
        clusters.push(id);
        all.push(planned);
    }
    if command.write {
        let changes: Vec<FileChange> =
            all.iter().flatten().flat_map(|upgrade| upgrade.files.iter().cloned()).collect();
        workspace.write(&changes)?;
    }
    let mut output = Elements::new(command.output);
    let mut outcome = CommandOutcome::Done;
    for (cluster, planned) in clusters.iter().zip(&all) {
        outcome = outcome.max(plan::outcome_of(planned));
        let said = match planned {
            Ok(upgrade) if upgrade.to.is_none() && command.output == PlanFormat::Text => {
                PlanOutput::Printed(harmless(&text::unmoved(upgrade)))
            }
            _ => plan::said(command.output, cluster, planned, None, None),
        };
        let is_remarked = matches!(said, PlanOutput::Blocked(..));
        plan::print(&mut output, said)?;
        if let (true, Ok(upgrade)) = (command.write && !is_remarked, planned) {
            text::remark(upgrade, true);
        }
    }
    output.end()?;
    Ok(outcome)
}

/// API versions of objects, and those that they can be converted to.
struct KnownVersions {
    own: BTreeSet<String>,
    after: BTreeSet<String>,
    /// Whether every cluster was rendered, and every release read.
    is_whole: bool,
}

impl KnownVersions {
    fn of(fleet: &Fleet, clusters: &[ClusterId], with_releases: bool) -> Self {
        let mut known = Self { own: BTreeSet::new(), after: BTreeSet::new(), is_whole: true };
        for cluster in clusters {
            // The plan reports why a cluster cannot be rendered.
            let Ok(rendered) = fleet.render(cluster) else {
                known.is_whole = false;
                continue;
            };
            for object in &rendered.objects {
                known.add(fleet, &object.id.kind, &object.api_version);
            }
        }
        let of_releases = if with_releases { versions_of_releases(fleet) } else { Ok(BTreeSet::new()) };
        known.is_whole &= of_releases.is_ok();
        for (kind, version) in of_releases.unwrap_or_default() {
            known.add(fleet, &kind, &version);
        }
        known
    }

    fn add(&mut self, fleet: &Fleet, kind: &str, version: &str) {
        self.after.extend(versions_after(kind, version, fleet.schemas()));
        self.own.insert(version.to_owned());
    }
}

/// A version that no object has or can come to: what was meant is another one. Where not all is known, that is a warning.
fn unknown(known: &KnownVersions, wanted: &WantedVersion) -> Option<CommandFailure> {
    let KnownVersions { own, after, is_whole } = known;
    if own.iter().chain(after).any(|version| wanted.is(version)) {
        return None;
    }
    let known: Vec<String> = after.iter().cloned().collect();
    let known = match known.as_slice() {
        [] => "no object here has a newer version that Capstan converts to".to_owned(),
        known => format!("here Capstan converts to {}", list(known)),
    };
    let message =
        format!("`--to {wanted}`: no object here has this API version or can be converted to it; {known}");
    if !is_whole {
        progress::say!("warning: {message}");
        return None;
    }
    Some(CommandFailure::Usage(Refusal::NotFound, message))
}
