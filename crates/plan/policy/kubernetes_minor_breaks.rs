//! `kubernetes-minor-breaks`
//!
//! Deliberately absent: what patches and variables of a ClusterClass add. Their evaluator is `capstan_live::rollout`,
//! which is built on this package; so of a class its templates are judged as they are written.

use super::evidence::{ClusterEvidence, Evidence};
use super::kubeadm::{KubeadmField, kubeadm_config};
use super::minors::{ETCD_BEFORE_3_6, ETCD_MINORS, KubernetesProcess, Minor, up_to};
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{RenderedObject, SourceOffset};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{is_class, is_cluster, is_template};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::version::{KubernetesMinor, beginning};
use capstan_yaml::YamlFile;

pub(super) struct KubernetesMinorBreaks;

static ABOUT: About = About::new(
    rules::KUBERNETES_MINOR_BREAKS,
    include_str!("../../../docs/rules/kubernetes-minor-breaks.md"),
);

/// Where kubeadm's configuration has the arguments of a process.
const ARGUMENTS: [(KubernetesProcess, &[&str]); 5] = [
    (KubernetesProcess::ApiServer, &["clusterConfiguration", "apiServer", "extraArgs"]),
    (KubernetesProcess::ControllerManager, &["clusterConfiguration", "controllerManager", "extraArgs"]),
    (KubernetesProcess::Scheduler, &["clusterConfiguration", "scheduler", "extraArgs"]),
    (KubernetesProcess::Kubelet, &["initConfiguration", "nodeRegistration", "kubeletExtraArgs"]),
    (KubernetesProcess::Kubelet, &["joinConfiguration", "nodeRegistration", "kubeletExtraArgs"]),
];

const ETCD_TAG: [&str; 4] = ["clusterConfiguration", "etcd", "local", "imageTag"];
const CORE_DNS_TAG: [&str; 3] = ["clusterConfiguration", "dns", "imageTag"];
const PLUGINS: [&str; 2] = ["enable-admission-plugins", "disable-admission-plugins"];
/// With it on a control plane, Cluster API leaves CoreDNS alone.
const SKIP_CORE_DNS: &str = "controlplane.cluster.x-k8s.io/skip-coredns";

impl KubernetesProcess {
    const fn name(self) -> &'static str {
        match self {
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubelet => "the kubelet",
        }
    }
}

impl PolicyRule for KubernetesMinorBreaks {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for object in cluster.objects {
            let Some(config) = kubeadm_config(object) else { continue };
            let Some(minor) = minor_of(cluster, object).filter(|minor| minor.major == 1) else { continue };
            let mut judged = JudgedConfig { object, minor, verdicts };
            judged.arguments(&config);
            judged.kubeadm_gates(&config);
            judged.etcd_flags(&config);
            judged.kubelet_files(&config);
        }
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        for (old, new) in change.pairs() {
            let (Some(before), Some(after)) = (kubeadm_config(old), kubeadm_config(new)) else { continue };
            let steps = [
                etcd_step(&change.after, new, &before, &after),
                core_dns_step(&change.after, new, &before, &after),
            ];
            for (path, message) in steps.into_iter().flatten() {
                let place = change.nearest_place(old, new, &path);
                let verdict = Finding::new(rules::KUBERNETES_MINOR_BREAKS, message);
                verdicts.push(verdict.object(&new.id).path(&path).place(place));
            }
        }
    }
}

/// What keeps a control plane from a newer etcd.
fn etcd_step(
    cluster: &ClusterEvidence<'_>,
    object: &RenderedObject,
    before: &KubeadmField<'_>,
    after: &KubeadmField<'_>,
) -> Option<(FieldPath, String)> {
    let was = before.placed.text_at(&ETCD_TAG).and_then(numbers)?;
    let is = etcd_of(after, minor_of(cluster, object))?;
    (was < ETCD_BEFORE_3_6 && is >= [3, 6, 0]).then(|| {
        let message = format!(
            "{} goes from etcd {} to {}, but every member must be {} or newer before one of 3.6 joins: first set `etcd.local.imageTag` to such a version",
            object.id,
            words(was),
            words(is),
            words(ETCD_BEFORE_3_6)
        );
        (after.path_of(&ETCD_TAG), message)
    })
}

/// An older CoreDNS than before.
fn core_dns_step(
    cluster: &ClusterEvidence<'_>,
    object: &RenderedObject,
    before: &KubeadmField<'_>,
    after: &KubeadmField<'_>,
) -> Option<(FieldPath, String)> {
    let tag = |config: &KubeadmField<'_>| config.placed.text_at(&CORE_DNS_TAG).and_then(numbers);
    let (was, is) = (tag(before)?, tag(after)?);
    (is < was && !skips_core_dns(cluster, object)).then(|| {
        let message = format!(
            "{} goes back from CoreDNS {} to {}, which Cluster API refuses, and its control plane stops there: keep {} or newer",
            object.id,
            words(was),
            words(is),
            words(was)
        );
        (after.path_of(&CORE_DNS_TAG), message)
    })
}

