//! `capstan plan [CLUSTER…]`

use capstan_model::ids::ClusterId;
use capstan_plan::patch;
use capstan_plan::settings::TitleTemplate;
use capstan_plan::upgrade::{self, Explanation, Upgrade};
use serde_json::Value;

use super::arguments::Plan;
use super::context::Context;
use super::harmless::harmless;
use super::output::Elements;
use super::overwriting::Overwritten;
use super::refusal::refusal;
use super::{CommandFailure, CommandOutcome, PlanFormat, explain, path, progress, text};
use capstan_fleet::generator::{
    Planned, PlannedWithReasons, Refused, UpgradeWithReasons, plan_each, plan_values,
};
use capstan_fleet::inventory::tell_restore;

pub(super) fn run(context: &Context<'_>, command: &Plan) -> Result<CommandOutcome, CommandFailure> {
    let workspace = context.workspace()?;
    let mut fleet = context.fleet_with_releases(workspace.as_ref())?;
    let (clusters, to_come) = context.clusters_and_to_come(workspace.as_ref(), &fleet, &command.clusters)?;
    let target = context.target(&fleet, &clusters, command.to.as_deref())?;
    if command.path {
        return path::run(&fleet, &clusters, target.as_ref(), command.output);
    }
    context.find_old_releases(workspace.as_ref(), &mut fleet, &clusters);
    let allowed = command.overwriting.allowed();
    fleet.supplement_mut().overwrite = allowed.clone();
    let mut overwritten = Overwritten::default();
    progress::count_clusters(clusters.len());
    let title = fleet.settings().upgrade.proposals.title.clone();
    let mut output = Elements::new(command.output);
    let mut outcome = CommandOutcome::Done;
    let restores = context.restores(workspace.as_ref(), &fleet, &clusters);
    let told = |planned: Planned| {
        planned.map(|mut upgrade| {
            tell_restore(&mut upgrade, &restores);
            upgrade
        })
    };
    plan_each(
        &fleet,
        &clusters,
        target.as_ref(),
        |cluster, planned| {
            let (planned, explanation) = explained(planned, command.explain);
            let planned = told(planned);
            let said_of = |planned: &Planned, explanation| {
                said(command.output, cluster, planned, explanation, title.as_ref())
            };
            let by = |planned: &Planned| (outcome_of(planned), Overwritten::by(&allowed, planned));
            let mut all = vec![(said_of(&planned, explanation.as_ref()), by(&planned))];
            // Who asks for a release asks for nothing else.
            let values = plan_values(&fleet, cluster).filter(|_| target.is_none()).map(told);
            all.extend(values.map(|planned| (said_of(&planned, None), by(&planned))));
            // Where the explanation is not part of the output it goes to standard error.
            let is_aside = matches!(command.output, PlanFormat::Diff | PlanFormat::Markdown);
            (all, explanation.filter(|_| is_aside).as_ref().map(explain::text))
        },
        |(all, aside)| {
            progress::cluster_done();
            all.into_iter().try_for_each(|(said, (of_one, by))| {
                outcome = outcome.max(of_one);
                overwritten.add(by);
                print(&mut output, said)
            })?;
            if let Some(aside) = aside {
                progress::beside(|| anstream::eprint!("{}", harmless(&aside)));
            }
            Ok::<(), CommandFailure>(())
        },
    )?;
    for cluster in to_come.iter().filter(|_| target.is_none()) {
        let Some(planned) = plan_values(&fleet, cluster) else { continue };
        outcome = outcome.max(outcome_of(&planned));
        overwritten.add(Overwritten::by(&allowed, &planned));
        print(&mut output, said(command.output, cluster, &planned, None, title.as_ref()))?;
    }
    output.end()?;
    overwritten.tell(&allowed);
    Ok(outcome)
}

pub(super) fn print(output: &mut Elements, said: PlanOutput) -> Result<(), CommandFailure> {
    match said {
        PlanOutput::Printed(text) => output.print(&text),
        PlanOutput::Blocked(diff, upgrade) => {
            output.print(&diff)?;
            text::remark(&upgrade, false);
            Ok(())
        }
        PlanOutput::Complained(cluster, refused) => {
            text::complain(&cluster, &refused);
            Ok(())
        }
    }
}

/// A plan, and its explanation where somebody wants it.
pub(super) fn explained(planned: PlannedWithReasons, wanted: bool) -> (Planned, Option<Explanation>) {
    let explanation = planned.as_ref().ok().filter(|_| wanted).map(UpgradeWithReasons::explanation);
    (planned.map(|planned| planned.upgrade), explanation)
}

/// What is printed of one cluster, or complained of.
pub(super) enum PlanOutput {
    Printed(String),
    /// A diff does not say that nothing may be written, and why.
    Blocked(String, Box<Upgrade>),
    Complained(ClusterId, Refused),
}

pub(super) fn said(
    format: PlanFormat,
    cluster: &ClusterId,
    planned: &Planned,
    explained: Option<&Explanation>,
    title: Option<&TitleTemplate>,
) -> PlanOutput {
    if let (PlanFormat::Diff, Ok(upgrade)) = (format, planned)
        && !upgrade.blocked.is_empty()
    {
        return PlanOutput::Blocked(patch::unified(&upgrade.files), Box::new(upgrade.clone()));
    }
    PlanOutput::Printed(match (format, planned) {
        (PlanFormat::Json | PlanFormat::Yaml, _) => {
            Elements::written(format, element(cluster, planned, explained))
        }
        (PlanFormat::Text, Ok(upgrade)) => {
            harmless(&(text::upgrade(upgrade) + &explained.map(explain::text).unwrap_or_default()))
        }
        (PlanFormat::Text, Err(refused)) => harmless(&text::refused(cluster, refused)),
        (PlanFormat::Markdown, Ok(upgrade)) => text::markdown(upgrade, title),
        (PlanFormat::Markdown, Err(refused)) => text::refused_in_markdown(cluster, refused),
        (PlanFormat::Diff, Ok(upgrade)) => patch::unified(&upgrade.files),
        (PlanFormat::Diff, Err(refused)) => return PlanOutput::Complained(cluster.clone(), refused.clone()),
    })
}

/// The array that the contract describes; with explanations, each element has one under `explain`.
pub(super) fn elements(
    clusters: &[ClusterId],
    planned: &[Planned],
    explained: &[Option<Explanation>],
) -> Value {
    let explained = |at: usize| explained.get(at).and_then(Option::as_ref);
    let both = clusters.iter().zip(planned).enumerate();
    both.map(|(at, (cluster, planned))| element(cluster, planned, explained(at))).collect()
}

/// One element of the array that the contract describes.
fn element(cluster: &ClusterId, planned: &Planned, explained: Option<&Explanation>) -> Value {
    let mut element = match planned {
        Ok(upgrade) => upgrade::element_to_json(upgrade),
        Err(refused) => refusal(cluster, refused),
    };
    if let (Value::Object(fields), Some(explained)) = (&mut element, explained) {
        fields.insert("explain".to_owned(), upgrade::explanation_to_json(explained));
    }
    element
}

/// Exit code 1 where a cluster could not be planned, else 3 where errors stand, else 0.
pub(super) fn outcome(planned: &[Planned]) -> CommandOutcome {
    planned.iter().map(outcome_of).max().unwrap_or(CommandOutcome::Done)
}

pub(super) fn outcome_of(planned: &Planned) -> CommandOutcome {
    match planned {
        Err(_) => CommandOutcome::PartlyFailed,
        Ok(upgrade) if upgrade.errors_stand() => CommandOutcome::ErrorsStand,
        Ok(_) => CommandOutcome::Done,
    }
}
