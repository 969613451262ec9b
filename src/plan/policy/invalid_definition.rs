//! `invalid-definition`, found while definitions are read.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct InvalidDefinition;

static ABOUT: About = About {
    entry: rules::INVALID_DEFINITION,
    summary: "A CustomResourceDefinition in the repository cannot be used as it stands.",
    reason: "What it says of lists and fields is not known then: lists merge by the built-in table or by `name`, and \
             objects of its kind are not judged. Other definitions are not touched by that.",
    source: "https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/",
    bad: Example::Tree(&[("crds/racks.yaml", WITHOUT_KEYS)]),
    good: Example::Tree(&[("crds/racks.yaml", WITH_KEYS)]),
};

const WITHOUT_KEYS: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: racks.example.org}
spec:
  group: example.org
  names: {kind: Rack, plural: racks}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          slots:
            type: array
            x-kubernetes-list-type: map # <--
";
const WITH_KEYS: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: racks.example.org}
spec:
  group: example.org
  names: {kind: Rack, plural: racks}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          slots:
            type: array
            x-kubernetes-list-type: map
            x-kubernetes-list-map-keys: [row]
";

impl Rule for InvalidDefinition {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
