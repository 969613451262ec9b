//! A pass, from reading to saying.

use std::collections::BTreeMap;
use std::time::Duration;

use capstan_live::installing::pass::{ProviderStep, next};
use capstan_live::installing::{Deletion, FailedCheck};
use capstan_model::object::ObjectId;

use super::adopting;
use super::look::look;
use super::memory::ProviderMemory;
use super::perform::{Performed, perform, sweep};
use super::ports::ProviderPorts;
use super::reading::{Lacked, read};
use super::saying::say;
use capstan_ports::{As, LiveError};
use capstan_reconciler_core::providers::halted::Halted;
use capstan_reconciler_core::providers::member::PassMember;
use capstan_reconciler_core::providers::members::Members;

/// What became of a pass.
#[derive(Debug, Default)]
pub struct ProviderPassOutcome {
    /// How many steps were performed; one that failed does not count.
    pub steps: usize,
    /// Whether a provider waits for something or failed: the next pass follows soon.
    pub is_waiting: bool,
    /// After how long components that are lacking are worth another look.
    pub again: Option<Duration>,
    /// Whether it was broken off.
    pub is_over: bool,
}

/// How many steps a pass may take. One of seven providers takes some hundred.
const STEPS: usize = 2000;

/// How often the same step is taken once more.
const REPEATED: usize = 5;

/// Makes a pass. `is_over` is asked between steps.
///
/// # Errors
/// The API server does not answer; this process leads no more; what was read is not as this program writes it. If the
/// API server refuses something of one provider, that is not an error: the provider's status says it.
pub async fn pass(
    ports: &ProviderPorts,
    memory: &mut ProviderMemory,
    is_over: &(dyn Fn() -> bool + Send + Sync),
) -> Result<ProviderPassOutcome, LiveError> {
    let by = ports.by();
    let known = memory.begin();
    let is_read = known.is_none();
    let mut members = match known {
        Some(members) => members,
        None => begin(ports, memory, &by).await?,
    };
    members.all.iter_mut().for_each(|member| member.failed = None);
    // The provider that was checked just now for an installation by another tool.
    let mut checked: Option<ObjectId> = None;
    let mut outcome = ProviderPassOutcome { again: members.again, ..ProviderPassOutcome::default() };
    let (mut last, mut repeated): (Option<(ObjectId, ProviderStep)>, usize) = (None, 0);
    let (facts, decision) = loop {
        ports.watch(members.posts());
        let facts = look(ports, &members, &mut memory.sights).await?;
        let decision = next(&facts, ports.patience());
        if decision.step.is_none() || outcome.steps >= STEPS {
            break (facts, decision);
        }
        if is_over() {
            outcome.is_over = true;
            break (facts, decision);
        }
        let Some((id, step)) = decision.step.clone() else { break (facts, decision) };
        let was_read_now = is_read && outcome.steps == 0;
        if !was_read_now
            && checked.as_ref() != Some(&id)
            && let Some(member) = members.member_mut(&id).filter(|member| member.remembered.is_none())
        {
            // It may have been read a while ago, and another tool may have installed it since.
            checked = Some(id);
            adopting::hold_one(ports, &by, member).await?;
            continue;
        }
        let is_same = last.as_ref() == Some(&(id.clone(), step.clone()));
        repeated = if is_same { repeated + 1 } else { 0 };
        if repeated > REPEATED {
            tracing::warn!(provider = %id, step = words(&step), "another client keeps undoing this step: Capstan retries later");
            if let Some(member) = members.member_mut(&id) {
                member.failed = Some(format!("another client keeps undoing it: {}", words(&step)));
            }
            continue;
        }
        last = Some((id.clone(), step.clone()));
        tracing::info!(provider = %id, step = words(&step), "installing providers");
        match perform(ports, &by, &mut members, &mut memory.sights, &id, step).await? {
            Performed::Done => outcome.steps += 1,
            // It is tried again by the next pass; the others go on.
            Performed::Waits(why) => {
                if let Some(member) = members.member_mut(&id) {
                    member.failed = Some(why);
                }
            }
        }
    };
    // Nobody tells that a right was granted, or that nothing is in the way of a deletion any more.
    let is_untold = |member: &PassMember| {
        matches!(member.halted, Some(Halted::Check(FailedCheck::MissingRights(_))))
            || matches!(member.deletion, Some(Deletion::Blocked(_)))
    };
    outcome.is_waiting = members.all.iter().any(|member| member.failed.is_some())
        || !decision.waits.is_empty()
        || outcome.is_over
        || members.all.iter().any(is_untold);
    say(ports, &by, &mut members, &memory.sights, &facts, &decision).await?;
    if !outcome.is_waiting {
        sweep(ports, &by, &members).await?;
        adopting::clear(ports, &by, &members).await?;
    }
    memory.end(members);
    Ok(outcome)
}

/// Reads all that a pass begins with.
async fn begin(ports: &ProviderPorts, memory: &mut ProviderMemory, by: &As) -> Result<Members, LiveError> {
    let mut members = read(ports, memory, Lacked::Fetched).await?;
    adopting::hold(ports, by, &mut members).await?;
    Ok(members)
}

/// What a takeover would change of each provider that another tool installed, in words, by provider object. It writes
/// nothing, so it may run while the other operator still runs.
///
/// # Errors
/// As of [`pass`].
pub async fn preview(
    ports: &ProviderPorts,
    memory: &mut ProviderMemory,
) -> Result<BTreeMap<ObjectId, String>, LiveError> {
    let by = ports.by();
    let mut members = read(ports, memory, Lacked::Left).await?;
    adopting::previews(ports, &by, &mut members).await
}

/// A step, for the log, and for the status of a provider of which it is undone again and again.
fn words(step: &ProviderStep) -> String {
    match step {
        ProviderStep::Note(record) => format!("noted: {}", record.phase.as_str()),
        ProviderStep::Migrate { definition, versions } => {
            format!("migrating {definition} from {}", versions.join(", "))
        }
        ProviderStep::Scale(deployments) => {
            let each =
                deployments.iter().map(|one| format!("{}/{} to {}", one.namespace, one.name, one.replicas));
            format!("scaling {}", each.collect::<Vec<_>>().join(", "))
        }
        ProviderStep::Apply { stage, objects, .. } => format!("applying {} {}", objects.len(), stage.words()),
        ProviderStep::Ask { webhooks, .. } => format!("asking {} webhook configurations", webhooks.len()),
        ProviderStep::Delete(objects) => format!("deleting {} objects", objects.len()),
        ProviderStep::Forget => "forgotten".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use capstan_live::installing::pass::{InstallPhase, ProviderRecord};

    use super::*;

    /// The status of providers shows these words.
    #[test]
    fn what_is_noted_is_said_by_its_phase() {
        for (phase, said) in [
            (InstallPhase::Preparing, "noted: Preparing"),
            (InstallPhase::Applying, "noted: Applying"),
            (InstallPhase::Pruning, "noted: Pruning"),
            (InstallPhase::Settled, "noted: Settled"),
            (InstallPhase::Removing, "noted: Removing"),
        ] {
            assert_eq!(
                words(&ProviderStep::Note(Box::new(ProviderRecord { phase, ..ProviderRecord::default() }))),
                said
            );
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.as_str());
        }
    }
}
