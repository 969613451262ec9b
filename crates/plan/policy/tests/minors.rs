//! What a minor of Kubernetes no longer starts with.

use super::validating::{CLUSTER, validated};
use super::{AppliedBy, Occasion, judged};
use crate::policy::minors::{ETCD_MINORS, KubernetesProcess, MINORS};

/// Where the rule speaks, in a control plane of that minor with this `kubeadmConfigSpec`.
fn found(minor: u64, config: &str) -> Vec<String> {
    found_in(&control_plane(&format!("v1.{minor}.0"), config))
}

fn found_in(text: &str) -> Vec<String> {
    let all = validated("", &[("gauss/peu01/base/c.yaml", CLUSTER), ("gauss/peu01/base/k.yaml", text)], None);
    let of_rule = all
        .iter()
        .filter_map(|line| line.strip_prefix("kubernetes-minor-breaks Error gauss/peu01/base/k.yaml:"));
    of_rule.map(str::to_owned).collect()
}

fn control_plane(version: &str, config: &str) -> String {
    format!(
        "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {{name: a, namespace: org}}
spec:
  version: {version}
  kubeadmConfigSpec: {config}
"
    )
}

/// An argument, where each process has it; with which etcd, is kubeadm's choice.
fn argument(process: KubernetesProcess, name: &str, value: &str) -> String {
    let part = match process {
        KubernetesProcess::ApiServer => "apiServer",
        KubernetesProcess::ControllerManager => "controllerManager",
        KubernetesProcess::Scheduler => "scheduler",
        KubernetesProcess::Kubelet => {
            return format!(
                "{{joinConfiguration: {{nodeRegistration: {{kubeletExtraArgs: {{{name}: \"{value}\"}}}}}}}}"
            );
        }
    };
    format!("{{clusterConfiguration: {{{part}: {{extraArgs: {{{name}: \"{value}\"}}}}}}}}")
}

/// Silent at the minor before it, an error from it on: of each thing in the data.
#[test]
fn each_row_counts_from_its_minor_on() {
    for row in MINORS {
        assert!(row.source.ends_with(&format!("CHANGELOG-1.{}.md", row.minor)), "{}", row.source);
        let mut configs = Vec::new();
        for (process, flags) in row.flags {
            configs.extend(flags.iter().map(|flag| argument(*process, flag, "a")));
        }
        configs.extend(row.only.iter().map(|(process, flag, _)| argument(*process, flag, "other")));
        configs.extend(
            row.plugins
                .iter()
                .map(|plugin| argument(KubernetesProcess::ApiServer, "enable-admission-plugins", plugin)),
        );
        let gate = |gate: &str, value: &str| {
            argument(KubernetesProcess::Kubelet, "feature-gates", &format!("{gate}={value}"))
        };
        configs.extend(row.locked_on.iter().map(|name| gate(name, "false")));
        configs.extend(row.locked_off.iter().map(|name| gate(name, "true")));
        configs.extend(
            row.kubeadm_gates
                .iter()
                .map(|name| format!("{{clusterConfiguration: {{featureGates: {{{name}: true}}}}}}")),
        );
        if row.refuses_cgroup_v1 {
            configs.push(
                "{preKubeadmCommands: [\"grubby --args systemd.unified_cgroup_hierarchy=0\"]}".to_owned(),
            );
        }
        // One that was locked before it went is an error before, too, with the value that it was not locked to.
        let was_locked = |name: &&&str| MINORS.iter().any(|row| row.locked_on.contains(*name));
        configs.extend(
            row.gates.iter().map(|name| gate(name, if was_locked(&name) { "true" } else { "false" })),
        );
        for config in configs {
            assert_eq!(found(row.minor - 1, &config), [""; 0], "1.{} {config}", row.minor - 1);
            assert_eq!(found(row.minor, &config).len(), 1, "1.{} {config}", row.minor);
            assert_eq!(found(37, &config).len(), 1, "1.37 {config}");
        }
    }
    for row in ETCD_MINORS {
        let [_, minor] = row.minor;
        for flag in row.flags {
            let config = |version: &str| {
                format!(
                    "{{clusterConfiguration: {{etcd: {{local: {{imageTag: {version}, extraArgs: {{{}: a}}}}}}}}}}",
                    flag.replace('*', "a")
                )
            };
            // All of 3.7 that begins with `experimental` was there before.
            let before = format!("3.{}.26-0", minor - 1);
            assert_eq!(found(33, &config(&before)), [""; 0], "{before} {flag}");
            assert_eq!(found(33, &config(&format!("3.{minor}.0-0"))).len(), 1, "{flag}");
        }
    }
}

