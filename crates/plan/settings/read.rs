//! From a file's text to settings, or to an error that helps.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};
use serde_path_to_error::{Path, Segment};
use serde_saphyr::Error as YamlError;

use super::campaign_check::check as check_campaigns;
use super::cluster::{ClusterSettings, OverlaySettings, ReleaseSettings};
use super::key_path::{KeyPath, find};
use super::more_errors::with_others;
use super::repository::{ManagementCluster, RepositorySettings};
use capstan_model::finding::{FileError, Place, RuleEntry, SeverityChange, SeverityLevel, rules};
use capstan_model::spelling::{did_you_mean, hint, hint_or_list, nearest};
use capstan_model::tree::RepoPath;

/// What the rule catalogue knows, for judging `policy:`.
#[derive(Debug, Clone, Default)]
pub struct RuleIds {
    /// Every rule id.
    pub known: Vec<&'static str>,
    /// Those that are errors for ever.
    pub fixed: Vec<&'static str>,
}

impl RuleIds {
    /// Those of the catalogue.
    pub fn of_catalogue() -> Self {
        let ids = |rules: &mut dyn Iterator<Item = &'static RuleEntry>| rules.map(RuleEntry::id).collect();
        let all = || rules::ALL.iter().copied();
        Self {
            known: ids(&mut all()),
            fixed: ids(&mut all().filter(|rule| rule.change() == SeverityChange::Never)),
        }
    }
}

impl RepositorySettings {
    /// Reads `.capstan.yaml`. An empty file is all defaults.
    pub fn read(file: &RepoPath, text: &str, rules: &RuleIds) -> Result<Self, FileError> {
        Self::read_once(file, text, rules)
            .map_err(|first| with_others(text, first, |text| Self::read_once(file, text, rules).map(drop)))
    }

    fn read_once(file: &RepoPath, text: &str, rules: &RuleIds) -> Result<Self, FileError> {
        let settings: Self = read(file, text)?;
        settings.check(rules).map_err(|(place, message)| error_at(file, text, &place, message))?;
        Ok(settings)
    }

    /// What serde cannot see: rules, and keys that contradict one another.
    fn check(&self, rules: &RuleIds) -> Result<(), (KeyPath, String)> {
        for (id, level) in &self.policy {
            let place = || KeyPath::root().key("policy").key(id);
            if !rules.known.contains(&id.as_str()) {
                return Err((
                    place(),
                    format!(
                        "`policy`: there is no rule `{id}`{}",
                        hint_or_list(id, rules.known.iter().copied(), "capstan rules")
                    ),
                ));
            }
            if *level != SeverityLevel::Error && rules.fixed.contains(&id.as_str()) {
                let message = format!("`policy`: the rule `{id}` is always an error; leave it out");
                return Err((place(), message));
            }
        }
        check_campaigns(&self.campaigns)?;
        if !self.campaigns.is_empty() && self.dashboard.enabled == Some(false) {
            let message = "`dashboard.enabled` must not be false if there are `campaigns`: that issue shows their progress";
            return Err((KeyPath::root().key("dashboard").key("enabled"), message.to_owned()));
        }
        let clusters = || KeyPath::root().key("clusters");
        if self.clusters.overlay.is_here() {
            let message = "`clusters.overlay` must be a folder of its own, found `.`";
            return Err((clusters().key("overlay"), message.to_owned()));
        }
        let (base, overlay) = (self.clusters.base.path(), self.clusters.overlay.path());
        if base == overlay || !base.is_root() && (overlay.is_in(base) || base.is_in(overlay)) {
            let message = format!(
                "`clusters.overlay` ({overlay}) and `clusters.base` ({base}) must be different folders, neither inside the other"
            );
            return Err((clusters().key("overlay"), message));
        }
        for (index, cluster) in self.management_clusters.iter().enumerate() {
            let place = |key| KeyPath::root().key("managementClusters").index(index).key(key);
            if cluster.name.trim().is_empty() {
                return Err((place("name"), format!("`managementClusters[{index}].name` must not be empty")));
            }
            for earlier in &self.management_clusters[..index] {
                if earlier.name == cluster.name {
                    return Err((
                        place("name"),
                        format!("two management clusters are named `{}`", cluster.name),
                    ));
                }
                if earlier.uid == cluster.uid {
                    let message = format!("`{}` and `{}` have the same uid", earlier.name, cluster.name);
                    return Err((place("uid"), message));
                }
                let path = |management: &ManagementCluster| Some(management.providers.as_ref()?.path.clone());
                if let Some(shared) = path(cluster).filter(|own| path(earlier).as_ref() == Some(own)) {
                    let message = format!(
                        "`{}` and `{}` name one provider set, `{shared}`: a set belongs to one management cluster",
                        earlier.name, cluster.name
                    );
                    return Err((place("providers").key("path"), message));
                }
            }
        }
        Ok(())
    }
}

