//! `unknown-field`

use super::fitting::{MisfitKind, defined_in};
use super::{About, Change, Example, Rule, Spot, Survey, Verdict};
use crate::finding::Severity;
use crate::object::Step;

pub(super) struct UnknownField;

static ABOUT: About = About {
    id: "unknown-field",
    severity: Severity::Error,
    change: Change::Free,
    summary: "An object has a field that its definition does not know.",
    reason: "The API server drops such a field without a word, so that what stands in Git never happens; a \
             server-side apply fails on it. It is misspelt, stands at the wrong depth, or belongs to another API \
             version. Only kinds whose CustomResourceDefinition stands in the repository (or in `.capstan/crds`) \
             are judged, and where several definitions differ, a field that one of them knows is right.",
    source: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning",
    bad: Example::Tree(&[("crds/clusters.yaml", DEFINITION), ("peu01/base/cluster.yaml", MISSPELT)]),
    good: Example::Tree(&[("crds/clusters.yaml", DEFINITION), ("peu01/base/cluster.yaml", RIGHT)]),
};

pub(super) const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: dockerclusters.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: DockerCluster, plural: dockerclusters}
  scope: Namespaced
  versions:
  - name: v1beta1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              subnets: {type: integer}
              loadBalancer:
                type: object
                properties:
                  imageTag: {type: string}
                  mode: {type: string, enum: [Managed, None]}
              region:
                type: string
                x-kubernetes-validations:
                - {rule: self == oldSelf, message: region is immutable}
";
const MISSPELT: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerCluster
metadata: {name: peu01, namespace: org}
spec:
  loadbalancer: # <--
    imageTag: v2.9
";
const RIGHT: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerCluster
metadata: {name: peu01, namespace: org}
spec:
  loadBalancer:
    imageTag: v2.9
";

impl Rule for UnknownField {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Verdict>) {
        for misfit in cluster.misfits() {
            let MisfitKind::UnknownField(meant) = &misfit.kind else { continue };
            let object = misfit.object;
            let meant = meant.as_ref().map(|path| format!(" Did you mean `{path}`?")).unwrap_or_default();
            let message = format!(
                "`{}` is no field of {} in {} ({}): the API server drops it or refuses the object.{meant}",
                misfit.path,
                object.id.kind,
                object.api_version,
                defined_in(misfit.origin),
            );
            let position = match misfit.path.steps().last() {
                Some(Step::Key(name)) => misfit.place.position_of_key(name),
                _ => misfit.place.position(),
            };
            let place = Spot { file: misfit.place.file().clone(), position: Some(position) };
            verdicts.push(Verdict::new(&ABOUT, message).object(&object.id).path(&misfit.path).place(place));
        }
    }
}