#[test]
fn arguments_and_gates_are_found_where_they_are_written() {
    for (minor, config, expected) in [
        (
            34,
            "{joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {pod-infra-container-image: a}}}}",
            None,
        ),
        (
            35,
            "{joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {pod-infra-container-image: a}}}}",
            Some(
                "/spec/kubeadmConfigSpec/joinConfiguration/nodeRegistration/kubeletExtraArgs/pod-infra-container-image",
            ),
        ),
        // The list of newer APIs.
        (
            35,
            "{initConfiguration: {nodeRegistration: {kubeletExtraArgs: [{name: v, value: \"2\"}, {name: pod-infra-container-image, value: a}]}}}",
            Some("/spec/kubeadmConfigSpec/initConfiguration/nodeRegistration/kubeletExtraArgs/1"),
        ),
        (
            35,
            "{clusterConfiguration: {apiServer: {extraArgs: {feature-gates: \"SidecarContainers=true,SizeMemoryBackedVolumes=false\"}}}}",
            Some("/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/feature-gates"),
        ),
        (
            35,
            "{clusterConfiguration: {scheduler: {extraArgs: {feature-gates: \"InPlacePodVerticalScaling=false\"}}}}",
            Some("/spec/kubeadmConfigSpec/clusterConfiguration/scheduler/extraArgs/feature-gates"),
        ),
        (
            35,
            "{clusterConfiguration: {scheduler: {extraArgs: {feature-gates: \"InPlacePodVerticalScaling=true\"}}}}",
            None,
        ),
        // Of one process what another one still has.
        (33, "{clusterConfiguration: {controllerManager: {extraArgs: {cloud-provider: external}}}}", None),
        (33, "{joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {cloud-provider: external}}}}", None),
        (
            32,
            "{clusterConfiguration: {controllerManager: {extraArgs: {cloud-provider: aws}}}}",
            Some("/spec/kubeadmConfigSpec/clusterConfiguration/controllerManager/extraArgs/cloud-provider"),
        ),
        // kubeadm's own etcd is 3.6 in 1.36 and 3.7 in 1.37.
        (
            36,
            "{clusterConfiguration: {etcd: {local: {extraArgs: {experimental-initial-corrupt-check: \"true\"}}}}}",
            None,
        ),
        (
            37,
            "{clusterConfiguration: {etcd: {local: {extraArgs: {experimental-initial-corrupt-check: \"true\"}}}}}",
            Some(
                "/spec/kubeadmConfigSpec/clusterConfiguration/etcd/local/extraArgs/experimental-initial-corrupt-check",
            ),
        ),
        (
            37,
            "{clusterConfiguration: {etcd: {local: {imageTag: 3.6.8-0, extraArgs: {experimental-initial-corrupt-check: \"true\"}}}}}",
            None,
        ),
        // In another format it is read, and at the line of the gate.
        (
            35,
            "{files: [{path: /a, content: \"apiVersion: kubelet.config.k8s.io/v1beta1\\nkind: KubeletConfiguration\\nfeatureGates: {SizeMemoryBackedVolumes: true}\\n\"}]}",
            Some("/spec/kubeadmConfigSpec/files/0/content"),
        ),
        (
            34,
            "{files: [{path: /a, content: \"apiVersion: kubelet.config.k8s.io/v1beta1\\nkind: KubeletConfiguration\\nfeatureGates: {SizeMemoryBackedVolumes: true}\\n\"}]}",
            None,
        ),
        (
            35,
            "{files: [{path: /a, content: \"GRUB_CMDLINE_LINUX=systemd.unified_cgroup_hierarchy=0\"}]}",
            Some("/spec/kubeadmConfigSpec/files/0/content"),
        ),
        // Somebody who takes cgroup v1 on, in the kubelet and in kubeadm.
        (
            35,
            "{joinConfiguration: {nodeRegistration: {ignorePreflightErrors: [SystemVerification]}}, preKubeadmCommands: [\"grubby --args systemd.unified_cgroup_hierarchy=0\"], files: [{path: /a, content: \"kind: KubeletConfiguration\\nfailCgroupV1: false\\n\"}]}",
            None,
        ),
    ] {
        let all = found(minor, config);
        let paths: Vec<&str> = all.iter().filter_map(|line| line.rsplit(' ').next()).collect();
        assert_eq!(paths, expected.into_iter().collect::<Vec<_>>(), "1.{minor} {config}");
    }
}

