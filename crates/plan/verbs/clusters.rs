//! What follows verbs that are about a cluster as a whole: one that is to come, to go, or to go back.

use std::collections::BTreeMap;

use capstan_model::ids::{ClusterId, ReleaseName};
use capstan_model::tree::RepoPath;
use serde::{Deserialize, Serialize};

use super::argument::{Argument, in_a_line};

/// So many values one command may give, of so many characters each.
const MOST_VALUES: usize = 100;
const LONGEST_VALUE: usize = 1_000;

/// A cluster that is to be made from a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterFrom {
    /// Its path.
    pub cluster: ClusterId,
    pub release: ReleaseName,
    /// Values of the release's variables.
    pub variables: BTreeMap<String, String>,
}

impl Argument for ClusterFrom {
    const SYNTAX: &'static str = "CLUSTER from RELEASE [KEY=VALUE]…";

    fn read(given: &str) -> Result<Self, String> {
        let words = words(given)?;
        let expected = || {
            "needs the new cluster's folder and a release, as in `gauss/peu01 from aws/v22.0.0`, and then the values of its variables".to_owned()
        };
        let [cluster, from, release, values @ ..] = words.as_slice() else { return Err(expected()) };
        if !from.eq_ignore_ascii_case("from") {
            return Err(expected());
        }
        let cluster = Self::folder(cluster).ok_or_else(expected)?;
        let release = Self::release(release)?;
        Self::with(cluster, release, values.iter().map(|value| value.split_once('=')))
    }

    fn cluster(&self) -> Option<&ClusterId> {
        Some(&self.cluster)
    }
}

impl ClusterFrom {
    /// The folder of a cluster, as somebody wrote it.
    pub(crate) fn folder(written: &str) -> Option<ClusterId> {
        path_of(written)
    }

    /// A release, as somebody wrote it; else what is needed, as the rest of a sentence.
    pub(crate) fn release(written: &str) -> Result<ReleaseName, String> {
        ReleaseName::parse(written.trim_matches('`')).ok_or_else(|| {
            "needs a release whose last part is a version, as in `from aws/v22.0.0`".to_owned()
        })
    }

    /// With these values of variables, `None` being a text that is not one; else what is wrong, as the rest of a
    /// sentence.
    pub(crate) fn with<'a>(
        cluster: ClusterId,
        release: ReleaseName,
        values: impl Iterator<Item = Option<(&'a str, &'a str)>>,
    ) -> Result<Self, String> {
        let mut variables: BTreeMap<String, String> = BTreeMap::new();
        for (at, value) in values.enumerate() {
            if at == MOST_VALUES {
                return Err(format!("takes at most {MOST_VALUES} values"));
            }
            let (name, value) = value
                .filter(|(name, value)| is_variable(name) && !value.chars().any(char::is_control))
                .ok_or("needs values such as `REGION=eu-west-1`, with quotes around a value with blanks: `OWNER=\"team a\"`")?;
            if value.chars().count() > LONGEST_VALUE {
                return Err(format!("takes values of at most {LONGEST_VALUE} characters"));
            }
            if variables.insert(name.to_owned(), value.to_owned()).is_some_and(|before| before != value) {
                return Err("gives a variable two values".to_owned());
            }
        }
        Ok(Self { cluster, release, variables })
    }
}

/// A cluster that is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DestroyArguments {
    pub cluster: ClusterId,
    /// Why, in a person's words, on one line.
    pub reason: Option<String>,
}

impl Argument for DestroyArguments {
    const SYNTAX: &'static str = "CLUSTER [REASON]";

    fn read(given: &str) -> Result<Self, String> {
        let (cluster, reason) = given.split_once(char::is_whitespace).unwrap_or((given, ""));
        let cluster = path_of(cluster).ok_or(
            "needs the path of the cluster, as in `gauss/peu01`: Capstan never guesses it from the pull request",
        )?;
        let words: Vec<&str> = reason.split_whitespace().collect();
        let reason = (!words.is_empty()).then(|| in_a_line(&words.join(" "))).transpose()?;
        Ok(Self { cluster, reason })
    }

    fn cluster(&self) -> Option<&ClusterId> {
        Some(&self.cluster)
    }
}

