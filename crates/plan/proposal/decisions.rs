//! What people decided by command about one proposal. The folded block of the pull request's body holds it, and it is
//! read from there.

use capstan_model::finding::{RuleEntry, SeverityChange, rules};
use capstan_model::ids::ReleaseName;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::Approval;
use super::offer_name::offer_name;
use crate::upgrade::{Conflict, SettledConflict, Upgrade, Versions};
use crate::verbs::{HoldArguments, OfConflict};

/// What people decided about one proposal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decisions {
    /// It is left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<OnHold>,
    /// What is offered now is not wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skipped>,
    /// The release that it offers, whatever would be offered otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseName>,
    /// That release is the one before, to which somebody rolls back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<RolledBack>,
    /// Rules whose errors pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
    /// Its conflicts that they settled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<SettledConflict>,
    /// Who approved what it changes, and whose approval was dismissed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
}

/// A source is not offered again to one cluster. Where a pull request of its own was closed for that, the close says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// What was offered then: something else is offered.
    pub source: String,
    /// Who said so: a login.
    pub by: String,
}

/// Somebody rolls back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledBack {
    /// The source that is left: merged, it is not offered again.
    pub leaves: String,
    /// Who: a login.
    pub by: String,
}

/// A rule whose errors pass in the check of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// The rule's id.
    pub rule: String,
    /// In the words of who said so.
    pub reason: String,
    /// Who: a login.
    pub by: String,
    /// What the proposal offered then: of something else nobody has said it.
    pub source: String,
}

impl Override {
    /// Whether the rule is always an error, whatever anybody says: it may have become one since this was said.
    pub fn is_void(&self) -> bool {
        let of_it = |rule: &&&'static RuleEntry| rule.id() == self.rule;
        rules::ALL.iter().find(of_it).is_some_and(|rule| rule.change() == SeverityChange::Never)
    }
}

/// Why a proposal is left alone, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnHold {
    /// Who said so: a login.
    pub by: String,
    /// In their words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The first day, in UTC, on which it is held no more.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until: Option<Date>,
}

impl OnHold {
    /// What somebody asked for.
    pub fn of(held: &HoldArguments, by: &str) -> Self {
        Self { by: by.to_owned(), reason: held.reason.clone(), until: held.until }
    }

    /// Whether it holds on a day.
    pub fn holds_on(&self, today: Date) -> bool {
        self.until.is_none_or(|until| today < until)
    }
}

/// That Capstan is paused in a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// Who said so: a login.
    pub by: String,
    /// In their words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The day, in UTC.
    pub since: Date,
}

impl Decisions {
    /// What of them is kept of a proposal that has no open pull request, whose upgrade blocks perhaps: what is said of a
    /// rule counts for a check, an approval for what a head changes, and a release that was asked for only until it is
    /// offered.
    #[must_use]
    pub fn without_pull_request(&self, blocks: bool) -> Self {
        let release = self.release.clone().filter(|_| blocks);
        Self { release, overrides: Vec::new(), approvals: Vec::new(), ..self.clone() }
    }

    /// Whether nobody decided anything.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether somebody asked for a release by name.
    pub const fn is_asked_for(&self) -> bool {
        self.release.is_some() || self.rollback.is_some()
    }

    /// Whether versions and images move.
    pub const fn versions(&self) -> Versions {
        if self.rollback.is_some() { Versions::Stay } else { Versions::Move }
    }

    /// The hold that holds on a day.
    pub fn hold_on(&self, today: Date) -> Option<&OnHold> {
        self.hold.as_ref().filter(|hold| hold.holds_on(today))
    }

    /// Overrides of rules of which it is void, since they are always errors now.
    pub fn void_overrides(&self) -> impl Iterator<Item = &Override> {
        self.overrides.iter().filter(|one| one.is_void())
    }

    /// The overrides that count where that source is offered.
    fn that_count(&self, source: &str) -> Vec<Override> {
        let counts = |one: &&Override| one.source == source && !one.is_void();
        self.overrides.iter().filter(counts).cloned().collect()
    }

