//! What a minor of Kubernetes no longer starts with.

use std::collections::{HashMap, HashSet};

use super::validating::{CLUSTER, validated};
use super::{AppliedBy, Occasion, judged};
use crate::policy::minors::{ETCD_MINORS, KubernetesProcess, MINORS};
use capstan_test_support::go_modules;

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
        configs.extend(row.only.iter().map(|(process, flag, _)| argument(*process, flag, "true")));
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

/// The gates of Kubernetes v1.36.3.
struct Gates {
    /// The constants of its sources, and their values.
    names: HashSet<String>,
    /// Of each gate the lines that lock it.
    locks: HashMap<String, Vec<String>>,
}

fn gates_of_1_36() -> Option<Gates> {
    let (mut names, mut locks) = (HashMap::new(), HashMap::<String, Vec<String>>::new());
    let mut texts = Vec::new();
    for folder in [
        "kubernetes@v1.36.3/pkg/features",
        "apiserver@v0.36.3/pkg/features",
        "apiextensions-apiserver@v0.36.3/pkg/features",
        "component-base@v0.36.3/logs/api/v1",
        "component-base@v0.36.3/metrics/features",
        "component-base@v0.36.3/zpages/features",
        "controller-manager@v0.36.3/pkg/features",
    ] {
        texts.extend(go_modules::texts(&go_modules::folder(&format!("k8s.io/{folder}"))?));
    }
    // `CPUCFSQuotaPeriod featuregate.Feature = "CustomCPUCFSQuotaPeriod"`, `A = featuregate.Feature("A")`
    for line in texts.iter().flat_map(|text| text.lines()) {
        let mut parts = line.split('"');
        let (Some(before), Some(name)) = (parts.next(), parts.next()) else { continue };
        let Some(constant) = before.split_whitespace().next().filter(|_| before.contains(" = ")) else {
            continue;
        };
        names.insert(constant.to_owned(), name.to_owned());
    }
    for text in &texts {
        let mut gate = None;
        for line in text.lines().map(str::trim) {
            if let Some(constant) = line.strip_suffix(": {") {
                let constant = constant.rsplit('.').next().unwrap();
                gate = names.get(constant);
            } else if line == "}," {
                gate = None;
            } else if let Some(gate) = gate.filter(|_| line.contains("LockToDefault: true")) {
                locks.entry(gate.clone()).or_default().push(line.to_owned());
            }
        }
    }
    let names = names.into_iter().flat_map(|(constant, name)| [constant, name]).collect();
    Some(Gates { names, locks })
}

