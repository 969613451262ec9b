//! What follows a verb, each kind parsed once into a type that cannot be wrong.

use capstan_model::finding::{RuleEntry, SeverityChange, rules};
use capstan_model::ids::{ClusterId, ReleaseName};
use capstan_model::object::FieldPath;
use capstan_model::spelling::nearest;
use capstan_model::tree::{CommitId, RepoPath};
use jiff::civil::Date;

/// A reason may have so many characters.
pub const MAX_REASON: usize = 200;

/// What follows a verb.
pub(super) trait Argument: Sized {
    /// As the help shows it.
    const SYNTAX: &'static str;

    /// Reads it. The error is the rest of a sentence that begins with the verb: `needs a rule, …`.
    fn read(given: &str) -> Result<Self, String>;

    /// The cluster that it names, where it names one.
    fn cluster(&self) -> Option<&ClusterId> {
        None
    }

    /// The commit that it is about, where it is about one.
    fn commit(&self) -> Option<&OfCommit> {
        None
    }
}

/// A rule of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule(pub &'static RuleEntry);

impl Argument for Rule {
    const SYNTAX: &'static str = "RULE";

    fn read(given: &str) -> Result<Self, String> {
        let word = given.trim_matches('`');
        if let Some(rule) = rules::named(word) {
            return Ok(Self(rule));
        }
        let meant = nearest(word, rules::ALL.iter().map(|rule| rule.id()));
        Err(match meant {
            Some(meant) => format!("needs the id of a rule; did you mean `{meant}`?"),
            None => "needs the id of a rule, as a finding or `capstan rules` names it".to_owned(),
        })
    }
}

/// A rule whose errors pass, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overruled {
    /// The cluster; that of the proposal where none is named.
    pub cluster: Option<ClusterId>,
    pub rule: Rule,
    /// In a person's words, on one line.
    pub reason: String,
}

impl Argument for Overruled {
    const SYNTAX: &'static str = "[for CLUSTER] RULE REASON";

    fn read(given: &str) -> Result<Self, String> {
        let (cluster, given) = for_cluster(given)?;
        let (rule, reason) = given.split_once(char::is_whitespace).unwrap_or((given, ""));
        let rule = Rule::read(rule)?;
        if rule.0.change() == SeverityChange::Never {
            return Err(
                "cannot override this rule: it is always an error, because what it finds breaks clusters"
                    .to_owned(),
            );
        }
        let words: Vec<&str> = reason.split_whitespace().collect();
        if words.is_empty() {
            return Err("needs a reason after the rule, for the check and the audit trail".to_owned());
        }
        Ok(Self { cluster, rule, reason: in_a_line(&words.join(" "))? })
    }

    fn cluster(&self) -> Option<&ClusterId> {
        self.cluster.as_ref()
    }
}

/// The cluster that is named by `for` right after the verb, and what follows it.
///
/// A reason may begin with `for` as well, so the slash shows that a cluster's folder is meant: one in the root is
/// `./peu01`. A reason with a slash there (`for 24/7`) names a cluster that does not exist, and does nothing.
fn for_cluster(given: &str) -> Result<(Option<ClusterId>, &str), String> {
    let given = given.trim();
    let (first, rest) = given.split_once(char::is_whitespace).unwrap_or((given, ""));
    let (named, after) = rest.trim_start().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    let folder = named.trim_matches('`');
    if !first.eq_ignore_ascii_case("for") || !folder.contains('/') {
        return Ok((None, given));
    }
    let path = RepoPath::parse(folder.strip_prefix("./").unwrap_or(folder).trim_end_matches('/'));
    match path.ok().filter(|path| !path.is_root()) {
        Some(path) => Ok((Some(ClusterId::new(path)), after.trim())),
        None => Err("needs a cluster's folder after `for`, as in `for gauss/peu01`".to_owned()),
    }
}

/// Which cluster, where it is not that of the proposal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfCluster(pub Option<ClusterId>);

