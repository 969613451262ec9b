//! The field that a refusal names, in the object and in the files.

use super::super::ApiRefusal;
use super::status;
use capstan_kustomize::render::{Folders, RenderedObject, render};
use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

fn object(text: &str) -> RenderedObject {
    let path = |text: &str| RepoPath::parse(text).unwrap();
    let folders = Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") };
    let files = Files::new(&[("c/base/a.yaml", text)]);
    render(&files, &folders).unwrap().objects.remove(0)
}

#[test]
fn a_field_is_found_in_the_files() {
    let object = object(
        r#"apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: t1
  labels:
    app.kubernetes.io/name: t1
spec:
  topology:
    version: v1.36.0
    variables:
    - name: a
      value: 1
    - name: b
      value: 2
    workers:
      machineDeployments:
      - class: nope
        name: md-0
"#,
    );
    for (notation, path, line) in [
        ("spec.topology.version", "/spec/topology/version", 9),
        (
            "spec.topology.workers.machineDeployments[0].class",
            "/spec/topology/workers/machineDeployments/0/class",
            17,
        ),
        (r#".spec.topology.variables[name="b"].value"#, "/spec/topology/variables/1/value", 14),
        (".metadata.labels.app.kubernetes.io/name", "/metadata/labels/app.kubernetes.io~1name", 6),
        ("metadata.labels[app.kubernetes.io/name]", "/metadata/labels/app.kubernetes.io~1name", 6),
        // What is not there: the nearest that is.
        ("spec.topology.replicaz", "/spec/topology/replicaz", 9),
        (r#".spec.topology.variables[name="z"].value"#, "/spec/topology/variables", 11),
    ] {
        let cause = [("FieldValueForbidden", notation, "Forbidden: no")];
        let refusal = ApiRefusal::read(422, &status(422, "Invalid", "is invalid", &cause));
        let (field, written) = refusal.place(&object);
        assert_eq!(
            (field.to_string().as_str(), written.file().as_str(), written.line()),
            (path, "c/base/a.yaml", Some(line)),
            "{notation}"
        );
    }
}
