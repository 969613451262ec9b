//! A pass, from reading to saying.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use capstan_live::installing::pass::{Patience, ProviderFacts, Step, next};
use capstan_live::installing::{Check, Owner};
use capstan_model::object::ObjectId;
use jiff::SignedDuration;

use super::adopting;
use super::halted::Halted;
use super::look::Looking;
use super::perform::{Performed, perform, sweep};
use super::reading::{Member, Memory, Read, read};
use super::saying::say;
use crate::app::components::Downloads;
use crate::app::ports::{As, Clock, LiveError, Post, ServiceAccount};
use crate::app::reconcile::{DryRunCache, Gate, Operators};

/// What a pass needs.
#[derive(Clone)]
pub struct Pass {
    /// The management cluster, behind the fence of the leader.
    pub live: Arc<Gate>,
    /// With whose rights everything is done.
    pub account: ServiceAccount,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What was tried and needs no second try.
    pub tried: Arc<DryRunCache>,
    /// What was seen of Cluster API operators here.
    pub operators: Arc<Operators>,
    /// How long workloads, webhooks, definitions and the ends of pods are waited for, each time.
    pub limit: SignedDuration,
    /// Fetches components that are lacking.
    pub downloads: Downloads,
}

impl Pass {
    /// Who installs providers here.
    ///
    /// # Errors
    /// Deployments or Leases cannot be listed.
    pub async fn owner(&self) -> Result<Owner, LiveError> {
        self.operators.look(self.live.as_ref(), &self.by()).await
    }

    pub(super) fn patience(&self) -> Patience {
        Patience { now: self.clock.now(), limit: self.limit }
    }

    pub(super) fn by(&self) -> As {
        As::Impersonated(self.account.clone())
    }
}

/// What became of a pass.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many steps were performed; one that could not be is none.
    pub steps: usize,
    /// Whether something is waited for, or failed: it is looked at again soon.
    pub is_waiting: bool,
    /// After how long components that are lacking are worth another look.
    pub again: Option<Duration>,
    /// Whether it was broken off.
    pub is_over: bool,
    /// What is worth watching from now on.
    pub posts: BTreeSet<Post>,
}

/// How many steps a pass may take. One of seven providers takes some hundred.
const STEPS: usize = 2000;

/// How often the same step is taken once more.
const REPEATED: usize = 5;

/// Makes a pass. `is_over` is asked between steps.
///
/// # Errors
/// The API server does not answer; this process leads no more; what was read is not as this program writes it. What the API
/// server refuses of a provider is no error, and stands in its status.
pub async fn pass(
    pass: &Pass,
    memory: &mut Memory,
    is_over: &(dyn Fn() -> bool + Send + Sync),
) -> Result<Outcome, LiveError> {
    let by = pass.by();
    let mut read = read(pass, memory).await?;
    adopting::hold(pass, &by, &mut read).await?;
    let mut outcome = Outcome { posts: read.posts(), again: read.again, ..Outcome::default() };
    let mut failed: Option<(ObjectId, String)> = None;
    let (mut last, mut repeated): (Option<(ObjectId, Step)>, usize) = (None, 0);
    let (facts, decision) = loop {
        let facts = look(pass, &read).await?;
        let decision = next(&facts.facts, pass.patience());
        outcome.posts = read.posts();
        if decision.step.is_none() || failed.is_some() || outcome.steps >= STEPS {
            break (facts, decision);
        }
        if is_over() {
            outcome.is_over = true;
            break (facts, decision);
        }
        let Some((id, step)) = decision.step.clone() else { break (facts, decision) };
        let is_same = last.as_ref() == Some(&(id.clone(), step.clone()));
        repeated = if is_same { repeated + 1 } else { 0 };
        if repeated > REPEATED {
            tracing::warn!(provider = %id, step = words(&step), "somebody undoes this step again and again: it is tried again later");
            failed = Some((id, format!("somebody undoes it again and again: {}", words(&step))));
            break (facts, decision);
        }
        last = Some((id.clone(), step.clone()));
        tracing::info!(provider = %id, step = words(&step), "installing providers");
        match perform(pass, &by, &mut read, &facts, &id, step).await? {
            Performed::Done => outcome.steps += 1,
            Performed::Waits(why) => {
                failed = Some((id, why));
            }
        }
    };
    // Nobody tells that a right was granted.
    let lacks_rights =
        |member: &Member| matches!(member.halted, Some(Halted::Check(Check::MissingRights(_))));
    outcome.is_waiting = failed.is_some()
        || !decision.waits.is_empty()
        || outcome.is_over
        || read.members.iter().any(lacks_rights);
    say(pass, &by, &read, &facts, &decision, failed.as_ref()).await?;
    if !outcome.is_waiting {
        sweep(pass, &by, &read).await?;
        adopting::clear(pass, &by, &read).await?;
    }
    Ok(outcome)
}

/// What is known of all providers, as far as the next step depends on it.
pub(super) struct Facts {
    pub(super) facts: Vec<ProviderFacts>,
    pub(super) looking: Looking,
}

/// Looks at the provider in hand, and at the others only where nothing is to be done for it.
async fn look(pass: &Pass, read: &Read) -> Result<Facts, LiveError> {
    let by = pass.by();
    let mut looking = Looking::default();
    let mut facts: Vec<ProviderFacts> = read.members.iter().map(Member::facts).collect();
    let in_hand: Vec<usize> = (0..facts.len())
        .filter(|at| facts[*at].record.as_ref().is_some_and(|record| record.is_under_way()))
        .collect();
    for at in &in_hand {
        facts[*at].look = Some(looking.look(pass, &by, read, &read.members[*at]).await?);
    }
    if !in_hand.is_empty() && next(&facts, pass.patience()).step.is_some() {
        return Ok(Facts { facts, looking });
    }
    for at in (0..facts.len()).filter(|at| !in_hand.contains(at)) {
        facts[at].look = Some(looking.look(pass, &by, read, &read.members[at]).await?);
    }
    Ok(Facts { facts, looking })
}

/// A step, for the log.
fn words(step: &Step) -> String {
    match step {
        Step::Note(record) => format!("noted: {:?}", record.phase),
        Step::Migrate { definition, versions } => {
            format!("migrating {definition} from {}", versions.join(", "))
        }
        Step::Scale(deployments) => {
            let each =
                deployments.iter().map(|one| format!("{}/{} to {}", one.namespace, one.name, one.replicas));
            format!("scaling {}", each.collect::<Vec<_>>().join(", "))
        }
        Step::Apply { stage, objects, .. } => format!("applying {} {}", objects.len(), stage.words()),
        Step::Ask { webhooks, .. } => format!("asking {} webhook configurations", webhooks.len()),
        Step::Delete(objects) => format!("deleting {} objects", objects.len()),
        Step::Forget => "forgotten".to_owned(),
    }
}
