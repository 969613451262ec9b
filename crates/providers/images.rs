//! Names of images as container runtimes parse them, and overrides of repository and tag.

use std::collections::BTreeMap;

use capstan_yaml::{Node, YamlFile};
use serde_json::Value;

use super::pods::{self, Container};
use super::refusal::Refusal;

/// The longest name (<https://github.com/distribution/reference/blob/main/reference.go>).
const LONGEST_NAME: usize = 255;
const LONGEST_TAG: usize = 128;

/// The registry that names without one mean.
const DEFAULT_HOST: &str = "docker.io";

/// The kinds whose images the operator overrides: the others keep theirs.
const OVERRIDDEN: [&str; 2] = ["Deployment", "DaemonSet"];

/// A canonical name of an image: `registry.k8s.io/cluster-api/kubeadm-bootstrap-controller:v1.12.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ImageName {
    repository: String,
    name: String,
    tag: Option<String>,
    digest: Option<String>,
}

/// Why a text is not a canonical name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Misnamed {
    /// It is not a name at all.
    Malformed,
    /// It is short for another.
    NotCanonical,
}

impl ImageName {
    fn parse(text: &str) -> Result<Self, Misnamed> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) if is_digest(digest) => (rest, Some(digest.to_owned())),
            Some(_) => return Err(Misnamed::Malformed),
            None => (text, None),
        };
        let last = rest.rfind('/').map_or(0, |at| at + 1);
        let (full, tag) = match rest[last..].find(':') {
            Some(colon) => (&rest[..last + colon], Some(&rest[last + colon + 1..])),
            None => (rest, None),
        };
        if tag.is_some_and(|tag| !is_tag(tag)) || full.len() > LONGEST_NAME {
            return Err(Misnamed::Malformed);
        }
        let host = full.split_once('/').filter(|(host, _)| {
            host.contains(['.', ':']) || *host == "localhost" || host.chars().any(char::is_uppercase)
        });
        let Some((host, path)) = host else {
            let is_name = !full.is_empty() && full.split('/').all(is_path_component);
            return Err(if is_name { Misnamed::NotCanonical } else { Misnamed::Malformed });
        };
        if !is_host(host) || !path.split('/').all(is_path_component) {
            return Err(Misnamed::Malformed);
        }
        if host == "index.docker.io" || (host == DEFAULT_HOST && !path.contains('/')) {
            return Err(Misnamed::NotCanonical);
        }
        let name = full.rsplit('/').next().unwrap_or_default();
        Ok(Self {
            repository: full[..full.len() - name.len() - 1].to_owned(),
            name: name.to_owned(),
            tag: tag.map(str::to_owned),
            digest,
        })
    }
}

impl std::fmt::Display for ImageName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.repository, self.name)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// Letters and digits, with `.`, `_`, `__` or dashes between them.
fn is_path_component(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let between = text.split(is_word).filter(|part| !part.is_empty());
    text.starts_with(is_word)
        && text.ends_with(is_word)
        && between
            .into_iter()
            .all(|part| matches!(part, "." | "_" | "__") || part.bytes().all(|byte| byte == b'-'))
}

fn is_host(text: &str) -> bool {
    let (name, port) = match text.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
        Some((name, port)) => (name, Some(port)),
        None => (text, None),
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_label = |label: &str| {
        let inner = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        inner && !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_v6 = |name: &str| {
        name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':')
        })
    };
    port.is_none_or(is_port) && (is_v6(name) || name.split('.').all(is_label))
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= LONGEST_TAG
        && text.bytes().next().is_some_and(is_word)
        && text.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

fn is_digest(text: &str) -> bool {
    let length = match text.split_once(':').map(|(algorithm, _)| algorithm) {
        Some("sha256") => 64,
        Some("sha384") => 96,
        Some("sha512") => 128,
        _ => return false,
    };
    let hex = text.split_once(':').map_or("", |(_, hex)| hex);
    hex.len() == length && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Overrides of images: of all (`all`), of a provider (`infrastructure-aws`), of one of its images
/// (`infrastructure-aws/cluster-api-aws-controller`); the later ones count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides(BTreeMap<String, Override>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Override {
    repository: Option<String>,
    tag: Option<String>,
}

