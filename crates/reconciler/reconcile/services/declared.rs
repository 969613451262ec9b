//! What Git says of the services of a cluster, rendered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::Place;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_plan::settings::{Service, ServiceSource};

use super::folder::DEFAULT_NAMESPACE;
use crate::reconcile::blocking::where_blocking_is_allowed;
use capstan_fleet::generator::{ClusterServices, Fleet, Refused, render_service};

/// The services of a cluster.
pub(super) struct Declared {
    settings: ClusterServices,
    /// What the folders of those that are on render to, by the names of services.
    rendered: BTreeMap<String, Result<Vec<RenderedObject>, Refused>>,
    /// Which objects those are.
    ids: BTreeMap<String, BTreeSet<ObjectId>>,
    /// One that is on and cannot be rendered.
    unrendered: Option<String>,
}

impl Declared {
    /// Reads and renders them.
    pub(super) async fn read(fleet: &Arc<Fleet>, id: &ClusterId) -> Result<Self, Refused> {
        let (fleet, id) = (Arc::clone(fleet), id.clone());
        where_blocking_is_allowed(move || {
            let settings = ClusterServices::of(&fleet, &id)?;
            let (mut names, mut rendered) = (BTreeSet::new(), BTreeMap::new());
            for service in settings.services.iter().filter(|service| service.enabled) {
                let name = service.name.as_str();
                if !names.insert(name) {
                    // What is done for one would be undone for the other.
                    let message = format!("two services have the name `{name}`: rename one of them");
                    let place = settings.place(name, None);
                    rendered.insert(name.to_owned(), Err(Refused { message, place }));
                } else if let ServiceSource::Folder(folder) = &service.from {
                    let objects = render_service(&fleet, &id, folder).map(|rendered| rendered.objects);
                    rendered.insert(name.to_owned(), objects);
                }
            }
            let ids = |objects: &Result<Vec<RenderedObject>, Refused>| -> BTreeSet<ObjectId> {
                objects.iter().flatten().map(|object| object.id.clone()).collect()
            };
            let failed = rendered.iter().find(|(_, objects)| objects.is_err());
            let unrendered = failed.map(|(name, _)| name.clone());
            let ids = rendered.iter().map(|(name, objects)| (name.clone(), ids(objects))).collect();
            Ok(Self { settings, rendered, ids, unrendered })
        })
        .await
    }

    /// All of them, in the order of the settings.
    pub(super) fn services(&self) -> &[Service] {
        &self.settings.services
    }

    /// What a service's folder renders to.
    pub(super) fn take_rendered(&mut self, name: &str) -> Result<Vec<RenderedObject>, Refused> {
        let nothing =
            || Err(Refused { message: format!("service {name} has no folder to render"), place: None });
        self.rendered.remove(name).unwrap_or_else(nothing)
    }

    /// The service that is on and renders an object, other than that one. What a manifest that names no namespace is in is not
    /// known before the cluster is asked: in its own default one, or in none.
    pub(super) fn other_with(&self, id: &ObjectId, but: &str) -> Option<&str> {
        let is_default = id.namespace.as_deref().is_none_or(|namespace| namespace == DEFAULT_NAMESPACE);
        let unplaced = ObjectId { namespace: None, ..id.clone() };
        let has = |(name, ids): &(&String, &BTreeSet<ObjectId>)| {
            name.as_str() != but && (ids.contains(id) || is_default && ids.contains(&unplaced))
        };
        self.ids.iter().find(has).map(|(name, _)| name.as_str())
    }

    /// A service that is on and cannot be rendered: what others brought may be its own now.
    pub(super) fn unrendered(&self) -> Option<&str> {
        self.unrendered.as_deref()
    }

    /// Where `capstan.yaml` declares a service, or one of its checks.
    pub(super) fn place(&self, name: &str, check: Option<usize>) -> Option<Place> {
        self.settings.place(name, check)
    }
}
