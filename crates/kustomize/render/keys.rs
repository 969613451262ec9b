//! Names of kustomize's own files, and their keys, in whatever case they are written.
//!
//! Kustomize reads its files with Go's JSON decoder, which prefers a field's own spelling and takes every
//! other case of it too (<https://pkg.go.dev/encoding/json#Unmarshal>). That holds for its fields alone: the
//! keys of maps, as of labels or of `openapi`, are what they are, and so is everything in objects and in
//! the operations of JSON patches.

use std::borrow::Cow;

use super::error::RenderError;
use super::placed::{PlacedContent, PlacedValue};
use capstan_model::tree::RepoPath;
use capstan_yaml::{Entry, Node};

/// The names under which kustomize and Flux look for a folder's kustomization, in their order.
pub const KUSTOMIZATION_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The fields of a kustomization that list what it builds.
pub const INCLUDE_FIELDS: [&str; 3] = ["resources", "bases", "components"];

/// The fields of a kustomization that list patches.
pub const PATCH_FIELDS: [&str; 3] = ["patches", "patchesStrategicMerge", "patchesJson6902"];

/// Whether a file belongs to kustomize itself rather than being a manifest.
pub fn is_kustomization(path: &RepoPath) -> bool {
    KUSTOMIZATION_NAMES.contains(&path.name())
}

/// Whether kustomize takes a key for one of its fields.
fn is_field(key: &str, field: &str) -> bool {
    // The two letters beyond ASCII that are another case of one within it.
    let fold = |letter: char| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    key == field || key.chars().map(fold).eq(field.chars().map(fold))
}

/// A field of a kustomization, or of an entry in it, in its own spelling or in another.
pub fn kustomization_field<'n>(root: &'n Node, field: &str) -> Option<&'n Entry> {
    root.as_mapping()?.iter().find(|entry| is_field(&entry.key, field))
}

/// A mapping with its fields in kustomize's own spelling. Unknown fields stay, and the caller refuses them in
/// its own words.
pub(super) fn spelled<'a>(
    entry: &'a PlacedValue,
    fields: &[&str],
) -> Result<Cow<'a, PlacedValue>, RenderError> {
    let meant = |key: &str| {
        let other = fields.iter().find(|field| is_field(key, field));
        other.filter(|_| !fields.contains(&key)).map(|field| (*field).to_owned())
    };
    if entry.entries().iter().all(|(key, _)| meant(key).is_none()) {
        return Ok(Cow::Borrowed(entry));
    }
    let mut entry = entry.clone();
    if let PlacedContent::Mapping(entries) = &mut entry.content {
        for at in 0..entries.len() {
            let Some((key, value)) = entries.get(at) else { continue };
            let Some(field) = meant(key) else { continue };
            let twin =
                entries.iter().enumerate().find(|(other, (key, _))| *other != at && is_field(key, &field));
            if let Some((_, (twin, _))) = twin {
                return Err(RenderError::unsupported(
                    &value.place,
                    format!(
                        "`{key}` and `{twin}` are the same field for kustomize, which would drop one of them: keep one"
                    ),
                ));
            }
            if let Some((key, _)) = entries.get_mut(at) {
                *key = field;
            }
        }
    }
    Ok(Cow::Owned(entry))
}

/// [`spelled`], of what has these fields and no others.
pub(super) fn fields_of<'a>(
    entry: &'a PlacedValue,
    what: &str,
    fields: &[&str],
) -> Result<Cow<'a, PlacedValue>, RenderError> {
    if !entry.is_mapping() && !entry.is_null() {
        return Err(RenderError::malformed(&entry.place, format!("{what} is a mapping of fields")));
    }
    let entry = spelled(entry, fields)?;
    match entry.entries().iter().find(|(key, _)| !fields.contains(&key.as_str())) {
        Some((key, value)) => Err(RenderError::malformed(
            &value.place,
            format!("{what} has no field `{key}`: it has {}", fields.join(", ")),
        )),
        None => Ok(entry),
    }
}

#[cfg(test)]
mod tests {
    use super::is_field;

    #[test]
    fn any_case_of_a_field_is_that_field() {
        for key in ["resources", "Resources", "RESOURCES", "re\u{17f}ources"] {
            assert!(is_field(key, "resources"), "{key}");
        }
        for key in ["resource", "ressources", "r\u{e9}sources", ""] {
            assert!(!is_field(key, "resources"), "{key}");
        }
        assert!(is_field("\u{212a}ind", "kind"));
    }
}
