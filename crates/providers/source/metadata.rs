//! `metadata.yaml`: which contract of Cluster API the releases of a series keep.

use capstan_model::version::ReleaseVersion;
use capstan_yaml::YamlFile;
use serde_json::Value;

use crate::refusal::Refusal;

/// The contracts that Cluster API 1.12 knows.
const CONTRACTS: [&str; 2] = ["v1beta1", "v1beta2"];

/// The contract of a version.
///
/// # Errors
/// Invalid metadata; a version in no series; a contract that is no longer supported.
pub(super) fn contract(text: &str, version: &str) -> Result<String, Refusal> {
    let file =
        YamlFile::read(text).map_err(|error| Refusal::new(format!("the metadata is not YAML: {error}")))?;
    let root = file.documents().first().map(|document| document.root.value()).unwrap_or_default();
    if root.get("kind").is_some_and(|kind| kind != "Metadata") {
        return Err(Refusal::new(
            "the metadata is not `kind: Metadata` of clusterctl: put the release's metadata.yaml there",
        ));
    }
    let Some(series) = root.get("releaseSeries").and_then(Value::as_array) else {
        return Err(Refusal::new(
            "the metadata has no list `releaseSeries`: put the release's metadata.yaml there",
        ));
    };
    let parsed = ReleaseVersion::parse(version)
        .ok_or_else(|| Refusal::new(format!("`{version}` is not a version such as `v1.12.0`: correct it")))?;
    let number = |entry: &Value, key: &str| match entry.get(key) {
        None | Some(Value::Null) => Some(0),
        Some(number) => number.as_u64(),
    };
    for entry in series {
        let (Some(major), Some(minor)) = (number(entry, "major"), number(entry, "minor")) else {
            return Err(Refusal::new(
                "a release series of the metadata has a `major` or `minor` that is not a number: correct it",
            ));
        };
        if (major, minor) != (parsed.major(), parsed.minor()) {
            continue;
        }
        let contract = entry.get("contract").and_then(Value::as_str).unwrap_or_default();
        if CONTRACTS.contains(&contract) {
            return Ok(contract.to_owned());
        }
        return Err(Refusal::new(format!(
            "{version} uses the contract `{contract}`, but Capstan supports only {}: use another version",
            CONTRACTS.join(" and ")
        )));
    }
    Err(Refusal::new(format!(
        "no release series of the metadata has {version}: put the metadata.yaml of that release there, or correct the version"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_the_contract_of_its_series() {
        let text = "kind: Metadata\nreleaseSeries:\n- {major: 1, minor: 12, contract: v1beta2}\n- {major: 1, minor: 10, contract: v1beta1}\n- {major: 0, minor: 4, contract: v1alpha4}\n- {minor: 3, contract: v1beta1}\n";
        for (version, expected) in [
            ("v1.12.8", Ok("v1beta2")),
            ("v1.12.0-rc.1", Ok("v1beta2")),
            ("1.10.0", Ok("v1beta1")),
            ("v0.3.1", Ok("v1beta1")),
            ("v1.11.0", Err("no release series of the metadata has v1.11.0")),
            ("v0.4.0", Err("uses the contract `v1alpha4`")),
        ] {
            match (contract(text, version), expected) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, wanted, "{version}"),
                (Err(refusal), Err(said)) => assert!(refusal.to_string().contains(said), "{refusal}"),
                (found, _) => panic!("{version}: {found:?}"),
            }
        }
        for (text, said) in [
            ("a: b: c", "not YAML"),
            ("kind: Deployment", "not `kind: Metadata`"),
            ("", "no list `releaseSeries`"),
            ("releaseSeries: [{major: x}]", "is not a number"),
        ] {
            assert!(contract(text, "v1.0.0").unwrap_err().to_string().contains(said), "{text}");
        }
    }

    /// The contracts of real releases, by hand.
    #[test]
    fn real_metadata_is_read() {
        let Some(files) = capstan_test_support::shared_data::files("providers/metadata") else { return };
        for (path, version, expected) in [
            ("cluster-api/v1.14.0/metadata.yaml", "v1.14.0", "v1beta2"),
            ("cluster-api/v1.10.10/metadata.yaml", "v1.10.10", "v1beta1"),
            ("cluster-api/v1.14.0/metadata.yaml", "v1.10.3", "v1beta1"),
            ("infrastructure-aws/v2.8.4/metadata.yaml", "v2.8.4", "v1beta1"),
        ] {
            let (_, bytes) = files.iter().find(|(name, _)| name == path).unwrap();
            let text = std::str::from_utf8(bytes).unwrap();
            assert_eq!(contract(text, version).as_deref(), Ok(expected), "{path} {version}");
        }
    }
}
