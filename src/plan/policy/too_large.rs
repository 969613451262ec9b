//! `too-large`, found by `validate` and whoever renders.

use super::rule::{About, Example, Rule};
use capstan_model::finding::rules;

pub(super) struct TooLarge;

static ABOUT: About = About {
    entry: rules::TOO_LARGE,
    summary: "A cluster's folder comes to more than is rendered.",
    reason: "A few lines can ask for gigabytes: operations that copy what they made, kustomizations that include \
             one another's twice, a file that is named often. What goes beyond 200 levels, a million values, \
             64 MiB of text, 10,000 objects, 1,000 kustomizations or a billion steps is not rendered, and no \
             rule can judge the cluster.",
    source: "https://datatracker.ietf.org/doc/html/rfc6902#section-5",
    bad: Example::Tree(&[
        ("peu01/base/pool.yaml", POOL),
        ("peu01/overlay/kustomization.yaml", PATCHES),
        ("peu01/overlay/copies.yaml", COPIES),
    ]),
    good: Example::Tree(&[
        ("peu01/base/pool.yaml", POOL),
        ("peu01/overlay/kustomization.yaml", PATCHES),
        ("peu01/overlay/copies.yaml", COPY),
    ]),
};

const POOL: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: peu01-mp-0, namespace: org, annotations: {}}
";
const PATCHES: &str = "\
patches:
- path: copies.yaml
  target: {kind: MachinePool}
";
const COPY: &str = "\
- {op: add, path: /metadata/annotations/a, value: b}
- {op: copy, from: /metadata/annotations/a, path: /metadata/annotations/c}
";
const COPIES: &str = "\
- {op: add, path: /metadata/annotations, value: {a: b}}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/1}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/2}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/3}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/4}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/5}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/6}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/7}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/8}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/9}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/10}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/11}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/12}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/13}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/14}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/15}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/16}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/17}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/18}
- {op: copy, from: /metadata/annotations, path: /metadata/annotations/19} # <--
";

impl Rule for TooLarge {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
