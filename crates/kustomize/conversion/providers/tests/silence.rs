//! What an object leaves out, by the providers' own definitions: where a default changes, the old one is written out, and
//! what the newer version requires is written or named. Definitions are not at hand in the conversion: few repositories
//! have them.

use super::samples::MOVES;
use crate::conversion::{AtHand, apply, convert_or_all};
use crate::schema::Schemas;
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::YamlFile;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Defaults that change and are not written out: the beginning of the kind's name, the version, a part of the field's
/// path, and why.
const UNWRITTEN: &[(&str, &str, &str, &str)] = &[
    (
        "Metal3DataTemplate",
        "v1beta2",
        "fromPoolRef/apiGroup",
        "absent, it is the core group, which has no pools",
    ),
    ("Metal3DataTemplate", "v1beta2", "fromPoolRef/kind", "the older version requires it"),
    (
        "Metal3Remediation",
        "v1beta2",
        "strategy/retryLimit",
        "the newer version cannot say that there is no limit",
    ),
    ("HCloudRemediation", "v1beta2", "strategy/cooldown", "1800 seconds are 30 minutes"),
    ("HetznerBareMetalRemediation", "v1beta2", "strategy/cooldown", "1800 seconds are 30 minutes"),
    ("HetznerBareMetalHost", "v1beta2", "/spec/status/", "it is the host's state, which is refused"),
    ("ProxmoxCluster", "v1alpha2", "externalManagedControlPlane", "false is what its absence means"),
    ("ProxmoxCluster", "v1alpha2", "/cloneSpec/", "a person is asked what becomes of it"),
    ("ProxmoxMachine", "v1alpha2", "/model", "the newer version fills in the same for every device"),
    ("K0smotronControlPlane", "v1beta2", "/etcd", "the newer version fills in the same in `storage`"),
    (
        "AWSManagedControlPlane",
        "v1beta2",
        "/disableVPCCNI",
        "the newer version fills in the same in `vpcCni`",
    ),
    ("IBMPowerVS", "v1beta3", "/", "these kinds are refused field by field"),
];

/// Fields that become required, of which nothing is said by themselves.
const UNNAMED: &[(&str, &str, &str, &str)] = &[
    ("OpenStack", "v1beta1", "/identityRef/cloudName", "the reference as a whole is named"),
    ("OpenStackMachine", "v1beta1", "/rootVolume/sizeGiB", "the older version requires `diskSize`"),
    ("VSphereVM", "v1beta2", "/bootstrapRef/name", "a reference without a name is none"),
    ("VSphereMachine", "v1beta2", "/networkRef", "the older version requires `network`"),
    ("RKE2ControlPlane", "v1beta2", "/machineTemplate/spec", "what it has to hold is named"),
    ("HetznerBareMetalHost", "v1beta2", "/consumerRef/", "a reference to nothing is none"),
    ("JoinTokenRequest", "v1beta2", "/clusterName", "the older version requires `clusterRef`"),
    (
        "KThreesControlPlane",
        "v1beta2",
        "/machineTemplate/infrastructureRef",
        "the older version requires `infrastructureTemplate`",
    ),
    ("ProxmoxMachine", "v1alpha2", "/network", "a network that says nothing gets the first device"),
    ("IBMPowerVS", "v1beta3", "/", "these kinds are refused field by field"),
];

/// A kind in two versions, each as the schema of its `spec`.
struct Defined {
    api_versions: [String; 2],
    kind: String,
    older: Value,
    newer: Value,
}

fn defined(files: &[(String, Vec<u8>)]) -> Vec<Defined> {
    let mut found = Vec::new();
    for (folder, from, to) in MOVES {
        for (_, bytes) in
            files.iter().filter(|(name, _)| name.starts_with(*folder) && name.ends_with(".yaml"))
        {
            let Ok(file) = YamlFile::read_bytes(bytes) else { continue };
            for document in file.documents() {
                let definition = document.root.value();
                let spec = |version: &str| {
                    let versions = definition["spec"]["versions"].as_array()?;
                    let of = versions.iter().find(|one| one["name"] == *version)?;
                    Some(of["schema"]["openAPIV3Schema"]["properties"]["spec"].clone())
                };
                let (Some(older), Some(newer)) = (spec(from), spec(to)) else { continue };
                let group = definition["spec"]["group"].as_str().unwrap();
                let api_versions = [from, to].map(|version| format!("{group}/{version}"));
                let kind = definition["spec"]["names"]["kind"].as_str().unwrap().to_owned();
                found.push(Defined { api_versions, kind, older, newer });
            }
        }
    }
    found
}

/// A schema and those below it by their paths; of a list its first item, of a map an entry `x`.
fn by_path(schema: &Value) -> BTreeMap<FieldPath, &Value> {
    fn all<'s>(schema: &'s Value, path: FieldPath, found: &mut BTreeMap<FieldPath, &'s Value>) {
        found.insert(path.clone(), schema);
        for (name, below) in schema["properties"].as_object().into_iter().flatten() {
            all(below, path.key(name), found);
        }
        for (below, path) in
            [(&schema["items"], path.index(0)), (&schema["additionalProperties"], path.key("x"))]
        {
            if below.is_object() {
                all(below, path, found);
            }
        }
    }
    let mut found = BTreeMap::new();
    all(schema, FieldPath::root().key("spec"), &mut found);
    found
}

