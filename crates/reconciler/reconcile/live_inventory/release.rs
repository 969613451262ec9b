//! A ConfigMap that is a release: its keys are the names of files.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_model::tree::RepoPath;
use capstan_model::version::ReleaseVersion;
use flate2::read::GzDecoder;
use serde_json::Value;

/// The folder of the inventory's objects in the tree that the generator reads: no provider has that name.
pub(super) const HOME: &str = "inventory";

/// The label with the release's provider: the part of its path before the version.
const PROVIDER: &str = "capstan.dev/release-provider";
/// The label with its version.
const VERSION: &str = "capstan.dev/release-version";
/// The only key that does not hold a template.
const SCHEMA: &str = "schema.yaml";
/// The folder of templates in a release's.
const TEMPLATES: &str = "templates";
/// Bytes that the files of one release may be, unpacked.
const BYTES: u64 = 16 << 20;

/// Files by their paths, each with its content or why it has none.
pub(super) type ReleaseFiles = BTreeMap<RepoPath, Result<Arc<[u8]>, String>>;

/// The files of these ConfigMaps, and the ConfigMaps that are not releases, with the reason. A broken release gets a
/// schema that cannot be read: the clusters of that release are refused with the reason, and no others.
///
/// # Errors
/// That of `within`, which is called after every release with the bytes of all releases so far.
pub(super) fn files<E>(
    maps: &[Value],
    within: impl Fn(usize) -> Result<(), E>,
) -> Result<(ReleaseFiles, Vec<String>), E> {
    let mut bytes = 0;
    let mut releases: BTreeMap<RepoPath, (String, Result<ReleaseFiles, String>)> = BTreeMap::new();
    let mut nameless = Vec::new();
    for map in maps {
        let name = map.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let folder = match folder(map) {
            Ok(folder) => folder,
            Err(why) => {
                nameless.push(format!("ConfigMap {name} is not a release: {why}"));
                continue;
            }
        };
        match releases.get_mut(&folder) {
            Some((first, found)) => {
                *found = Err(format!("the ConfigMaps {first} and {name} are both `{folder}`: remove one"));
            }
            None => {
                let found = read(map, &folder).map_err(|why| format!("ConfigMap {name}: {why}"));
                bytes += found
                    .iter()
                    .flat_map(ReleaseFiles::values)
                    .flatten()
                    .map(|file| file.len())
                    .sum::<usize>();
                within(bytes)?;
                releases.insert(folder, (name, found));
            }
        }
    }
    let mut files = ReleaseFiles::new();
    for (folder, (_, found)) in releases {
        match found {
            Ok(found) => files.extend(found),
            Err(why) => files.extend(folder.join(SCHEMA).map(|path| (path, Err(why)))),
        }
    }
    Ok((files, nameless))
}

/// The folder of a release by its labels.
fn folder(map: &Value) -> Result<RepoPath, String> {
    let label = |name: &str| {
        let labels = map.pointer("/metadata/labels").and_then(|labels| labels.get(name));
        let value = labels.and_then(Value::as_str).filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("it has no label `{name}`"))
    };
    let (provider, version) = (label(PROVIDER)?, label(VERSION)?);
    if ReleaseVersion::parse(version).is_none() {
        return Err(format!("`{version}` in its label `{VERSION}` is not a version such as v1.4.0"));
    }
    if provider == HOME || provider.starts_with('.') || ReleaseVersion::parse(provider).is_some() {
        return Err(format!(
            "`{provider}` in its label `{PROVIDER}` cannot be the name of a provider: choose another"
        ));
    }
    let path = RepoPath::parse(&format!("{provider}/{version}")).map_err(|error| error.to_string())?;
    if path.parts().count() == 2 { Ok(path) } else { Err(format!("`{provider}` has a `/`")) }
}

fn read(map: &Value, folder: &RepoPath) -> Result<ReleaseFiles, String> {
    let mut files = ReleaseFiles::new();
    let mut left = BYTES;
    let entries = |field: &str| map.get(field).and_then(Value::as_object).into_iter().flatten();
    let plain = entries("data").map(|(key, value)| (key, value, false));
    for (key, value, is_packed) in plain.chain(entries("binaryData").map(|(key, value)| (key, value, true))) {
        let value = value.as_str().unwrap_or_default();
        let bytes = match is_packed {
            true => unpack(value, left).map_err(|why| format!("its key `{key}` {why}"))?,
            false => value.as_bytes().to_vec(),
        };
        left = left.checked_sub(bytes.len() as u64).ok_or_else(too_large)?;
        // A key is a file's name, and no path.
        if key.contains(['/', '\\']) || key.starts_with("..") {
            return Err(format!("its key `{key}` is not a file name"));
        }
        let below = if key == SCHEMA { key.clone() } else { format!("{TEMPLATES}/{key}") };
        let path = RepoPath::parse(&format!("{folder}/{below}")).map_err(|error| error.to_string())?;
        files.insert(path, Ok(bytes.into()));
    }
    let schema = folder.join(SCHEMA).map_err(|error| error.to_string())?;
    if files.contains_key(&schema) { Ok(files) } else { Err(format!("it has no key `{SCHEMA}`")) }
}

fn unpack(value: &str, left: u64) -> Result<Vec<u8>, String> {
    let packed = STANDARD.decode(value).map_err(|_| "is not base64".to_owned())?;
    let mut unpacked = Vec::new();
    // One byte more tells that there is more.
    GzDecoder::new(packed.as_slice())
        .take(left + 1)
        .read_to_end(&mut unpacked)
        .map_err(|_| "is not gzip: `binaryData` holds files as gzip makes them".to_owned())?;
    Ok(unpacked)
}

