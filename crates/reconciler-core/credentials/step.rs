//! What comes next of one credential.

use std::collections::{BTreeMap, BTreeSet};

use capstan_ports::Issued;
use jiff::{SignedDuration, Timestamp};

use crate::next::{Basis, Next};
use crate::term::two_thirds;

/// One that was handed out: whose it is in the cloud, where only its user may see it, and when it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedOut {
    /// The id of the user who made it.
    pub user: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// What the Secret says beside the credential itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialRecord {
    /// The id of the credential that it holds.
    pub current: String,
    /// Whose that is.
    pub user: String,
    /// When that was made.
    pub issued_at: Timestamp,
    /// When that ends.
    pub expires_at: Timestamp,
    /// Those that it held before, and that somebody may work with still, by their ids.
    pub previous: BTreeMap<String, HandedOut>,
    /// Whether it is as Capstan would write it now.
    pub state: WrittenState,
}

/// How the content of a Secret compares with what would be written now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenState {
    /// It is that.
    AsWished,
    /// Somebody changed it, or the cloud is another place by now: it may be of no use.
    Outdated,
}

/// Somebody who works with the credential: a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// `Deployment kube-system/openstack-cloud-controller-manager`
    pub what: String,
    /// The id of the credential that it is known to work with; `None` if that is unknown.
    pub on: Option<String>,
}

/// Whether the cluster still wants one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// It does.
    Keep,
    /// It is gone, and everything of it goes.
    Remove,
}

/// Everything that is decided on.
#[derive(Debug, Clone)]
pub struct CredentialFacts {
    pub now: Timestamp,
    /// Whether it is wanted.
    pub wish: Wish,
    /// How long a new one lives.
    pub lifetime: SignedDuration,
    /// The id of the user whose credentials `issued` are, and who makes the next one.
    pub user: String,
    /// What the cloud has of that user.
    pub issued: Vec<Issued>,
    /// What the Secret says; `None` without a Secret.
    pub written: Option<CredentialRecord>,
    /// Ids that a Secret held, from a record outside of the Secret. They count where there is no Secret: a credential
    /// that no Secret ever held cannot be in use, because its secret part is lost.
    pub remembered: BTreeSet<String>,
    /// Who works with it.
    pub consumers: Vec<Consumer>,
}

/// What is done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialStep {
    /// Make one that ends then, and write it into the Secret together with these as `previous`.
    Issue {
        /// When it ends.
        expires_at: Timestamp,
        /// What the Secret held before, as far as it is valid still.
        previous: BTreeMap<String, HandedOut>,
    },
    /// Delete this one in the cloud.
    Revoke(String),
    /// Write the Secret with only these as `previous`.
    Forget(BTreeMap<String, HandedOut>),
    /// Delete the Secret.
    RemoveSecret,
}

/// Why nothing is done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rest {
    /// Nothing until then, or until one of these works with the new one.
    Wait {
        /// When to look again at the latest.
        until: Timestamp,
        /// Who works with an old one, or with an unknown one.
        behind: Vec<String>,
    },
    /// Nothing is left of it.
    Gone,
}

impl Basis for CredentialFacts {
    type Step = CredentialStep;
    type Rest = Rest;

    fn next(&self) -> Next<CredentialStep, Rest> {
        match self.wish {
            // Credentials first: while there is a Secret, somebody finds them.
            Wish::Remove => match (self.issued.first(), &self.written) {
                (Some(one), _) => Next::Step(CredentialStep::Revoke(one.id.clone())),
                (None, Some(_)) => Next::Step(CredentialStep::RemoveSecret),
                (None, None) => Next::Rest(Rest::Gone),
            },
            Wish::Keep => match &self.written {
                Some(written) => keep(self, written),
                None => Next::Step(begin(self)),
            },
        }
    }
}

/// When the next one is to be made: two thirds of its life after it was made.
pub fn renewal(written: &CredentialRecord) -> Timestamp {
    two_thirds(written.issued_at, written.expires_at)
}

fn begin(facts: &CredentialFacts) -> CredentialStep {
    if let Some(orphan) = facts.issued.iter().find(|one| !facts.remembered.contains(&one.id)) {
        return CredentialStep::Revoke(orphan.id.clone());
    }
    // Somebody may work with what a Secret held that is gone.
    let handed_out = |one: &Issued| {
        let expires_at = one.expires_at.unwrap_or(Timestamp::MAX);
        (one.id.clone(), HandedOut { user: facts.user.clone(), expires_at })
    };
    issue(facts, facts.issued.iter().map(handed_out).collect())
}

fn keep(facts: &CredentialFacts, written: &CredentialRecord) -> Next<CredentialStep, Rest> {
    let is_named = |id: &str| written.current == id || written.previous.contains_key(id);
    // Made by somebody who died before writing it down: nobody has its secret.
    if let Some(orphan) = facts.issued.iter().find(|one| !is_named(&one.id)) {
        return Next::Step(CredentialStep::Revoke(orphan.id.clone()));
    }
    let current = HandedOut { user: written.user.clone(), expires_at: written.expires_at };
    let renewal = renewal(written);
    let serves = facts.is_valid(&written.current, &current)
        && written.user == facts.user
        && written.state == WrittenState::AsWished;
    if !serves || facts.now >= renewal {
        let mut all = written.previous.clone();
        all.insert(written.current.clone(), current);
        all.retain(|id, one| facts.is_valid(id, one));
        return Next::Step(issue(facts, all));
    }
    let ended = |one: &&Issued| one.id != written.current && !facts.lives(one);
    if let Some(ended) = facts.issued.iter().find(ended) {
        return Next::Step(CredentialStep::Revoke(ended.id.clone()));
    }
    let behind: Vec<String> = facts
        .consumers
        .iter()
        .filter(|consumer| consumer.on.as_ref() != Some(&written.current))
        .map(|consumer| consumer.what.clone())
        .collect();
    let old = facts.issued.iter().find(|one| written.previous.contains_key(&one.id));
    if let Some(old) = old.filter(|_| behind.is_empty()) {
        return Next::Step(CredentialStep::Revoke(old.id.clone()));
    }
    let mut left = written.previous.clone();
    // A credential of another user cannot be deleted here. It is named for as long as somebody may work with it, so
    // that its user does not take it for one that was never written down.
    left.retain(|id, one| facts.is_valid(id, one) && (one.user == facts.user || !behind.is_empty()));
    if left == written.previous {
        Next::Rest(Rest::Wait { until: renewal, behind })
    } else {
        Next::Step(CredentialStep::Forget(left))
    }
}

fn issue(facts: &CredentialFacts, previous: BTreeMap<String, HandedOut>) -> CredentialStep {
    let expires_at = facts.now.saturating_add(facts.lifetime).unwrap_or(Timestamp::MAX);
    CredentialStep::Issue { expires_at, previous }
}

impl CredentialFacts {
    fn lives(&self, one: &Issued) -> bool {
        one.expires_at.is_none_or(|end| self.now < end)
    }

    /// Whether one that was handed out is valid, as far as it can be seen: those of another user can only be believed.
    fn is_valid(&self, id: &str, handed_out: &HandedOut) -> bool {
        if handed_out.user == self.user {
            self.issued.iter().any(|one| one.id == id && self.lives(one))
        } else {
            self.now < handed_out.expires_at
        }
    }
}
