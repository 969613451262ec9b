//! `helm-chart-proxy`

use super::evidence::{ClusterEvidence, Evidence};
use super::rule::{About, PolicyRule};
use crate::boundary::{ObjectLabels, selectors};
use capstan_kustomize::render::{RenderedObject, diff_placed};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::is_cluster;
use capstan_model::object::{FieldPath, ObjectId, Step};

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
        for proxy in change.before.objects.iter().filter(|object| is_chart_proxy(&object.id)) {
            uninstalls(change, proxy, verdicts);
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

/// Clusters that stay and that a proxy selects no longer, since it goes or since their labels or its selector change; and
/// changed labels that its values name.
fn uninstalls(change: &Evidence<'_>, old: &RenderedObject, verdicts: &mut Vec<Finding>) {
    let new = change.after.object(&old.id);
    let selected = change.pairs().filter(|(before, after)| is_cluster(&after.id) && selects(old, before));
    for (before, after) in selected {
        let Some(new) = new else {
            let message = format!(
                "{} is removed, and the add-on provider uninstalls its Helm release from {}: everything that it brought into the cluster goes, for example the network",
                old.id, after.id
            );
            let verdict = Finding::new(rules::HELM_CHART_PROXY, message).object(&old.id);
            verdicts.push(verdict.path(&FieldPath::root()).place(old.origin()));
            continue;
        };
        let is_label = |path: &FieldPath| path.to_string().starts_with("/metadata/labels");
        let changed: Vec<FieldPath> = diff_placed(&after.id, &before.placed, &after.placed)
            .into_iter()
            .map(|one| one.path)
            .filter(is_label)
            .collect();
        if !selects(new, after) {
            let message = format!(
                "{} selects {} no longer, and the add-on provider uninstalls its Helm release there: everything that it brought into the cluster goes, for example the network",
                new.id, after.id
            );
            let label = blamed_label(old, before, after, &changed).filter(|_| !selects(old, after));
            let (blamed, path) = match label {
                Some(path) => ((before, after), path.clone()),
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
        let template = new.placed.text_at(&["spec", "valuesTemplate"]).unwrap_or_default();
        for path in changed.iter().filter(|path| names_label(template, path)) {
            let message = format!(
                "`valuesTemplate` of {} names this label of {}, so the add-on provider upgrades its Helm release there",
                new.id, after.id
            );
            let place = change.nearest_place(before, after, path);
            let verdict = Finding::new(rules::HELM_CHART_PROXY, message).object(&after.id).path(path);
            verdicts.push(verdict.place(place));
        }
    }
}

fn is_installed_once(proxy: &RenderedObject) -> bool {
    proxy.placed.text_at(&["spec", "reconcileStrategy"]) == Some("InstallOnce")
}

/// The changed label without whose change a proxy would still select the Cluster, else the first.
fn blamed_label<'p>(
    proxy: &RenderedObject,
    before: &RenderedObject,
    after: &RenderedObject,
    changed: &'p [FieldPath],
) -> Option<&'p FieldPath> {
    let decides = |path: &&FieldPath| {
        let Some(Step::Key(key)) = path.steps().last() else { return false };
        let mut restored = labels(after);
        match labels(before).remove(key) {
            Some(value) => restored.insert(key.clone(), value),
            None => restored.remove(key),
        };
        selects_labels(proxy, &after.id, &restored)
    };
    changed.iter().find(decides).or(changed.first())
}

/// Whether a template of values names a label: by a path, or by `index` with its name.
fn names_label(template: &str, path: &FieldPath) -> bool {
    let Some(Step::Key(key)) = path.steps().last() else { return false };
    let by_path = template.match_indices(".Cluster.metadata.labels.").any(|(at, found)| {
        let rest = template[at + found.len()..].strip_prefix(key.as_str());
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    });
    by_path || template.contains(".Cluster.metadata.labels") && template.contains(&format!("\"{key}\""))
}

/// Whether a proxy selects a Cluster.
fn selects(proxy: &RenderedObject, target: &RenderedObject) -> bool {
    selects_labels(proxy, &target.id, &labels(target))
}

fn selects_labels(proxy: &RenderedObject, target: &ObjectId, labels: &ObjectLabels) -> bool {
    proxy.id.namespace == target.namespace
        && selectors(&proxy.id, &proxy.value)
            .iter()
            .any(|selected| selected.selector.selects(target.namespace.as_deref(), &target.name, labels))
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
    release(one).is_some_and(|name| release(other) == Some(name))
        && cluster
            .objects
            .iter()
            .any(|target| is_cluster(&target.id) && selects(one, target) && selects(other, target))
}

fn labels(object: &RenderedObject) -> ObjectLabels {
    let labels = object.value.pointer("/metadata/labels").and_then(serde_json::Value::as_object);
    let text = |(key, value): (&String, &serde_json::Value)| Some((key.clone(), value.as_str()?.to_owned()));
    labels.into_iter().flatten().filter_map(text).collect()
}
