//! Digests of named values that are stored or sent and compared later, maybe by another release of Capstan.
//!
//! Each value is hashed with its name. So two values that change places give another digest, and a new value
//! does not change what the others mean. The output of a type's `Debug` is not used: a new compiler or
//! library may spell it otherwise, and every report would be sent again.

use std::fmt::Display;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::check::{Annotation, AnnotationLevel, CheckReport, Conclusion};
use capstan_live::agent::preflight::{Preflight, PreflightReply};
use capstan_model::digest::hex;
use capstan_model::finding::{Finding, Severity};
use capstan_plan::proposal::Decisions;

/// A digest in the making: `Fingerprint::of("turn").field("cluster", "gauss/peu01").finish()`.
#[derive(Debug, Clone)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// Begins the digest of an item of that kind; items of two kinds never have the same digest.
    pub fn of(kind: &'static str) -> Self {
        Self(Sha256::new()).field("kind", kind)
    }

    /// One value. Several values with one name are a list, in their order.
    #[must_use]
    pub fn field(mut self, name: &'static str, value: impl Display) -> Self {
        let value = value.to_string();
        // Lengths before texts: no two different lists of values give the same bytes.
        for text in [name, &value] {
            self.0.update((text.len() as u64).to_be_bytes());
            self.0.update(text.as_bytes());
        }
        self
    }

    /// One value that may be absent, which is different from empty.
    #[must_use]
    pub fn maybe(self, name: &'static str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    /// One value for each of these.
    #[must_use]
    pub fn each(self, name: &'static str, values: impl IntoIterator<Item: Display>) -> Self {
        values.into_iter().fold(self, |digest, value| digest.field(name, value))
    }

    /// A value whose type names its fields: one that is sent, or stored.
    #[must_use]
    fn json(self, name: &'static str, value: &impl Serialize) -> Self {
        self.maybe(name, serde_json::to_string(value).ok())
    }

    /// 24 lowercase hex digits.
    pub fn finish(self) -> String {
        let mut text = hex(&self.0.finalize());
        text.truncate(24);
        text
    }
}

/// A finding with everything that is shown of it.
pub fn finding_fingerprint(finding: &Finding) -> String {
    let object = finding.object.as_ref();
    Fingerprint::of("finding")
        .field("rule", finding.rule.id())
        .field("severity", severity(finding.severity()))
        .field("message", &finding.message)
        .maybe("file", finding.file())
        .maybe("line", finding.line())
        .maybe("column", finding.column())
        .maybe("group", object.map(|object| &object.group))
        .maybe("object", object)
        .maybe("path", finding.path.as_ref())
        .finish()
}

/// Decisions about a proposal.
pub fn decisions_fingerprint(decisions: &Decisions) -> String {
    Fingerprint::of("decisions").json("decisions", decisions).finish()
}

/// The state of one management cluster's answer about a head.
pub fn preflight_fingerprint(preflight: &Preflight) -> String {
    let digest = Fingerprint::of("preflight")
        .field("management-cluster", &preflight.management_cluster)
        .each("cluster", &preflight.clusters);
    match &preflight.standing {
        PreflightReply::Asked => digest.field("standing", "asked"),
        PreflightReply::Unanswered => digest.field("standing", "unanswered"),
        PreflightReply::NotAsked(why) => digest.field("standing", "not-asked").field("why", why),
        PreflightReply::Answered(answer) => digest.field("standing", "answered").json("answer", answer),
    }
    .finish()
}

fn annotation_fingerprint(annotation: &Annotation) -> String {
    Fingerprint::of("annotation")
        .field("path", &annotation.path)
        .field("line", annotation.line)
        .maybe("column", annotation.column)
        .field("level", level(annotation.level))
        .field("title", &annotation.title)
        .field("message", &annotation.message)
        .finish()
}

/// Identifies a report on GitHub (`external_id` of its check run) and in the records.
///
/// GitHub adds to a run's annotations and never removes one, and a completed run does not go back to work. In
/// both cases another run of the same name replaces it. So the id contains the run's [`RunShape`] too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportId {
    says: String,
    shape: RunShape,
}

