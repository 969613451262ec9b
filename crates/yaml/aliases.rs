//! Anchors and aliases under edit: several places share one text.
//!
//! An edit of what an anchor names changes every place that has an alias of it. What all of them become alike is edited
//! once, at the anchor. Where a place is to be something else, its alias gives way to the value itself, and so does a key
//! that a merge (`<<`) brings in: the key is written beside the merge. What a merge brings and must go, or comes out of
//! several mappings at once, is refused.
//!
//! Nothing here is trusted: the gate compares what comes out with what was intended.

use super::change::{EditRefusal, NewKey, NodeChange, NodeEdit, SHARED, step_of};
use super::document_edit::WrittenOut;
use super::meaning::same_meaning;
use super::node::{Document, Node, NodeKind, ScalarStyle};
use capstan_model::object::FieldPath;

/// Decides for every alias of a document whether it stays, and changes what is to be edited accordingly; the places that
/// are written out.
pub(super) fn settle(
    text: &str,
    document: &Document,
    change: &mut NodeChange,
) -> Result<Vec<WrittenOut>, EditRefusal> {
    let range = text.get(document.span.clone()).unwrap_or_default();
    if !range.contains('&') || !range.contains('*') {
        return Ok(Vec::new());
    }
    let mut found = AliasSurvey { text, anchors: Vec::new(), aliases: Vec::new(), merges: Vec::new() };
    found.collect(&document.root, &mut Vec::new(), document.marker.end);
    let mut decided = Vec::new();
    for alias in &found.aliases {
        decided.extend(found.decide(&document.root, change, alias)?);
    }
    for merge in &found.merges {
        decided.extend(found.decide_merge(&document.root, change, merge)?);
    }
    let mut written = Vec::new();
    for decision in decided {
        written.extend(decision.perform(&document.root, change));
    }
    Ok(written)
}

/// Indexes of entries and items on the way from the root.
type Trail = Vec<usize>;

struct Anchor<'n> {
    name: &'n str,
    node: &'n Node,
    trail: Trail,
}

struct Alias<'n> {
    name: &'n str,
    node: &'n Node,
    trail: Trail,
}

/// A `<<` of a mapping.
struct MergeKey<'n> {
    /// The text after it.
    text: &'n str,
    offset: usize,
    mapping: &'n Node,
    trail: Trail,
}

struct AliasSurvey<'n> {
    text: &'n str,
    anchors: Vec<Anchor<'n>>,
    aliases: Vec<Alias<'n>>,
    merges: Vec<MergeKey<'n>>,
}

/// What becomes of a place that shares its text.
enum AliasDecision {
    /// It follows the anchor.
    Follows(Trail),
    /// It becomes this value.
    Becomes(Trail, Node, usize),
    /// The mapping gets a key of its own beside its merge.
    Gets { mapping: Trail, key: String, node: Node, offset: usize },
}

impl<'n> AliasSurvey<'n> {
    fn of(&self, node: &Node) -> &'n str {
        self.text.get(node.span.clone()).unwrap_or_default()
    }

    fn collect(&mut self, node: &'n Node, trail: &mut Trail, floor: usize) {
        let own = self.of(node);
        if node.shared && own.starts_with('*') {
            self.aliases.push(Alias { name: &own[1..], node, trail: trail.clone() });
            return;
        }
        if node.shared
            && let Some(name) = anchor_before(self.text, floor, node.span.start)
        {
            self.anchors.push(Anchor { name, node, trail: trail.clone() });
        }
        match &node.kind {
            NodeKind::Scalar(_) => {}
            NodeKind::Sequence(items) => {
                let mut floor = node.span.start;
                for (index, item) in items.iter().enumerate() {
                    trail.push(index);
                    self.collect(item, trail, floor);
                    trail.pop();
                    floor = item.span.end;
                }
            }
            NodeKind::Mapping(entries) => {
                let mut merge = None;
                for (index, entry) in entries.iter().enumerate() {
                    let key = entry.key_span.clone();
                    if self.text.get(key.clone()) == Some("<<") {
                        if merge != Some(key.start) {
                            let text = self.of(&entry.value);
                            let (offset, trail) = (key.start, trail.clone());
                            self.merges.push(MergeKey { text, offset, mapping: node, trail });
                            merge = Some(key.start);
                        }
                        continue;
                    }
                    trail.push(index);
                    self.collect(&entry.value, trail, key.end);
                    trail.pop();
                }
            }
        }
    }

    /// What an alias names: the last anchor of that name before it.
    fn anchor(&self, name: &str, offset: usize) -> Option<&Anchor<'n>> {
        self.anchors.iter().rfind(|anchor| anchor.name == name && anchor.node.span.start < offset)
    }

    fn decide(
        &self,
        root: &Node,
        change: &NodeChange,
        alias: &Alias<'n>,
    ) -> Result<Option<AliasDecision>, EditRefusal> {
        let offset = alias.node.span.start;
        let Some(wanted) = wanted(root, change, &alias.trail) else { return Ok(None) };
        let anchor = self.anchor(alias.name, offset).filter(|anchor| same_meaning(anchor.node, alias.node));
        let Some(anchor) = anchor else {
            // An anchor of a key, say.
            return if same_meaning(&wanted, alias.node) {
                Ok(None)
            } else {
                Err(refused(root, &alias.trail, offset))
            };
        };
        let given = given(root, change, anchor);
        Ok(Some(if given.is_some_and(|given| same_meaning(&given, &wanted)) {
            AliasDecision::Follows(alias.trail.clone())
        } else {
            AliasDecision::Becomes(alias.trail.clone(), wanted, offset)
        }))
    }

    fn decide_merge(
        &self,
        root: &Node,
        change: &NodeChange,
        merge: &MergeKey<'n>,
    ) -> Result<Vec<AliasDecision>, EditRefusal> {
        let own = merge.trail.iter().try_fold(change, |change, index| change.below.get(index));
        if own.is_some_and(|own| !matches!(own.own, NodeEdit::Keep)) {
            // Its text gives way as a whole.
            return Ok(Vec::new());
        }
        let Some(wanted) = wanted(root, change, &merge.trail) else { return Ok(Vec::new()) };
        let refuse = || refused(root, &merge.trail, merge.offset);
        let entries = merge.mapping.as_mapping().unwrap_or_default().iter().enumerate();
        let merged: Vec<_> = entries.filter(|(_, entry)| entry.key_span.start == merge.offset).collect();
        let single = merge.text.strip_prefix('*').and_then(|name| self.anchor(name, merge.offset));
        let given = match single {
            Some(anchor) => given(root, change, anchor).ok_or_else(refuse)?,
            // With several mappings the source of a key is unknown: they stay as they are, or the edit is
            // refused.
            None => {
                let stays = |anchor: &Anchor<'_>| {
                    given(root, change, anchor).is_some_and(|given| same_meaning(&given, anchor.node))
                };
                let is_meant = |anchor: &&Anchor<'_>| merge.text.contains(&format!("*{}", anchor.name));
                if !self.anchors.iter().filter(is_meant).all(stays) {
                    return Err(refuse());
                }
                merge.mapping.clone()
            }
        };
        // A key that the anchor gets would come here too.
        let known = single.map(|anchor| anchor.node);
        let comes = given.as_mapping().unwrap_or_default().iter().any(|entry| {
            let is_new = known.is_some_and(|known| known.get(&entry.key).is_none());
            is_new && wanted.get(&entry.key).is_none_or(|own| !same_meaning(own, &entry.value))
        });
        if comes {
            return Err(refuse());
        }
        let mut decided = Vec::new();
        for (index, entry) in merged {
            let mut trail = merge.trail.clone();
            trail.push(index);
            let (Some(own), offset) = (wanted.get(&entry.key), merge.offset) else { return Err(refuse()) };
            decided.push(AliasDecision::Follows(trail));
            if given.get(&entry.key).is_none_or(|given| !same_meaning(given, own)) {
                let (mapping, key, node) = (merge.trail.clone(), entry.key.clone(), own.clone());
                decided.push(AliasDecision::Gets { mapping, key, node, offset });
            }
        }
        Ok(decided)
    }
}

