//! `helm-chart-proxy`

use std::collections::HashSet;

use super::evidence::{ClusterEvidence, Evidence};
use super::rule::{About, PolicyRule};
use crate::boundary::{ObjectLabels, Selected, selectors};
use capstan_kustomize::render::{PlacedValue, RenderedObject, diff_placed};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::is_cluster;
use capstan_model::object::{FieldPath, ObjectId};

pub(super) struct HelmChartProxy;

static ABOUT: About =
    About::new(rules::HELM_CHART_PROXY, include_str!("../../../docs/rules/helm-chart-proxy.md"));

/// The fields of which the add-on provider makes another Helm release (`shouldReinstallHelmRelease`), and what an
/// absent one means.
const REINSTALL: &[(&str, &str)] =
    &[("chartName", ""), ("repoURL", ""), ("releaseName", ""), ("namespace", "default")];

/// Whether an object is a HelmChartProxy.
pub(super) fn is_chart_proxy(id: &ObjectId) -> bool {
    id.group == "addons.cluster.x-k8s.io" && id.kind == "HelmChartProxy"
}

impl PolicyRule for HelmChartProxy {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        let proxies: Vec<&RenderedObject> =
            cluster.objects.iter().filter(|object| is_chart_proxy(&object.id)).collect();
        for (at, proxy) in proxies.iter().enumerate() {
            let earlier = proxies[..at].iter().find(|other| fight(cluster, other, proxy));
            let Some(earlier) = earlier else { continue };
            let message = format!(
                "{} and {} select the same Cluster with one release name and namespace, so each reverts the Helm release of the other. Give one of them another `releaseName`, or remove it",
                proxy.id, earlier.id
            );
            let path = FieldPath::of_keys(["spec", "releaseName"]);
            let place = &proxy.placed.nearest(&path).place;
            verdicts.push(
                Finding::new(rules::HELM_CHART_PROXY, message).object(&proxy.id).path(&path).place(place),
            );
        }
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let proxies = || change.before.objects.iter().filter(|object| is_chart_proxy(&object.id));
        if proxies().next().is_some() {
            let pairs = change.pairs().filter(|(_, after)| is_cluster(&after.id));
            let clusters: Vec<LabelledCluster<'_>> =
                pairs.map(|(before, after)| LabelledCluster::of(before, after)).collect();
            proxies().for_each(|proxy| uninstalls(change, proxy, &clusters, verdicts));
        }
        for (old, new) in change.pairs().filter(|(_, new)| is_chart_proxy(&new.id)) {
            let found = if is_installed_once(new) { stays(old, new) } else { moves(old, new) };
            let Some((path, message)) = found else { continue };
            let place = change.nearest_place(old, new, &path);
            verdicts.push(
                Finding::new(rules::HELM_CHART_PROXY, message).object(&new.id).path(&path).place(place),
            );
        }
    }
}

/// A Cluster that stays, and its labels.
struct LabelledCluster<'a> {
    before: &'a RenderedObject,
    after: &'a RenderedObject,
    /// Before and after.
    labels: [ObjectLabels; 2],
    /// The names of labels that differ, as the files order them.
    changed: Vec<&'a str>,
}

impl<'a> LabelledCluster<'a> {
    fn of(before: &'a RenderedObject, after: &'a RenderedObject) -> Self {
        let labels = [before, after].map(labels);
        let written = |object: &'a RenderedObject| {
            object.placed.at(&["metadata", "labels"]).map(PlacedValue::entries).unwrap_or_default()
        };
        let added = written(after).iter().filter(|(key, _)| !labels[0].contains_key(key));
        let all = written(before).iter().chain(added).map(|(key, _)| key.as_str());
        let changed = all.filter(|key| labels[0].get(*key) != labels[1].get(*key)).collect();
        Self { before, after, labels, changed }
    }

    /// The changed label without whose change a proxy would still select the Cluster, else the first.
    fn blamed(&self, proxy: &ProxySelection<'_>) -> Option<&'a str> {
        let mut tried = self.labels[1].clone();
        let decides = |key: &&&str| {
            set(&mut tried, key, self.labels[0].get(**key));
            let is_selected = proxy.selects(self.after, &tried);
            set(&mut tried, key, self.labels[1].get(**key));
            is_selected
        };
        self.changed.iter().find(decides).or(self.changed.first()).copied()
    }
}

fn set(labels: &mut ObjectLabels, key: &str, value: Option<&String>) {
    match value {
        Some(value) => labels.insert(key.to_owned(), value.clone()),
        None => labels.remove(key),
    };
}

