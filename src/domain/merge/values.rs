//! Equality of scalars (U6): exact after Kubernetes' reading, and as values where the table says that
//! the field is a quantity, a duration or a version.

use crate::yaml::Scalar;

/// Fields whose text is a Go duration: `300s` is `5m0s`.
const DURATIONS: &[&str] = &[
    "nodeDeletionTimeout",
    "nodeDeletionTimeoutSeconds",
    "nodeDrainTimeout",
    "nodeStartupTimeout",
    "nodeVolumeDetachTimeout",
    "timeout",
];

/// Fields whose text is a Kubernetes quantity: `1Gi` is `1024Mi`.
const QUANTITIES: &[&str] = &["cpu", "ephemeral-storage", "memory", "sizeLimit", "storage"];

/// Whether two scalars are the same in the field with this key.
pub(crate) fn same_scalar(field: &str, one: &Scalar, other: &Scalar) -> bool {
    if one.text == other.text && one.style == other.style {
        return true;
    }
    if one.reading().same(other.reading()) {
        return true;
    }
    let both = |read: fn(&str) -> Option<f64>| matches!((read(&one.text), read(&other.text)), (Some(a), Some(b)) if (a - b).abs() <= a.abs() * 1e-12);
    if DURATIONS.contains(&field) {
        both(duration_in_seconds)
    } else if QUANTITIES.contains(&field) {
        both(quantity)
    } else if field == "version" {
        // A `v` in front is the only spelling that Kubernetes versions differ in.
        let bare = |text: &str| text.strip_prefix('v').unwrap_or(text).to_owned();
        let is_version =
            |text: &str| text.split('.').count() == 3 && text.starts_with(|c: char| c.is_ascii_digit());
        bare(&one.text) == bare(&other.text) && is_version(&bare(&one.text))
    } else {
        false
    }
}

fn duration_in_seconds(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut total = 0.0;
    if rest.is_empty() {
        return None;
    }
    if rest == "0" {
        return Some(0.0);
    }
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..number_end].parse().ok()?;
        rest = &rest[number_end..];
        let unit_end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        total += number
            * match &rest[..unit_end] {
                "ns" => 1e-9,
                "us" | "µs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    Some(total)
}

fn quantity(text: &str) -> Option<f64> {
    let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..number_end].parse().ok()?;
    let factor = match &text[number_end..] {
        "" => 1.0,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_fields_are_compared_as_values() {
        let same = |field, one, other| same_scalar(field, &Scalar::plain(one), &Scalar::plain(other));
        assert!(same("nodeDrainTimeout", "300s", "5m0s"));
        assert!(!same("nodeDrainTimeout", "300s", "5m1s"));
        assert!(!same("label", "300s", "5m0s"));
        assert!(same("memory", "1Gi", "1024Mi"));
        assert!(same("cpu", "1", "1000m"));
        assert!(same("version", "v1.27.3", "1.27.3"));
        assert!(!same("version", "v1.27", "1.27"));
        assert!(!same("instanceType", "v1.27.3", "1.27.3"));
    }

    #[test]
    fn spelling_is_nothing_and_type_is_something() {
        let single = |text: &str| Scalar { text: text.into(), style: crate::yaml::ScalarStyle::SingleQuoted };
        assert!(same_scalar("x", &Scalar::plain("yes"), &Scalar::plain("true")));
        assert!(same_scalar("x", &Scalar::plain("a"), &single("a")));
        assert!(!same_scalar("x", &Scalar::plain("3"), &single("3")));
    }
}