impl Overrides {
    /// Reads overrides as the key `images` of clusterctl's configuration holds them.
    ///
    /// # Errors
    /// Not YAML, or something else than a mapping of `repository` and `tag`; the text is not repeated.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        let file = YamlFile::read(text).map_err(|_| Refusal::new("`images` is not YAML: correct it"))?;
        file.documents().first().map_or_else(|| Ok(Self::default()), |document| Self::of(&document.root))
    }

    /// The overrides in a file of clusterctl's configuration; other keys are passed over.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn of_configuration(text: &str) -> Result<Self, Refusal> {
        let file =
            YamlFile::read(text).map_err(|error| Refusal::new(format!("this is not YAML: {error}")))?;
        let images = file.documents().first().and_then(|document| document.root.get("images"));
        images.map_or_else(|| Ok(Self::default()), Self::of)
    }

    fn of(root: &Node) -> Result<Self, Refusal> {
        if root.is_null() {
            return Ok(Self::default());
        }
        let broken = || {
            Refusal::new(
                "`images` must map `all`, a provider's label, or a label and an image's name to `repository` and `tag`: correct it",
            )
        };
        let mut overrides = BTreeMap::new();
        for entry in root.as_mapping().ok_or_else(broken)? {
            let mut one = Override::default();
            for field in entry.value.as_mapping().ok_or_else(broken)? {
                let text = field.value.as_str().map(str::to_owned).ok_or_else(broken)?;
                let text = (!text.is_empty()).then_some(text);
                match field.key.as_str() {
                    "repository" => one.repository = text,
                    "tag" => one.tag = text,
                    _ => return Err(broken()),
                }
            }
            overrides.insert(entry.key.clone(), one);
        }
        Ok(Self(overrides))
    }

    /// An image of a provider as it is overridden.
    fn applied(&self, label: &str, image: &str) -> Result<String, Misnamed> {
        let parsed = ImageName::parse(image)?;
        if self.0.is_empty() {
            return Ok(image.to_owned());
        }
        let mut changed = parsed.clone();
        for key in ["all", label, &format!("{label}/{}", parsed.name)] {
            let Some(one) = self.0.get(key) else { continue };
            if let Some(repository) = &one.repository {
                // Go takes one slash away.
                changed.repository = repository.strip_suffix('/').unwrap_or(repository).to_owned();
            }
            if one.tag.is_some() {
                changed.tag.clone_from(&one.tag);
            }
        }
        Ok(changed.to_string())
    }
}

/// What becomes of an image that is short for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Short {
    Refused,
    Kept,
}

/// Overrides the images of an object.
///
/// # Errors
/// A container whose image is not a canonical name.
pub(crate) fn override_in(
    object: &mut Value,
    label: &str,
    overrides: &Overrides,
    short: Short,
) -> Result<(), Refusal> {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    if !OVERRIDDEN.contains(&kind) {
        return Ok(());
    }
    let Some(pod) = object.pointer_mut("/spec/template/spec") else { return Ok(()) };
    for list in ["containers", "initContainers"] {
        for container in pod.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
            let changed = match overrides.applied(label, image) {
                Ok(changed) => changed,
                Err(Misnamed::NotCanonical) if short == Short::Kept => continue,
                Err(_) => {
                    return Err(Refusal::new(format!(
                        "the image of container `{name}` is not a full name: write `HOST/PATH:TAG`, which the operator requires here"
                    )));
                }
            };
            if changed != image
                && let Some(container) = container.as_object_mut()
            {
                container.insert("image".to_owned(), Value::String(changed));
            }
        }
    }
    Ok(())
}