/// Clusters that stay and that a proxy selects no longer, since it goes or since their labels or its selector change; and
/// changed labels that its values name.
fn uninstalls(
    change: &Evidence<'_>,
    old: &RenderedObject,
    clusters: &[LabelledCluster<'_>],
    verdicts: &mut Vec<Finding>,
) {
    let new = change.after.object(&old.id);
    let selection = ProxySelection::of(old);
    let new_selection = new.map(ProxySelection::of);
    let template = new.and_then(|new| new.placed.text_at(&["spec", "valuesTemplate"])).unwrap_or_default();
    let named = named_labels(template);
    for cluster in clusters.iter().filter(|cluster| selection.selects(cluster.before, &cluster.labels[0])) {
        let LabelledCluster { before, after, .. } = *cluster;
        let (Some(new), Some(new_selection)) = (new, &new_selection) else {
            let message = format!(
                "{} is removed, and the add-on provider uninstalls its Helm release from {}: everything that it brought into the cluster goes, for example the network",
                old.id, after.id
            );
            let verdict = Finding::new(rules::HELM_CHART_PROXY, message).object(&old.id);
            verdicts.push(verdict.path(&FieldPath::root()).place(old.origin()));
            continue;
        };
        if !new_selection.selects(after, &cluster.labels[1]) {
            let message = format!(
                "{} selects {} no longer, and the add-on provider uninstalls its Helm release there: everything that it brought into the cluster goes, for example the network",
                new.id, after.id
            );
            let was_label = !selection.selects(after, &cluster.labels[1]);
            let (blamed, path) = match cluster.blamed(&selection).filter(|_| was_label) {
                Some(label) => ((before, after), label_path(label)),
                None => ((old, new), FieldPath::of_keys(["spec", "clusterSelector"])),
            };
            let place = change.nearest_place(blamed.0, blamed.1, &path);
            let verdict = Finding::new(rules::HELM_CHART_PROXY, message).object(&blamed.1.id);
            verdicts.push(verdict.path(&path).place(place));
            continue;
        }
        if is_installed_once(new) {
            continue;
        }
        for label in cluster.changed.iter().filter(|label| named.contains(*label)) {
            let path = label_path(label);
            let message = format!(
                "`valuesTemplate` of {} names this label of {}, so the add-on provider upgrades its Helm release there",
                new.id, after.id
            );
            let place = change.nearest_place(before, after, &path);
            let verdict = Finding::new(rules::HELM_CHART_PROXY, message).object(&after.id).path(&path);
            verdicts.push(verdict.place(place));
        }
    }
}

fn label_path(label: &str) -> FieldPath {
    FieldPath::of_keys(["metadata", "labels", label])
}

fn is_installed_once(proxy: &RenderedObject) -> bool {
    proxy.placed.text_at(&["spec", "reconcileStrategy"]) == Some("InstallOnce")
}

/// The labels of a Cluster that a template of values may name: by a path, or by `index` with a text.
fn named_labels(template: &str) -> HashSet<&str> {
    const LABELS: &str = ".Cluster.metadata.labels";
    if !template.contains(LABELS) {
        return HashSet::new();
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let by_path = template.split(LABELS).skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix('.')?;
        Some(&rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())])
    });
    by_path.chain(template.split('"').skip(1)).collect()
}

/// What a proxy selects.
struct ProxySelection<'a> {
    proxy: &'a ObjectId,
    selected: Vec<Selected>,
}

impl<'a> ProxySelection<'a> {
    fn of(proxy: &'a RenderedObject) -> Self {
        Self { proxy: &proxy.id, selected: selectors(&proxy.id, &proxy.value) }
    }

    fn selects(&self, target: &RenderedObject, labels: &ObjectLabels) -> bool {
        let (namespace, name) = (target.id.namespace.as_deref(), &target.id.name);
        self.proxy.namespace == target.id.namespace
            && self.selected.iter().any(|selected| selected.selector.selects(namespace, name, labels))
    }
}

/// What makes the add-on provider uninstall the release.
fn moves(old: &RenderedObject, new: &RenderedObject) -> Option<(FieldPath, String)> {
    let text = |object: &RenderedObject, (field, absent): (&str, &str)| {
        let text = object.placed.text_at(&["spec", field]).filter(|text| !text.is_empty());
        text.unwrap_or(absent).to_owned()
    };
    let field = REINSTALL.iter().copied().find(|field| text(old, *field) != text(new, *field))?;
    let message = format!(
        "`{}` of {} changes: the add-on provider uninstalls the Helm release, then installs it again. Meanwhile everything that it brought into the cluster is gone, for example the network",
        field.0, new.id
    );
    Some((FieldPath::of_keys(["spec", field.0]), message))
}

/// What changes without any effect.
fn stays(old: &RenderedObject, new: &RenderedObject) -> Option<(FieldPath, String)> {
    let differences = diff_placed(&new.id, &old.placed, &new.placed);
    let first = differences.into_iter().find(|one| one.path.to_string().starts_with("/spec/"))?;
    if first.path.to_string() == "/spec/reconcileStrategy" {
        return None;
    }
    let message = format!(
        "{} has `reconcileStrategy: InstallOnce`: clusters that already have the Helm release do not get the change",
        new.id
    );
    Some((first.path, message))
}

/// Whether two proxies make the same release of one Cluster.
fn fight(cluster: &ClusterEvidence<'_>, one: &RenderedObject, other: &RenderedObject) -> bool {
    let release = |proxy: &RenderedObject| {
        let text = |field| proxy.placed.text_at(&["spec", field]).filter(|text| !text.is_empty());
        Some((text("releaseName")?.to_owned(), text("namespace").unwrap_or("default").to_owned()))
    };
    if release(one).is_none_or(|name| release(other) != Some(name)) {
        return false;
    }
    let both = [one, other].map(ProxySelection::of);
    cluster.objects.iter().filter(|target| is_cluster(&target.id)).any(|target| {
        let labels = labels(target);
        both.iter().all(|proxy| proxy.selects(target, &labels))
    })
}

fn labels(object: &RenderedObject) -> ObjectLabels {
    let labels = object.value.pointer("/metadata/labels").and_then(serde_json::Value::as_object);
    let text = |(key, value): (&String, &serde_json::Value)| Some((key.clone(), value.as_str()?.to_owned()));
    labels.into_iter().flatten().filter_map(text).collect()
}