    /// Those that still count: what was settled between other values than those of the upgrade's conflicts is forgotten,
    /// and so is what was said of another source or of a rule that nobody may override any more, and a hold whose day has
    /// come.
    #[must_use]
    pub fn still(&self, upgrade: &Upgrade, today: Date) -> Self {
        let source = upgrade.to.as_ref().map(ToString::to_string);
        let is_there = |settled: &&SettledConflict| {
            upgrade.conflicts.iter().any(|conflict| {
                conflict.object == settled.object
                    && conflict.path == settled.path
                    && conflict.settling.values == settled.values
            })
        };
        Self {
            hold: self.hold_on(today).cloned(),
            // Where nothing is offered now, the same may be offered again.
            skipped: self
                .skipped
                .clone()
                .filter(|one| offer_name(upgrade).is_none_or(|now| now == one.source)),
            release: self.release.clone(),
            rollback: self.rollback.clone(),
            overrides: source.map(|source| self.that_count(&source)).unwrap_or_default(),
            settled: self.settled.iter().filter(is_there).cloned().collect(),
            // `judge_approvals` decides whether these count: it depends on what the head changes.
            approvals: self.approvals.clone(),
        }
    }

    /// Whether there is an approval that was not taken back, as far as is known here.
    pub fn is_approved(&self) -> bool {
        self.approvals.iter().any(|approval| approval.dismissed.is_none())
    }

    /// Notes that a rule's errors pass; what was said of the rule before is forgotten.
    pub fn overrule(&mut self, one: Override) {
        self.overrides.retain(|known| known.rule != one.rule);
        self.overrides.push(one);
    }

    /// Notes that a conflict is settled; what was said of it before is forgotten.
    pub fn settle(&mut self, settled: SettledConflict) {
        self.settled.retain(|known| known.object != settled.object || known.path != settled.path);
        self.settled.push(settled);
    }
}

/// Why a conflict cannot be settled.
#[derive(Debug, Clone, PartialEq)]
pub enum Unsettled<'c> {
    /// There is none at that path; these there are.
    NoSuch(Vec<&'c Conflict>),
    /// Several objects have one there.
    Several(Vec<&'c Conflict>),
}

/// The conflict that somebody names; all that can be settled, where they say so.
///
/// # Errors
/// It is not there, or it is not clear which one.
pub fn find_conflicts<'c>(
    conflicts: &'c [Conflict],
    named: &OfConflict,
) -> Result<Vec<&'c Conflict>, Unsettled<'c>> {
    let can_be = |conflict: &&Conflict| !conflict.settling.values.is_empty();
    let is_named = |conflict: &&Conflict| {
        (named.means_all() || conflict.path == named.path)
            && named.object.as_ref().is_none_or(|(kind, name)| {
                conflict.object.kind.eq_ignore_ascii_case(kind) && conflict.object.name == *name
            })
    };
    let found: Vec<&Conflict> = conflicts.iter().filter(can_be).filter(is_named).collect();
    match found.as_slice() {
        [_] => Ok(found),
        [_, ..] if named.means_all() => Ok(found),
        [] => Err(Unsettled::NoSuch(conflicts.iter().filter(can_be).collect())),
        _ => Err(Unsettled::Several(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_overrides_what_became_an_error_for_ever() {
        let of = |rule: &str| Override {
            rule: rule.to_owned(),
            reason: "as agreed".to_owned(),
            by: "ada".to_owned(),
            source: "aws/v22.0.0".to_owned(),
        };
        let decisions = Decisions {
            overrides: vec![
                of("reads-other-cluster"),
                of("component-downgrade"),
                of("provider-digest-differs"),
                of("no-such-rule"),
            ],
            ..Decisions::default()
        };
        let void: Vec<&str> = decisions.void_overrides().map(|one| one.rule.as_str()).collect();
        assert_eq!(void, ["reads-other-cluster", "provider-digest-differs"]);
        let still: Vec<Override> = decisions.that_count("aws/v22.0.0");
        assert_eq!(still, [of("component-downgrade"), of("no-such-rule")]);
        assert_eq!(decisions.that_count("aws/v23.0.0"), []);
    }
}