/// Rows up to 1.36, as far as one version of the sources can tell.
#[test]
fn the_sources_of_kubernetes_1_36_say_what_the_rows_say() {
    let flags_of = |process: KubernetesProcess| -> Option<Vec<String>> {
        let folders: &[&str] = match process {
            KubernetesProcess::ApiServer => &[
                "kubernetes@v1.36.3/cmd/kube-apiserver",
                "kubernetes@v1.36.3/pkg/controlplane/apiserver/options",
                "kubernetes@v1.36.3/pkg/kubeapiserver/options",
                "apiserver@v0.36.3/pkg/server/options",
            ],
            KubernetesProcess::ControllerManager => &[
                "kubernetes@v1.36.3/cmd/kube-controller-manager",
                "cloud-provider@v0.36.3/options",
                "controller-manager@v0.36.3/options",
            ],
            KubernetesProcess::Scheduler => &["kubernetes@v1.36.3/cmd/kube-scheduler"],
            KubernetesProcess::Kubelet => &["kubernetes@v1.36.3/cmd/kubelet/app/options"],
        };
        let mut lines = Vec::new();
        for folder in folders {
            let texts = go_modules::texts(&go_modules::folder(&format!("k8s.io/{folder}"))?);
            let registers = |line: &&str| line.contains("Var");
            lines.extend(texts.iter().flat_map(|text| text.lines().filter(registers)).map(str::to_owned));
        }
        Some(lines)
    };
    let Some(Gates { names, locks }) = gates_of_1_36() else { return };
    let Some(kubeadm) = go_modules::folder("k8s.io/kubernetes@v1.36.3/cmd/kubeadm/app/features") else {
        return;
    };
    let kubeadm = go_modules::texts(&kubeadm).concat();
    for row in MINORS.iter().filter(|row| row.minor <= 36) {
        for gate in row.gates {
            assert!(!names.contains(*gate), "1.36 still has the gate {gate} of 1.{}", row.minor);
        }
        for gate in row.kubeadm_gates {
            assert!(!kubeadm.contains(&format!("\"{gate}\"")), "kubeadm 1.36 still has {gate}");
        }
        let version = format!("version.MustParse(\"1.{}\")", row.minor);
        for (gates, default) in [(row.locked_on, "Default: true"), (row.locked_off, "Default: false")] {
            for gate in gates {
                let lines = locks.get(*gate).unwrap_or_else(|| panic!("1.36 does not lock {gate}"));
                let is_it = |line: &String| line.contains(&version) && line.contains(default);
                assert!(lines.iter().all(is_it), "1.{} {gate}: {lines:?}", row.minor);
            }
        }
        let is_registered = |process: KubernetesProcess, flag: &str| {
            let lines = flags_of(process).unwrap();
            lines.iter().any(|line| line.contains(&format!("\"{flag}\"")))
        };
        for (process, flags) in row.flags {
            for flag in *flags {
                assert!(!is_registered(*process, flag), "{process:?} 1.36 still has {flag}");
            }
        }
        for (process, flag, _) in row.only {
            assert!(is_registered(*process, flag), "{process:?} 1.36 has no {flag}");
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
    ] {
        let all = found(minor, config);
        let paths: Vec<&str> = all.iter().filter_map(|line| line.rsplit(' ').next()).collect();
        assert_eq!(paths, expected.into_iter().collect::<Vec<_>>(), "1.{minor} {config}");
    }
}

/// As Kubernetes v1.36.3 reads them: `runonce` in `pkg/kubelet/apis/config/validation`, `cloud-provider` in
/// `cmd/kube-controller-manager/app/options`, gates in `component-base/featuregate`.
#[test]
fn values_count_as_kubernetes_reads_them() {
    let of = |process: KubernetesProcess, name: &str, value: &str, count: usize| {
        let config = argument(process, name, value);
        assert_eq!(found(35, &config).len(), count, "{config}");
    };
    for (value, count) in
        [("false", 0), ("0", 0), ("F", 0), ("${ONCE}", 0), ("true", 1), ("1", 1), ("True", 1)]
    {
        of(KubernetesProcess::Kubelet, "runonce", value, count);
    }
    for (value, count) in [("", 0), ("external", 0), ("${CLOUD}", 0), ("aws", 1)] {
        of(KubernetesProcess::ControllerManager, "cloud-provider", value, count);
    }
    for (gates, count) in [
        // Locked to true.
        ("InPlacePodVerticalScaling=1", 0),
        ("InPlacePodVerticalScaling=T", 0),
        ("InPlacePodVerticalScaling=True", 0),
        ("InPlacePodVerticalScaling=${ON}", 0),
        ("InPlacePodVerticalScaling=0", 1),
        ("InPlacePodVerticalScaling = F", 1),
        // Locked to false.
        ("AllowOverwriteTerminationGracePeriodSeconds=False", 0),
        ("AllowOverwriteTerminationGracePeriodSeconds=1", 1),
        // Gone, whatever its value.
        ("SizeMemoryBackedVolumes=${ON}", 1),
    ] {
        of(KubernetesProcess::ApiServer, "feature-gates", gates, count);
    }
    for (value, count) in [("true", 0), ("${ON}", 0), ("false", 1)] {
        let config = format!(
            "{{files: [{{path: /a, content: \"kind: KubeletConfiguration\\nfeatureGates:\\n  InPlacePodVerticalScaling: {value}\\n\"}}]}}"
        );
        assert_eq!(found(35, &config).len(), count, "{config}");
    }
}

/// A text of a shell may as well take the argument away.
#[test]
fn kernel_arguments_in_scripts_are_not_guessed() {
    for command in [
        "grubby --update-kernel=ALL --remove-args=systemd.unified_cgroup_hierarchy=0",
        "sed -i 's/ systemd.unified_cgroup_hierarchy=0//' /etc/default/grub",
        "# once systemd.unified_cgroup_hierarchy=0",
    ] {
        let config =
            format!("{{preKubeadmCommands: [\"{command}\"], files: [{{path: /a, content: \"{command}\"}}]}}");
        assert_eq!(found(35, &config), [""; 0], "{command}");
    }
}

/// Of workers that name it, else of the topology whose class names it.
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
    let class = |name: &str, template: &str| {
        format!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {{name: {name}, namespace: org}}\nspec: {{controlPlane: {{ref: {{apiVersion: a/v1, kind: KubeadmControlPlaneTemplate, name: {template}}}}}}}\n"
        )
    };
    for (version, classes, expected) in [
        ("v1.31.0", class("c", "w"), 0),
        ("v1.32.0", class("c", "w"), 1),
        // The template of the class before, which is still there.
        ("v1.32.0", format!("{}{}", class("c", "new"), class("old", "w")), 0),
        ("v1.32.0", class("c", "new"), 0),
        ("v1.32.0", class("c", "w").replace("org", "other"), 0),
        // A class that is elsewhere.
        ("v1.32.0", String::new(), 0),
    ] {
        let found = found_in(&format!("{}{of_class}{classes}", topology(version)));
        assert_eq!(found.len(), expected, "{version} {classes}");
    }
    let elsewhere = workers("v1.32.0").replace("org", "other");
    assert_eq!(found_in(&format!("{elsewhere}{of_workers}")).len(), 0, "of another namespace");
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

