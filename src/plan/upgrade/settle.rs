//! The merge's decisions, settled: the settings and the step group say what conflicts come to.

use std::collections::BTreeSet;

use super::context::Context;
use super::draft::Draft;
use super::findings::{foreign_fields, split};
use super::model::{Change, Conflict, Reason, Side};
use super::redact::hide_in;
use super::said::Said;
use super::variables::without_value;
use crate::merge::cluster_merge::{ClusterMerge, MergedObject};
use crate::merge::decision::{Decision, DecisionKind};
use crate::merge::step_group::StepGroup;
use crate::settings::ConflictPolicy;
use capstan_model::finding::rules;
use capstan_yaml::{Node, Value};

/// An upgrade whose fields are settled.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) draft: Draft,
    pub(super) moved: Moved,
}

/// Objects in which fields of the step group move.
#[derive(Debug, Default)]
pub(super) struct Moved(pub(super) BTreeSet<usize>);

impl Settled {
    /// Settles the decisions of all objects that stay.
    pub(super) fn of(context: Context<'_>, merge: &ClusterMerge, group: &StepGroup, said: &mut Said) -> Self {
        let (draft, moved) = (Draft::default(), Moved::default());
        let mut settling = Settling { context, group, done: Self { draft, moved }, said };
        for merged in &merge.merged {
            settling.lists_without_key(merged);
            merged.record.decisions.iter().for_each(|decision| settling.settle(merged, decision));
            foreign_fields(context, merged, &settling.done.draft, settling.said);
        }
        settling.done
    }
}

/// What is looked at on the way, and what came of it so far.
struct Settling<'s> {
    context: Context<'s>,
    group: &'s StepGroup,
    done: Settled,
    said: &'s mut Said,
}

/// What a decision comes to.
enum Verdict {
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
    /// The cluster's value stays in a step group that moves, by whom that is.
    Split(&'static str),
    /// So it is of what both changed.
    SplitOver(&'static str),
    /// So it is, but that is said of the version that is ahead.
    Ahead,
}

impl Settling<'_> {
    fn lists_without_key(&mut self, merged: &MergedObject) {
        for (list, fields) in merged.record.lists_without_key() {
            let message = format!(
                "The items of this list are told apart by {}, which one of them lacks or two share, so the list counts as one value.",
                fields.join(" and "),
            );
            let (at, rule) = (list.at.unwrap_or_default(), rules::LIST_WITHOUT_KEY);
            self.said.findings.push(self.context.finding_at(rule, message, merged.object, at, &list.path));
        }
    }

    fn verdict(&self, merged: &MergedObject, decision: &Decision, in_group: bool) -> Verdict {
        let (id, path) = (&self.context.base.objects[merged.object].id, &decision.path);
        let is_ahead =
            || self.group.ahead.iter().any(|ahead| ahead.object == merged.object && ahead.path == *path);
        match (decision.kind, self.context.request.settings.conflicts) {
            (DecisionKind::Take, _) => Verdict::Take,
            (DecisionKind::Held, _) if in_group => Verdict::Split("an owner rule of the settings"),
            (DecisionKind::Held, _) => Verdict::Keep,
            (DecisionKind::TypeConflict, _) => Verdict::Block(format!(
                "{id} {path}: the release changed the type of a field that the cluster changed too."
            )),
            (DecisionKind::Conflict, _) if in_group && self.group.release_wins => Verdict::TakeOver,
            (DecisionKind::Conflict, ConflictPolicy::Take) if !is_ahead() => Verdict::TakeOver,
            (DecisionKind::Conflict, ConflictPolicy::Block) => {
                Verdict::Block(format!("{id} {path}: the cluster and the release changed it."))
            }
            (DecisionKind::Conflict, _) if in_group && is_ahead() => Verdict::Ahead,
            (DecisionKind::Conflict, _) if in_group => Verdict::SplitOver("`conflicts: keep`"),
            (DecisionKind::Conflict, _) => Verdict::KeepOver,
        }
    }

    fn settle(&mut self, merged: &MergedObject, decision: &Decision) {
        let in_group = self.group.holds(&self.context.base.objects[merged.object].id, decision);
        let verdict = self.verdict(merged, decision, in_group);
        let kept = match verdict {
            Verdict::TakeOver => Some((Side::Release, false)),
            Verdict::KeepOver => Some((Side::Cluster, false)),
            Verdict::Block(_) | Verdict::SplitOver(_) | Verdict::Ahead => Some((Side::Cluster, true)),
            Verdict::Take | Verdict::Keep | Verdict::Split(_) => None,
        };
        if let Some((kept, blocks)) = kept {
            self.conflict(merged, decision, kept, blocks);
        }
        match verdict {
            Verdict::Take | Verdict::TakeOver => {
                if in_group {
                    self.done.moved.0.insert(merged.object);
                }
                self.take(merged, decision);
            }
            Verdict::Block(reason) => self.said.blocked.push(reason),
            Verdict::Split(holder) | Verdict::SplitOver(holder) => {
                split(self.context, merged, decision, holder, self.said);
            }
            Verdict::Keep | Verdict::KeepOver | Verdict::Ahead => {}
        }
    }

    /// The release's value goes in.
    fn take(&mut self, merged: &MergedObject, decision: &Decision) {
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
            reason: Reason::Release,
        });
        self.done.draft.edit_object(object, decision.edits.iter().cloned());
    }

    /// One side's value of what was decided, as it may be kept for showing.
    fn value(&self, object: usize, decision: &Decision, side: &Option<Node>) -> Option<Value> {
        let value = side.as_ref().map(Node::value)?;
        Some(hide_in(self.context.base.node(object), &decision.path, value))
    }

    fn conflict(&mut self, merged: &MergedObject, decision: &Decision, kept: Side, blocks: bool) {
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
        });
    }
}
