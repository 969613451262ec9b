//! `chart-stays`, found while an upgrade is planned.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct ChartStays;

static ABOUT: About = About {
    entry: rules::CHART_STAYS,
    summary: "An App or HelmRelease pins its cluster chart at a version of its own, which stays while the release moves.",
    reason: "A release is tested with one version of the cluster chart. Values of the new release in templates of another \
             chart are a combination that nobody has tried: fields may be missing, or machines replaced for nothing.",
    source: "https://github.com/giantswarm/releases",
    bad: Example::Upgrade(&[
        ("dev01/capstan.yaml", "release: capa/v33.0.0\n"),
        ("dev01/base/app.yaml", OWN),
        ("dev01/base/values.yaml", VALUES),
        ("capa/v33.0.0/release.yaml", OLD),
        ("capa/v33.1.0/release.yaml", NEW),
    ]),
    good: Example::Upgrade(&[
        ("dev01/capstan.yaml", "release: capa/v33.0.0\n"),
        ("dev01/base/app.yaml", RELEASES),
        ("dev01/base/values.yaml", VALUES),
        ("capa/v33.0.0/release.yaml", OLD),
        ("capa/v33.1.0/release.yaml", NEW),
    ]),
};

const OWN: &str = "\
apiVersion: application.giantswarm.io/v1alpha1
kind: App
metadata: {name: dev01, namespace: org}
spec:
  name: cluster-aws
  version: 5.0.9 # <--
  userConfig: {configMap: {name: dev01-values, namespace: org}}
";
const RELEASES: &str = "\
apiVersion: application.giantswarm.io/v1alpha1
kind: App
metadata: {name: dev01, namespace: org}
spec:
  name: cluster-aws
  version: 5.0.0
  userConfig: {configMap: {name: dev01-values, namespace: org}}
";
const VALUES: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: dev01-values, namespace: org}
data:
  values: |
    global: {release: {version: 33.0.0}}
";
const OLD: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-33.0.0}
spec:
  components: [{name: cluster-aws, version: 5.0.0}, {name: kubernetes, version: 1.33.1}]
  date: \"2026-01-01T00:00:00Z\"
  state: active
";
const NEW: &str = "\
apiVersion: release.giantswarm.io/v1alpha1
kind: Release
metadata: {name: aws-33.1.0}
spec:
  components: [{name: cluster-aws, version: 5.1.0}, {name: kubernetes, version: 1.33.2}]
  date: \"2026-02-01T00:00:00Z\"
  state: active
";

impl Rule for ChartStays {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
