use super::Case;

const PLANE: &str = "controlplane.cluster.x-k8s.io";

fn plane(kind: &'static str) -> Case {
    Case { kind, group: PLANE, versions: ("v1beta1", "v1beta2") }
}

fn config(from: &'static str) -> Case {
    Case { kind: "RKE2ConfigTemplate", group: "bootstrap.cluster.x-k8s.io", versions: (from, "v1beta2") }
}

#[test]
fn control_planes() {
    let reference = "{apiVersion: i.example.org/v1, kind: M, name: m, namespace: ns}";
    let after = "infrastructureRef: {apiGroup: i.example.org, kind: M, name: m}";
    let version = "version: v1.33.1+rke2r1";
    let is = |spec: &str| format!("{{{version}, machineTemplate: {{spec: {{{spec}}}}}}}");
    for (before, spec) in [
        (format!("machineTemplate: {{infrastructureRef: {reference}}}"), after.to_owned()),
        // The older version's defaulting copies what the control plane says itself.
        (format!("infrastructureRef: {reference}"), after.to_owned()),
        (
            format!("infrastructureRef: {reference}, machineTemplate: {{infrastructureRef: {reference}}}"),
            after.to_owned(),
        ),
        (
            format!("nodeDrainTimeout: 2m, machineTemplate: {{infrastructureRef: {reference}}}"),
            format!("{after}, deletion: {{nodeDrainTimeoutSeconds: 120}}"),
        ),
        (
            format!(
                "machineTemplate: {{infrastructureRef: {reference}, nodeDrainTimeout: 0s, nodeVolumeDetachTimeout: 1m, nodeDeletionTimeout: 1h}}"
            ),
            format!(
                "{after}, deletion: {{nodeDrainTimeoutSeconds: 0, nodeVolumeDetachTimeoutSeconds: 60, nodeDeletionTimeoutSeconds: 3600}}"
            ),
        ),
    ] {
        plane("RKE2ControlPlane").written("spec", &[(&format!("{{{version}, {before}}}"), &is(&spec))]);
    }
    let other = reference.replace("name: m,", "name: nn,");
    plane("RKE2ControlPlane").refused(
        "spec",
        &[
            (
                &format!("{{{version}, infrastructureRef: {reference}, machineTemplate: {{infrastructureRef: {other}}}}}"),
                "/spec/infrastructureRef",
            ),
            (
                &format!("{{{version}, nodeDrainTimeout: 2m, machineTemplate: {{infrastructureRef: {reference}, nodeDrainTimeout: 3m}}}}"),
                "/spec/nodeDrainTimeout",
            ),
            (&format!("{{{version}}}"), "/spec/machineTemplate/spec/infrastructureRef"),
        ],
    );
    plane("RKE2ControlPlane").asked(
        "spec",
        &[(&format!("{{machineTemplate: {{infrastructureRef: {reference}}}}}"), "/spec/version")],
    );
}

#[test]
fn templates_and_configs() {
    plane("RKE2ControlPlaneTemplate").said(
        "spec.template.spec",
        &[(
            "{replicas: 3, version: v1, infrastructureRef: {kind: M, name: m}, nodeDrainTimeout: 2m, gzipUserData: true}",
            "{gzipUserData: true}",
            &[
                "/spec/template/spec/replicas",
                "/spec/template/spec/version",
                "/spec/template/spec/infrastructureRef",
                "/spec/template/spec/nodeDrainTimeout",
            ],
        )],
    );
    config("v1beta1").written(
        "spec.template.spec",
        &[("{agentConfig: {airGapped: true}}", "{agentConfig: {airGapped: true}}")],
    );
}

/// v1alpha1, which is in public files still.
#[test]
fn what_is_gone_since_v0_22() {
    let case = Case { kind: "RKE2ControlPlane", group: PLANE, versions: ("v1alpha1", "v1beta2") };
    case.written(
        "spec",
        &[(
            "{agentConfig: {version: v1.28.9+rke2r1, format: ignition}, infrastructureRef: {apiVersion: i.example.org/v1, kind: M, name: m}, nodeDrainTimeout: 2m}",
            "{version: v1.28.9+rke2r1, agentConfig: {format: ignition}, machineTemplate: {spec: {infrastructureRef: {apiGroup: i.example.org, kind: M, name: m}, deletion: {nodeDrainTimeoutSeconds: 120}}}}",
        )],
    );
    config("v1alpha1").asked(
        "spec.template.spec",
        &[("{agentConfig: {version: v1.28.9+rke2r1}}", "/spec/template/spec/agentConfig/version")],
    );
}
