//! What one machine template asks of a cloud for each machine.

use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::Value;

use super::identity::Identity;
use super::named::Named;
use super::version::Version;

/// What a machine of one template is made from. Fields are those of `spec.template.spec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Machine {
    /// The template.
    pub(super) template: ObjectId,
    /// Whether its version is known; else all that follows is empty.
    pub(super) is_read: bool,
    /// Its own identity; that of its cluster where `None`.
    pub(super) identity: Option<Identity>,
    pub(super) flavor: Option<(Named, FieldPath)>,
    pub(super) image: Option<(Named, FieldPath)>,
    pub(super) key_pair: Option<(String, FieldPath)>,
    pub(super) server_group: Option<(Named, FieldPath)>,
    pub(super) networks: Vec<(Named, FieldPath)>,
    /// GiB of the volume that it boots from; `None` where it boots from the flavor's disk.
    pub(super) root_volume: Option<u64>,
    /// GiB of each volume, the root's included.
    pub(super) volumes: Vec<u64>,
    pub(super) ports: u64,
}

impl Machine {
    /// Reads a template; nothing of one whose version is not known.
    pub(super) fn of(template: &ObjectId, value: &Value) -> Option<Self> {
        let Some(version) = Version::of(value) else { return Some(Self::unread(template)) };
        let at = FieldPath::of_keys(["spec", "template", "spec"]);
        let spec = value.pointer("/spec/template/spec")?;
        let text = |key: &str| spec.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let by_param = |key: &str| Some((Named::of(spec.get(key)?)?, at.key(key)));
        let flavor = match version {
            Version::Beta1 => text("flavorID")
                .map(|id| (Named::Id(id.to_owned()), at.key("flavorID")))
                .or_else(|| Some((Named::name(text("flavor")?), at.key("flavor")))),
            Version::Beta2 => by_param("flavor"),
        };
        // Up to v1alpha7 an image was a name.
        let image = by_param("image").or_else(|| Some((Named::name(text("image")?), at.key("image"))));
        let size = |value: &Value| ["sizeGiB", "diskSize"].iter().find_map(|key| value.get(key)?.as_u64());
        let root_volume = spec.get("rootVolume").and_then(size).filter(|size| *size > 0);
        let devices = spec.get("additionalBlockDevices").and_then(Value::as_array);
        let is_volume =
            |device: &&Value| device.pointer("/storage/type").and_then(Value::as_str) == Some("Volume");
        let devices = devices.into_iter().flatten().filter(is_volume).filter_map(size);
        let ports = spec.get("ports").and_then(Value::as_array).filter(|ports| !ports.is_empty());
        let on_network = |(index, port): (usize, &Value)| {
            let network = Named::of(port.get("network")?)?;
            Some((network, at.key("ports").index(index).key("network")))
        };
        Some(Self {
            template: template.clone(),
            is_read: true,
            identity: Identity::of(spec, template.namespace.as_deref()),
            flavor,
            image,
            key_pair: text("sshKeyName").map(|name| (name.to_owned(), at.key("sshKeyName"))),
            server_group: by_param("serverGroup"),
            networks: ports.into_iter().flatten().enumerate().filter_map(on_network).collect(),
            root_volume,
            volumes: root_volume.into_iter().chain(devices).collect(),
            // Without a list the provider makes one, on the cluster's network.
            ports: ports.map_or(1, |ports| ports.len() as u64),
        })
    }

    fn unread(template: &ObjectId) -> Self {
        Self {
            template: template.clone(),
            is_read: false,
            identity: None,
            flavor: None,
            image: None,
            key_pair: None,
            server_group: None,
            networks: Vec::new(),
            root_volume: None,
            volumes: Vec::new(),
            ports: 0,
        }
    }

    /// What it is called in sentences: by its flavor.
    pub(super) fn flavor_shown(&self) -> String {
        match &self.flavor {
            Some((Named::Filter { name: Some(name), .. } | Named::Id(name), _)) => name.clone(),
            _ => "an unnamed flavor".to_owned(),
        }
    }
}