impl Argument for OfCluster {
    const SYNTAX: &'static str = "[for CLUSTER]";

    fn read(given: &str) -> Result<Self, String> {
        match for_cluster(given)? {
            (cluster, "") => Ok(Self(cluster)),
            _ => Err("takes nothing but `for` and a cluster's folder, as in `for gauss/peu01`".to_owned()),
        }
    }

    fn cluster(&self) -> Option<&ClusterId> {
        self.0.as_ref()
    }
}

/// Why, in a person's words, on one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReasonArgument(pub Option<String>);

impl Argument for ReasonArgument {
    const SYNTAX: &'static str = "[REASON]";

    fn read(given: &str) -> Result<Self, String> {
        let words: Vec<&str> = given.split_whitespace().collect();
        Ok(Self((!words.is_empty()).then(|| in_a_line(&words.join(" "))).transpose()?))
    }
}

/// Why a cluster is held, and until when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoldArguments {
    /// The cluster; that of the proposal where none is named.
    pub cluster: Option<ClusterId>,
    /// In a person's words, on one line.
    pub reason: Option<String>,
    /// The first day, in UTC, on which it is held no more; until somebody says otherwise where there is none.
    pub until: Option<Date>,
}

impl Argument for HoldArguments {
    const SYNTAX: &'static str = "[for CLUSTER] [REASON] [until DATE]";

    fn read(given: &str) -> Result<Self, String> {
        let (cluster, given) = for_cluster(given)?;
        let words: Vec<&str> = given.split_whitespace().collect();
        let (reason, until) = match words.as_slice() {
            [reason @ .., word, day] if word.eq_ignore_ascii_case("until") => (reason, Some(date(day)?)),
            [.., word] if word.eq_ignore_ascii_case("until") => {
                return Err("needs a day after `until`, as in `until 2026-12-01`".to_owned());
            }
            reason => (reason, None),
        };
        let reason = (!reason.is_empty()).then(|| in_a_line(&reason.join(" "))).transpose()?;
        Ok(Self { cluster, reason, until })
    }

    fn cluster(&self) -> Option<&ClusterId> {
        self.cluster.as_ref()
    }
}

/// `2026-12-01`; other spellings that a date library takes are not what people write.
fn date(text: &str) -> Result<Date, String> {
    let day = Some(text).filter(|text| text.len() == 10).and_then(|text| text.parse().ok());
    day.ok_or_else(|| "needs a day such as `2026-12-01` after `until`".to_owned())
}

/// Which conflict of a proposal, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfConflict {
    /// The cluster; that of the proposal where none is named.
    pub cluster: Option<ClusterId>,
    /// `Kind/name`, where several objects have a conflict at that path.
    pub object: Option<(String, String)>,
    /// The field; the root where all are meant, of one object or of all.
    pub path: FieldPath,
}

impl OfConflict {
    /// Whether it means all conflicts that there are.
    pub fn means_all(&self) -> bool {
        self.path.is_root()
    }
}

impl Argument for OfConflict {
    const SYNTAX: &'static str = "[for CLUSTER] [KIND/NAME] PATH";

    fn read(given: &str) -> Result<Self, String> {
        let (cluster, given) = for_cluster(given)?;
        let words: Vec<&str> = given.split_whitespace().map(|word| word.trim_matches('`')).collect();
        let expected = || {
            "needs the path of a field, as in `/spec/replicas`. If several objects have a conflict there, write `Kind/name` before it".to_owned()
        };
        let (object, path) = match words.as_slice() {
            [path] => (None, path),
            [object, path] => {
                let parts =
                    object.split_once('/').filter(|(kind, name)| !kind.is_empty() && !name.is_empty());
                let (kind, name) = parts.ok_or_else(expected)?;
                (Some((kind.to_owned(), name.to_owned())), path)
            }
            _ => return Err(expected()),
        };
        if path.eq_ignore_ascii_case("all") {
            return Ok(Self { cluster, object, path: FieldPath::root() });
        }
        match FieldPath::parse(path) {
            Some(path) if !path.is_root() => Ok(Self { cluster, object, path }),
            _ => Err(expected()),
        }
    }

