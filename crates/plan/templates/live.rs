//! The names that templates have in the live cluster, as the reconciler reports them.

use serde::{Deserialize, Serialize};

use super::naming::SpecDigest;
use crate::settings;
use capstan_model::dns_name::is_subdomain;
use capstan_model::finding::{FileError, Position};
use capstan_model::object::ObjectId;

/// The live names of a cluster's templates: what a [`ManagedCluster`'s status](crate::templates) reports,
/// and the file that `capstan render --names` reads.
///
/// ```yaml
/// apiVersion: capstan.dev/v1alpha1
/// kind: TemplateNames
/// templates:
/// - group: infrastructure.cluster.x-k8s.io
///   kind: AWSMachineTemplate
///   namespace: my-org            # left out of an object that has none
///   name: peu01-md-0             # the logical name: the one in Git
///   live: peu01-md-0-x7k2p       # the name of the live object
///   spec: 845d97eec1dea7bbaa5cdc68b1928eaca32adbdb3589e46900288ad70d0b051a
/// ```
///
/// `spec` is the SHA-256 of the canonical form of the *rendered* spec that has that live name (see [`SpecDigest`]): the
/// one whose dry-run create gave the live spec. One logical name may occur several times with different specs (machines
/// of an older spec live on while others are replaced); one live name occurs once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "LiveNamesFile")]
pub struct TemplateNames {
    api_version: LiveNamesApiVersion,
    kind: LiveFileKind,
    /// One live template each.
    templates: Vec<LiveTemplate>,
}

/// One template of the live cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveTemplate {
    /// API group.
    pub group: String,
    pub kind: String,
    /// Namespace; `None` for an object that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The logical name: the one in Git.
    pub name: String,
    /// The live object's name.
    pub live: String,
    /// The rendered spec for which that name holds.
    pub spec: SpecDigest,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum LiveNamesApiVersion {
    #[default]
    #[serde(rename = "capstan.dev/v1alpha1")]
    V1alpha1,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum LiveFileKind {
    #[default]
    TemplateNames,
}

/// The file as it is written: all of it must be there.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LiveNamesFile {
    api_version: LiveNamesApiVersion,
    kind: LiveFileKind,
    templates: Vec<LiveTemplate>,
}

/// A file of names that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MisreadNames {
    /// Where in it; `None` where the whole file is meant.
    pub position: Option<Position>,
    /// What was found and what to write instead.
    pub message: String,
}

impl TryFrom<LiveNamesFile> for TemplateNames {
    type Error = String;

    fn try_from(file: LiveNamesFile) -> Result<Self, String> {
        let LiveNamesFile {
            api_version: LiveNamesApiVersion::V1alpha1,
            kind: LiveFileKind::TemplateNames,
            templates,
        } = file;
        Self::new(templates).map_err(|(_, _, message)| message)
    }
}

impl TemplateNames {
    /// From what is known of the live templates.
    ///
    /// # Errors
    /// The index of an entry that contradicts an earlier one, or whose names are not valid, and why.
    pub fn new(templates: Vec<LiveTemplate>) -> Result<Self, (usize, &'static str, String)> {
        for (at, entry) in templates.iter().enumerate() {
            for (field, text) in [("name", &entry.name), ("live", &entry.live)] {
                if !is_subdomain(text) {
                    return Err((
                        at,
                        field,
                        format!(
                            "`{text}` is not a name of a Kubernetes object: lower-case letters, digits, `-` and `.`"
                        ),
                    ));
                }
            }
            let of_kind = |other: &&LiveTemplate| {
                (&other.group, &other.kind, &other.namespace) == (&entry.group, &entry.kind, &entry.namespace)
            };
            for earlier in templates[..at].iter().filter(of_kind) {
                if earlier.live == entry.live {
                    let message = format!("the live {} {} is here twice", entry.kind, entry.live);
                    return Err((at, "live", message));
                }
                if (&earlier.name, earlier.spec) == (&entry.name, entry.spec) {
                    let message = format!(
                        "{} {} has two live names for one spec, `{}` and `{}`: keep one",
                        entry.kind, entry.name, earlier.live, entry.live
                    );
                    return Err((at, "live", message));
                }
            }
        }
        Ok(Self { api_version: LiveNamesApiVersion::default(), kind: LiveFileKind::default(), templates })
    }

    /// Reads a file of names, YAML or JSON. Unknown keys, wrong types and contradictions are errors.
    ///
    /// # Errors
    /// With line and column.
    pub fn read(text: &str) -> Result<Self, MisreadNames> {
        let misread =
            |error: FileError| MisreadNames { position: error.place.position(), message: error.message };
        let file: LiveNamesFile = settings::read_strictly(text).map_err(misread)?;
        let LiveNamesFile {
            api_version: LiveNamesApiVersion::V1alpha1,
            kind: LiveFileKind::TemplateNames,
            templates,
        } = file;
        Self::new(templates).map_err(|(at, field, message)| {
            misread(settings::error_in_list(text, "templates", at, field, message))
        })
    }

