//! What a plan says of objects that come to another API version ([U7a]): the fields that move or are spelled
//! otherwise, and what has no place there.
//!
//! [U7a]: crate::merge::converted#u7a

use super::context::Context;
use super::draft::Draft;
use super::model::{Change, ChangeReason, Conflict, Settlement, Side};
use super::redact::hide_in;
use super::said::UpgradeReport;
use crate::merge::api_versions;
use crate::merge::cluster_merge::ClusterMerge;
use crate::merge::cluster_objects::Base;
use crate::merge::convert::{ConversionObstacle, NotConverted};
use crate::merge::converted::Converted;
use crate::merge::matched::Matched;
use crate::merge::views::pieces_of;
use crate::templates::references;
use capstan_kustomize::conversion::{Conversion, ConversionNote, ConversionStep, Unconvertible};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_model::wording::sentence;
use capstan_yaml::{Edit, Node, Value};

/// The fields that a conversion touches, each once; and what blocks.
pub(super) fn conversions(
    context: Context<'_>,
    merge: &ClusterMerge,
    obstacles: Vec<ConversionObstacle>,
    said: &mut UpgradeReport,
) {
    for (object, converted) in &context.base.converted {
        if merge.drops(*object) {
            continue;
        }
        let now = context.base.node(*object);
        for Net { from, to } in net(&converted.conversion) {
            let value = |node: &Node, path: &Option<FieldPath>| {
                path.as_ref().and_then(|path| node.at(path)).map(Node::value)
            };
            let (old, new) = (value(&converted.was, &from), value(now, &to));
            let Some(path) = to.clone().or_else(|| from.clone()) else { continue };
            if from == to && old == new || old.is_none() && new.is_none() {
                continue;
            }
            let hidden = |object: &Node, path: &Option<FieldPath>, value: Option<Value>| {
                path.as_ref().zip(value).map(|(path, value)| hide_in(object, path, value))
            };
            let (old, new) = (hidden(&converted.was, &from, old), hidden(now, &to, new));
            let line = from.as_ref().map(|from| line_before(context.base, *object, converted, from));
            said.changes.push(Change {
                object: context.base.objects[*object].id.clone(),
                place: Place::known(context.base.file_of(*object).path.clone(), line, None),
                from: from.filter(|from| to.is_some() && *from != path),
                path,
                old,
                new,
                reason: ChangeReason::Release,
            });
        }
        for note in &converted.conversion.notes {
            say_note(context, *object, converted, note, said);
        }
    }
    for obstacle in obstacles {
        say_obstacle(context, obstacle, said);
    }
}

/// Where a conversion wrote or took out what a person should look at.
fn say_note(
    context: Context<'_>,
    object: usize,
    converted: &Converted,
    note: &ConversionNote,
    said: &mut UpgradeReport,
) {
    let id = &context.base.objects[object].id;
    let line = line_before(context.base, object, converted, &note.field);
    let place = Place::line_of(context.base.file_of(object).path.clone(), line).at_first_column();
    let of = |message| Finding::new(rules::API_VERSION_LEAVES_FIELD, message).place(place).object(id);
    said.findings.push(if note.field.is_root() {
        of(format!("{id}: {}.", note.text))
    } else {
        of(format!("{} of {id}: {}.", note.field, note.text)).path(&note.field)
    });
}

fn line_before(base: &Base, object: usize, converted: &Converted, path: &FieldPath) -> u32 {
    let file = base.objects[object].file;
    let offset = match (path.parent(), path.steps().last()) {
        (Some(parent), Some(Step::Key(key))) => {
            converted.was.at(&parent).and_then(|parent| parent.entry(key)).map(|entry| entry.key_span.start)
        }
        _ => converted.was.at(path).map(|node| node.span.start),
    };
    base.text_before(file).position(offset.unwrap_or(converted.was.span.start)).line
}

fn say_obstacle(
    context: Context<'_>,
    ConversionObstacle { object, why }: ConversionObstacle,
    said: &mut UpgradeReport,
) {
    let id = context.base.objects[object].id.clone();
    let file = context.base.file_of(object).path.clone();
    match why {
        NotConverted::Field(why) => {
            let converted = context.base.converted.get(&object);
            let line = converted.map(|converted| line_before(context.base, object, converted, &why.field));
            let was = converted.map_or_else(|| context.base.node(object), |converted| &converted.was);
            let stays = why.value.clone().map(|value| hide_in(was, &why.field, value));
            let message = unconvertible(&id, &why, stays.as_ref());
            said.blocked.push(message.clone());
            said.conflicts.push(Conflict {
                object: id.clone(),
                place: Place::known(file.clone(), line, None),
                path: why.field.clone(),
                base: None,
                cluster: stays,
                release: None,
                kept: Side::Cluster,
                blocks: true,
                settling: Settlement::default(),
            });
            let place = Place::line_of(file, line.unwrap_or(1)).at_first_column();
            said.findings.push(
                Finding::new(rules::API_VERSION_LEAVES_FIELD, message)
                    .place(place)
                    .object(&id)
                    .path(&why.field)
                    .blocking(),
            );
        }
        NotConverted::Text(refused) => {
            let start = context.base.position(object, context.base.node(object).span.start);
            let message = format!(
                "{id} cannot be converted to the release's API version in this file: {}. Make the change by hand, or write this place in plain YAML.",
                refused.reason
            );
            let place = Place::at(file, start);
            said.findings.push(
                Finding::new(rules::EDIT_REFUSED, message).place(place).object(&id).path(&refused.path),
            );
        }
    }
}

