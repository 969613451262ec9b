//! What a kustomization does to all of its objects: namespace, names, labels, annotations.
//!
//! The fields are those of kustomize's built-in configuration
//! (<https://github.com/kubernetes-sigs/kustomize/tree/master/api/internal/konfig/builtinpluginconsts>).

use super::error::RenderError;
use super::kustomization::{Kustomization, Labels, Named, Reach};
use super::placed::{Content, Place, Placed};
use super::resource::{Identity, Resource};
use super::schema::{is_built_in, is_cluster_scoped, pod_template};

/// Sets the namespace of every object that has one.
pub(super) fn set_namespace(resources: &mut [Resource], namespace: &Named) -> Result<(), RenderError> {
    let accounts: Vec<String> = resources
        .iter()
        .filter_map(|resource| resource.identity().ok())
        .filter(|identity| identity.kind == "ServiceAccount" && identity.group().is_empty())
        .map(|identity| identity.name)
        .collect();
    let text = Placed::text(&namespace.text, &namespace.place);
    for resource in resources {
        let identity = resource.identity()?;
        refuse_service_references(&resource.value, &identity, namespace)?;
        resource.remember_identity()?;
        if identity.kind == "Namespace" && identity.group().is_empty() {
            put(&mut resource.value, &["metadata", "name"], text.clone());
        } else if !is_cluster_scoped(identity.group(), &identity.kind) {
            put(&mut resource.value, &["metadata", "namespace"], text.clone());
        }
        if identity.group() == "rbac.authorization.k8s.io" && identity.kind.ends_with("RoleBinding") {
            bind_accounts(&mut resource.value, &accounts, &text);
        }
    }
    Ok(())
}

/// A service account that is rendered here moves along, and so does `default`.
fn bind_accounts(binding: &mut Placed, accounts: &[String], namespace: &Placed) {
    let Some(Content::Sequence(subjects)) = binding.field_mut("subjects").map(|field| &mut field.content)
    else {
        return;
    };
    for subject in subjects {
        let name = subject.text_at(&["name"]).unwrap_or_default();
        let moves = name == "default" || accounts.iter().any(|account| account == name);
        if subject.text_at(&["kind"]) == Some("ServiceAccount") && moves {
            subject.set("namespace", namespace.clone());
        }
    }
}

fn refuse_service_references(
    value: &Placed,
    identity: &Identity,
    namespace: &Named,
) -> Result<(), RenderError> {
    let names_service = match identity.kind.as_str() {
        "APIService" => value.at(&["spec", "service"]).is_some(),
        "CustomResourceDefinition" => {
            value.at(&["spec", "conversion", "webhook", "clientConfig", "service"]).is_some()
        }
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => true,
        _ => false,
    };
    if is_built_in(identity.group()) && names_service {
        return Err(RenderError::unsupported(
            &namespace.place,
            format!(
                "Capstan does not render `namespace` over {} {}, which names a service: write the namespaces out",
                identity.kind, identity.name
            ),
        ));
    }
    Ok(())
}

/// Sets `namePrefix` and `nameSuffix`. Refused where built-in kinds could name the objects: kustomize
/// rewrites those references, and Capstan does not.
pub(super) fn rename(resources: &mut [Resource], kustomization: &Kustomization) -> Result<(), RenderError> {
    let Some(named) = kustomization.prefix.as_ref().or(kustomization.suffix.as_ref()) else { return Ok(()) };
    let text = |part: &Option<Named>| part.as_ref().map_or(String::new(), |part| part.text.clone());
    let (prefix, suffix) = (text(&kustomization.prefix), text(&kustomization.suffix));
    for resource in resources {
        let identity = resource.identity()?;
        let built_in = is_built_in(identity.group());
        if built_in && !["ConfigMap", "Secret", "Namespace"].contains(&identity.kind.as_str()) {
            return Err(RenderError::unsupported(
                &named.place,
                format!(
                    "Capstan does not render `namePrefix` and `nameSuffix` over {} {}, whose references would have to follow: write the names out",
                    identity.kind, identity.name
                ),
            ));
        }
        if built_in && identity.kind == "Namespace" {
            continue;
        }
        resource.remember_identity()?;
        let name = format!("{prefix}{}{suffix}", identity.name);
        put(&mut resource.value, &["metadata", "name"], Placed::text(&name, &named.place));
    }
    Ok(())
}

/// Sets labels, as far as they reach.
pub(super) fn add_labels(resources: &mut [Resource], labels: &Labels) -> Result<(), RenderError> {
    for resource in resources {
        let identity = resource.identity()?;
        for field in label_fields(&identity, labels.reach) {
            for (key, value) in &labels.pairs {
                put_at(&mut resource.value, &field, key, value);
            }
        }
    }
    Ok(())
}