    fn cluster(&self) -> Option<&ClusterId> {
        self.cluster.as_ref()
    }
}

/// The commit that somebody means; the present head where they name none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfCommit(pub Option<String>);

impl OfCommit {
    /// Whether a head is the one that is meant, as far as it is said.
    pub fn means(&self, head: &CommitId) -> bool {
        self.0.as_ref().is_none_or(|named| head.as_str().starts_with(named.as_str()))
    }
}

impl Argument for OfCommit {
    const SYNTAX: &'static str = "[COMMIT]";

    fn read(given: &str) -> Result<Self, String> {
        let word = given.trim_matches('`').to_ascii_lowercase();
        if word.is_empty() {
            return Ok(Self(None));
        }
        // Fewer digits than Git shows could be those of several commits.
        if (7..=64).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(Self(Some(word)));
        }
        Err("needs a commit by at least 7 digits of its id, as in `1a2b3c4`, or nothing after it".to_owned())
    }

    fn commit(&self) -> Option<&OfCommit> {
        Some(self)
    }
}

/// Which release a cluster is to be offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct To {
    /// The cluster; that of the proposal where none is named.
    pub cluster: Option<ClusterId>,
    /// The release; what is offered to it anyway where none is named.
    pub release: Option<ReleaseName>,
}

impl Argument for To {
    const SYNTAX: &'static str = "[CLUSTER] [to RELEASE]";

    fn read(given: &str) -> Result<Self, String> {
        let words: Vec<&str> = given.split_whitespace().map(|word| word.trim_matches('`')).collect();
        let expected = || {
            "needs a release, as in `to aws/v22.0.0`. For a cluster that is not in this proposal, write the cluster before it".to_owned()
        };
        let (cluster, release) = match words.as_slice() {
            [] => (None, None),
            [to, release] if to.eq_ignore_ascii_case("to") => (None, Some(release)),
            [cluster, to, release] if to.eq_ignore_ascii_case("to") => (Some(cluster), Some(release)),
            // Somebody forgot `to` before a release.
            [cluster] if !cluster.eq_ignore_ascii_case("to") && ReleaseName::parse(cluster).is_none() => {
                (Some(cluster), None)
            }
            _ => return Err(expected()),
        };
        let folder = |cluster: &&str| RepoPath::parse(cluster).ok().filter(|path| !path.is_root());
        let cluster =
            cluster.map(|named| folder(named).map(ClusterId::new).ok_or_else(expected)).transpose()?;
        let named = |release: &&str| {
            ReleaseName::parse(release)
                .ok_or("needs a release whose last part is a version, as in `to aws/v22.0.0`")
        };
        Ok(Self { cluster, release: release.map(named).transpose()? })
    }

    fn cluster(&self) -> Option<&ClusterId> {
        self.cluster.as_ref()
    }
}

