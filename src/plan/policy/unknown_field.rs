//! `unknown-field`

use super::cluster_api::CoreVersion;
use super::evidence::Survey;
use super::fitting::{Misfit, MisfitKind, Stray, defined_in};
use super::rule::{About, Example, Rule};
use capstan_kustomize::schema::{CLUSTER_API_MINOR, Origin};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::object::{FieldPath, Step};

pub(super) struct UnknownField;

static ABOUT: About = About {
    entry: rules::UNKNOWN_FIELD,
    summary: "An object has a field that its definition does not know.",
    reason: "The API server drops such a field without a word, so that what stands in Git never happens; a \
             server-side apply fails on it. It is misspelt, stands at the wrong depth, or belongs to another API \
             version. Judged are kinds whose CustomResourceDefinition stands in the repository (or in \
             `.capstan/crds`); where several definitions differ, a field that one of them knows is right. Cluster \
             API's own kinds, and those of kubeadm's bootstrap and control plane, need none in v1beta1 and v1beta2. \
             There a field that a newer Cluster API may have is a warning, until a definition settles it.",
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

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        for misfit in cluster.misfits() {
            let MisfitKind::UnknownField(stray) = &misfit.kind else { continue };
            let sure = sureness(misfit, stray, cluster.cluster_api.as_ref());
            if sure == Sure::No {
                continue;
            }
            let object = misfit.object;
            let message = format!(
                "`{}` is no field of {} in {} ({}): the API server drops it or refuses the object.{}",
                misfit.path,
                object.id.kind,
                object.api_version,
                known_to(misfit.origin),
                advice(stray, sure),
            );
            let position = match misfit.path.steps().last() {
                Some(Step::Key(name)) => misfit.place.position_of_key(name),
                _ => misfit.place.position(),
            };
            let place = Place::at(misfit.place.file().clone(), position);
            let verdict = Finding::new(rules::UNKNOWN_FIELD, message)
                .object(&object.id)
                .path(&misfit.path)
                .place(place);
            verdicts.push(if sure == Sure::Yes { verdict } else { verdict.warning() });
        }
    }
}

/// Whether no Cluster API has the field: of those newer than the built-in definition nobody here knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sure {
    Yes,
    /// A newer one may have it, and nothing says which one is installed.
    Perhaps,
    /// A newer one is installed, and nothing says what else the field may be.
    No,
}

fn sureness(misfit: &Misfit<'_>, stray: &Stray, installed: Option<&CoreVersion>) -> Sure {
    let lower = |path: &FieldPath| path.to_string().to_lowercase();
    let only_case = stray.meant.as_ref().is_some_and(|meant| lower(meant) == lower(&misfit.path));
    if *misfit.origin != Origin::BuiltIn || stray.other.is_some() || only_case {
        return Sure::Yes;
    }
    match installed.map(|core| (core.major(), core.minor()) <= (1, CLUSTER_API_MINOR)) {
        Some(true) => Sure::Yes,
        Some(false) if stray.meant.is_none() => Sure::No,
        _ => Sure::Perhaps,
    }
}

fn known_to(origin: &Origin) -> String {
    match origin {
        Origin::BuiltIn => format!("Cluster API up to 1.{CLUSTER_API_MINOR} knows none"),
        other => defined_in(other),
    }
}

/// What it may be, and what to do.
fn advice(stray: &Stray, sure: Sure) -> String {
    let other = stray.other.as_ref().map(|other| match &other.here {
        Some(here) => format!(" {} has it; here it is `{here}`.", other.name),
        None => format!(" {} has it.", other.name),
    });
    let is_elsewhere = stray.other.as_ref().is_some_and(|other| other.here.is_some());
    let meant = stray.meant.as_ref().filter(|_| !is_elsewhere);
    let meant = meant.map(|path| format!(" Did you mean `{path}`?"));
    let newer = (sure == Sure::Perhaps).then(|| {
        " If your Cluster API is newer and has it, put its CustomResourceDefinition into .capstan/crds."
            .to_owned()
    });
    [other, meant, newer].into_iter().flatten().collect()
}
