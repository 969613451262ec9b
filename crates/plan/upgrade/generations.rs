//! Names of templates that count ([U12]): which template came in the place of which.
//!
//! People who rotate by hand put a number, a version or a date into the name. Such a name says more than a suffix, so
//! a release's own is taken where it counts on from the cluster's.
//!
//! [U12]: crate::templates#u12

use capstan_model::kinds::succession;
use capstan_model::object::ObjectId;

/// Whether the second template, with its base name, came in the place of the first: after a rotation, by a
/// release that counts in its names, or as another kind of the same role.
pub(super) fn is_generation((old, old_base): (&ObjectId, &str), (new, new_base): (&ObjectId, &str)) -> bool {
    let ((old_stem, old_count), (new_stem, new_count)) = (counted(old_base), counted(new_base));
    let is_kind = (&old.group, &old.kind) == (&new.group, &new.kind);
    old.namespace == new.namespace
        && old_stem == new_stem
        && if is_kind {
            old.name != new.name && (old_base == new_base || old_count < new_count)
        } else {
            succession(&old.kind) == succession(&new.kind) && old_count <= new_count
        }
}

/// Whether the second name is the first with a higher number, version or date.
pub(super) fn counts_on(old: &str, new: &str) -> bool {
    let ((old_stem, old_count), (new_stem, new_count)) = (counted(old), counted(new));
    old_stem == new_stem && old_count < new_count
}

/// A name without what counts in it, and that: `crew-v1-34-1-large` is `crew-large` at 1, 34, 1. A number alone says
/// which one it is (`md-0`), and counts nothing, unless it is a date.
fn counted(name: &str) -> (String, Vec<u64>) {
    let parts: Vec<&str> = name.split(['-', '.', '_']).collect();
    let (mut stem, mut count) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        let digits = part.strip_prefix('v').unwrap_or(part);
        let further = parts[at + 1..].iter().map_while(|part| number(part));
        let run: Vec<u64> = number(digits).into_iter().chain(further).collect();
        let is_version = digits != *part || run.len() > 1 && run[0] > 0;
        let counts = number(digits).is_some() && (is_version || matches!(digits.len(), 8 | 10 | 12 | 14));
        if counts {
            at += run.len();
            count.extend(run);
        } else {
            stem.push(*part);
            at += 1;
        }
    }
    (stem.join("-"), count)
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_versions_and_dates_count() {
        for (old, new) in [
            ("workers", "workers-v1"),
            ("workers-v2", "workers-v10"),
            ("crew-v1-33-2", "crew-v1-34-1"),
            ("crew-1.33.9", "crew-1.33.10"),
            ("v1-33-crew", "v1-34-crew"),
            ("crew-v1-33-2-large", "crew-v1-34-0-large"),
            ("crew-2025-12-31", "crew-2026-01-01"),
            ("crew-20251231", "crew-20260101"),
            ("crew", "crew-v1-34-1"),
        ] {
            assert!(counts_on(old, new), "{old} {new}");
            assert!(!counts_on(new, old), "{new} {old}");
        }
    }

    #[test]
    fn other_names_and_numbers_alone_do_not() {
        for (old, new) in [
            ("md-0", "md-1"),
            ("md-0-0", "md-0-1"),
            ("workers-v1", "general-v2"),
            ("crew-v1-33-2", "crew-v1-33-2"),
            ("crew-small-v1-33", "crew-large-v1-34"),
            ("crew", "crew-arm64"),
        ] {
            assert!(!counts_on(old, new) && !counts_on(new, old), "{old} {new}");
        }
    }
}