/// Of workers that name it, else of the topology.
#[test]
fn a_template_is_judged_by_the_version_of_its_machines() {
    let template = |kind: &str, keys: &str| {
        format!(
            "---\napiVersion: a/v1\nkind: {kind}\nmetadata: {{name: w, namespace: org}}\nspec: {{template: {{spec: {keys}}}}}\n"
        )
    };
    let arguments = "{joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {runonce: \"true\"}}}}";
    let of_workers = template("KubeadmConfigTemplate", arguments);
    let workers = |version: &str| {
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {{name: w, namespace: org}}\nspec: {{template: {{spec: {{version: {version}, bootstrap: {{configRef: {{apiVersion: a/v1, kind: KubeadmConfigTemplate, name: w}}}}}}}}}}\n"
        )
    };
    let topology = |version: &str| {
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: t, namespace: org}}\nspec: {{topology: {{class: c, version: {version}}}}}\n"
        )
    };
    assert_eq!(found_in(&format!("{}{of_workers}", workers("v1.31.0"))).len(), 0);
    assert_eq!(found_in(&format!("{}{of_workers}", workers("v1.32.0"))).len(), 1);
    let newer_plane = format!("---\n{}", control_plane("v1.32.0", "{}"));
    assert_eq!(found_in(&format!("{}{of_workers}{newer_plane}", workers("v1.31.0"))).len(), 0);
    let of_class = template("KubeadmControlPlaneTemplate", &format!("{{kubeadmConfigSpec: {arguments}}}"));
    assert_eq!(found_in(&format!("{}{of_class}", topology("v1.31.0"))).len(), 0);
    assert_eq!(found_in(&format!("{}{of_class}", topology("v1.32.0"))).len(), 1);
    assert_eq!(found_in(&of_workers.replacen("---\n", "", 1)).len(), 0, "of no known version");
}

#[test]
fn etcd_goes_to_3_6_from_a_release_that_may_and_core_dns_never_back() {
    let etcd = |tag: &str| format!("{{clusterConfiguration: {{etcd: {{local: {{imageTag: {tag}}}}}}}}}");
    let dns = |tag: &str| format!("{{clusterConfiguration: {{dns: {{imageTag: {tag}}}}}}}");
    let of_etcd = "/spec/kubeadmConfigSpec/clusterConfiguration/etcd/local/imageTag";
    let of_dns = "/spec/kubeadmConfigSpec/clusterConfiguration/dns/imageTag";
    for (before, after, expected) in [
        (("v1.33.1", etcd("3.5.21-0")), ("v1.34.0", etcd("3.6.4-0")), Some(of_etcd)),
        (("v1.33.1", etcd("3.5.26-0")), ("v1.34.0", etcd("3.6.4-0")), None),
        (("v1.33.1", etcd("3.5.21-0")), ("v1.33.1", etcd("3.5.26-0")), None),
        // kubeadm 1.34 takes 3.6 by itself.
        (("v1.33.1", etcd("3.5.21-0")), ("v1.34.0", "{}".to_owned()), Some(of_etcd)),
        (("v1.33.1", etcd("3.5.21-0")), ("v1.33.2", "{}".to_owned()), None),
        (("v1.33.1", dns("v1.12.0")), ("v1.34.0", dns("v1.11.1")), Some(of_dns)),
        (("v1.33.1", dns("v1.9.0")), ("v1.34.0", dns("v1.12.1")), None),
        (("v1.33.1", dns("v1.12.0")), ("v1.34.0", "{}".to_owned()), None),
    ] {
        let [old, new] = [&before, &after].map(|(version, config)| control_plane(version, config));
        let all =
            judged(&[("base/a.yaml", &old)], &[("base/a.yaml", &new)], Occasion::Upgrade, AppliedBy::Others);
        let of_rule = all.iter().filter(|finding| finding.rule.id() == "kubernetes-minor-breaks");
        let paths: Vec<String> = of_rule.map(|finding| finding.path.clone().unwrap().to_string()).collect();
        assert_eq!(paths, expected.into_iter().collect::<Vec<_>>(), "{before:?} {after:?}");
    }
}