/// What kind of run carries a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunShape {
    Plain,
    Annotated,
    /// A run that misses some of its annotations.
    Unfinished,
    Pending,
}

impl RunShape {
    /// The word after the digest; none for a plain run.
    const fn word(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Annotated => Some("annotated"),
            Self::Unfinished => Some("unfinished"),
            Self::Pending => Some("pending"),
        }
    }
}

impl ReportId {
    /// The id of a report as it is sent. `edition` changes with the texts of reports, so that a newer Capstan
    /// reports again.
    pub fn of(edition: &str, report: &CheckReport) -> Self {
        let says = Fingerprint::of("report")
            .field("edition", edition)
            .field("conclusion", conclusion(report.conclusion))
            .field("title", &report.title)
            .field("summary", &report.summary)
            .each("annotation", report.annotations.iter().map(annotation_fingerprint))
            .each("button", report.buttons.iter().map(|verb| verb.word()))
            .finish();
        let shape = match report.conclusion {
            _ if !report.annotations.is_empty() => RunShape::Annotated,
            Conclusion::Pending => RunShape::Pending,
            _ => RunShape::Plain,
        };
        Self { says, shape }
    }

    /// Reads what [`Display`] writes. Any other text is the id of a plain run.
    pub fn read(text: &str) -> Self {
        let shaped =
            [RunShape::Annotated, RunShape::Unfinished, RunShape::Pending].into_iter().find_map(|shape| {
                let (says, word) = text.rsplit_once('-')?;
                (shape.word() == Some(word)).then(|| Self { says: says.to_owned(), shape })
            });
        shaped.unwrap_or_else(|| Self { says: text.to_owned(), shape: RunShape::Plain })
    }

    /// The id of the same report while its annotations are still being sent.
    #[must_use]
    pub fn unfinished(&self) -> Self {
        Self { says: self.says.clone(), shape: RunShape::Unfinished }
    }

    /// Whether the run has annotations.
    pub fn is_annotated(&self) -> bool {
        matches!(self.shape, RunShape::Annotated | RunShape::Unfinished)
    }

    /// Whether the run has no conclusion yet.
    pub fn is_pending(&self) -> bool {
        self.shape == RunShape::Pending
    }

    /// Whether the run that carries `earlier` may be updated to this report.
    pub fn may_replace(&self, earlier: &Self) -> bool {
        !earlier.is_annotated() && (!self.is_pending() || earlier.is_pending())
    }
}

impl Display for ReportId {
    /// `0f3a…`, `0f3a…-annotated`, `0f3a…-unfinished`, `0f3a…-pending`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.says)?;
        self.shape.word().map_or(Ok(()), |word| write!(f, "-{word}"))
    }
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

const fn level(level: AnnotationLevel) -> &'static str {
    match level {
        AnnotationLevel::Warning => "warning",
        AnnotationLevel::Failure => "failure",
    }
}

