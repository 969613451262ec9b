//! Titles of proposals as the settings write them: text with fields in braces.
//!
//! | written | means |
//! |---|---|
//! | `{cluster}` | a [`TitleField`], by its name |
//! | `{{`, `}}` | a brace |
//! | anything else | itself |
//!
//! Deliberately absent: the values of the fields, which `capstan_report` knows.

use std::fmt;

use serde::{Deserialize, Serialize};

use capstan_model::spelling::hint;
use capstan_model::wording::is_of_no_line;

/// A template may have so many characters: GitHub takes 256 of a title, and fields take some.
const MOST_CHARACTERS: usize = 200;

/// What a title can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TitleField {
    /// The cluster's id.
    Cluster,
    /// The release that is offered.
    Release,
    /// The last part of its name.
    ReleaseVersion,
    /// The release that the cluster is at.
    PreviousRelease,
    /// The path of the release without its version.
    Provider,
    /// The version of Kubernetes that the release brings.
    KubernetesVersion,
}

impl TitleField {
    /// Every field.
    pub const ALL: [Self; 6] = [
        Self::Cluster,
        Self::Release,
        Self::ReleaseVersion,
        Self::PreviousRelease,
        Self::Provider,
        Self::KubernetesVersion,
    ];

    /// Its name between braces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Release => "release",
            Self::ReleaseVersion => "releaseVersion",
            Self::PreviousRelease => "previousRelease",
            Self::Provider => "provider",
            Self::KubernetesVersion => "kubernetesVersion",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum TitlePart {
    Text(String),
    Field(TitleField),
}

/// A title with fields: `chore({cluster}): upgrade to {release}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct TitleTemplate {
    text: String,
    parts: Vec<TitlePart>,
}

impl TitleTemplate {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it, and what is meant perhaps.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("a title must not be empty; leave the key out for Capstan's own".to_owned());
        }
        if text.chars().count() > MOST_CHARACTERS {
            return Err(format!(
                "a title has at most {MOST_CHARACTERS} characters before its fields are filled in"
            ));
        }
        if text.chars().any(is_of_no_line) {
            return Err(
                "a title is one line without control characters or characters that change the text direction"
                    .to_owned(),
            );
        }
        Ok(Self { text: text.to_owned(), parts: parts(text)? })
    }

    /// The title with the values of its fields.
    pub fn fill(&self, value: impl Fn(TitleField) -> String) -> String {
        let part = |part: &TitlePart| match part {
            TitlePart::Text(text) => text.clone(),
            TitlePart::Field(field) => value(*field),
        };
        self.parts.iter().map(part).collect()
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn parts(text: &str) -> Result<Vec<TitlePart>, String> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, brace) = rest.split_at(at);
        plain.push_str(before);
        if let Some(after) = brace.strip_prefix("{{") {
            plain.push('{');
            rest = after;
        } else if let Some(after) = brace.strip_prefix("}}") {
            plain.push('}');
            rest = after;
        } else if let Some(field) = brace.strip_prefix('{') {
            let (name, after) = field
                .split_once('}')
                .ok_or("a `{` begins a field that does not end; `{{` is a brace in the title")?;
            let known = TitleField::ALL.map(TitleField::name);
            let field = TitleField::named(name)
                .ok_or_else(|| format!("`{{{name}}}` is not a field of a title{}", hint(name, &known)))?;
            if !plain.is_empty() {
                parts.push(TitlePart::Text(std::mem::take(&mut plain)));
            }
            parts.push(TitlePart::Field(field));
            rest = after;
        } else {
            return Err("a `}` ends no field; `}}` is a brace in the title".to_owned());
        }
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        parts.push(TitlePart::Text(plain));
    }
    Ok(parts)
}

impl TryFrom<String> for TitleTemplate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl Serialize for TitleTemplate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl fmt::Display for TitleTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> Result<String, String> {
        let value = |field: TitleField| match field {
            TitleField::Cluster => "gauss/peu01".to_owned(),
            TitleField::Release => "aws/v22.0.0".to_owned(),
            TitleField::ReleaseVersion => "v22.0.0".to_owned(),
            TitleField::PreviousRelease => "aws/v21.0.0".to_owned(),
            TitleField::Provider => "aws".to_owned(),
            // A value is not read as a template.
            TitleField::KubernetesVersion => "{cluster}".to_owned(),
        };
        TitleTemplate::parse(template).map(|template| template.fill(value))
    }

    #[test]
    fn fields_are_in_braces_and_a_literal_brace_is_doubled() {
        for (template, expected) in [
            ("Upgrade", "Upgrade"),
            ("chore({cluster}): upgrade to {release}", "chore(gauss/peu01): upgrade to aws/v22.0.0"),
            ("{provider} {previousRelease} -> {releaseVersion}", "aws aws/v21.0.0 -> v22.0.0"),
            ("{cluster}{cluster}", "gauss/peu01gauss/peu01"),
            ("{{cluster}} {{{cluster}}}", "{cluster} {gauss/peu01}"),
            ("größe {kubernetesVersion}", "größe {cluster}"),
        ] {
            assert_eq!(filled(template).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn an_invalid_title_is_reported_with_the_nearest_right_field() {
        let known = "known: cluster, release, releaseVersion, previousRelease, provider, kubernetesVersion";
        let one_line =
            "a title is one line without control characters or characters that change the text direction";
        for (template, expected) in [
            ("", "a title must not be empty; leave the key out for Capstan's own".to_owned()),
            (" ", "a title must not be empty; leave the key out for Capstan's own".to_owned()),
            ("{clutser}", "`{clutser}` is not a field of a title; did you mean `cluster`?".to_owned()),
            ("{Release}", "`{Release}` is not a field of a title; did you mean `release`?".to_owned()),
            ("{ cluster }", "`{ cluster }` is not a field of a title; did you mean `cluster`?".to_owned()),
            ("{author}", format!("`{{author}}` is not a field of a title; {known}")),
            ("{}", format!("`{{}}` is not a field of a title; {known}")),
            (
                "to {release",
                "a `{` begins a field that does not end; `{{` is a brace in the title".to_owned(),
            ),
            ("to release}", "a `}` ends no field; `}}` is a brace in the title".to_owned()),
            ("one\ntwo", one_line.to_owned()),
            ("Upgrade\r\n\r\nCapstan-Plan: forged", one_line.to_owned()),
            ("a\u{7}", one_line.to_owned()),
            ("a\u{202e}b {cluster}", one_line.to_owned()),
            ("a\u{2028}b", one_line.to_owned()),
        ] {
            assert_eq!(filled(template), Err(expected), "{template:?}");
        }
        assert!(filled(&"ö".repeat(200)).is_ok());
        assert_eq!(
            filled(&"ö".repeat(201)),
            Err("a title has at most 200 characters before its fields are filled in".to_owned())
        );
    }
}
