//! The dashboard issue.

use capstan_model::wording::is_of_no_line;
use schemars::JsonSchema;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

/// GitHub takes so many characters of an issue's title, and of a label's name.
const TITLE: usize = 256;
const LABEL: usize = 50;
/// So many labels are enough for anybody.
const LABELS: usize = 20;

/// The dashboard issue: the state of all clusters of the repository, and what they wait for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DashboardSettings {
    /// Whether Capstan keeps the issue; by default only with `mode: propose`.
    pub enabled: Option<bool>,
    /// Its title; `Capstan dashboard` by default.
    #[serde(deserialize_with = "title")]
    #[schemars(length(min = 1, max = 256))]
    pub title: String,
    /// Its labels when Capstan creates it; none by default.
    #[serde(deserialize_with = "labels")]
    #[schemars(length(max = 20))]
    pub labels: Vec<String>,
}

impl Default for DashboardSettings {
    fn default() -> Self {
        Self { enabled: None, title: "Capstan dashboard".to_owned(), labels: Vec::new() }
    }
}

/// A line of so many characters that says something.
fn is_line(text: &str, longest: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= longest && !text.chars().any(is_of_no_line)
}

fn title<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_line(&text, TITLE) {
        return Ok(text);
    }
    Err(de::Error::custom(format!("a title is one line of at most {TITLE} characters")))
}

fn labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let labels = Vec::<String>::deserialize(deserializer)?;
    if labels.len() <= LABELS && labels.iter().all(|label| is_line(label, LABEL)) {
        return Ok(labels);
    }
    let message =
        format!("at most {LABELS} labels are allowed, each on one line with at most {LABEL} characters");
    Err(de::Error::custom(message))
}