/// A person's words on one line.
pub(super) fn in_a_line(text: &str) -> Result<String, String> {
    if text.chars().count() > MAX_REASON {
        return Err(format!("takes a reason of at most {MAX_REASON} characters"));
    }
    Ok(text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Verb};
    use super::*;

    fn said(verb: Verb, given: &str) -> String {
        match verb.with(given) {
            Ok(Command::Hold(HoldArguments { cluster, reason, until })) => {
                let of = cluster.map_or_else(String::new, |cluster| format!("{cluster}: "));
                let until = until.map_or_else(|| "-".to_owned(), |day| day.to_string());
                format!("{of}{} until {until}", reason.as_deref().unwrap_or("-"))
            }
            Ok(Command::Keep(OfConflict { cluster, object, path })) => {
                let of = cluster.map_or_else(String::new, |cluster| format!("{cluster}: "));
                let object = object.map_or_else(|| "-".to_owned(), |(kind, name)| format!("{kind} {name}"));
                format!("{of}{object} at {path}")
            }
            Ok(Command::Unhold(OfCluster(Some(cluster)))) => format!("unhold {cluster}"),
            Ok(Command::Pause(ReasonArgument(reason))) => {
                format!("pause: {}", reason.as_deref().unwrap_or("-"))
            }
            Ok(Command::Upgrade(To { cluster, release })) => {
                format!(
                    "{} to {}",
                    cluster.map_or_else(|| "-".to_owned(), |cluster| cluster.to_string()),
                    release.map_or_else(|| "-".to_owned(), |release| release.to_string())
                )
            }
            Ok(Command::Override(Overruled { cluster, rule, reason })) => {
                let of = cluster.map_or_else(|| "-".to_owned(), |cluster| cluster.to_string());
                format!("{of} {}: {reason}", rule.0.id())
            }
            Ok(Command::Skip(OfCluster(Some(cluster)))) => format!("skip {cluster}"),
            Ok(Command::Explain(Rule(rule))) => rule.id().to_owned(),
            Ok(Command::Merge(OfCommit(commit))) => commit.unwrap_or_else(|| "head".to_owned()),
            Ok(other) => other.verb().word().to_owned(),
            Err(error) => format!("! {error}"),
        }
    }

    #[test]
    fn arguments_are_read_as_they_are_declared() {
        let path = "! needs the path of a field, as in `/spec/replicas`. If several objects have a conflict there, write `Kind/name` before it";
        for (verb, given, expected) in [
            (Verb::Hold, "", "- until -"),
            (Verb::Hold, "audit of Q4", "audit of Q4 until -"),
            (Verb::Hold, "audit until 2026-12-01", "audit until 2026-12-01"),
            (Verb::Hold, "until 2026-12-01", "- until 2026-12-01"),
            (Verb::Hold, "until the audit is over", "until the audit is over until -"),
            (Verb::Hold, "until tomorrow", "! needs a day such as `2026-12-01` after `until`"),
            (Verb::Hold, "until 2026-13-01", "! needs a day such as `2026-12-01` after `until`"),
            (Verb::Hold, "until 20261201", "! needs a day such as `2026-12-01` after `until`"),
            (Verb::Hold, "for gauss/peu01", "gauss/peu01: - until -"),
            (
                Verb::Hold,
                "For `gauss/peu01/` an audit until 2026-12-01",
                "gauss/peu01: an audit until 2026-12-01",
            ),
            (Verb::Hold, "for ./peu01 for weeks", "peu01: for weeks until -"),
            (Verb::Hold, "for the audit of gauss/peu01", "for the audit of gauss/peu01 until -"),
            (Verb::Hold, "for", "for until -"),
            (Verb::Hold, "audit for gauss/peu01", "audit for gauss/peu01 until -"),
            (Verb::Hold, "for 24/7 service", "24/7: service until -"),
            (Verb::Hold, "for ../x why", "! needs a cluster's folder after `for`, as in `for gauss/peu01`"),
            (Verb::Unhold, "", "unhold"),
            (Verb::Unhold, "for gauss/peu01", "unhold gauss/peu01"),
            (
                Verb::Unhold,
                "gauss/peu01",
                "! takes nothing but `for` and a cluster's folder, as in `for gauss/peu01`",
            ),
            (Verb::Pause, "", "pause: -"),
            (Verb::Pause, "  the   freeze ", "pause: the freeze"),
            (Verb::Resume, "now", "! takes no arguments"),
            (Verb::Hold, "audit until", "! needs a day after `until`, as in `until 2026-12-01`"),
            (Verb::Keep, "/spec/replicas", "- at /spec/replicas"),
            (Verb::Keep, "`/spec/replicas`", "- at /spec/replicas"),
            (
                Verb::Keep,
                "MachineDeployment/web-md-0 /spec/replicas",
                "MachineDeployment web-md-0 at /spec/replicas",
            ),
            (
                Verb::Keep,
                "for gauss/peu01 MachineDeployment/web-md-0 /spec/replicas",
                "gauss/peu01: MachineDeployment web-md-0 at /spec/replicas",
            ),
            (Verb::Keep, "", path),
            (Verb::Keep, "replicas", path),
            (Verb::Keep, "/", "- at /"),
            (Verb::Keep, "web-md-0 /spec/replicas", path),
            (Verb::Keep, "a/b /c d", path),
            (Verb::Override, "component-downgrade it is a rename", "- component-downgrade: it is a rename"),
            (
                Verb::Override,
                "for gauss/peu01 component-downgrade it is a rename",
                "gauss/peu01 component-downgrade: it is a rename",
            ),
            (
                Verb::Override,
                "component-downgrade",
                "! needs a reason after the rule, for the check and the audit trail",
            ),
            (
                Verb::Override,
                "removes-cluster I know",
                "! cannot override this rule: it is always an error, because what it finds breaks clusters",
            ),
            (
                Verb::Override,
                "reads-other-cluster it is my neighbour's",
                "! cannot override this rule: it is always an error, because what it finds breaks clusters",
            ),
            (
                Verb::Override,
                "provider-digest-differs they moved the tag",
                "! cannot override this rule: it is always an error, because what it finds breaks clusters",
            ),
            (
                Verb::Override,
                "nothing at all",
                "! needs the id of a rule, as a finding or `capstan rules` names it",
            ),
            (Verb::Upgrade, "to aws/v22.0.0", "- to aws/v22.0.0"),
            (Verb::Upgrade, "gauss/peu01 TO `v22.0.0`", "gauss/peu01 to 22.0.0"),
            (Verb::Upgrade, "", "- to -"),
            (Verb::Upgrade, "gauss/peu01", "gauss/peu01 to -"),
            (
                Verb::Upgrade,
                "aws/v22.0.0",
                "! needs a release, as in `to aws/v22.0.0`. For a cluster that is not in this proposal, write the cluster before it",
            ),
            (
                Verb::Upgrade,
                "gauss/peu01 to newest",
                "! needs a release whose last part is a version, as in `to aws/v22.0.0`",
            ),
            (
                Verb::Upgrade,
                "../x to v1.0.0",
                "! needs a release, as in `to aws/v22.0.0`. For a cluster that is not in this proposal, write the cluster before it",
            ),
            (Verb::Explain, "component-downgrade", "component-downgrade"),
            (Verb::Explain, "`removes-cluster`", "removes-cluster"),
            (
                Verb::Explain,
                "component-downgrad",
                "! needs the id of a rule; did you mean `component-downgrade`?",
            ),
            (Verb::Explain, "", "! needs the id of a rule, as a finding or `capstan rules` names it"),
            (Verb::Merge, "", "head"),
            (Verb::Merge, "`1A2B3C4`", "1a2b3c4"),
            (
                Verb::Merge,
                "1a2b3c",
                "! needs a commit by at least 7 digits of its id, as in `1a2b3c4`, or nothing after it",
            ),
            (
                Verb::Merge,
                "when green",
                "! needs a commit by at least 7 digits of its id, as in `1a2b3c4`, or nothing after it",
            ),
            (Verb::Plan, "", "plan"),
            (Verb::Skip, "for gauss/peu01", "skip gauss/peu01"),
            (
                Verb::Plan,
                "gauss/peu01",
                "! takes nothing but `for` and a cluster's folder, as in `for gauss/peu01`",
            ),
            (Verb::Replan, "for gauss/peu01", "! takes no arguments"),
        ] {
            assert_eq!(said(verb, given), expected, "{} {given}", verb.word());
        }
        assert_eq!(
            said(Verb::Hold, &"x".repeat(MAX_REASON + 1)),
            "! takes a reason of at most 200 characters"
        );
    }

    #[test]
    fn every_verb_is_found_by_its_word() {
        for verb in Verb::ALL {
            assert_eq!(Verb::named(&verb.word().to_uppercase()), Some(*verb));
        }
        assert_eq!(Verb::named("deploy"), None);
    }
}
