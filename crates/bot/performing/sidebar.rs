//! Labels, assignees and reviewers of a proposal's pull request, as the settings ask for them.
//!
//! *Expected flow.* A pull request is opened, then it gets what the settings ask for, then its block notes that. A run
//! that dies in between leaves a block that notes nothing, and the next one does it again, which changes nothing.
//!
//! *Guarantees.* Capstan does not repeat what is noted, so people may undo it. What GitHub refuses is remembered, and
//! the body shows it. A refusal stops neither the proposal nor its other labels and reviewers.

use capstan_bot_core::effects::{by_part, put_back};
use capstan_bot_core::facts::Write;
use capstan_plan::proposal::{ProposalId, Sidebar, SidebarStanding, SidebarStep};

use super::{Performer, SyncError};
use capstan_ports::{CodeHostError, PullRequest, SidebarPart};

const ONLY_OWNERS_TEAMS: &str = "only teams of the repository's owner can be asked for a review";

/// What GitHub refused of a step, and why it refused that first.
#[derive(Default)]
struct RefusedStep {
    step: SidebarStep,
    why: Option<String>,
}

impl RefusedStep {
    fn because(&mut self, why: &str) {
        self.why.get_or_insert_with(|| why.to_owned());
    }

    /// Those of these names that are left: all of them, where GitHub refused the call.
    fn left(
        &mut self,
        names: &[String],
        told: Result<Vec<String>, CodeHostError>,
    ) -> Result<Vec<String>, SyncError> {
        match told {
            Err(error) if error.is_refusal() => {
                self.because(&error.to_string());
                Ok(names.to_vec())
            }
            told => Ok(told?),
        }
    }
}

impl Performer<'_> {
    /// Brings what the settings changed since `done` into the sidebar of a pull request, and returns the resulting
    /// state.
    pub(super) async fn bring_sidebar(
        &self,
        proposal: &ProposalId,
        pull: &PullRequest,
        asked: &Sidebar,
        done: &Sidebar,
    ) -> Result<SidebarStanding, SyncError> {
        let step = SidebarStep::between(asked, done, &pull.sidebar);
        let write = Write::sidebar(proposal, &step);
        if self.refusal(&write).is_some() {
            return Ok(step.left(asked));
        }
        let refused = self.take_step(pull.number, &step).await?;
        match &refused.why {
            None => self.taken(&write).await?,
            Some(why) => {
                self.refused(&Write::sidebar(proposal, &refused.step), why).await?;
            }
        }
        Ok(refused.step.left(asked))
    }

    async fn take_step(&self, number: u64, step: &SidebarStep) -> Result<RefusedStep, SyncError> {
        let owner = self.repository.name.owner();
        let mut refused = RefusedStep::default();
        let (parts, strangers) = by_part(&step.add, owner);
        if !strangers.is_empty() {
            refused.because(ONLY_OWNERS_TEAMS);
        }
        for (part, names) in parts.into_iter().filter(|(_, names)| !names.is_empty()) {
            let left = self.add(number, part, &names, &mut refused).await?;
            put_back(&mut refused.step.add, part, left, owner);
        }
        refused.step.add.reviewers.extend(strangers);
        let (parts, _) = by_part(&step.remove, owner);
        for (part, names) in parts.into_iter().filter(|(_, names)| !names.is_empty()) {
            let removed = self.host.remove_from_sidebar(self.repository, number, part, &names).await;
            let left = refused.left(&names, removed.map(|()| Vec::new()))?;
            put_back(&mut refused.step.remove, part, left, owner);
        }
        Ok(refused)
    }

    /// Adds them, and returns those that GitHub refuses.
    async fn add(
        &self,
        number: u64,
        part: SidebarPart,
        names: &[String],
        refused: &mut RefusedStep,
    ) -> Result<Vec<String>, SyncError> {
        match self.host.add_to_sidebar(self.repository, number, part, names).await {
            Ok(left_out) if !left_out.is_empty() => {
                refused.because(&format!("left out without a reason: {}", left_out.join(", ")));
                Ok(left_out)
            }
            // One that GitHub does not know makes it refuse all of them.
            Err(CodeHostError::Unexpected { status: 422, .. }) if names.len() > 1 => {
                let mut left_out = Vec::new();
                for name in names {
                    let one = std::slice::from_ref(name);
                    left_out.extend(Box::pin(self.add(number, part, one, refused)).await?);
                }
                Ok(left_out)
            }
            added => refused.left(names, added),
        }
    }
}