/// Sets annotations of objects and pod templates.
pub(super) fn add_annotations(
    resources: &mut [Resource],
    annotations: &[(String, Placed)],
) -> Result<(), RenderError> {
    for resource in resources {
        let identity = resource.identity()?;
        let mut fields = vec![Field { path: vec!["metadata", "annotations"], when: When::Always }];
        if identity.group() == "batch" && identity.kind == "CronJob" {
            fields.push(below(&["spec", "jobTemplate"], &["metadata", "annotations"], When::Always));
        }
        if let Some(template) = labelled_template(&identity) {
            fields.push(below(template, &["metadata", "annotations"], When::Always));
        }
        for field in &fields {
            for (key, value) in annotations {
                put_at(&mut resource.value, field, key, value);
            }
        }
    }
    Ok(())
}

/// A mapping that gets labels; lists on the way are gone through.
struct Field {
    path: Vec<&'static str>,
    when: When,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    IfPresent,
}

fn below(template: &[&'static str], rest: &[&'static str], when: When) -> Field {
    Field { path: template.iter().chain(rest).copied().collect(), when }
}

/// Kustomize leaves the template of a PodTemplate alone.
fn labelled_template(identity: &Identity) -> Option<&'static [&'static str]> {
    pod_template(identity.group(), &identity.kind).filter(|_| identity.kind != "PodTemplate")
}

fn label_fields(identity: &Identity, reach: Reach) -> Vec<Field> {
    let mut fields = vec![Field { path: vec!["metadata", "labels"], when: When::Always }];
    let (group, kind) = (identity.group(), identity.kind.as_str());
    if reach == Reach::Metadata {
        return fields;
    }
    let template = labelled_template(identity);
    if let Some(template) = template {
        fields.push(below(template, &["metadata", "labels"], When::Always));
    }
    match (group, kind) {
        ("batch", "CronJob") => {
            fields.push(below(&["spec", "jobTemplate", "metadata"], &["labels"], When::Always));
        }
        ("apps", "StatefulSet") => {
            fields.push(below(&["spec", "volumeClaimTemplates", "metadata"], &["labels"], When::Always));
        }
        _ => {}
    }
    if reach == Reach::Templates {
        return fields;
    }
    let select = |path: &[&'static str], when| below(&["spec"], path, when);
    match (group, kind) {
        ("", "Service" | "ReplicationController") => fields.push(select(&["selector"], When::Always)),
        ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet") => {
            fields.push(select(&["selector", "matchLabels"], When::Always));
        }
        ("batch", "Job") | ("policy", "PodDisruptionBudget") => {
            fields.push(select(&["selector", "matchLabels"], When::IfPresent));
        }
        ("batch", "CronJob") => {
            fields.push(select(&["jobTemplate", "spec", "selector", "matchLabels"], When::IfPresent));
        }
        ("networking.k8s.io", "NetworkPolicy") => {
            for path in [
                &["podSelector", "matchLabels"][..],
                &["ingress", "from", "podSelector", "matchLabels"],
                &["egress", "to", "podSelector", "matchLabels"],
            ] {
                fields.push(select(path, When::IfPresent));
            }
        }
        _ => {}
    }
    if let ("apps", "Deployment" | "StatefulSet", Some(template)) = (group, kind, template) {
        const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
        const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
        for affinity in ["podAffinity", "podAntiAffinity"] {
            let way = ["spec", "affinity", affinity];
            let preferred = [PREFERRED, "podAffinityTerm", "labelSelector", "matchLabels"];
            let required = [REQUIRED, "labelSelector", "matchLabels"];
            let path = |tail: &[&'static str]| way.iter().chain(tail).copied().collect::<Vec<_>>();
            fields.push(below(template, &path(&preferred), When::IfPresent));
            fields.push(below(template, &path(&required), When::IfPresent));
        }
        let spread = ["spec", "topologySpreadConstraints", "labelSelector", "matchLabels"];
        fields.push(below(template, &spread, When::IfPresent));
    }
    fields
}

fn put_at(value: &mut Placed, field: &Field, key: &str, new: &Placed) {
    descend(value, &field.path, field.when, key, new);
}

fn descend(value: &mut Placed, path: &[&str], when: When, key: &str, new: &Placed) {
    if let Content::Sequence(items) = &mut value.content {
        for item in items {
            descend(item, path, when, key, new);
        }
        return;
    }
    let Some((step, rest)) = path.split_first() else {
        value.set(key, new.clone());
        return;
    };
    let missing = value.field(step).is_none_or(Placed::is_null);
    // A list that is missing gets no items.
    if missing && (when == When::IfPresent || *step == "volumeClaimTemplates") {
        return;
    }
    if missing {
        value.set(step, empty(&new.place));
    }
    if let Some(next) = value.field_mut(step) {
        descend(next, rest, when, key, new);
    }
}

fn empty(place: &Place) -> Placed {
    Placed { place: place.clone(), content: Content::Mapping(Vec::new()) }
}

fn put(value: &mut Placed, keys: &[&str], new: Placed) {
    let place = new.place.clone();
    if let Some((last, way)) = keys.split_last()
        && let Some(mapping) = value.mapping_at(way, &place)
    {
        mapping.set(last, new);
    }
}