/// The cluster whose last upgrade is taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Back {
    /// The cluster; that of the proposal where none is named.
    pub cluster: Option<ClusterId>,
}

impl Argument for Back {
    const SYNTAX: &'static str = "[CLUSTER]";

    fn read(given: &str) -> Result<Self, String> {
        if given.is_empty() {
            return Ok(Self { cluster: None });
        }
        let cluster = path_of(given).filter(|_| !given.contains(char::is_whitespace));
        let cluster = cluster.ok_or("takes a cluster by its path, as in `gauss/peu01`, and nothing else")?;
        Ok(Self { cluster: Some(cluster) })
    }

    fn cluster(&self) -> Option<&ClusterId> {
        self.cluster.as_ref()
    }
}

/// Whether a variable may be called so.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn path_of(word: &str) -> Option<ClusterId> {
    let path = RepoPath::parse(word.trim_matches('`').trim_end_matches('/')).ok()?;
    (!path.is_root()).then(|| ClusterId::new(path))
}

/// The words of a line. A blank between quotes, single or double, belongs to its word.
fn words(given: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut open) = (Vec::new(), None::<String>, None);
    for c in given.chars() {
        match open {
            Some(quote) if c == quote => open = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                word.get_or_insert_default();
                open = Some(c);
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    if open.is_some() {
        return Err("has a quote without an end".to_owned());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(given: &str) -> String {
        match ClusterFrom::read(given) {
            Ok(ClusterFrom { cluster, release, variables }) => {
                format!("{cluster} from {release} {variables:?}")
            }
            Err(why) => format!("! {why}"),
        }
    }

    #[test]
    fn a_new_cluster_is_named_with_its_release_and_values() {
        let values = "! needs values such as `REGION=eu-west-1`, with quotes around a value with blanks: `OWNER=\"team a\"`";
        let expected = "! needs the new cluster's folder and a release, as in `gauss/peu01 from aws/v22.0.0`, and then the values of its variables";
        for (given, expected) in [
            ("gauss/peu01 from aws/v22.0.0", "gauss/peu01 from aws/v22.0.0 {}"),
            ("`gauss/peu01/` FROM `v22.0.0`", "gauss/peu01 from 22.0.0 {}"),
            (
                "gauss/peu01 from aws/v22.0.0 REGION=eu OWNER=\"team a\" EMPTY= X='a=b'",
                "gauss/peu01 from aws/v22.0.0 {\"EMPTY\": \"\", \"OWNER\": \"team a\", \"REGION\": \"eu\", \"X\": \"a=b\"}",
            ),
            ("gauss/peu01 from aws/v22.0.0 A=1 A=1", "gauss/peu01 from aws/v22.0.0 {\"A\": \"1\"}"),
            ("gauss/peu01 from aws/v22.0.0 A=1 A=2", "! gives a variable two values"),
            ("gauss/peu01 from aws/v22.0.0 OWNER=\"team a", "! has a quote without an end"),
            ("gauss/peu01 from aws/v22.0.0 region", values),
            ("gauss/peu01 from aws/v22.0.0 =eu", values),
            ("gauss/peu01 from aws/v22.0.0 a-b=eu", values),
            (
                "gauss/peu01 from newest",
                "! needs a release whose last part is a version, as in `from aws/v22.0.0`",
            ),
            ("gauss/peu01 aws/v22.0.0", expected),
            ("../x from aws/v22.0.0", expected),
            ("/ from aws/v22.0.0", expected),
            ("", expected),
        ] {
            assert_eq!(said(given), expected, "{given}");
        }
        let long = format!("a/b from v1.0.0 X={}", "x".repeat(LONGEST_VALUE + 1));
        assert_eq!(said(&long), "! takes values of at most 1000 characters");
    }

    #[test]
    fn a_cluster_to_delete_must_be_named() {
        let gone = |given| DestroyArguments::read(given).map(|gone| (gone.cluster.to_string(), gone.reason));
        assert_eq!(gone("gauss/peu01"), Ok(("gauss/peu01".to_owned(), None)));
        assert_eq!(
            gone("gauss/peu01  no  more "),
            Ok(("gauss/peu01".to_owned(), Some("no more".to_owned())))
        );
        assert!(gone("").unwrap_err().starts_with("needs the path of the cluster"));
        assert!(gone("../x").is_err());
    }
}
