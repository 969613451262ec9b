//! Fields of Cluster API's own kinds in an object of the other API version: v1beta1's in v1beta2, and the other way
//! round.

use capstan_kustomize::conversion::convert;
use capstan_kustomize::render::{PlacedValue, RenderedObject};
use capstan_kustomize::schema::{Schema, Schemas};
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::Node;

/// The API version that has a field which the object's own lacks.
#[derive(Debug)]
pub(super) struct OtherVersion {
    /// `v1beta1`
    pub(super) name: &'static str,
    /// The field of that meaning in the object's own version, where it is known.
    pub(super) here: Option<FieldPath>,
}

/// The other API version, where it has a field at that place.
pub(super) fn other_version(
    object: &RenderedObject,
    path: &FieldPath,
    value: &PlacedValue,
) -> Option<OtherVersion> {
    let (group, version) = object.api_version.split_once('/')?;
    let name = match version {
        "v1beta1" => "v1beta2",
        "v1beta2" => "v1beta1",
        _ => return None,
    };
    let other = format!("{group}/{name}");
    let (root, _) = Schemas::built_in().judges(&object.id.kind, &other).next()?;
    path.steps().iter().try_fold(root, |schema: &Schema, step| match step {
        Step::Key(key) => schema.field(key),
        Step::Index(_) | Step::New => schema.item(),
    })?;
    Some(OtherVersion { name, here: moved(object, &other, path, value) })
}

/// Where the conversion from the other version puts the field: it is asked of an object that has this field
/// alone.
fn moved(object: &RenderedObject, other: &str, path: &FieldPath, value: &PlacedValue) -> Option<FieldPath> {
    let (Step::Key(root), below) = path.steps().split_first()? else { return None };
    let inner = below.iter().rev().fold(Node::from_value(&value.to_value()), |node, step| match step {
        Step::Key(key) => Node::mapping([(key.as_str(), node)]),
        Step::Index(_) | Step::New => Node::sequence([node]),
    });
    let text = |text: &str| Node::string(text);
    let alone =
        Node::mapping([("apiVersion", text(other)), ("kind", text(&object.id.kind)), (root.as_str(), inner)]);
    let conversion = convert(&alone, &object.api_version, Schemas::built_in()).ok()?;
    let first = |step: &Step| if let Step::Key(_) = step { step.clone() } else { Step::Index(0) };
    let from: FieldPath = path.steps().iter().map(first).collect();
    let to = conversion.after(&from);
    // No step of a conversion moves a field out of the list items that contain it.
    let mut items = path.steps().iter().filter(|step| !matches!(step, Step::Key(_)));
    let own = |step: &Step| match step {
        Step::Key(_) => Some(step.clone()),
        Step::Index(_) | Step::New => items.next().cloned(),
    };
    (to != from).then(|| to.steps().iter().filter_map(own).collect())
}