impl ClusterSettings {
    /// Reads `<cluster>/capstan.yaml`.
    pub fn read(file: &RepoPath, text: &str) -> Result<Self, FileError> {
        read(file, text).map_err(|first| with_others(text, first, |text| read::<Self>(file, text).map(drop)))
    }
}

impl OverlaySettings {
    /// Reads `<cluster>/overlay/capstan.yaml`.
    pub fn read(file: &RepoPath, text: &str) -> Result<Self, FileError> {
        Self::read_once(file, text)
            .map_err(|first| with_others(text, first, |text| Self::read_once(file, text).map(drop)))
    }

    fn read_once(file: &RepoPath, text: &str) -> Result<Self, FileError> {
        let settings: Self = read(file, text)?;
        if settings.hold.as_ref().is_some_and(|hold| hold.reason.trim().is_empty()) {
            let place = KeyPath::root().key("hold").key("reason");
            return Err(error_at(file, text, &place, "`hold.reason` must not be empty".to_owned()));
        }
        Ok(settings)
    }
}

impl ReleaseSettings {
    /// Reads a release's `capstan.yaml`.
    pub fn read(file: &RepoPath, text: &str) -> Result<Self, FileError> {
        read(file, text).map_err(|first| with_others(text, first, |text| read::<Self>(file, text).map(drop)))
    }
}

/// Reads a file of Capstan's own from outside of any repository, as strictly as settings. The error's file is empty:
/// the caller knows it.
pub(crate) fn read_strictly<T: DeserializeOwned>(text: &str) -> Result<T, FileError> {
    let file = RepoPath::root();
    read::<Present<T>>(&file, text)?
        .0
        .ok_or_else(|| FileError::new(rules::INVALID_SETTINGS, Place::whole(file), "the file is empty"))
}

/// A file that must say something.
struct Present<T>(Option<T>);

impl<T> Default for Present<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Present<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Self(Some(value)))
    }
}

/// An error at a key of an item of a list of such a file.
pub(crate) fn error_in_list(text: &str, list: &str, at: usize, key: &str, message: String) -> FileError {
    let place = KeyPath::root().key(list).index(at).key(key);
    error_at(&RepoPath::root(), text, &place, format!("`{list}[{at}].{key}`: {message}"))
}

pub(super) fn error_at(file: &RepoPath, text: &str, place: &KeyPath, message: String) -> FileError {
    let position = find(text, place).map(|found| found.key.unwrap_or(found.value));
    FileError::new(rules::INVALID_SETTINGS, Place::maybe_at(file.clone(), position), message)
}

fn read<T: DeserializeOwned + Default>(file: &RepoPath, text: &str) -> Result<T, FileError> {
    match read_quickly(text) {
        Some(settings) => Ok(settings),
        None => read_with_places(file, text),
    }
}

/// The everyday file, which holds texts alone: a fleet has one a cluster, and the reader that can tell where
/// what is wrong takes ten times as long. `None` where that one must look at it, errors included.
fn read_quickly<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(capstan_yaml::texts_alone(text)?).ok()
}