impl Defined {
    /// What becomes of an object with nothing but the mappings and lists around a field: the object after it and where
    /// the field is then, or the fields that are named.
    fn without(&self, field: &FieldPath, at_hand: AtHand) -> Result<(Value, FieldPath), BTreeSet<String>> {
        let around = field.steps().split_last().map_or(&[][..], |(_, around)| around);
        let mut object = around.iter().rev().fold(json!({}), |inner, step| match step {
            Step::Key(key) => json!({key.as_str(): inner}),
            Step::Index(_) | Step::New => json!([inner]),
        });
        object["apiVersion"] = json!(self.api_versions[0]);
        object["kind"] = json!(self.kind);
        object["metadata"] = json!({"name": "x", "namespace": "ns"});
        let was = super::read(&object.to_string());
        match convert_or_all(&was, &self.api_versions[1], at_hand, Schemas::built_in()) {
            Ok(conversion) => {
                let mut after = was.clone();
                apply(&mut after, &conversion);
                Ok((after.value(), conversion.after(field)))
            }
            Err((first, others)) => {
                Err([*first].iter().chain(&others).map(|why| why.field.to_string()).collect())
            }
        }
    }

    fn line_of(&self, path: &FieldPath) -> String {
        let version = self.api_versions[1].rsplit('/').next().unwrap();
        format!("{} {version} {path}", self.kind)
    }
}

/// Every field that was found has a line of the list, and every line of the list has such a field.
#[track_caller]
fn are_listed(found: &BTreeSet<String>, list: &[(&str, &str, &str, &str)]) {
    let is_of = |field: &str, (kind, version, part, why): &(&str, &str, &str, &str)| {
        let mut parts = field.split(' ');
        let [own, to, path] = [(); 3].map(|()| parts.next().unwrap());
        !why.is_empty() && own.starts_with(kind) && to == *version && path.contains(part)
    };
    let unlisted: Vec<&String> =
        found.iter().filter(|field| !list.iter().any(|line| is_of(field, line))).collect();
    let unused: Vec<_> = list.iter().filter(|line| !found.iter().any(|field| is_of(field, line))).collect();
    assert!(unlisted.is_empty() && unused.is_empty(), "not listed: {unlisted:#?}; not needed: {unused:#?}");
}

#[test]
fn the_older_versions_defaults_are_written_out_where_the_newer_one_has_others() {
    let Some(files) = capstan_test_support::shared_data::files("migrate") else { return };
    let mut found = BTreeSet::new();
    let mut written = 0;
    for defined in defined(&files) {
        let (older, newer) = (by_path(&defined.older), by_path(&defined.newer));
        for (path, was) in &older {
            let is_other = match newer.get(path) {
                Some(now) => was["default"] != now["default"],
                None => !was["default"].is_null(),
            };
            if !is_other {
                continue;
            }
            let is_said = defined.without(path, AtHand::Lacking).is_ok_and(|(after, place)| {
                let said = after.pointer(&place.to_string());
                let is_default = |value: &Value| *value == was["default"];
                match said {
                    Some(value) => was["default"].is_null() || is_default(value),
                    None => newer.get(&place).is_some_and(|now| is_default(&now["default"])),
                }
            });
            if is_said {
                written += 1;
            } else {
                found.insert(defined.line_of(path));
            }
        }
    }
    are_listed(&found, UNWRITTEN);
    assert!(written > 5, "{written}");
}

#[test]
fn what_the_newer_version_requires_is_written_or_named() {
    let Some(files) = capstan_test_support::shared_data::files("migrate") else { return };
    let mut found = BTreeSet::new();
    let mut named = 0;
    for defined in defined(&files) {
        let (older, newer) = (by_path(&defined.older), by_path(&defined.newer));
        for (above, now) in &newer {
            let Some(was) = older.get(above) else { continue };
            let requires = |schema: &Value, name: &Value| {
                schema["required"].as_array().is_some_and(|all| all.contains(name))
            };
            for name in now["required"].as_array().into_iter().flatten() {
                let path = above.key(name.as_str().unwrap());
                let is_filled_in = newer.get(&path).is_some_and(|field| !field["default"].is_null());
                if requires(was, name) || is_filled_in {
                    continue;
                }
                let is_named = match defined.without(&path, AtHand::Whole) {
                    // What holds nothing goes, and with it what it would have to hold.
                    Ok((after, _)) => match after.pointer(&above.to_string()) {
                        Some(around) => around.get(name.as_str().unwrap()).is_some(),
                        None => true,
                    },
                    Err(fields) => fields.contains(&path.to_string()),
                };
                if is_named {
                    named += 1;
                } else {
                    found.insert(defined.line_of(&path));
                }
            }
        }
    }
    are_listed(&found, UNNAMED);
    assert!(named > 10, "{named}");
}
