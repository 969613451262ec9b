//! `helm-chart-proxy`

use super::evidence::{Evidence, Survey};
use super::rule::{About, Rule};
use crate::boundary::{Labels, selectors};
use capstan_kustomize::render::{RenderedObject, diff_placed};
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

impl Rule for HelmChartProxy {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
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
        for (old, new) in change.pairs().filter(|(_, new)| is_chart_proxy(&new.id)) {
            let found = if new.placed.text_at(&["spec", "reconcileStrategy"]) == Some("InstallOnce") {
                stays(old, new)
            } else {
                moves(old, new)
            };
            let Some((path, message)) = found else { continue };
            let place = change.nearest_place(old, new, &path);
            verdicts.push(
                Finding::new(rules::HELM_CHART_PROXY, message).object(&new.id).path(&path).place(place),
            );
        }
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
fn fight(cluster: &Survey<'_>, one: &RenderedObject, other: &RenderedObject) -> bool {
    let release = |proxy: &RenderedObject| {
        let text = |field| proxy.placed.text_at(&["spec", field]).filter(|text| !text.is_empty());
        Some((text("releaseName")?.to_owned(), text("namespace").unwrap_or("default").to_owned()))
    };
    let selects = |proxy: &RenderedObject, target: &RenderedObject| {
        proxy.id.namespace == target.id.namespace
            && selectors(&proxy.id, &proxy.value).iter().any(|selected| {
                let labels = labels(target);
                selected.selector.selects(target.id.namespace.as_deref(), &target.id.name, &labels)
            })
    };
    release(one).is_some_and(|name| release(other) == Some(name))
        && cluster
            .objects
            .iter()
            .any(|target| is_cluster(&target.id) && selects(one, target) && selects(other, target))
}

fn labels(object: &RenderedObject) -> Labels {
    let labels = object.value.pointer("/metadata/labels").and_then(serde_json::Value::as_object);
    let text = |(key, value): (&String, &serde_json::Value)| Some((key.clone(), value.as_str()?.to_owned()));
    labels.into_iter().flatten().filter_map(text).collect()
}
