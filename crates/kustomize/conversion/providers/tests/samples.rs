//! The providers' own manifests, with the definitions of both versions: what is written is valid by the newer one, and
//! every value of the older object is in the newer one, taken out by a rule, or named.

use crate::conversion::{AtHand, ConversionStep, apply, convert_or_all};
use crate::schema::{SchemaFile, Schemas};
use capstan_model::object::{FieldPath, api_group};
use capstan_model::tree::RepoPath;
use capstan_yaml::{Node, NodeKind, YamlFile};

/// Folders of definitions, and the version to which their kinds go.
pub(super) const MOVES: &[(&str, &str, &str)] = &[
    ("openstack/crd-v0.10.0", "v1alpha6", "v1beta1"),
    ("openstack/crd-v0.10.0", "v1alpha7", "v1beta1"),
    ("openstack/crd-main", "v1beta1", "v1beta2"),
    ("metal3/crd-main", "v1beta1", "v1beta2"),
    ("vsphere/crd-main", "v1beta1", "v1beta2"),
    ("rke2/crd-main", "v1beta1", "v1beta2"),
    ("hetzner/crd-main", "v1beta1", "v1beta2"),
    ("proxmox/crd-v0.9.0", "v1alpha1", "v1alpha2"),
    ("k0smotron/crd-main", "v1beta1", "v1beta2"),
    ("k3s/crd-main", "v1beta1", "v1beta2"),
    ("ipam-in-cluster/crd-v1.0.3", "v1alpha1", "v1alpha2"),
    ("oci/crd-v0.24.0", "v1beta1", "v1beta2"),
    ("scaleway/v0.2.2", "v1alpha1", "v1alpha2"),
    ("cloudstack/crd-v0.6.1", "v1beta1", "v1beta2"),
    ("cloudstack/crd-v0.6.1", "v1beta2", "v1beta3"),
    ("aws/crd-v2.11.1", "v1beta1", "v1beta2"),
    ("ibmcloud/crd-main", "v1beta1", "v1beta2"),
    ("ibmcloud/crd-main", "v1beta2", "v1beta3"),
    ("harvester/v0.10.1", "v1alpha1", "v1beta1"),
    ("azure-aso/crd-v1.26.0", "v1alpha1", "v1beta1"),
];

#[test]
fn every_value_of_the_providers_manifests_is_accounted_for() {
    let Some(files) = capstan_test_support::shared_data::files("migrate") else { return };
    let is_yaml = |name: &str| name.ends_with(".yaml");
    let mut counts = (0, 0);
    for (folder, from, to) in MOVES {
        let provider = folder.split('/').next().unwrap();
        let definitions = files.iter().filter(|(name, _)| name.starts_with(*folder) && is_yaml(name));
        let schemas = Schemas::read(definitions.map(|(name, bytes)| SchemaFile {
            path: RepoPath::parse(name).unwrap(),
            bytes: Ok(bytes.clone().into()),
        }));
        let own = files.iter().filter(|(name, _)| {
            name.split('/').next() == Some(provider) && is_yaml(name) && !name.contains("/crd-")
        });
        for (name, bytes) in own {
            let Ok(file) = YamlFile::read_bytes(bytes) else { continue };
            for document in file.documents() {
                let object = &document.root;
                let text = |key: &str| object.text_at(key).unwrap_or_default();
                let (api_version, kind) = (text("apiVersion"), text("kind"));
                let target = format!("{}/{to}", api_group(api_version));
                let is_defined = schemas.definitions(kind, &target).next().is_some();
                if !api_version.ends_with(&format!("/{from}")) || !is_defined {
                    continue;
                }
                // Patches of kustomize say a part.
                let at_hand = if object.get("spec").is_some() && name.contains("template") {
                    AtHand::Whole
                } else {
                    AtHand::Part
                };
                match convert_or_all(object, &target, at_hand, &schemas) {
                    Ok(conversion) => {
                        counts.0 += 1;
                        let mut after = object.clone();
                        apply(&mut after, &conversion);
                        let removed: Vec<&FieldPath> = conversion
                            .steps
                            .iter()
                            .filter_map(|step| match step {
                                ConversionStep::Remove { at } | ConversionStep::Replace { at, .. } => {
                                    Some(at)
                                }
                                _ => None,
                            })
                            .collect();
                        leaves(&FieldPath::root(), object, &mut |path, value| {
                            let to = conversion.after(path);
                            let is_there = after.at(&to).is_some_and(|node| node.value() == value.value());
                            let is_said = removed.iter().any(|at| path.starts_with(at) || to.starts_with(at))
                                || conversion.steps.iter().any(|step| {
                                    matches!(step, ConversionStep::Replace { at, .. } if conversion.before(at).starts_with(path) || path.starts_with(&conversion.before(at)))
                                });
                            assert!(is_there || is_said, "{name}: {path} of {kind} is lost");
                        });
                    }
                    Err((first, others)) => {
                        counts.1 += 1;
                        for why in [*first].iter().chain(&others) {
                            assert!(!why.field.is_root() && !why.why.is_empty(), "{name}: {why}");
                        }
                    }
                }
            }
        }
    }
    eprintln!("{} objects converted, {} refused by name", counts.0, counts.1);
    assert!(counts.0 > counts.1, "{counts:?}");
}

fn leaves(path: &FieldPath, node: &Node, see: &mut dyn FnMut(&FieldPath, &Node)) {
    match &node.kind {
        NodeKind::Mapping(entries) if !entries.is_empty() => {
            entries.iter().for_each(|entry| leaves(&path.key(&entry.key), &entry.value, see));
        }
        NodeKind::Sequence(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(at, item)| leaves(&path.index(at), item, see));
        }
        _ => see(path, node),
    }
}
