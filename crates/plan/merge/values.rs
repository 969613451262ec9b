//! Equality of scalars and of what is made of them ([U6]): exact after Kubernetes' reading, and as values where the own table or the
//! schema says that the field is a quantity, a duration or a version.
//!
//! # U6
//!
//! | two scalars | are equal |
//! |---|---|
//! | any | if Kubernetes reads the same value of the same type: `yes` and `true`, `a` and `'a'`; not `3` and `'3'` |
//! | a quantity, a duration, a version, by the own table, else by the schema | also if they are the same value: `1Gi` and `1024Mi`, `300s` and `5m` |
//!
//! `null` equals absent in a whole object; in a fragment it removes the field. What is equal and spelled
//! otherwise keeps the cluster's spelling, and no change is counted.
//!
//! [U6]: self#u6

use std::borrow::Cow;

use super::knowledge::Knowledge;
use super::lists::DecidedBy;
use super::three_way::find;
use capstan_kustomize::schema::ValueKind;
use capstan_yaml::scalar::ScalarReading;
use capstan_yaml::{Node, NodeKind, Scalar};

/// Fields whose text is a quantity or a duration in every API: the mapping that holds them (any mapping if empty),
/// the field, and the kind of its value. A field is listed only if no other API uses it for something else.
const TABLE: &[(&[&str], &[&str], ValueKind)] = &[
    (
        &[],
        &["nodeDeletionTimeout", "nodeDrainTimeout", "nodeStartupTimeout", "nodeVolumeDetachTimeout"],
        ValueKind::Duration,
    ),
    (&["unhealthyConditions", "unhealthyMachineConditions"], &["timeout"], ValueKind::Duration),
    (
        &["allocatable", "capacity", "default", "defaultRequest", "hard", "limits", "max", "min", "requests"],
        &["cpu", "ephemeral-storage", "memory", "storage"],
        ValueKind::Quantity,
    ),
    (&["emptyDir"], &["sizeLimit"], ValueKind::Quantity),
];

/// The kind of value that the text of a field is, and who says so.
pub(crate) fn value_kind<'a>(known: &Knowledge<'a>) -> Option<(ValueKind, DecidedBy<'a>)> {
    let own = TABLE.iter().find(|(parents, fields, _)| {
        fields.contains(&known.key) && (parents.is_empty() || parents.contains(&known.parent))
    });
    match own {
        Some((_, _, kind)) if !known.is_item => Some((*kind, DecidedBy::OwnTable)),
        _ => known.schema.value().map(|(kind, origin)| (kind, DecidedBy::Schema(origin))),
    }
}

/// Whether two scalars of a field are the same.
fn same_scalar(known: &Knowledge<'_>, one: &Scalar, other: &Scalar) -> bool {
    if one.text == other.text && one.style == other.style {
        return true;
    }
    if one.reading().same(other.reading()) {
        return true;
    }
    value_kind(known).is_some_and(|(kind, _)| same_as(kind, one, other))
}

/// Whether two scalars are the same as values of a kind. A quantity may be a number or a string; a duration or a
/// version is a string.
fn same_as(kind: ValueKind, one: &Scalar, other: &Scalar) -> bool {
    match (text_of(kind, one), text_of(kind, other)) {
        (Some(one), Some(other)) => kind.same(&one, &other) == Some(true),
        _ => false,
    }
}

fn text_of(kind: ValueKind, scalar: &Scalar) -> Option<Cow<'_, str>> {
    match (scalar.reading(), kind) {
        (ScalarReading::String(text), _) => Some(Cow::Borrowed(text)),
        // Not the text as it was written: `010` is 8.
        (
            number @ (ScalarReading::Integer(_) | ScalarReading::Unsigned(_) | ScalarReading::Float(_)),
            ValueKind::Quantity,
        ) => Some(Cow::Owned(number.to_value().to_string())),
        _ => None,
    }
}

/// Whether two values of one field are the same.
pub(crate) fn same_value(known: &Knowledge<'_>, one: Option<&Node>, other: Option<&Node>) -> bool {
    let present = |node: Option<&'_ Node>| node.is_some_and(|node| !node.is_null());
    match (one, other) {
        (Some(one), Some(other)) if present(Some(one)) && present(Some(other)) => {
            match (&one.kind, &other.kind) {
                (NodeKind::Scalar(one), NodeKind::Scalar(other)) => same_scalar(known, one, other),
                (NodeKind::Mapping(one), NodeKind::Mapping(other)) => {
                    one.iter().all(|entry| {
                        let known = known.field(&entry.key);
                        same_value(&known, Some(&entry.value), find(other, &entry.key))
                    }) && other.iter().all(|entry| find(one, &entry.key).is_some() || entry.value.is_null())
                }
                (NodeKind::Sequence(one), NodeKind::Sequence(other)) => {
                    let known = known.item();
                    one.len() == other.len()
                        && one.iter().zip(other).all(|(a, b)| same_value(&known, Some(a), Some(b)))
                }
                _ => false,
            }
        }
        (one, other) => !present(one) && !present(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_kustomize::schema::Cursor;
    use capstan_yaml::ScalarStyle;

    fn same(path: &[&str], one: &Scalar, other: &Scalar) -> bool {
        let root = Knowledge::of(Cursor::nowhere());
        let known = path.iter().fold(root, |known, key| known.field(key));
        same_scalar(&known, one, other)
    }

    fn quoted(text: &str) -> Scalar {
        Scalar { text: text.into(), style: ScalarStyle::SingleQuoted }
    }

    #[test]
    fn only_listed_fields_are_compared_as_values() {
        let plain =
            |path: &[&str], one: &str, other: &str| same(path, &Scalar::plain(one), &Scalar::plain(other));
        assert!(plain(&["spec", "nodeDrainTimeout"], "300s", "5m0s"));
        assert!(!plain(&["spec", "nodeDrainTimeout"], "300s", "5m1s"));
        assert!(plain(&["spec", "unhealthyConditions", "timeout"], "300s", "5m"));
        assert!(!plain(&["spec", "timeout"], "300s", "5m0s"));
        assert!(plain(&["limits", "memory"], "1Gi", "1024Mi"));
        assert!(!plain(&["labels", "memory"], "1Gi", "1024Mi"));
        assert!(plain(&["requests", "cpu"], "1", "1000m"));
        assert!(!plain(&["spec", "instanceType"], "v1.27.3", "1.27.3"));
    }

    #[test]
    fn numbers_and_strings_are_one_as_quantities_alone() {
        assert!(same(&["limits", "cpu"], &Scalar::plain("1"), &quoted("1")));
        assert!(same(&["limits", "cpu"], &Scalar::plain("0.5"), &quoted("500m")));
        // YAML reads 010 as 8, a quantity reads "010" as 10.
        assert!(same(&["limits", "cpu"], &Scalar::plain("010"), &quoted("8")));
        assert!(!same(&["limits", "cpu"], &Scalar::plain("010"), &quoted("10")));
        assert!(!same(&["limits", "cpu"], &Scalar::plain("yes"), &quoted("1")));
        assert!(!same(&["spec", "nodeDrainTimeout"], &Scalar::plain("0"), &quoted("0s")));
        assert!(!same(&["spec", "replicas"], &Scalar::plain("3"), &quoted("3")));
    }

    #[test]
    fn spelling_is_nothing_and_type_is_something() {
        assert!(same(&["x"], &Scalar::plain("yes"), &Scalar::plain("true")));
        assert!(same(&["x"], &Scalar::plain("a"), &quoted("a")));
        assert!(!same(&["x"], &Scalar::plain("3"), &quoted("3")));
    }
}
