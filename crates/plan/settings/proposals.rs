//! How proposals look, how many there are, and who comes first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{GitHubLogin, LabelName, Reviewer};
use super::grouping::GroupSettings;
use super::title::TitleTemplate;
use super::values::{at_most, whole_number};
use capstan_model::glob::Glob;

/// How proposals look, how many there are, how fast, and who comes first. The rest waits its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ProposalSettings {
    /// Proposals open at a time; 20 by default.
    #[serde(deserialize_with = "whole_number::<_, 0, 10_000>")]
    #[schemars(range(min = 0, max = 10_000))]
    pub open: u32,
    /// Proposals opened in an hour; 20 by default.
    #[serde(deserialize_with = "whole_number::<_, 0, 10_000>")]
    #[schemars(range(min = 0, max = 10_000))]
    pub per_hour: u32,
    /// Patterns over cluster ids: clusters that match an earlier one come first.
    #[schemars(with = "Vec<String>")]
    pub order: Vec<Glob>,
    /// Which clusters share a pull request; each has its own by default.
    pub group: Option<GroupSettings>,
    /// Labels of each proposal, at most 20; GitHub creates missing ones.
    #[serde(deserialize_with = "at_most::<_, _, 20>")]
    #[schemars(with = "Vec<String>", length(max = 20))]
    pub labels: Vec<LabelName>,
    /// Logins of the assignees of each proposal, at most 10.
    #[serde(deserialize_with = "at_most::<_, _, 10>")]
    #[schemars(with = "Vec<String>", length(max = 10))]
    pub assignees: Vec<GitHubLogin>,
    /// Who is asked for a review, at most 15: logins, and teams as `organisation/team`.
    #[serde(deserialize_with = "at_most::<_, _, 15>")]
    #[schemars(with = "Vec<String>", length(max = 15))]
    pub reviewers: Vec<Reviewer>,
    /// The title of each proposal that offers a release, and the first line of its commit: text with fields such as
    /// `{cluster}`.
    #[schemars(with = "Option<String>")]
    pub title: Option<TitleTemplate>,
}

impl Default for ProposalSettings {
    fn default() -> Self {
        Self {
            open: 20,
            per_hour: 20,
            order: Vec::new(),
            group: None,
            labels: Vec::new(),
            assignees: Vec::new(),
            reviewers: Vec::new(),
            title: None,
        }
    }
}
