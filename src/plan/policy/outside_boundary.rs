//! `outside-boundary`: found in the files of every cluster that a management cluster claims.

use super::evidence::Survey;
use super::rule::{About, Example, Rule};
use crate::boundary::boundary_in_git;
use capstan_model::finding::{Finding, rules};

pub(super) struct OutsideBoundary;

static ABOUT: About = About {
    entry: rules::OUTSIDE_BOUNDARY,
    summary: "A claimed cluster's folder brings something that it may not bring to its management cluster.",
    reason: "Base and overlay of all customers end in one API server. The reconciler refuses a folder whole that \
             brings another namespace's objects, rights, webhooks or definitions, that lets another controller act \
             on the management cluster itself, or that reaches for the clusters, Secrets and credentials of another \
             folder in its namespace. Said before the merge, that is one line to mend; said after it, the cluster \
             stands still. Overlays may have a part in objects of Cluster API, ConfigMaps and Secrets, and in what \
             `clusters.overlayKinds` adds; `clusters.oneOwner` tells which folders may reach one another.",
    source: "https://fluxcd.io/flux/installation/configuration/multitenancy/",
    bad: Example::Tree(&[
        (".capstan.yaml", CLAIMED),
        ("peu01/base/cluster.yaml", CLUSTER),
        ("peu01/overlay/a.yaml", HERE),
    ]),
    good: Example::Tree(&[
        (".capstan.yaml", CLAIMED),
        ("peu01/base/cluster.yaml", CLUSTER),
        ("peu01/base/ingress.yaml", THERE),
        ("peu01/overlay/a.yaml", VALUES),
    ]),
};

const CLAIMED: &str = "\
managementClusters:
- {name: mc-eu, uid: 00000000-0000-4000-8000-000000000001, clusters: [peu01]}
";
const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: peu01, namespace: org}
";
const HERE: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2 # <--
kind: HelmRelease
metadata: {name: ingress}
spec:
  interval: 10m
  chartRef: {kind: OCIRepository, name: ingress}
";
const THERE: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: ingress}
spec:
  interval: 10m
  chartRef: {kind: OCIRepository, name: ingress}
  kubeConfig: {secretRef: {name: peu01-kubeconfig}}
";
const VALUES: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: ingress}
spec:
  values: {replicas: 2}
";

impl Rule for OutsideBoundary {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        let Some(around) = &cluster.boundary else { return };
        verdicts.extend(boundary_in_git(cluster.rendered, around).into_iter().map(|outside| {
            Finding::new(rules::OUTSIDE_BOUNDARY, outside.to_string())
                .object(&outside.object)
                .path(&outside.field)
                .place(outside.written)
        }));
    }
}
