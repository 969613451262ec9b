//! `--explain`: why an upgrade is what it is, in words.

use capstan_kustomize::schema::SchemaOrigin;
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_plan::upgrade::{ChangeOrigin, Decider, Explanation, HowMerged, ListMerged, ValueCompared};

use super::harmless::line;
use super::text::path_of;

/// The explanation of one upgrade.
pub(super) fn text(explanation: &Explanation) -> String {
    let mut text = String::new();
    // Rollouts are in the plan's own text.
    let Explanation { changes, lists, values, rollouts: _ } = explanation;
    if !changes.is_empty() {
        line!(text, "  why each change");
        changes.iter().for_each(|item| change(&mut text, item));
    }
    if !lists.is_empty() {
        line!(text, "  how lists were merged");
        lists.iter().for_each(|item| list(&mut text, item));
    }
    if !values.is_empty() {
        line!(text, "  texts that are one value");
        values.iter().for_each(|item| value(&mut text, item));
    }
    text
}

fn change(text: &mut String, change: &ChangeOrigin) {
    let path = path_of(&change.object, &change.path);
    line!(text, "    {}  {path}", change.object);
    let places = match (&change.old, &change.new) {
        (Some(old), Some(new)) => format!(": {old} -> {new}"),
        (None, Some(new)) => format!(": {new}"),
        (Some(old), None) => format!(": it was at {old}"),
        (None, None) => String::new(),
    };
    line!(text, "      {}{places}", change.because);
}

fn list(text: &mut String, list: &ListMerged) {
    let how = match &list.how {
        HowMerged::ByKey(key) => format!("item by item, identified by {}", key.join(" and ")),
        HowMerged::ByArgument => "argument by argument, identified by name".to_owned(),
        HowMerged::AsSet => "as a set".to_owned(),
        HowMerged::AsSequence => "as a sequence, stretch by stretch".to_owned(),
        HowMerged::AsOneValue => "as one value".to_owned(),
        HowMerged::WithoutKey(key) => {
            format!("as one value, because {} is missing or doubled", key.join(" and "))
        }
    };
    place(text, &list.place, &list.object, &list.path);
    line!(text, "      {how}: {}", decider(&list.decided_by));
}

fn value(text: &mut String, value: &ValueCompared) {
    place(text, &value.place, &value.object, &value.path);
    let shown =
        |text: &Option<String>| text.as_ref().map_or("(absent)".to_owned(), |text| format!("`{text}`"));
    line!(
        text,
        "      compared as a {}: was {}, the cluster has {}, the release has {}: {}",
        value.kind.as_str(),
        shown(&value.base),
        shown(&value.cluster),
        shown(&value.release),
        decider(&value.decided_by),
    );
}

fn place(text: &mut String, place: &Place, object: &ObjectId, path: &FieldPath) {
    line!(text, "    {place}  {object}  {path}");
}

fn decider(decider: &Decider) -> String {
    match decider {
        Decider::OwnTable => "Capstan's own table".to_owned(),
        Decider::Schema(SchemaOrigin::BuiltIn) => "the built-in table of well-known kinds".to_owned(),
        Decider::Schema(SchemaOrigin::Repository(place) | SchemaOrigin::Capstan(place)) => {
            format!("the definition in {place}")
        }
        Decider::Name => "no definition says so, but every item has its own name".to_owned(),
        Decider::Nobody => "no definition says otherwise".to_owned(),
    }
}
