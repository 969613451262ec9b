//! What a rule is, and what the catalogue says of it.

use super::evidence::{ClusterEvidence, Evidence};
use capstan_model::finding::{Finding, RuleEntry};

/// One rule: its entry in the catalogue, and how it judges.
///
/// Some rules are decided elsewhere (during the merge, say, or where files are read). They have only their entry here,
/// and the code that decides makes the [`Finding`] with it.
pub trait PolicyRule: Sync {
    /// What the catalogue says of it.
    fn about(&self) -> &'static About;

    /// Adds what is wrong with a cluster as it is. Of an upgrade, only new findings remain: those that the cluster had
    /// before are removed again.
    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        let _ = (cluster, verdicts);
    }

    /// Adds what is wrong with a change.
    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let _ = (change, verdicts);
    }
}

/// A rule's entry in the catalogue: what it is called, how bad it is, and its page.
///
/// The page is Markdown: a heading that is the rule's id, what it finds in one sentence, why that is bad, a paragraph
/// `Source: <URL>`, and files that break the rule and files that do not, below the headings `Bad` and `Good`.
#[derive(Debug, PartialEq, Eq)]
pub struct About {
    /// What it is called and how bad it is.
    pub entry: &'static RuleEntry,
    page: &'static str,
}

impl About {
    /// Of that rule, with its page.
    pub const fn new(entry: &'static RuleEntry, page: &'static str) -> Self {
        Self { entry, page }
    }

    /// Its page, from the heading to the examples.
    pub const fn page(&self) -> &'static str {
        self.page
    }

    /// The path of the page in Capstan's repository: `docs/rules/unknown-field.md`.
    pub fn page_path(&self) -> String {
        format!("docs/rules/{}.md", self.entry.id())
    }

    /// What it finds, in one sentence.
    pub fn summary(&self) -> String {
        self.paragraphs().nth(1).map(in_one_line).unwrap_or_default()
    }

    /// Why that is bad: paragraphs of a line each.
    pub fn reason(&self) -> String {
        let reason = self.paragraphs().skip(2).take_while(|paragraph| source(paragraph).is_none());
        reason.map(in_one_line).collect::<Vec<_>>().join("\n\n")
    }

    /// The specification, or the documentation that proves it: a URL.
    pub fn source(&self) -> &'static str {
        self.paragraphs().find_map(source).unwrap_or_default()
    }

    fn paragraphs(&self) -> impl Iterator<Item = &'static str> {
        self.page.split("\n\n").map(str::trim)
    }
}

fn source(paragraph: &'static str) -> Option<&'static str> {
    paragraph.strip_prefix("Source: <")?.strip_suffix('>')
}

fn in_one_line(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}