/// Whether Cluster API leaves CoreDNS alone: by an annotation of the control plane. That of a topology gets the
/// annotations of its template, of its class, and of its Cluster; any of them is enough here.
fn skips_core_dns(cluster: &ClusterEvidence<'_>, object: &RenderedObject) -> bool {
    let has = |object: &RenderedObject, keys: &[&str]| {
        let annotations = object.placed.at(keys).and_then(|metadata| metadata.field("annotations"));
        annotations.is_some_and(|annotations| annotations.field(SKIP_CORE_DNS).is_some())
    };
    let of_topology = |object: &RenderedObject| {
        is_cluster(&object.id) && has(object, &["spec", "topology", "controlPlane", "metadata"])
            || is_class(&object.id) && has(object, &["spec", "controlPlane", "metadata"])
    };
    if is_template(&object.id) {
        has(object, &["spec", "template", "metadata"]) || cluster.objects.iter().any(of_topology)
    } else {
        has(object, &["metadata"])
    }
}

/// One object's configuration, and the minor that its machines run.
struct JudgedConfig<'a> {
    object: &'a RenderedObject,
    minor: KubernetesMinor,
    verdicts: &'a mut Vec<Finding>,
}

impl JudgedConfig<'_> {
    fn say(&mut self, what: &str, row: &Minor, advice: &str, path: &FieldPath, place: &SourceOffset) {
        let message = format!(
            "{} {what} (since 1.{}, see {}), so it does not start with {}: {advice}",
            self.object.id, row.minor, row.source, self.minor
        );
        let verdict = Finding::new(rules::KUBERNETES_MINOR_BREAKS, message);
        self.verdicts.push(verdict.object(&self.object.id).path(path).place(place));
    }

    fn arguments(&mut self, config: &KubeadmField<'_>) {
        for (process, keys) in ARGUMENTS {
            let arguments = config.at(keys);
            for (name, value, field) in arguments.iter().flat_map(KubeadmField::arguments) {
                let flag = name.replace('_', "-");
                let place = &field.placed.place;
                let of = |flags: &[(KubernetesProcess, &[&str])]| {
                    flags.iter().any(|(of, flags)| *of == process && flags.contains(&flag.as_str()))
                };
                if let Some(row) = up_to(self.minor.minor).find(|row| of(row.flags)) {
                    let what = format!("gives {} the flag `{flag}`, which it no longer has", process.name());
                    self.say(&what, row, "remove it", &field.path, place);
                    continue;
                }
                let only = up_to(self.minor.minor).find_map(|row| {
                    let (_, _, only) =
                        row.only.iter().find(|(of, name, _)| *of == process && *name == flag)?;
                    (!takes(only, value)).then_some((row, only))
                });
                if let Some((row, only)) = only {
                    let (process, value) = (process.name(), beginning(value));
                    let what = format!("gives {process} `{flag}={value}`, and it takes `{only}` alone");
                    self.say(&what, row, "change or remove it", &field.path, place);
                } else if flag == "feature-gates" {
                    for (gate, value) in value.split(',').filter_map(|gate| gate.split_once('=')) {
                        self.gate(process, gate.trim(), parse_bool(value.trim()), &field.path, place);
                    }
                } else if process == KubernetesProcess::ApiServer && PLUGINS.contains(&flag.as_str()) {
                    for plugin in value.split(',').map(str::trim) {
                        let row = up_to(self.minor.minor).find(|row| row.plugins.contains(&plugin));
                        let Some(row) = row else { continue };
                        let what = format!(
                            "names kube-apiserver the admission plugin `{plugin}`, which it no longer has"
                        );
                        self.say(&what, row, "remove it", &field.path, place);
                    }
                }
            }
        }
    }

    /// A feature gate of Kubernetes that is set; `None` where its value is not known.
    fn gate(
        &mut self,
        process: KubernetesProcess,
        gate: &str,
        is_on: Option<bool>,
        path: &FieldPath,
        place: &SourceOffset,
    ) {
        let process = process.name();
        if let Some(row) = up_to(self.minor.minor).find(|row| row.gates.contains(&gate)) {
            let what = format!("gives {process} the feature gate `{gate}`, which it no longer has");
            return self.say(&what, row, "remove it", path, place);
        }
        let Some(is_on) = is_on else { return };
        let locked = |row: &&Minor| if is_on { row.locked_off } else { row.locked_on }.contains(&gate);
        if let Some(row) = up_to(self.minor.minor).find(locked) {
            let what =
                format!("gives {process} the feature gate `{gate}={is_on}`, which is locked to {}", !is_on);
            self.say(&what, row, "remove it", path, place);
        }
    }

    fn kubeadm_gates(&mut self, config: &KubeadmField<'_>) {
        let Some(gates) = config.at(&["clusterConfiguration", "featureGates"]) else { return };
        for (gate, placed) in gates.placed.entries() {
            let row = up_to(self.minor.minor).find(|row| row.kubeadm_gates.contains(&gate.as_str()));
            let Some(row) = row else { continue };
            let what = format!("gives kubeadm the feature gate `{gate}`, which it no longer has");
            self.say(&what, row, "remove it", &gates.path.key(gate), &placed.place);
        }
    }

    fn etcd_flags(&mut self, config: &KubeadmField<'_>) {
        let Some(version) = etcd_of(config, Some(self.minor)) else { return };
        let arguments = config.at(&["clusterConfiguration", "etcd", "local", "extraArgs"]);
        for (flag, _, field) in arguments.iter().flat_map(KubeadmField::arguments) {
            let is_it = |pattern: &&str| match pattern.strip_suffix('*') {
                Some(beginning) => flag.starts_with(beginning),
                None => flag == *pattern,
            };
            let row = ETCD_MINORS
                .iter()
                .find(|row| row.minor <= [version[0], version[1]] && row.flags.iter().any(is_it));
            let Some(row) = row else { continue };
            let [major, minor] = row.minor;
            let message = format!(
                "{} gives etcd {} the flag `{flag}`, which it no longer has (since {major}.{minor}, see {}), so it does not start: remove it",
                self.object.id,
                words(version),
                row.source
            );
            let verdict = Finding::new(rules::KUBERNETES_MINOR_BREAKS, message);
            self.verdicts.push(verdict.object(&self.object.id).path(&field.path).place(&field.placed.place));
        }
    }

    /// The kubelet's configuration in files.
    fn kubelet_files(&mut self, config: &KubeadmField<'_>) {
        for file in config.files() {
            let Some(text) = file.placed.as_str().filter(|text| text.contains("KubeletConfiguration")) else {
                continue;
            };
            let Ok(read) = YamlFile::read(text) else { continue };
            for document in read.documents() {
                let root = &document.root;
                if root.text_at("kind") != Some("KubeletConfiguration") {
                    continue;
                }
                let gates = root.get("featureGates").and_then(|gates| gates.as_mapping());
                for gate in gates.unwrap_or_default() {
                    let place = file.placed.place.inside(read.clone(), gate.key_span.start);
                    let is_on = gate.value.value().as_bool();
                    self.gate(KubernetesProcess::Kubelet, &gate.key, is_on, &file.path, &place);
                }
            }
        }
    }
}

