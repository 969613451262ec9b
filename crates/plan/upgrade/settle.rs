//! The merge's decisions, settled: the settings and the step group say what conflicts come to.

use std::collections::BTreeSet;

use super::context::Context;
use super::draft::Draft;
use super::findings::{foreign_fields, split};
use super::model::{Change, ChangeReason, Conflict, SettledConflict, Settlement, Side};
use super::redact::{hide_in, redact};
use super::request::Versions;
use super::said::UpgradeReport;
use super::variables::without_value;
use crate::merge::cluster_merge::{ClusterMerge, MergedObject};
use crate::merge::decision::{DecisionKind, MergeDecision};
use crate::merge::step_group::StepGroup;
use crate::settings::ConflictPolicy;
use capstan_model::digest::digest;
use capstan_model::finding::rules;
use capstan_yaml::{Edit, Node, Value};

/// An upgrade whose fields are settled.
#[derive(Debug)]
pub(super) struct SettledUpgrade {
    pub(super) draft: Draft,
    pub(super) moved: MovedObjects,
}

/// Objects in which fields of the step group move.
#[derive(Debug, Default)]
pub(super) struct MovedObjects(pub(super) BTreeSet<usize>);

impl SettledUpgrade {
    /// Settles the decisions of all objects that stay.
    pub(super) fn of(
        context: Context<'_>,
        merge: &ClusterMerge,
        group: &StepGroup,
        said: &mut UpgradeReport,
    ) -> Self {
        let (draft, moved) = (Draft::default(), MovedObjects::default());
        let mut settling = Settling { context, group, done: Self { draft, moved }, stays: Vec::new(), said };
        for merged in &merge.merged {
            settling.lists_without_key(merged);
            merged.record.decisions.iter().for_each(|decision| settling.settle(merged, decision));
            foreign_fields(context, merged, &settling.done.draft, settling.said);
        }
        settling.say_what_stays();
        settling.done
    }
}

/// What settling reads, and its result so far.
struct Settling<'s> {
    context: Context<'s>,
    group: &'s StepGroup,
    done: SettledUpgrade,
    /// Fields of the step group that stay by wish.
    stays: Vec<String>,
    said: &'s mut UpgradeReport,
}

