//! `secret-in-clear-text`

use super::clear_text::{ClearTextKind, give_away, is_certificate, is_placeholder, names_no_secret};
use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{PlacedContent, PlacedValue, RenderedObject};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::FieldPath;

pub(super) struct SecretInClearText;

static ABOUT: About =
    About::new(rules::SECRET_IN_CLEAR_TEXT, include_str!("../../../docs/rules/secret-in-clear-text.md"));

/// Secrets of these types hold manifests, or come from the server.
const NO_SECRETS: [&str; 2] = ["addons.cluster.x-k8s.io/resource-set", "kubernetes.io/service-account-token"];

impl PolicyRule for SecretInClearText {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for object in cluster.objects {
            // An encrypted file says so beside its fields.
            if object.placed.field("sops").is_some() {
                continue;
            }
            let is_secret = object.id.kind == "Secret" && object.id.group.is_empty();
            let own_type = object.placed.text_at(&["type"]).unwrap_or_default();
            if is_secret && !NO_SECRETS.contains(&own_type) {
                secret(object, verdicts);
            } else if !is_secret {
                let mut found = Vec::new();
                walk(&object.placed, None, &mut found);
                for (path, spot, kind) in found {
                    let message = format!(
                        "`{path}` of {} has {kind} in clear text. It is no longer secret: replace it, and take the new one from an encrypted or fetched Secret",
                        object.id
                    );
                    verdicts.push(
                        Finding::new(rules::SECRET_IN_CLEAR_TEXT, message)
                            .object(&object.id)
                            .path(&path)
                            .place(spot),
                    );
                }
            }
        }
    }
}

/// One finding a Secret, at its first value.
fn secret(object: &RenderedObject, verdicts: &mut Vec<Finding>) {
    for field in ["stringData", "data"] {
        let entries = object.placed.field(field).map(PlacedValue::entries).unwrap_or_default();
        let clear = entries.iter().find(|(key, value)| match value.as_str() {
            _ if names_no_secret(key) => false,
            Some(text) => !is_placeholder(text, field == "data") && !is_certificate(text, field == "data"),
            None => false,
        });
        let Some((key, value)) = clear else { continue };
        let message = format!(
            "{} has `{key}` in clear text. It is no longer secret: replace it, and encrypt it or fetch it with an ExternalSecret",
            object.id
        );
        let path = FieldPath::root().key(field).key(key);
        verdicts.push(
            Finding::new(rules::SECRET_IN_CLEAR_TEXT, message)
                .object(&object.id)
                .path(&path)
                .place(&value.place),
        );
        return;
    }
}

/// Strings that are secrets by what they are, or by where they stand.
fn walk(value: &PlacedValue, key: Option<&str>, found: &mut Vec<(FieldPath, Place, ClearTextKind)>) {
    match &value.content {
        PlacedContent::Scalar(_) => {
            let Some(text) = value.as_str() else { return };
            let kind = match key {
                Some("passwd") if !is_placeholder(text, false) => Some((ClearTextKind::Password, 0)),
                _ => give_away(text),
            };
            let found_here = kind.map(|(kind, at)| {
                // In a text of many lines, the line that is meant.
                let position = value.place.position_inside(text, at);
                (FieldPath::root(), Place::at(value.place.file().clone(), position), kind)
            });
            found.extend(found_here);
        }
        PlacedContent::Mapping(entries) => {
            for (key, value) in entries {
                // Paths are only written where something is found below.
                let before = found.len();
                walk(value, Some(key), found);
                if found.len() > before {
                    prepend(found, before, &FieldPath::root().key(key));
                }
            }
        }
        PlacedContent::Sequence(items) => {
            for (at, value) in items.iter().enumerate() {
                let before = found.len();
                walk(value, None, found);
                if found.len() > before {
                    prepend(found, before, &FieldPath::root().index(at));
                }
            }
        }
    }
}

fn prepend(found: &mut [(FieldPath, Place, ClearTextKind)], from: usize, path: &FieldPath) {
    for (below, ..) in &mut found[from..] {
        *below = path.steps().iter().chain(below.steps()).cloned().collect();
    }
}