/// References of which the release says nothing follow the API versions of what they name.
pub(super) fn follow_versions(
    context: Context<'_>,
    new: &Matched<'_>,
    draft: &mut Draft,
    said: &mut UpgradeReport,
) {
    let versions: Vec<(usize, String, String)> = (0..context.base.kustomizations.start)
        .filter(|object| !draft.removes(*object))
        .filter_map(|object| {
            let before = context.base.version_before(object)?;
            let edits = draft.edits_of(object);
            let after = api_versions::version_after(context.base.node(object), edits)?;
            (before != after).then(|| (object, before.to_owned(), after.to_owned()))
        })
        .collect();
    for owner in 0..context.base.kustomizations.start {
        if versions.is_empty() || draft.removes(owner) {
            continue;
        }
        let pieces = pieces_of(new, owner);
        let (base, id) = (context.base, &context.base.objects[owner].id);
        for reference in references(&id.group, &id.kind, base.node(owner)) {
            let Some(field) = reference.path.parent().map(|parent| parent.key("apiVersion")) else {
                continue;
            };
            let Some(own) = base.node(owner).at(&field) else { continue };
            if pieces.iter().any(|piece| piece.root.at(&field).is_some()) || draft.replaces(owner, &field) {
                continue;
            }
            let text = own.as_scalar().map(|scalar| scalar.text.as_str());
            let named = versions.iter().find(|(object, before, _)| {
                text == Some(before) && reference.means(id.namespace.as_deref(), &base.objects[*object].id)
            });
            let Some((_, before, after)) = named else { continue };
            said.changes.push(Change {
                object: id.clone(),
                place: base.line(owner, Some(own.span.start)),
                path: field.clone(),
                from: None,
                old: Some(Value::from(before.as_str())),
                new: Some(Value::from(after.as_str())),
                reason: ChangeReason::Reference,
            });
            let edit = Edit::Set { path: field, node: Node::string(after.as_str()) };
            draft.edit_object(owner, [edit]);
        }
    }
}

/// A field that keeps an object from its version, in a sentence, and what to do in another.
///
/// A question names the value too, which may be hidden.
pub(super) fn unconvertible(id: &ObjectId, why: &Unconvertible, value: Option<&Value>) -> String {
    let value = match value.filter(|_| why.asks) {
        Some(Value::String(text)) => format!(" ({text})"),
        Some(Value::Number(number)) => format!(" ({number})"),
        _ => String::new(),
    };
    let Unconvertible { field, from, to, why, advice, .. } = why;
    format!("{field}{value} of {id} cannot be brought from {from} to {to}: {why}. {}.", sentence(advice))
}

/// What the steps do to one field, taken together.
#[derive(Debug)]
pub(super) struct Net {
    /// Where the field was; `None` where it comes.
    pub(super) from: Option<FieldPath>,
    /// Where it is now; `None` where it went.
    pub(super) to: Option<FieldPath>,
}

/// The steps of a conversion, one for each field however many speak of it: a duration that moves and is
/// spelled in seconds is one change.
pub(super) fn net(conversion: &Conversion) -> Vec<Net> {
    let mut all: Vec<Net> = Vec::new();
    for step in &conversion.steps {
        match step {
            ConversionStep::Move { from, to } => {
                let origin = before(&all, from);
                // What was changed inside goes along.
                let mut is_known = false;
                for net in &mut all {
                    if let Some(path) = &net.to
                        && let Some(rest) = path.steps().strip_prefix(from.steps())
                    {
                        is_known |= rest.is_empty();
                        net.to = Some(to.steps().iter().chain(rest).cloned().collect());
                    }
                }
                if !is_known {
                    all.push(Net { from: origin, to: Some(to.clone()) });
                }
            }
            ConversionStep::Replace { at, .. } | ConversionStep::Itemize { at, .. } => {
                if !all.iter().any(|net| net.to.as_ref() == Some(at)) {
                    all.push(Net { from: before(&all, at), to: Some(at.clone()) });
                }
            }
            ConversionStep::Remove { at } => match all.iter().position(|net| net.to.as_ref() == Some(at)) {
                Some(known) => all[known].to = None,
                None => all.push(Net { from: before(&all, at), to: None }),
            },
            ConversionStep::Add { at, .. } => all.push(Net { from: None, to: Some(at.clone()) }),
        }
    }
    // A field that was added and removed again is not reported.
    all.retain(|net| net.from.is_some() || net.to.is_some());
    all
}

/// Where a field was before the steps so far.
fn before(all: &[Net], path: &FieldPath) -> Option<FieldPath> {
    let above = all.iter().filter_map(|net| {
        let to = net.to.as_ref()?;
        let rest = path.steps().strip_prefix(to.steps())?;
        Some((
            to.steps().len(),
            net.from.as_ref().map(|from| from.steps().iter().chain(rest).cloned().collect()),
        ))
    });
    above.max_by_key(|(depth, _)| *depth).map_or_else(|| Some(path.clone()), |(_, from)| from)
}
