//! What a plan says of variables: two values for one, none for one that is needed (U3).

use std::collections::BTreeSet;

use super::OldSource;
use super::plan::Plan;
use super::redact::redact;
use crate::finding::{Finding, Severity};
use crate::merge::Source;
use crate::merge::objects::ClusterMerge;
use crate::merge::variables::{Found, Trouble, expressions};
use crate::tree::RepoPath;
use crate::yaml::Value;

impl Plan<'_> {
    /// Variables with two values: in the cluster's objects, and in what is written down for them.
    pub(super) fn say_contradictions(&mut self, merge: &ClusterMerge) {
        for (name, one, other) in &merge.contradictions {
            let message = format!(
                "${{{name}}} of the release is {} and {} in this cluster's objects, so it is bound by neither. \
                 Say which in `variables:` of the cluster's capstan.yaml, or give the release a variable for each.",
                self.shown(one),
                self.shown(other),
            );
            let position = self.base.position(other.object, other.at);
            let place = (self.base.file_of(other.object).path.clone(), position.line, position.column);
            let id = self.base.objects[other.object].id.clone();
            self.finding(
                CONTRADICTION,
                Severity::Warning,
                message,
                place,
                Some(id),
                Some(other.path.clone()),
            );
        }
        self.say_disagreements();
    }

    fn shown(&self, found: &Found) -> String {
        let id = &self.base.objects[found.object].id;
        let value = match redact(id, &found.path, Some(&Value::from(found.value.as_str()))) {
            Value::String(text) => format!("`{text}`"),
            _ => "a secret value".to_owned(),
        };
        let line = self.base.position(found.object, found.at).line;
        format!("{value} at {}:{line} ({})", self.base.file_of(found.object).path, found.path)
    }

    /// What is written down twice and differently: by two Kustomizations of Flux, by Flux and the
    /// cluster's settings, by the settings for what is the release's.
    fn say_disagreements(&mut self) {
        let cluster = self.request.cluster;
        let used = self.used();
        let declared: Vec<(&String, &String)> =
            cluster.variables.iter().filter(|(name, _)| used.contains(*name)).collect();
        let mut findings = Vec::new();
        let mut say = |(file, line, column): (RepoPath, Option<u32>, Option<u32>), message| {
            findings.push(Finding {
                rule: CONTRADICTION,
                severity: Severity::Warning,
                message,
                file: Some(file),
                line,
                column,
                object: None,
                path: None,
            });
        };
        for item in cluster.flux.disagreements().iter().filter(|item| used.contains(&item.name)) {
            let shown = |given: &crate::flux::Given| {
                let value = given
                    .text
                    .as_ref()
                    .map_or_else(|| "a secret value".to_owned(), |text| format!("`{text}`"));
                format!("{value} by {} ({}:{})", given.by, given.file, given.line)
            };
            let message = format!(
                "Flux gives ${{{}}} two values where it applies this cluster: {} and {}. It is bound by neither.",
                item.name,
                shown(&item.one),
                shown(&item.other),
            );
            say((item.other.file.clone(), Some(item.other.line), Some(item.other.column)), message);
        }
        for (name, value) in declared {
            let place = self.declaration(name);
            if self.request.new.variables.get(name).is_some_and(|own| own != value) {
                let message = format!(
                    "`variables:` gives ${{{name}}} a value, but the release {} declares it as its own, and its value counts. Take it out here.",
                    self.request.new.id,
                );
                say(place, message);
            } else if let Some(given) = cluster.flux.given(name)
                && given.text.as_ref().is_some_and(|text| text != value)
            {
                let message = format!(
                    "${{{name}}} is `{value}` here and `{}` in {} ({}:{}), which Flux substitutes. `variables:` counts for upgrades; make them equal, or take it out here.",
                    given.text.as_deref().unwrap_or_default(),
                    given.by,
                    given.file,
                    given.line,
                );
                say(place, message);
            }
        }
        self.findings.extend(findings);
    }

    /// Names of the variables that the releases have.
    fn used(&self) -> BTreeSet<String> {
        let mut used = BTreeSet::new();
        let old = match self.request.old {
            OldSource::Known(source) => Some(source),
            _ => None,
        };
        let mut add = |source: &Source| {
            let templated = source.pieces.iter().filter(|piece| piece.templated);
            templated.for_each(|piece| expressions(&piece.root, &mut used));
        };
        old.into_iter().chain([self.request.new]).for_each(&mut add);
        used
    }

    /// Where `variables:` names a variable.
    fn declaration(&self, name: &str) -> (RepoPath, Option<u32>, Option<u32>) {
        let cluster = self.request.cluster;
        let Some(record) = &cluster.record else { return (cluster.id.folder().clone(), None, None) };
        let position = record.read().ok().and_then(|file| {
            let entry = file.documents().iter().find_map(|document| {
                let entry = document.root.get("variables")?.entry(name)?;
                Some(entry.key_span.start)
            });
            entry.map(|at| file.position(at))
        });
        let part = |part: fn(crate::yaml::Position) -> u32| position.map(part);
        (record.path.clone(), part(|position| position.line), part(|position| position.column))
    }

    /// An expression without a value comes in as the release writes it: whoever applies the cluster may
    /// know it. What is said of it: rule, severity, and a sentence for people.
    pub(super) fn trouble(&self, trouble: &Trouble) -> (&'static str, Severity, String) {
        match trouble {
            Trouble::Unbound(name) => {
                let message = format!(
                    "The release's ${{{name}}} is bound by nothing here. Give it a value in `variables:` of the cluster's capstan.yaml."
                );
                (UNBOUND, Severity::Error, message)
            }
            Trouble::Secret(name) => {
                let given = self.request.cluster.flux.given(name);
                let from = given.map_or_else(String::new, |given| {
                    format!(" ({}, {}:{})", given.by, given.file, given.line)
                });
                let message = format!(
                    "The release's ${{{name}}} stays as it is written: Flux takes its value from a secret{from}, which Capstan never reads, and substitutes it where it applies this cluster. Whoever else applies it does not."
                );
                (SECRET, Severity::Warning, message)
            }
            Trouble::NotGiven(name) => {
                let message = format!(
                    "The release's ${{{name}}} stays in this file for Flux to substitute, but neither `substitute` nor `substituteFrom` of its Kustomization gives it a value, so that nothing would stand there. Add it there first."
                );
                (UNBOUND, Severity::Error, message)
            }
            Trouble::Unsupported(raw) => {
                let message = format!(
                    "The release's `{raw}` is no expression that Capstan computes, and it guesses no value. Understood are ${{V}}, defaults (`:=`, `:-`, `=`), and the functions that clusterctl and Flux share (`,` `^` `:` `/` `#` `%`) with plain arguments; literal text is written `$${{…}}`."
                );
                (UNSUPPORTED, Severity::Error, message)
            }
        }
    }
}

const CONTRADICTION: &str = "variable-contradiction";
const SECRET: &str = "secret-variable";
const UNBOUND: &str = "unbound-variable";
const UNSUPPORTED: &str = "unsupported-substitution";