/// The images that an object's pods run.
pub(crate) fn of_object(object: &Value) -> Vec<String> {
    pods::containers(object).filter_map(Container::image).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_canonical_or_not() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        for (text, expected) in [
            ("registry.k8s.io/cluster-api/core:v1.12.0", Ok(("registry.k8s.io/cluster-api", "core"))),
            ("localhost/a", Ok(("localhost", "a"))),
            ("localhost:5000/a/b_c__d--e.f:1", Ok(("localhost:5000/a", "b_c__d--e.f"))),
            ("docker.io/library/busybox", Ok(("docker.io/library", "busybox"))),
            (&format!("gcr.io/a/b:1@{digest}"), Ok(("gcr.io/a", "b"))),
            ("[2001:db8::1]:5000/a", Ok(("[2001:db8::1]:5000", "a"))),
            ("busybox", Err(Misnamed::NotCanonical)),
            ("busybox:1.36", Err(Misnamed::NotCanonical)),
            ("kubernetes-sigs/capi:v1", Err(Misnamed::NotCanonical)),
            ("docker.io/busybox", Err(Misnamed::NotCanonical)),
            ("index.docker.io/library/busybox", Err(Misnamed::NotCanonical)),
            ("", Err(Misnamed::Malformed)),
            ("gcr.io/A", Err(Misnamed::Malformed)),
            ("gcr.io/a:", Err(Misnamed::Malformed)),
            ("gcr.io/a:-b", Err(Misnamed::Malformed)),
            ("gcr.io//a", Err(Misnamed::Malformed)),
            ("gcr.io/a..b", Err(Misnamed::Malformed)),
            ("gcr.io/a@sha256:ab", Err(Misnamed::Malformed)),
            ("-gcr.io/a", Err(Misnamed::Malformed)),
        ] {
            let read = ImageName::parse(text);
            if let Ok(image) = &read {
                assert_eq!(image.to_string(), text);
            }
            let read = read.as_ref().map(|image| (image.repository.as_str(), image.name.as_str()));
            assert_eq!(read.map_err(|misnamed| *misnamed), expected, "{text}");
        }
    }

    #[test]
    fn the_nearer_override_counts() {
        let overrides = Overrides::read(
            "all: {repository: mirror.example.com/k8s/}\ninfrastructure-aws: {tag: v9}\ninfrastructure-aws/proxy: {repository: other.example.com}\n",
        )
        .unwrap();
        for (label, image, expected) in [
            ("cluster-api", "registry.k8s.io/cluster-api/core:v1", "mirror.example.com/k8s/core:v1"),
            ("infrastructure-aws", "registry.k8s.io/capa/manager:v1", "mirror.example.com/k8s/manager:v9"),
            ("infrastructure-aws", "registry.k8s.io/capa/proxy", "other.example.com/proxy:v9"),
        ] {
            assert_eq!(overrides.applied(label, image).as_deref(), Ok(expected));
        }
        let whole = "images:\n  all: {tag: v2}\nproviders: []\n";
        assert_eq!(
            Overrides::of_configuration(whole).unwrap().applied("x", "a.b/c:v1").as_deref(),
            Ok("a.b/c:v2")
        );
        for broken in ["a", "all: b", "all: {tag: 1.5}", "all: {name: x}", "a: {tag"] {
            assert!(Overrides::read(broken).is_err(), "{broken}");
        }
        assert_eq!(Overrides::read(""), Ok(Overrides::default()));
    }

    #[test]
    fn images_of_deployments_are_overridden_and_those_of_every_pod_listed() {
        let overrides = Overrides::read("all: {tag: v2}").unwrap();
        let pod = json!({"containers": [{"name": "a", "image": "h.io/a:v1"}], "initContainers": [{"name": "b", "image": "h.io/b:v1"}]});
        let workload = |kind: &str| json!({"kind": kind, "spec": {"template": {"spec": pod}}});
        for (kind, images) in [
            ("Deployment", ["h.io/a:v2", "h.io/b:v2"]),
            ("DaemonSet", ["h.io/a:v2", "h.io/b:v2"]),
            ("StatefulSet", ["h.io/a:v1", "h.io/b:v1"]),
        ] {
            let mut object = workload(kind);
            override_in(&mut object, "x", &overrides, Short::Refused).unwrap();
            assert_eq!(of_object(&object), images, "{kind}");
        }
        let cron = json!({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": pod}}}}});
        assert_eq!(of_object(&cron), ["h.io/a:v1", "h.io/b:v1"]);
        let mut short = json!({"kind": "Deployment", "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "busybox"}]}}}});
        assert!(override_in(&mut short, "x", &Overrides::default(), Short::Refused).is_err());
        override_in(&mut short, "x", &overrides, Short::Kept).unwrap();
        assert_eq!(of_object(&short), ["busybox"]);
    }
}
