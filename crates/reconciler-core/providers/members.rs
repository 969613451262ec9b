//! All providers of a management cluster, as a pass found them, and what is worth watching for them.

use std::collections::BTreeSet;

use capstan_model::object::ObjectId;
use capstan_providers::{GROUP, ProviderKind, VERSION};
use serde_json::Value;

use super::member::PassMember;
use capstan_ports::{ApiKind, Post};

/// All providers, in clusterctl's order of kinds and by name.
pub struct Members {
    /// Each of them.
    pub all: Vec<PassMember>,
    /// ConfigMaps with components, downloads among them: their metadata alone.
    pub config_maps: Vec<Value>,
    /// After how long components that are lacking are asked for again; `None` where none are.
    pub again: Option<std::time::Duration>,
}

impl Members {
    /// One of them.
    pub fn member(&self, id: &ObjectId) -> Option<&PassMember> {
        self.all.iter().find(|member| member.id == *id)
    }

    /// The same, to be changed.
    pub fn member_mut(&mut self, id: &ObjectId) -> Option<&mut PassMember> {
        self.all.iter_mut().find(|member| member.id == *id)
    }

    /// What is worth watching: provider objects, what they are rendered from, and what was applied.
    pub fn posts(&self) -> BTreeSet<Post> {
        let all = |kind: ApiKind, namespace: Option<&str>| Post {
            kind,
            namespace: namespace.map(str::to_owned),
            name: None,
            labels: None,
        };
        let mut posts: BTreeSet<Post> = ProviderKind::all().map(|kind| all(kind_of(kind), None)).collect();
        for member in &self.all {
            if member.object.is_some() {
                let namespace = Some(member.namespace.as_str());
                let named = |kind: &str, name: &String| Post {
                    name: Some(name.clone()),
                    ..all(core(kind), namespace)
                };
                // A ConfigMap that a selector will meet has no name yet.
                let labels = member.selector.clone().filter(|selector| !selector.is_empty());
                posts.insert(Post { labels, ..all(core("ConfigMap"), namespace) });
                posts.extend(member.manifests_map.iter().map(|name| named("ConfigMap", name)));
                posts.extend(member.secret.iter().map(|name| named("Secret", name)));
            }
            let applied = member.remembered.iter().flat_map(|one| one.record.inventory.objects());
            posts.extend(applied.map(|object| {
                let is_secret = object.group.is_empty() && object.kind == "Secret";
                let name = is_secret.then(|| object.name.clone());
                let kind = ApiKind::preferred(&object.group, &object.kind);
                Post { name, ..all(kind, object.namespace.as_deref()) }
            }));
        }
        posts
    }
}

/// A kind of the core group.
pub fn core(kind: &str) -> ApiKind {
    ApiKind::of_version("v1", kind)
}

/// The kind of provider objects.
pub fn kind_of(kind: ProviderKind) -> ApiKind {
    ApiKind { group: GROUP.to_owned(), version: Some(VERSION.to_owned()), kind: kind.name().to_owned() }
}