impl AliasDecision {
    fn perform(self, root: &Node, change: &mut NodeChange) -> Option<WrittenOut> {
        match self {
            Self::Follows(trail) => {
                change.forget(&trail);
                None
            }
            Self::Becomes(trail, node, offset) => {
                let (change, _) = change.at_trail(root, &trail);
                let path = change.path.clone();
                *change =
                    NodeChange { path: path.clone(), own: NodeEdit::Set(node), ..NodeChange::default() };
                Some(WrittenOut { path, offset })
            }
            Self::Gets { mapping, key, node, offset } => {
                let (change, mapping) = change.at_trail(root, &mapping);
                let path = change.path.key(&key);
                let at = mapping.as_mapping().unwrap_or_default().len();
                change.keys.push(NewKey { at, key, node });
                Some(WrittenOut { path, offset })
            }
        }
    }
}

/// The value that a place is to have; `None` where it goes, or gives way to something around it.
fn wanted(root: &Node, change: &NodeChange, trail: &[usize]) -> Option<Node> {
    let (mut node, mut change) = (root, Some(change));
    for index in trail {
        if change.is_some_and(|change| !matches!(change.own, NodeEdit::Keep)) {
            return None;
        }
        node = node.child(*index)?;
        change = change.and_then(|change| change.below.get(index));
    }
    match change {
        Some(NodeChange { own: NodeEdit::Remove, .. }) => None,
        Some(change) => Some(change.intend(node)),
        None => Some(node.clone()),
    }
}

/// The final value of an anchor; `None` where the anchor is removed.
fn given(root: &Node, change: &NodeChange, anchor: &Anchor<'_>) -> Option<Node> {
    let given = wanted(root, change, &anchor.trail)?;
    let own = anchor.trail.iter().try_fold(change, |change, index| change.below.get(index));
    let is_line = |node: &Node| {
        let style = node.as_scalar().map(|scalar| scalar.style);
        style.is_some_and(|style| !matches!(style, ScalarStyle::Literal | ScalarStyle::Folded))
    };
    // Only of one line by another is it sure that the anchor before it stays.
    let is_replaced = matches!(own, Some(NodeChange { own: NodeEdit::Set(_), .. }));
    (!is_replaced || is_line(anchor.node) && is_line(&given)).then_some(given)
}

/// The name of the anchor before a value.
fn anchor_before(text: &str, floor: usize, start: usize) -> Option<&str> {
    let lines = text.get(floor..start)?.lines();
    let words = lines.flat_map(|line| {
        line.split_ascii_whitespace().take_while(|word| !word.starts_with('#')).collect::<Vec<_>>()
    });
    words.filter_map(|word| word.strip_prefix('&')).next_back()
}

fn refused(root: &Node, trail: &[usize], offset: usize) -> EditRefusal {
    let mut path = FieldPath::root();
    let mut node = root;
    for index in trail {
        let Some((step, child)) = step_of(node, *index).zip(node.child(*index)) else { break };
        (path, node) = (path.join(step), child);
    }
    EditRefusal::new(SHARED, &path, offset)
}