const fn conclusion(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Success => "success",
        Conclusion::Neutral => "neutral",
        Conclusion::Pending => "pending",
        Conclusion::Failure => "failure",
        Conclusion::ActionRequired => "action_required",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_model::finding::{Place, Position, rules};
    use capstan_model::object::ObjectId;
    use capstan_model::tree::RepoPath;

    fn report(conclusion: Conclusion, annotations: &[(&str, u32)]) -> CheckReport {
        let annotation = |(path, line): &(&str, u32)| Annotation {
            path: RepoPath::parse(path).unwrap(),
            line: *line,
            column: None,
            level: AnnotationLevel::Failure,
            title: "kubernetes-minor-skip".to_owned(),
            message: "goes too far".to_owned(),
        };
        CheckReport {
            conclusion,
            title: "1 finding".to_owned(),
            summary: "One.".to_owned(),
            annotations: annotations.iter().map(annotation).collect(),
            buttons: vec![],
        }
    }

    /// Stored and sent: a change here sends every report again once, and is for the release's notes. The
    /// digests are those of `sha256sum` over lengths, names and values.
    #[test]
    fn digests_are_the_same_in_every_release() {
        assert_eq!(Fingerprint::of("turn").finish(), "61d18ba516166098878eecb2");
        let one = Fingerprint::of("turn").field("cluster", "gauss/peu01").field("at", 7);
        assert_eq!(one.finish(), "528803b2297b95ed69aa4cd6");
        let id = ReportId::of("1", &report(Conclusion::Failure, &[("a/base/cp.yaml", 9)]));
        assert_eq!(id.to_string(), "1c56df244514cae1c3e54505-annotated");
    }

    #[test]
    fn a_value_counts_with_its_name_and_its_place() {
        let of = |fields: &[(&'static str, &str)]| {
            fields
                .iter()
                .fold(Fingerprint::of("x"), |digest, (name, value)| digest.field(name, value))
                .finish()
        };
        let different = [
            of(&[]),
            of(&[("a", "")]),
            of(&[("a", "1"), ("b", "2")]),
            of(&[("a", "2"), ("b", "1")]),
            of(&[("b", "2"), ("a", "1")]),
            of(&[("a", "12"), ("b", "")]),
            of(&[("a", "1"), ("a", "2")]),
            Fingerprint::of("y").finish(),
        ];
        for (at, one) in different.iter().enumerate() {
            assert!(!different[..at].contains(one), "{at}");
        }
        assert_eq!(Fingerprint::of("x").maybe("a", None::<&str>).finish(), different[0]);
        assert_eq!(Fingerprint::of("x").each("a", ["1", "2"]).finish(), different[6]);
    }

    #[test]
    fn every_field_of_a_finding_counts() {
        let plain = Finding::new(rules::KUBERNETES_MINOR_SKIP, "goes too far");
        let file = || RepoPath::parse("a/b.yaml").unwrap();
        let object = |group: &str| ObjectId {
            group: group.to_owned(),
            kind: "Cluster".to_owned(),
            namespace: None,
            name: "peu01".to_owned(),
        };
        let others = [
            plain.clone(),
            Finding::new(rules::KUBERNETES_DOWNGRADE, "goes too far"),
            plain.clone().warning(),
            Finding::new(rules::KUBERNETES_MINOR_SKIP, "goes far"),
            plain.clone().place(Place::whole(file())),
            plain.clone().place(Place::line_of(file(), 1)),
            plain.clone().place(Place::at(file(), Position { line: 1, column: 1 })),
            plain.clone().object(&object("cluster.x-k8s.io")),
            plain.clone().object(&object("example.com")),
            plain.path(&capstan_model::object::FieldPath::parse("/spec").unwrap()),
        ];
        let prints: std::collections::BTreeSet<String> = others.iter().map(finding_fingerprint).collect();
        assert_eq!(prints.len(), others.len());
    }

    #[test]
    fn a_run_is_updated_unless_it_has_annotations_or_would_go_back_to_work() {
        let plain = ReportId::of("1", &report(Conclusion::Success, &[]));
        let pending = ReportId::of("1", &report(Conclusion::Pending, &[]));
        let annotated = ReportId::of("1", &report(Conclusion::Failure, &[("a.yaml", 1)]));
        let unfinished = annotated.unfinished();
        for id in [&plain, &pending, &annotated, &unfinished] {
            assert_eq!(ReportId::read(&id.to_string()), *id);
        }
        assert!(unfinished != annotated && !plain.may_replace(&unfinished), "its annotations would stay");
        assert!(
            plain.may_replace(&pending) && annotated.may_replace(&pending) && annotated.may_replace(&plain)
        );
        assert!(!pending.may_replace(&plain), "a completed run does not go back to work");
        assert!(!plain.may_replace(&annotated), "its annotations would stay");
        // As earlier releases wrote them, and texts that are not Capstan's.
        assert!(ReportId::read("0123456789abcdef01234567-annotated").is_annotated());
        assert!(ReportId::read("0123456789abcdef01234567-pending").is_pending());
        for other in ["", "0123456789abcdef01234567", "somebody-else"] {
            let read = ReportId::read(other);
            assert!(!read.is_annotated() && !read.is_pending(), "{other}");
            assert_eq!(read.to_string(), other);
        }
    }
}
