//! What comes next of one application credential.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

/// A credential that Keystone has, of those whose names begin as this one's do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// Keystone's id.
    pub id: String,
    /// `None` where it never ends.
    pub expires_at: Option<Timestamp>,
}

/// What the Secret says beside the credential itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The id of the credential that it holds.
    pub current: String,
    /// When that was made.
    pub issued_at: Timestamp,
    /// When that ends.
    pub expires_at: Timestamp,
    /// Those that it held before, and that somebody may work with still.
    pub previous: BTreeSet<String>,
}

/// Somebody who works with the credential: a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// `Deployment kube-system/openstack-cloud-controller-manager`
    pub what: String,
    /// The id of the credential that it is known to work with; `None` where nobody can tell.
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
pub struct Facts {
    /// Now.
    pub now: Timestamp,
    /// Whether it is wanted.
    pub wish: Wish,
    /// How long a new one lives.
    pub lifetime: SignedDuration,
    /// What Keystone has.
    pub issued: Vec<Issued>,
    /// What the Secret says; `None` without a Secret.
    pub written: Option<Written>,
    /// Who works with it.
    pub consumers: Vec<Consumer>,
}

/// What comes next: one of them, and then everything is looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Make one that ends then, and write it into the Secret together with these as `previous`.
    Issue {
        /// When it ends.
        expires_at: Timestamp,
        /// What the Secret held before, as far as Keystone has it.
        previous: BTreeSet<String>,
    },
    /// Delete this one in Keystone.
    Revoke(String),
    /// Write the Secret with only these as `previous`.
    Forget(BTreeSet<String>),
    /// Delete the Secret.
    RemoveSecret,
    /// Nothing until then, or until one of these works with the new one.
    Wait {
        /// When to look again at the latest.
        until: Timestamp,
        /// Who works with an old one, or nobody knows.
        behind: Vec<String>,
    },
    /// Nothing is left of it.
    Gone,
}

/// Decides.
pub fn next_step(facts: &Facts) -> Step {
    match facts.wish {
        // Credentials first: while there is a Secret, somebody finds them.
        Wish::Remove => match (facts.issued.first(), &facts.written) {
            (Some(one), _) => Step::Revoke(one.id.clone()),
            (None, Some(_)) => Step::RemoveSecret,
            (None, None) => Step::Gone,
        },
        Wish::Keep => keep(facts),
    }
}

fn keep(facts: &Facts) -> Step {
    let now = facts.now;
    let lives = |one: &&Issued| one.expires_at.is_none_or(|end| now < end);
    let is_there = |id: &str| facts.issued.iter().filter(lives).any(|one| one.id == id);
    let Some(written) = &facts.written else {
        // Somebody may work with what a Secret held that is gone.
        return issue(facts, facts.issued.iter().map(|one| one.id.clone()).collect());
    };
    let is_named = |id: &str| written.current == id || written.previous.contains(id);
    // Made by somebody who died before writing it down: nobody has its secret.
    if let Some(orphan) = facts.issued.iter().find(|one| !is_named(&one.id)) {
        return Step::Revoke(orphan.id.clone());
    }
    let renewal = renewal(written);
    if !is_there(&written.current) || now >= renewal {
        let all = written.previous.iter().chain([&written.current]);
        return issue(facts, all.filter(|id| is_there(id)).cloned().collect());
    }
    let ended = |one: &&Issued| one.id != written.current && !lives(one);
    if let Some(ended) = facts.issued.iter().find(ended) {
        return Step::Revoke(ended.id.clone());
    }
    let behind: Vec<String> = facts
        .consumers
        .iter()
        .filter(|consumer| consumer.on.as_ref() != Some(&written.current))
        .map(|consumer| consumer.what.clone())
        .collect();
    let old = facts.issued.iter().find(|one| written.previous.contains(&one.id));
    match old {
        Some(old) if behind.is_empty() => Step::Revoke(old.id.clone()),
        None if !written.previous.is_empty() => Step::Forget(BTreeSet::new()),
        _ => Step::Wait { until: renewal, behind },
    }
}

fn issue(facts: &Facts, previous: BTreeSet<String>) -> Step {
    let expires_at = facts.now.saturating_add(facts.lifetime).unwrap_or(Timestamp::MAX);
    Step::Issue { expires_at, previous }
}

/// Two thirds of its life after it was made.
fn renewal(written: &Written) -> Timestamp {
    let life = written.expires_at.duration_since(written.issued_at);
    written.issued_at.saturating_add(life / 3 * 2).unwrap_or(written.expires_at)
}