/// What a decision comes to.
enum SettleVerdict {
    /// The release's value comes.
    Take,
    /// It comes, although the cluster changed the field too.
    TakeOver,
    /// The cluster's value stays, and nothing is to be said.
    Keep,
    /// The cluster's value stays, which is said.
    KeepOver,
    /// So it is, and the upgrade blocks for this reason.
    Block(String),
    /// The cluster's value stays in a step group that moves; the text says who keeps it.
    Split(&'static str),
    /// So it is of what both changed.
    SplitOver(&'static str),
    /// So it is, but that is said of the version that is ahead.
    Ahead,
    /// The step group stays by wish: that is said of all of it.
    Stay,
}

impl Settling<'_> {
    fn lists_without_key(&mut self, merged: &MergedObject) {
        for (list, fields) in merged.record.lists_without_key() {
            let message = format!(
                "The items of this list are identified by {}, but one lacks it or two share it, so Capstan treats the list as one value.",
                fields.join(" and "),
            );
            let (at, rule) = (list.at.unwrap_or_default(), rules::LIST_WITHOUT_KEY);
            self.said.findings.push(self.context.finding_at(rule, message, merged.object, at, &list.path));
        }
    }

    fn verdict(&self, merged: &MergedObject, decision: &MergeDecision, in_group: bool) -> SettleVerdict {
        let (id, path) = (&self.context.base.objects[merged.object].id, &decision.path);
        if in_group && self.context.request.settings.versions == Versions::Stay {
            return SettleVerdict::Stay;
        }
        let settled = self.settled(merged.object, decision).map(|settled| settled.side);
        let is_ahead =
            || self.group.ahead.iter().any(|ahead| ahead.object == merged.object && ahead.path == *path);
        match (decision.kind, self.context.request.settings.conflicts) {
            (DecisionKind::Take, _) => SettleVerdict::Take,
            (DecisionKind::Held, _) if in_group => SettleVerdict::Split("an owner rule of the settings"),
            (DecisionKind::Held, _) => SettleVerdict::Keep,
            // What one person decided of these very values goes before what the settings say of all.
            _ if settled == Some(Side::Release) => SettleVerdict::TakeOver,
            _ if settled == Some(Side::Cluster) && !(in_group && self.group.release_wins) => {
                if in_group {
                    SettleVerdict::SplitOver("a decision by command")
                } else {
                    SettleVerdict::KeepOver
                }
            }
            (DecisionKind::TypeConflict, _) => SettleVerdict::Block(format!(
                "{id} {path}: a field changes its type that the cluster changed too."
            )),
            (DecisionKind::Overwrite, _)
                if self.context.request.settings.overwrite.names(path) && !is_ahead() =>
            {
                SettleVerdict::TakeOver
            }
            (DecisionKind::Conflict | DecisionKind::Overwrite, _) if in_group && self.group.release_wins => {
                SettleVerdict::TakeOver
            }
            (DecisionKind::Overwrite, ConflictPolicy::Block) => SettleVerdict::Block(format!(
                "{id} {path}: the upgrade would overwrite the existing value, and its origin is unknown."
            )),
            (DecisionKind::Overwrite, _) if in_group && is_ahead() => SettleVerdict::Ahead,
            (DecisionKind::Overwrite, _) if in_group && self.group.comes => {
                SettleVerdict::SplitOver("the existing value, because the old release is unknown")
            }
            (DecisionKind::Overwrite, _) => SettleVerdict::KeepOver,
            (DecisionKind::Conflict, ConflictPolicy::Take) if !is_ahead() => SettleVerdict::TakeOver,
            (DecisionKind::Conflict, ConflictPolicy::Block) => {
                SettleVerdict::Block(format!("{id} {path}: the cluster changed it too."))
            }
            (DecisionKind::Conflict, _) if in_group && is_ahead() => SettleVerdict::Ahead,
            (DecisionKind::Conflict, _) if in_group => SettleVerdict::SplitOver("`conflicts: keep`"),
            (DecisionKind::Conflict, _) => SettleVerdict::KeepOver,
        }
    }

    fn settle(&mut self, merged: &MergedObject, decision: &MergeDecision) {
        let in_group = self.group.holds(&self.context.base.objects[merged.object].id, decision);
        let verdict = self.verdict(merged, decision, in_group);
        let kept = match verdict {
            SettleVerdict::TakeOver => Some((Side::Release, false)),
            SettleVerdict::KeepOver | SettleVerdict::Stay => Some((Side::Cluster, false)),
            SettleVerdict::Block(_) | SettleVerdict::SplitOver(_) | SettleVerdict::Ahead => {
                Some((Side::Cluster, true))
            }
            SettleVerdict::Take | SettleVerdict::Keep | SettleVerdict::Split(_) => None,
        };
        if let Some((kept, blocks)) = kept {
            self.conflict(merged, decision, kept, blocks);
        }
        match verdict {
            SettleVerdict::Take | SettleVerdict::TakeOver => {
                if in_group {
                    self.done.moved.0.insert(merged.object);
                }
                match &decision.text {
                    Some(text) => self.take_text(merged, decision, &text.taken),
                    None => self.take(merged, decision),
                }
            }
            SettleVerdict::Block(reason) => self.said.blocked.push(reason),
            SettleVerdict::Split(holder) | SettleVerdict::SplitOver(holder) => {
                split(self.context, merged, decision, holder, self.said);
            }
            SettleVerdict::Stay => {
                let id = &self.context.base.objects[merged.object].id;
                self.stays.push(format!("`{id}` `{}`", decision.path));
            }
            SettleVerdict::KeepOver => {
                if let Some(text) =
                    decision.text.as_ref().filter(|text| decision.cluster.as_ref() != Some(&text.kept))
                {
                    self.take_text(merged, decision, &text.kept);
                }
            }
            SettleVerdict::Keep | SettleVerdict::Ahead => {}
        }
    }

    /// A text comes whose lines were merged.
    fn take_text(&mut self, merged: &MergedObject, decision: &MergeDecision, text: &Node) {
        let edits = vec![Edit::Set { path: decision.path.clone(), node: text.clone() }];
        self.take(merged, &MergeDecision { release: Some(text.clone()), edits, ..decision.clone() });
    }

    fn say_what_stays(&mut self) {
        const NAMED: usize = 12;
        if self.stays.is_empty() {
            return;
        }
        let more = match self.stays.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named: Vec<&str> = self.stays.iter().take(NAMED).map(String::as_str).collect();
        self.said.notes.push(format!(
            "Versions and images do not change, because Kubernetes cannot be downgraded: {}{more}.",
            named.join(", ")
        ));
    }

    /// The release's value goes in.
    fn take(&mut self, merged: &MergedObject, decision: &MergeDecision) {
        let (object, base) = (merged.object, self.context.base);
        for missing in &decision.missing {
            without_value(self.context, object, decision, missing, self.said);
        }
        self.said.changes.push(Change {
            object: base.objects[object].id.clone(),
            place: base.line(object, decision.at),
            path: decision.path.clone(),
            old: self.value(object, decision, &decision.cluster),
            new: self.value(object, decision, &decision.release),
            from: None,
            reason: ChangeReason::Release,
        });
        self.done.draft.edit_object(object, decision.edits.iter().cloned());
    }

    /// One side's value of what was decided, as it may be kept for showing.
    fn value(&self, object: usize, decision: &MergeDecision, side: &Option<Node>) -> Option<Value> {
        let value = side.as_ref().map(Node::value)?;
        Some(hide_in(self.context.base.node(object), &decision.path, value))
    }

    /// What a person settled of these very values.
    fn settled(&self, object: usize, decision: &MergeDecision) -> Option<&SettledConflict> {
        let settled = &self.context.request.settings.settled;
        if settled.is_empty() {
            return None;
        }
        let id = &self.context.base.objects[object].id;
        let values = self.values(object, decision);
        settled.iter().rfind(|one| one.object == *id && one.path == decision.path && one.values == values)
    }

    /// Identifies the three values of a conflict. The digest is shown to people. Where a value is secret, the whole
    /// object that holds it goes into the digest, and the release, so that trying values does not find it.
    fn values(&self, object: usize, decision: &MergeDecision) -> String {
        let base = self.context.base;
        let id = &base.objects[object].id;
        let mut is_hidden = false;
        let mut shown = |side: &Option<Node>| {
            let Some(value) = side.as_ref().map(Node::value) else { return "-".to_owned() };
            let hidden = hide_in(base.node(object), &decision.path, value.clone());
            let hidden = redact(id, &decision.path, Some(&hidden));
            is_hidden |= hidden != value;
            hidden.to_string()
        };
        let mut parts = vec![shown(&decision.base), shown(&decision.cluster), shown(&decision.release)];
        if is_hidden {
            parts.push(base.node(object).value().to_string());
            parts.push(self.context.request.new.id().to_string());
            parts.extend(self.context.request.new.content().map(|content| content.to_string()));
        }
        digest(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn conflict(&mut self, merged: &MergedObject, decision: &MergeDecision, kept: Side, blocks: bool) {
        // What stays by wish is nothing that somebody could settle.
        let is_open =
            kept == Side::Release || self.context.request.settings.versions == Versions::Move || blocks;
        let settling = if is_open || !self.group.holds(&self.context.base.objects[merged.object].id, decision)
        {
            Settlement {
                values: self.values(merged.object, decision),
                by: self.settled(merged.object, decision).map(|settled| settled.by.clone()),
            }
        } else {
            Settlement::default()
        };
        let base = self.context.base;
        let value = |node: &Option<Node>| self.value(merged.object, decision, node);
        let (ours, theirs, old) = (value(&decision.cluster), value(&decision.release), value(&decision.base));
        self.said.conflicts.push(Conflict {
            object: base.objects[merged.object].id.clone(),
            place: base.line(merged.object, decision.at),
            path: decision.path.clone(),
            base: old,
            cluster: ours,
            release: theirs,
            kept,
            blocks,
            settling,
        });
    }
}