fn too_large() -> String {
    format!("its files are more than {} MiB unpacked", BYTES >> 20)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use serde_json::json;

    use super::*;

    fn map(name: &str, labels: [&str; 2], data: Value, packed: Value) -> Value {
        json!({
            "metadata": {"name": name, "labels": {
                "capstan.dev/release-provider": labels[0], "capstan.dev/release-version": labels[1]}},
            "data": data, "binaryData": packed,
        })
    }

    fn gzip(bytes: &[u8]) -> String {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        STANDARD.encode(encoder.finish().unwrap())
    }

    /// Path and content, or why it has none.
    fn file_lines(maps: &[Value]) -> Vec<String> {
        let (files, nameless) = files(maps, |_| Ok::<(), ()>(())).unwrap();
        let file = |(path, content): (&RepoPath, &Result<Arc<[u8]>, String>)| match content {
            Ok(bytes) => format!("{path} = {}", String::from_utf8_lossy(bytes)),
            Err(why) => format!("{path}: {why}"),
        };
        files.iter().map(file).chain(nameless).collect()
    }

    #[test]
    fn keys_are_files_plain_or_packed() {
        let one = map(
            "os-1",
            ["openstack", "v1.4.0"],
            json!({"schema.yaml": "type: object", "cluster.yaml": "a: 1"}),
            json!({"_helpers.yaml": gzip(b"packed")}),
        );
        assert_eq!(
            file_lines(&[one]),
            [
                "openstack/v1.4.0/schema.yaml = type: object",
                "openstack/v1.4.0/templates/_helpers.yaml = packed",
                "openstack/v1.4.0/templates/cluster.yaml = a: 1",
            ]
        );
    }

    #[test]
    fn nothing_more_is_unpacked_once_it_is_too_much() {
        let schema = || json!({"schema.yaml": "a: 1"});
        let maps = [
            map("a", ["os", "v1.0.0"], schema(), json!({"t.yaml": gzip(&[0; 96])})),
            map("b", ["os", "v2.0.0"], schema(), json!({"t.yaml": gzip(&[0; 196])})),
            map("c", ["os", "v3.0.0"], schema(), json!({})),
        ];
        let most = |most: usize| files(&maps, |bytes| if bytes > most { Err(bytes) } else { Ok(()) });
        assert_eq!(most(299).unwrap_err(), 300);
        assert_eq!(most(99).unwrap_err(), 100);
        assert_eq!(most(304).unwrap().0.len(), 5);
    }

    #[test]
    fn a_release_is_unpacked_up_to_its_bound() {
        // The schema has four bytes.
        let read = |bytes: usize| {
            let packed = json!({"t.yaml": gzip(&vec![0; bytes - 4])});
            let map = map("a", ["os", "v1.0.0"], json!({"schema.yaml": "a: 1"}), packed);
            files(&[map], |_| Ok::<(), ()>(())).unwrap().0.into_values().all(|content| content.is_ok())
        };
        assert!(read(16_777_216));
        assert!(!read(16_777_217));
    }

    #[test]
    fn what_is_broken_is_said_of_that_release_alone() {
        let schema = || json!({"schema.yaml": "type: object"});
        let bomb = vec![0; (16 << 20) + 1];
        for (maps, expected) in [
            (
                vec![map("a", ["os", "v1.0.0"], schema(), json!({"t.yaml": "!"}))],
                "os/v1.0.0/schema.yaml: ConfigMap a: its key `t.yaml` is not base64",
            ),
            (
                vec![map("a", ["os", "v1.0.0"], schema(), json!({"t.yaml": STANDARD.encode("plain")}))],
                "os/v1.0.0/schema.yaml: ConfigMap a: its key `t.yaml` is not gzip: `binaryData` holds files as gzip makes them",
            ),
            (
                vec![map("a", ["os", "v1.0.0"], schema(), json!({"t.yaml": gzip(&bomb)}))],
                "os/v1.0.0/schema.yaml: ConfigMap a: its files are more than 16 MiB unpacked",
            ),
            (
                vec![map("a", ["os", "v1.0.0"], json!({"t.yaml": ""}), json!({}))],
                "os/v1.0.0/schema.yaml: ConfigMap a: it has no key `schema.yaml`",
            ),
            (
                vec![map("a", ["os", "v1.0.0"], json!({"../t.yaml": ""}), json!({}))],
                "os/v1.0.0/schema.yaml: ConfigMap a: its key `../t.yaml` is not a file name",
            ),
            (
                vec![
                    map("a", ["os", "v1.0.0"], schema(), json!({})),
                    map("b", ["os", "v1.0.0"], schema(), json!({})),
                ],
                "os/v1.0.0/schema.yaml: the ConfigMaps a and b are both `os/v1.0.0`: remove one",
            ),
            (
                vec![map("a", ["os", "next"], schema(), json!({}))],
                "ConfigMap a is not a release: `next` in its label `capstan.dev/release-version` is not a version such as v1.4.0",
            ),
            (
                vec![map("a", ["inventory", "v1.0.0"], schema(), json!({}))],
                "ConfigMap a is not a release: `inventory` in its label `capstan.dev/release-provider` cannot be the name of a provider: choose another",
            ),
        ] {
            assert_eq!(file_lines(&maps), [expected]);
        }
    }
}
