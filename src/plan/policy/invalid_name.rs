//! `invalid-name`

use super::evidence::Survey;
use super::rule::{About, Rule};
use capstan_kustomize::render::RenderedObject;
use capstan_model::dns_name::{is_label, is_subdomain};
use capstan_model::finding::{Finding, rules};
use capstan_model::object::FieldPath;

pub(super) struct InvalidName;

static ABOUT: About = About::new(rules::INVALID_NAME, include_str!("../../../docs/rules/invalid-name.md"));

impl Rule for InvalidName {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        for object in cluster.objects {
            for (field, form) in [("name", form_of(object)), ("namespace", Form::Label)] {
                let Some(value) = object.placed.at(&["metadata", field]) else { continue };
                // A variable may become anything.
                let Some(text) = value.as_str().filter(|text| !text.contains("${")) else { continue };
                if form.takes(text) {
                    continue;
                }
                let message = format!(
                    "`{text}` of {} is no {field} that Kubernetes takes: {}",
                    object.id,
                    form.in_words()
                );
                let path = FieldPath::of_keys(["metadata", field]);
                verdicts.push(
                    Finding::new(rules::INVALID_NAME, message)
                        .object(&object.id)
                        .path(&path)
                        .place(&value.place),
                );
            }
        }
    }
}

/// The form that a name must have.
#[derive(Clone, Copy)]
enum Form {
    Subdomain,
    Label,
    /// A label that begins with a letter.
    Service,
    /// Anything that may be a part of a path.
    Segment,
}

/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names>
fn form_of(object: &RenderedObject) -> Form {
    match (object.id.group.as_str(), object.id.kind.as_str()) {
        ("", "Namespace") => Form::Label,
        ("", "Service") => Form::Service,
        ("rbac.authorization.k8s.io", _) => Form::Segment,
        _ => Form::Subdomain,
    }
}

impl Form {
    fn takes(self, text: &str) -> bool {
        match self {
            Self::Subdomain => is_subdomain(text),
            Self::Label => is_label(text),
            Self::Service => is_label(text) && text.starts_with(|first: char| first.is_ascii_lowercase()),
            Self::Segment => !text.is_empty() && ![".", ".."].contains(&text) && !text.contains(['/', '%']),
        }
    }

    const fn in_words(self) -> &'static str {
        match self {
            Self::Subdomain => {
                "write small letters, digits, `-` and `.` alone, a letter or digit at both ends, 253 characters at most"
            }
            Self::Label => {
                "write small letters, digits and `-` alone, a letter or digit at both ends, 63 characters at most"
            }
            Self::Service => {
                "write small letters, digits and `-` alone, a letter first, a letter or digit last, 63 characters at most"
            }
            Self::Segment => "it must not be empty, `.` or `..`, nor hold `/` or `%`",
        }
    }
}
