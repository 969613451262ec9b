//! `release-record-differs`, found while a cluster is read.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct ReleaseRecordDiffers;

static ABOUT: About = About {
    entry: rules::RELEASE_RECORD_DIFFERS,
    summary: "A cluster's capstan.yaml and its own objects name different releases.",
    reason: "The objects count, since they are what is applied; the record is out of date and misleads.",
    source: "https://github.com/giantswarm/releases",
    bad: Example::Tree(&[
        ("peu01/capstan.yaml", "release: capa/v29.0.0\n"),
        ("peu01/base/values.yaml", VALUES),
    ]),
    good: Example::Tree(&[
        ("peu01/capstan.yaml", "release: capa/v29.1.0\n"),
        ("peu01/base/values.yaml", SAME),
    ]),
};

const VALUES: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: peu01-userconfig, namespace: org}
data:
  values: |
    global:
      release:
        version: 29.1.0 # <--
";
const SAME: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: peu01-userconfig, namespace: org}
data:
  values: |
    global:
      release:
        version: 29.1.0
";

impl Rule for ReleaseRecordDiffers {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