    /// The live templates.
    pub fn templates(&self) -> &[LiveTemplate] {
        &self.templates
    }

    /// The live name of a logical template with that spec.
    pub fn live_name(&self, logical: &ObjectId, spec: &SpecDigest) -> Option<&str> {
        let is = |entry: &&LiveTemplate| {
            entry.spec == *spec
                && entry.name == logical.name
                && entry.kind == logical.kind
                && entry.group == logical.group
                && entry.namespace == logical.namespace
        };
        self.templates.iter().find(is).map(|entry| entry.live.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: capstan.dev/v1alpha1\nkind: TemplateNames\n";
    const SPEC: &str = "845d97eec1dea7bbaa5cdc68b1928eaca32adbdb3589e46900288ad70d0b051a";

    fn entry(name: &str, live: &str, spec: &str) -> String {
        format!(
            "- group: infrastructure.cluster.x-k8s.io\n  kind: DockerMachineTemplate\n  namespace: org\n  name: {name}\n  live: {live}\n  spec: {spec}\n"
        )
    }

    #[test]
    fn yaml_and_json_are_read() {
        let yaml =
            TemplateNames::read(&format!("{HEAD}templates:\n{}", entry("a", "a-x7k2p", SPEC))).unwrap();
        let json = format!(
            r#"{{"apiVersion":"capstan.dev/v1alpha1","kind":"TemplateNames","templates":[{{"group":"infrastructure.cluster.x-k8s.io","kind":"DockerMachineTemplate","namespace":"org","name":"a","live":"a-x7k2p","spec":"{SPEC}"}}]}}"#
        );
        assert_eq!(TemplateNames::read(&json).unwrap(), yaml);
        assert_eq!(serde_json::to_string(&yaml).unwrap(), json);
        let id = ObjectId {
            group: "infrastructure.cluster.x-k8s.io".to_owned(),
            kind: "DockerMachineTemplate".to_owned(),
            namespace: Some("org".to_owned()),
            name: "a".to_owned(),
        };
        assert_eq!(yaml.live_name(&id, &SpecDigest::parse(SPEC).unwrap()), Some("a-x7k2p"));
        let other = "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b";
        assert_eq!(yaml.live_name(&id, &SpecDigest::parse(other).unwrap()), None);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let other = "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b";
        for (text, line, column, message) in [
            (String::new(), None, None, "the file is empty"),
            (
                "kind: TemplateNames\ntemplates: []\n".to_owned(),
                Some(1),
                Some(1),
                "lacks the key `apiVersion`",
            ),
            (HEAD.to_owned(), Some(1), Some(1), "the file lacks the key `templates`"),
            (
                "apiVersion: capstan.dev/v1\nkind: TemplateNames\ntemplates: []\n".to_owned(),
                Some(1),
                Some(13),
                "`apiVersion` must be `capstan.dev/v1alpha1`",
            ),
            (format!("{HEAD}names: []\n"), Some(3), Some(1), "unknown key `names`"),
            (format!("{HEAD}templates: {{}}\n"), Some(3), Some(12), "`templates` must be a list"),
            (
                format!("{HEAD}templates:\n- kind: DockerMachineTemplate\n"),
                Some(4),
                Some(3),
                "`templates[0]` lacks the key `group`",
            ),
            (
                format!("{HEAD}templates:\n{}", entry("a", "a-1", "abc")),
                Some(9),
                Some(9),
                "`abc` is not a SHA-256",
            ),
            (
                format!("{HEAD}templates:\n{}", entry("a", "A_1", SPEC)),
                Some(8),
                Some(3),
                "`A_1` is not a name of a Kubernetes object",
            ),
            (
                format!("{HEAD}templates:\n{}{}", entry("a", "a-1", SPEC), entry("b", "a-1", other)),
                Some(14),
                Some(3),
                "the live DockerMachineTemplate a-1 is here twice",
            ),
            (
                format!("{HEAD}templates:\n{}{}", entry("a", "a-1", SPEC), entry("a", "a-2", SPEC)),
                Some(14),
                Some(3),
                "DockerMachineTemplate a has two live names for one spec",
            ),
        ] {
            let error = TemplateNames::read(&text).unwrap_err();
            assert!(error.message.contains(message), "{error:?}\n{text}");
            let position = line.zip(column).map(|(line, column)| Position { line, column });
            assert_eq!(error.position, position, "{error:?}\n{text}");
        }
    }
}