#[test]
fn a_message_repeats_the_beginning_of_a_value() {
    let plane = control_plane(
        "v1.36.0",
        &argument(KubernetesProcess::ControllerManager, "cloud-provider", &"a".repeat(65)),
    );
    let all = judged(&[], &[("base/a.yaml", &plane)], Occasion::Upgrade, AppliedBy::Others);
    let found = all.iter().find(|finding| finding.rule.id() == "kubernetes-minor-breaks").unwrap();
    let said = format!("`cloud-provider={}`, and it takes `external` alone", "a".repeat(64));
    assert!(found.message.contains(&said), "{}", found.message);
}

/// Its own Cluster, control plane or class tells it, in their namespace.
#[test]
fn a_template_has_the_minor_of_what_names_it() {
    let template = |namespace: &str| {
        format!(
            "---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlaneTemplate\nmetadata: {{name: a, namespace: {namespace}}}\nspec: {{template: {{spec: {{kubeadmConfigSpec: {}}}}}}}\n",
            argument(KubernetesProcess::ControllerManager, "cloud-provider", "aws")
        )
    };
    let class = "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {name: c, namespace: org}\nspec: {controlPlane: {ref: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlaneTemplate, name: a}}}\n";
    let topology = |name: &str, version: &str| {
        format!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: {name}, namespace: org}}\nspec: {{topology: {{class: c, version: {version}}}}}\n"
        )
    };
    for (versions, expected) in [
        (&["v1.31.0"][..], None),
        (&["v1.31.0", "v1.32.0"], Some("KubeadmControlPlaneTemplate org/a")),
        (&[], None),
    ] {
        let clusters = versions.iter().enumerate().map(|(at, version)| topology(&format!("t{at}"), version));
        let text = format!("{}{}{class}{}", template("org"), template("other"), clusters.collect::<String>());
        let all = judged(&[], &[("base/a.yaml", &text)], Occasion::Upgrade, AppliedBy::Others);
        let of_rule = all.iter().filter(|finding| finding.rule.id() == "kubernetes-minor-breaks");
        let objects: Vec<String> =
            of_rule.map(|finding| finding.object.as_ref().unwrap().to_string()).collect();
        assert_eq!(objects, expected.into_iter().collect::<Vec<_>>(), "{versions:?}");
    }
}

/// `validateCoreDNSVersion` and `UpdateCoreDNS` of Cluster API v1.14.2.
#[test]
fn core_dns_may_go_back_where_cluster_api_leaves_it_alone() {
    let dns = |tag: &str| format!("{{clusterConfiguration: {{dns: {{imageTag: {tag}}}}}}}");
    let plane = |tag: &str, annotations: &str| {
        control_plane("v1.33.1", &dns(tag))
            .replace("name: a,", &format!("name: a, annotations: {{{annotations}}},"))
    };
    let template = |tag: &str, annotations: &str| {
        format!(
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlaneTemplate\nmetadata: {{name: a, namespace: org}}\nspec: {{template: {{metadata: {{annotations: {{{annotations}}}}}, spec: {{kubeadmConfigSpec: {}}}}}}}\n",
            dns(tag)
        )
    };
    let topology = |annotations: &str| {
        format!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: t, namespace: org}}\nspec: {{topology: {{class: c, version: v1.33.1, controlPlane: {{metadata: {{annotations: {{{annotations}}}}}}}}}}}\n"
        )
    };
    let skip = "controlplane.cluster.x-k8s.io/skip-coredns: ''";
    let none = "a: b";
    for (old, new, expected) in [
        (plane("v1.12.0", none), plane("v1.11.1", none), 1),
        // That of the new object counts.
        (plane("v1.12.0", skip), plane("v1.11.1", none), 1),
        (plane("v1.12.0", none), plane("v1.11.1", skip), 0),
        (template("v1.12.0", none), template("v1.11.1", none), 1),
        (template("v1.12.0", none), template("v1.11.1", skip), 0),
        (
            format!("{}{}", template("v1.12.0", none), topology(skip)),
            format!("{}{}", template("v1.11.1", none), topology(skip)),
            0,
        ),
    ] {
        let all =
            judged(&[("base/a.yaml", &old)], &[("base/a.yaml", &new)], Occasion::Upgrade, AppliedBy::Others);
        let of_rule = all.iter().filter(|finding| finding.rule.id() == "kubernetes-minor-breaks");
        assert_eq!(of_rule.count(), expected, "{new}");
    }
}
