//! What one machine template asks of a cloud for each machine.

use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::Value;

use super::version::Version;
use super::{identity, named};
use crate::cloud::machine::Machine;
use crate::cloud::named::CloudSelector;

/// Reads a template; nothing of one whose version is not known.
pub(super) fn of(template: &ObjectId, value: &Value) -> Option<Machine> {
    let Some(version) = Version::of(value) else { return Some(Machine::unread(template)) };
    let at = FieldPath::of_keys(["spec", "template", "spec"]);
    let spec = value.pointer("/spec/template/spec")?;
    let text = |key: &str| spec.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let by_param = |key: &str| Some((named::of(spec.get(key)?)?, at.key(key)));
    let flavor = match version {
        Version::Beta1 => text("flavorID")
            .map(|id| (CloudSelector::Id(id.to_owned()), at.key("flavorID")))
            .or_else(|| Some((CloudSelector::name(text("flavor")?), at.key("flavor")))),
        Version::Beta2 => by_param("flavor"),
    };
    // Up to v1alpha7 an image was a name.
    let image = by_param("image").or_else(|| Some((CloudSelector::name(text("image")?), at.key("image"))));
    let size = |value: &Value| ["sizeGiB", "diskSize"].iter().find_map(|key| value.get(key)?.as_u64());
    let root_volume = spec.get("rootVolume").and_then(size).filter(|size| *size > 0);
    let devices = spec.get("additionalBlockDevices").and_then(Value::as_array);
    let is_volume =
        |device: &&Value| device.pointer("/storage/type").and_then(Value::as_str) == Some("Volume");
    let devices = devices.into_iter().flatten().filter(is_volume).filter_map(size);
    let ports = spec.get("ports").and_then(Value::as_array).filter(|ports| !ports.is_empty());
    let on_network = |(index, port): (usize, &Value)| {
        let network = named::of(port.get("network")?)?;
        Some((network, at.key("ports").index(index).key("network")))
    };
    Some(Machine {
        template: template.clone(),
        is_read: true,
        identity: identity::of_reference(spec, template.namespace.as_deref()),
        machine_type: flavor,
        image,
        key_pair: text("sshKeyName").map(|name| (name.to_owned(), at.key("sshKeyName"))),
        placement_group: by_param("serverGroup"),
        networks: ports.into_iter().flatten().enumerate().filter_map(on_network).collect(),
        root_volume,
        volumes: root_volume.into_iter().chain(devices).collect(),
        // Without a list the provider makes one, on the cluster's network.
        ports: ports.map_or(1, |ports| ports.len() as u64),
    })
}