/// Whether a flag that accepts only one value accepts this one. An empty value counts as no flag; the value of a
/// variable is unknown, so it passes.
fn takes(only: &str, value: &str) -> bool {
    let is_same = |other: bool| parse_bool(value) == Some(other);
    value.is_empty() || value.contains("${") || value == only || parse_bool(only).is_some_and(is_same)
}

/// As Kubernetes reads a bool, with Go's `strconv.ParseBool`.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// The minor that an object's machines are to run: its own, that of what names it, else that of the topologies whose
/// class names it. Where the class is not among the objects, nobody can say.
fn minor_of(cluster: &ClusterEvidence<'_>, object: &RenderedObject) -> Option<KubernetesMinor> {
    let of_owners =
        |named: &ObjectId| cluster.owners(named).filter_map(|owner| cluster.minor(&owner.id)).max();
    cluster.minor(&object.id).or_else(|| of_owners(&object.id)).or_else(|| {
        let classes = cluster.owners(&object.id).filter(|owner| is_class(&owner.id));
        classes.filter_map(|class| of_owners(&class.id)).max()
    })
}

/// The etcd that a configuration asks for, else kubeadm's own; `None` where it is another's, or unknown.
fn etcd_of(config: &KubeadmField<'_>, minor: Option<KubernetesMinor>) -> Option<[u64; 3]> {
    let etcd = ["clusterConfiguration", "etcd"];
    if config.at(&etcd).is_some_and(|etcd| etcd.at(&["external"]).is_some()) {
        return None;
    }
    match config.placed.at(&ETCD_TAG) {
        Some(tag) => numbers(tag.as_str()?),
        None => up_to(minor?.minor).next().map(|row| row.etcd),
    }
}

/// The three numbers of an image's tag: `v1.11.1` and `3.5.21-0`.
fn numbers(tag: &str) -> Option<[u64; 3]> {
    let mut parts = tag.trim_start_matches('v').split(['.', '-', '_', '+']);
    let mut next = || parts.next()?.parse().ok();
    Some([next()?, next()?, next()?])
}

fn words([major, minor, patch]: [u64; 3]) -> String {
    format!("{major}.{minor}.{patch}")
}
