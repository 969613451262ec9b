//! What a pass may do next, and why it does nothing.

use std::collections::BTreeMap;

use capstan_model::object::ObjectId;
use jiff::{SignedDuration, Timestamp};

use super::facts::ProviderFacts;
use super::record::{ProviderRecord, Stopped};
use super::stage::InstallStage;

/// Something that is done to one provider. Each may be done twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderStep {
    /// This is written down; nothing else.
    Note(Box<ProviderRecord>),
    /// Objects of a definition's kind are written again, so that they are stored in the version that stays, and entries
    /// of `managedFields` in the versions that go are removed. Then those leave `status.storedVersions`.
    Migrate {
        definition: ObjectId,
        /// The versions that go.
        versions: Vec<String>,
    },
    /// Deployments get these numbers of replicas.
    Scale(Vec<Stopped>),
    /// Objects are applied, all of one stage. Those of kinds that a definition of the same pass brought are tried first, and
    /// none is applied where one of them is refused.
    Apply {
        /// Of which stage.
        stage: InstallStage,
        /// Which.
        objects: Vec<ObjectId>,
        /// Those that could not be tried before.
        untried: Vec<ObjectId>,
    },
    /// A dry-run write goes through each of these webhook configurations and is answered; then this is written down.
    Ask {
        /// The configurations.
        webhooks: Vec<ObjectId>,
        /// What is written down.
        then: Box<ProviderRecord>,
    },
    /// Objects are deleted, each as it was read.
    Delete(Vec<ObjectId>),
    /// Nothing is remembered of the provider any more, and its object may go.
    Forget,
}

/// Why nothing is done for a provider, though something should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// There is no core provider.
    ForCore,
    /// Another one comes first: which, and why it is waited for, in words.
    ForSet(String),
    /// The API server refuses an object of it.
    Refused {
        /// Which.
        object: ObjectId,
        why: String,
    },
    /// Something passes by itself: what, in words.
    For(String),
    /// Something was waited for, for as long as that may take: what, since when, and what to do.
    TimedOut(String),
    /// There is only the way forward: what to do.
    Stuck(String),
}

/// What time it is, and how long one thing is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstallPatience {
    pub now: Timestamp,
    /// How long definitions, workloads, webhooks and the ends of pods are waited for.
    pub limit: SignedDuration,
}

/// What is done next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallDecision {
    /// Whose step, and which; `None` where nothing can be done now.
    pub step: Option<(ObjectId, ProviderStep)>,
    /// Providers for which nothing can be done now, though something should be.
    pub waits: BTreeMap<ObjectId, Wait>,
}

impl InstallDecision {
    pub(super) fn step(provider: &ProviderFacts, step: ProviderStep) -> Self {
        Self { step: Some((provider.id.clone(), step)), waits: BTreeMap::new() }
    }
}
