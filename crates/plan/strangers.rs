//! Provider objects of the Cluster API operator in one folder with other objects of Cluster API.

use capstan_model::finding::Place;
use capstan_model::kinds::{is_cluster_api, is_of_operator};
use capstan_model::object::{ObjectId, api_group};
use capstan_model::target::TargetKind;
use capstan_model::tree::RepoPath;
use capstan_yaml::manifest::{identity, objects};
use capstan_yaml::{Node, YamlFile};

/// An object, and its place.
struct PlacedObject {
    what: String,
    place: Place,
}

/// The first object of each sort of Cluster API's among files: provider objects, and others.
#[derive(Default)]
struct First {
    provider: Option<PlacedObject>,
    other: Option<PlacedObject>,
}

/// Of files that hold provider objects and other objects of Cluster API, the first that does not belong there for a
/// folder of that kind, and the first that does.
pub(crate) fn first_stranger<'f>(
    kind: TargetKind,
    files: impl IntoIterator<Item = (&'f RepoPath, &'f YamlFile)>,
) -> Option<(Place, String)> {
    let mut first = First::default();
    for (path, file) in files {
        for document in file.documents() {
            for (_, object) in objects(&document.root) {
                first.look_at(path, file, object);
            }
        }
    }
    let (provider, other) = (first.provider?, first.other?);
    let (stranger, resident) = match kind {
        TargetKind::Cluster => (provider, other),
        TargetKind::Providers => (other, provider),
    };
    let message = format!(
        "{} is in one folder with {} ({}). Provider objects of a management cluster have releases of their own: keep them in a folder of their own",
        stranger.what, resident.what, resident.place
    );
    Some((stranger.place, message))
}

impl First {
    fn look_at(&mut self, path: &RepoPath, file: &YamlFile, object: &Node) {
        let group = object.text_at("apiVersion").map(api_group).unwrap_or_default();
        if !is_cluster_api(group) {
            return;
        }
        let first = if is_of_operator(group) { &mut self.provider } else { &mut self.other };
        first.get_or_insert_with(|| PlacedObject {
            what: match identity(object) {
                Some(ObjectId { kind, name, .. }) => format!("{kind} {name}"),
                None => format!("an object of {group}"),
            },
            place: Place::at(path.clone(), file.position(object.span.start)),
        });
    }
}