fn read_with_places<T: DeserializeOwned + Default>(file: &RepoPath, text: &str) -> Result<T, FileError> {
    let mut options = serde_saphyr::Options::default();
    options.with_snippet = false;
    let mut place = None;
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        serde_path_to_error::deserialize::<_, Option<T>>(deserializer).map_err(|error| {
            place = Some(error.path().clone());
            error.into_inner()
        })
    });
    read.map(Option::unwrap_or_default).map_err(|error| {
        let place = place.as_ref().map(as_place).unwrap_or_default();
        let location = error.location();
        let number = |number: u64| u32::try_from(number).ok().filter(|number| *number > 0);
        // For these the reader names the place of a key nearby.
        let value = match error.without_snippet() {
            YamlError::SerdeInvalidType { .. }
            | YamlError::SerdeInvalidValue { .. }
            | YamlError::SerdeMissingField { .. }
            | YamlError::InvalidBooleanStrict { .. }
            | YamlError::InvalidScalar { .. }
            | YamlError::ExpectedMappingEndAfterEnumVariantValue { .. } => find(text, &place),
            _ => None,
        };
        let value = value.map(|found| found.value);
        let known = match value {
            Some(at) => Place::at(file.clone(), at),
            None => Place::known(
                file.clone(),
                location.and_then(|location| number(location.line())),
                location.and_then(|location| number(location.column())),
            ),
        };
        FileError::new(rules::INVALID_SETTINGS, known, describe(&error, &place, text))
    })
}

fn as_place(path: &Path) -> KeyPath {
    path.iter().fold(KeyPath::root(), |place, segment| match segment {
        Segment::Seq { index } => place.index(*index),
        Segment::Map { key } => place.key(key),
        Segment::Enum { .. } | Segment::Unknown => place,
    })
}

/// The reader's error in the words of somebody who edits the file.
fn describe(error: &YamlError, place: &KeyPath, text: &str) -> String {
    let must_be = |expected: &str| {
        let found = find(text, place).map_or_else(|| "something else".to_owned(), |found| found.what);
        format!("{} must be {expected}, found {found}", place.described())
    };
    match error.without_snippet() {
        YamlError::SerdeUnknownField { field, expected, .. } => {
            format!("unknown key `{field}`{}{}", place.parent_described(), hint(field, expected))
        }
        YamlError::SerdeUnknownVariant { variant, expected, .. } => {
            format!(
                "{}{}",
                must_be(&one_of(expected)),
                did_you_mean(nearest(variant, expected.iter().copied()))
            )
        }
        YamlError::SerdeMissingField { field, .. } => {
            format!("{} lacks the key `{field}`", place.described())
        }
        YamlError::SerdeInvalidType { expected, .. } | YamlError::SerdeInvalidValue { expected, .. } => {
            must_be(expected)
        }
        YamlError::ExternallyTaggedEnumExpectedScalarOrMapping { .. } => must_be("one word"),
        YamlError::Unexpected { expected: "mapping start", .. } => must_be("a mapping"),
        YamlError::Unexpected { expected: "sequence start", .. } => must_be("a list"),
        YamlError::Unexpected { expected: "string scalar", .. } => must_be("text"),
        YamlError::InvalidBooleanStrict { .. } | YamlError::InvalidScalar { ty: "boolean", .. } => {
            must_be("true or false")
        }
        YamlError::InvalidScalar { .. } => must_be("a number"),
        YamlError::ExpectedMappingEndAfterEnumVariantValue { .. } => {
            format!("{} must be a mapping of one key: keep one", place.described())
        }
        YamlError::NullIntoString { .. } => must_be("text (`\"\"` for empty text)"),
        YamlError::Message { msg, .. } => format!("{}: {msg}", place.described()),
        YamlError::DuplicateMappingKey { key: Some(key), .. } => format!("the key `{key}` occurs twice"),
        YamlError::MultipleDocuments { .. } => {
            "a second document starts here; the file must have only one".to_owned()
        }
        other => {
            let message = other.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
            // In a text that is not YAML there is no place to name.
            if *place == KeyPath::root() {
                message.to_owned()
            } else {
                format!("{}: {message}", place.described())
            }
        }
    }
}

fn one_of(words: &[&str]) -> String {
    match words {
        [] => "a known word".to_owned(),
        [only] => format!("`{only}`"),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
