//! Provider objects of the Cluster API operator: v1alpha1, which its API had until v0.20.0, to v1alpha2.
//!
//! The steps are those of the operator's own conversion
//! (<https://github.com/kubernetes-sigs/cluster-api-operator/blob/v0.19.0/api/v1alpha1/conversion.go>): `secretName` and
//! `secretNamespace` are `configSecret`, a container's `image` is one text, `imageUrl`. Files that say v1alpha1 and use
//! fields of v1alpha2 are converted too, unless they say the same in both ways.

use super::refusal::{ConversionRefusal, Refusals};
use super::step::ConversionStep::{self, Move, Replace};
use capstan_model::object::FieldPath;
use capstan_yaml::Node;

/// What the operator's conversion kept of the newer version, as JSON.
const CONVERSION_DATA: &str = "cluster.x-k8s.io/conversion-data";

/// The place in v1alpha2 of a field of v1alpha1.
const MOVED: [(&str, &str); 2] = [
    ("/spec/secretName", "/spec/configSecret/name"),
    ("/spec/secretNamespace", "/spec/configSecret/namespace"),
];

/// The steps from one version to another, but for `apiVersion`.
pub(super) fn steps(object: &Node, from: &str, to: &str) -> Result<Vec<ConversionStep>, Refusals> {
    match (from, to) {
        ("v1alpha1", "v1alpha2") => {}
        ("v1alpha2", "v1alpha1") => {
            return Err(ConversionRefusal::whole(
                "the operator's API has only v1alpha2 since v0.20.0",
                "write v1alpha2 in the release",
            )
            .into());
        }
        _ => {
            return Err(ConversionRefusal::whole(
                "no conversion between these versions is known",
                "convert the object to that version by hand",
            )
            .into());
        }
    }
    let mut refused = Vec::new();
    let kept = path("/metadata/annotations").key(CONVERSION_DATA);
    if let Some(node) = object.at(&kept) {
        refused.push(*ConversionRefusal::new(
            kept,
            node,
            "this annotation holds fields that only the newer version has",
            "write them into `spec` and remove the annotation",
        ));
    }
    let mut steps = Vec::new();
    for (old, new) in MOVED {
        let (old, new) = (path(old), path(new));
        match (object.at(&old), object.at(&new)) {
            (Some(node), Some(_)) => refused.push(said_twice(old, node, "configSecret")),
            (Some(_), None) => steps.push(Move { from: old, to: new }),
            (None, _) => {}
        }
    }
    let containers = path("/spec/deployment/containers");
    let items = object.at(&containers).and_then(Node::as_sequence).unwrap_or_default();
    for (at, container) in items.iter().enumerate() {
        let Some(image) = container.get("image") else { continue };
        let at = containers.index(at);
        let old = at.key("image");
        if container.get("imageUrl").is_some() {
            refused.push(said_twice(old, image, "imageUrl"));
            continue;
        }
        steps.push(Replace { at: old.clone(), value: Node::string(image_url(image)) });
        steps.push(Move { from: old, to: at.key("imageUrl") });
    }
    Refusals::none(refused)?;
    Ok(steps)
}

/// `repository/name:tag`, without the parts that are absent.
fn image_url(image: &Node) -> String {
    let part = |key: &str| {
        image.get(key).and_then(Node::as_scalar).map(|scalar| scalar.text.as_str()).unwrap_or_default()
    };
    let named = [part("repository").trim_end_matches('/'), part("name")];
    let url = named.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    match part("tag") {
        "" => url,
        tag => format!("{url}:{tag}"),
    }
}

fn said_twice(field: FieldPath, node: &Node, newer: &str) -> ConversionRefusal {
    *ConversionRefusal::new(field, node, format!("it says the same as `{newer}`"), format!("keep `{newer}`"))
}

fn path(text: &str) -> FieldPath {
    FieldPath::parse(text).unwrap_or_default()
}
