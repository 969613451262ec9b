//! What installing a set takes in RBAC, and what the set's own managers may do.
//!
//! An API server lets only those write a role who hold its rights or have the verb `escalate` on it, and only those a
//! binding who hold the role's rights or have `bind` on it; for a PATCH by name both, and `create` too, can be limited
//! to names (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping>).
//! So an installer that sends server-side applies alone needs no `*`.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::object::{ObjectId, api_group};
use serde_json::{Value, json};

use super::kind::{GROUP, ProviderKind};
use super::objects::id_of;
use super::rendering::RenderedObjects;
use super::set::ProviderSet;
use super::spec::Provider;
use super::state::RenderedSet;

/// The service account as which providers are installed, and the name of its roles.
pub const SERVICE_ACCOUNT: &str = "capstan-providers";
const RBAC: &str = "rbac.authorization.k8s.io";
const CLUSTERCTL: &str = "clusterctl.cluster.x-k8s.io";
const EXTENSIONS: &str = "apiextensions.k8s.io";

/// What is done to an object by its name: what an installation applies and prunes.
const WRITTEN: &[&str] = &["create", "delete", "get", "patch"];
/// What is done to an object that the set has no more.
const PRUNED: &[&str] = &["delete", "get"];
/// Definitions are never pruned: everything of their kinds would go with them.
const KEPT: &[&str] = &["create", "get", "patch"];
/// What is watched for drift, all of a kind at once: a right on names holds for one name at a time.
const WATCHED: &[&str] = &["list", "watch"];
const READ: &[&str] = &["get", "list", "watch"];
/// Objects of a set's folder beside the provider objects: their Namespaces.
const BROUGHT: &[&str] = &["create", "get", "patch"];

/// Namespaces that are there without anybody's doing.
const OF_EVERY_CLUSTER: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The rights round a set.
#[derive(Debug, Clone, PartialEq)]
pub struct SetInstallation {
    /// The Namespaces of those Roles, with a name alone: labels and annotations come from the set's folder. Those that
    /// every cluster has are left out.
    pub namespaces: Vec<Value>,
    /// What the installer needs: a ClusterRole, and a Role per namespace.
    pub roles: Vec<Value>,
    /// What each subject of a provider's bindings may do: `{label, subject, rules}`, aggregated roles resolved within
    /// the set. A rule of a RoleBinding has its `namespace`; a role that is not in the set is named by `role` alone.
    pub providers: Vec<Value>,
}

/// What is there of a set already, or may be: what an upgrade from it takes besides.
#[derive(Debug, Clone, Default)]
pub struct InstalledSet {
    /// The objects that it brought; those that the set has no more are deleted.
    pub objects: Vec<ObjectId>,
    /// Label and version of what may have been installed by the operator, whose caches of it are deleted.
    pub versions: BTreeSet<(String, String)>,
}

/// Resources by group and name, names of objects, verbs.
#[derive(Default)]
struct Rules(BTreeMap<(String, String, BTreeSet<String>), BTreeSet<&'static str>>);

impl Rules {
    fn add(&mut self, group: &str, resource: &str, names: &[&str], verbs: &[&'static str]) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        self.0.entry((group.to_owned(), resource.to_owned(), names)).or_default().extend(verbs);
    }

    /// Rules with the same verbs on the same resource become one.
    fn written(self) -> Vec<Value> {
        let mut merged: BTreeMap<(String, String, BTreeSet<&str>, bool), BTreeSet<String>> = BTreeMap::new();
        for ((group, resource, names), verbs) in self.0 {
            let is_named = !names.is_empty();
            merged.entry((group, resource, verbs, is_named)).or_default().extend(names);
        }
        let rules = merged.into_iter().map(|((group, resource, verbs, is_named), names)| {
            let mut rule = json!({"apiGroups": [group], "resources": [resource]});
            if is_named {
                rule["resourceNames"] = json!(names);
            }
            rule["verbs"] = json!(verbs);
            rule
        });
        rules.collect()
    }
}

/// The rights round these providers, which are all of a set, where something of it may be there already.
pub fn installation(set: &[(&Provider, &RenderedObjects)], before: &InstalledSet) -> SetInstallation {
    let parts = set.iter().map(|(provider, rendered)| (*provider, rendered.objects.as_slice()));
    of_parts(&parts.collect::<Vec<_>>(), before)
}

/// The same of those providers of a set whose components are known; variables without values are empty in them.
pub fn installation_of(set: &ProviderSet, rendered: &RenderedSet, before: &InstalledSet) -> SetInstallation {
    let mut parts: Vec<ProviderObjects<'_>> = Vec::new();
    for provider in set.providers() {
        let components = rendered.member(&provider.label()).and_then(|member| member.rendered());
        parts.extend(components.map(|components| (provider, components.objects.as_slice())));
    }
    of_parts(&parts, before)
}

/// A provider and the objects that it comes to.
type ProviderObjects<'a> = (&'a Provider, &'a [Value]);

fn of_parts(set: &[ProviderObjects<'_>], before: &InstalledSet) -> SetInstallation {
    let objects: Vec<&Value> = set.iter().flat_map(|(_, objects)| *objects).collect();
    let plurals = plurals(&objects);
    let mut whole = Rules::default();
    let mut of_namespace: BTreeMap<String, Rules> = BTreeMap::new();
    for object in &objects {
        let group = api_group(text(object, "/apiVersion"));
        let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
        let resource =
            plurals.get(&(group.to_owned(), kind.to_owned())).cloned().unwrap_or_else(|| plural(kind));
        let rules = match text(object, "/metadata/namespace") {
            "" => &mut whole,
            namespace => of_namespace.entry(namespace.to_owned()).or_default(),
        };
        let verbs = if group == EXTENSIONS { KEPT } else { WRITTEN };
        rules.add(group, &resource, &[name], verbs);
        // The right to list all Secrets is the right to read them: each is watched by its name.
        let watched: &[&str] = if group.is_empty() && kind == "Secret" { &[name] } else { &[] };
        rules.add(group, &resource, watched, WATCHED);
        match (group, kind) {
            (RBAC, "ClusterRole" | "Role") => rules.add(RBAC, &resource, &[name], &["escalate"]),
            (RBAC, "ClusterRoleBinding" | "RoleBinding") => {
                let bound = plural(text(object, "/roleRef/kind"));
                rules.add(RBAC, &bound, &[text(object, "/roleRef/name")], &["bind"]);
            }
            (EXTENSIONS, _) => {
                // Versions that go are migrated before, and a kind with objects is not taken away. Webhooks are asked
                // by a dry-run apply, which creates, and a right knows no dry run.
                rules.add(EXTENSIONS, "customresourcedefinitions/status", &[name], &["patch"]);
                let (of, plural) = (text(object, "/spec/group"), text(object, "/spec/names/plural"));
                rules.add(of, plural, &[], &["create", "get", "list", "patch"]);
            }
            _ => {}
        }
    }
    for id in gone(&objects, before) {
        let resource =
            plurals.get(&(id.group.clone(), id.kind.clone())).cloned().unwrap_or_else(|| plural(&id.kind));
        let rules = match &id.namespace {
            None => &mut whole,
            Some(namespace) => of_namespace.entry(namespace.clone()).or_default(),
        };
        // A definition stays, and is read.
        let verbs = if id.group == EXTENSIONS { &PRUNED[1..] } else { PRUNED };
        rules.add(&id.group, &resource, &[&id.name], verbs);
        let watched: &[&str] = if id.group.is_empty() && id.kind == "Secret" { &[&id.name] } else { &[] };
        rules.add(&id.group, &resource, watched, WATCHED);
    }
    for kind in ProviderKind::names() {
        whole.add(GROUP, &plural(kind), &[], READ);
    }
    for (provider, _) in set {
        whole.add("", "namespaces", &[&provider.namespace], BROUGHT);
        let rules = of_namespace.entry(provider.namespace.clone()).or_default();
        let status = format!("{}/status", plural(provider.kind.name()));
        rules.add(GROUP, &status, &[&provider.name], &["patch"]);
        // Those that hold components, and those that a set's folder brings.
        rules.add("", "configmaps", &[], WRITTEN);
        rules.add("", "configmaps", &[], WATCHED);
        rules.add("", "pods", &[], &["list", "watch"]);
        // What others left who installed it: the operator's cache goes, clusterctl's inventory says the version.
        rules.add(CLUSTERCTL, "providers", &[&provider.label()], &["get"]);
        let label = provider.label();
        let others =
            before.versions.iter().filter(|(of, _)| *of == label).map(|(_, version)| version.as_str());
        for version in provider.version().into_iter().chain(others) {
            let cache = provider.kind.operators_cache(&provider.name, version);
            rules.add("", "secrets", &[&cache], PRUNED);
        }
        if let Some(secret) = &provider.spec.config_secret {
            of_namespace.entry(secret.namespace.clone()).or_default().add(
                "",
                "secrets",
                &[&secret.name],
                READ,
            );
        }
    }
    let role = |kind: &str, namespace: Option<&str>, rules: Rules| {
        let mut metadata = json!({"name": SERVICE_ACCOUNT});
        if let Some(namespace) = namespace {
            metadata["namespace"] = json!(namespace);
        }
        json!({"apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": metadata, "rules": rules.written()})
    };
    let own = of_namespace.keys().filter(|name| !OF_EVERY_CLUSTER.contains(&name.as_str()));
    let bare = |name: &String| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let namespaces = own.map(bare).collect();
    let mut roles = vec![role("ClusterRole", None, whole)];
    roles.extend(of_namespace.into_iter().map(|(namespace, rules)| role("Role", Some(&namespace), rules)));
    SetInstallation { namespaces, roles, providers: managers(set, &objects) }
}

/// What was there of a set that has it no more.
fn gone<'b>(objects: &[&Value], before: &'b InstalledSet) -> Vec<&'b ObjectId> {
    let kept: BTreeSet<ObjectId> = objects.iter().map(|object| id_of(object)).collect();
    before.objects.iter().filter(|id| !kept.contains(id) && id.kind != "Namespace").collect()
}

/// What the subjects of each provider's bindings may do.
fn managers(set: &[ProviderObjects<'_>], objects: &[&Value]) -> Vec<Value> {
    let mut all = Vec::new();
    for (provider, own) in set {
        let mut of_subject: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let bindings = own.iter().filter(|object| {
            api_group(text(object, "/apiVersion")) == RBAC && text(object, "/kind").ends_with("RoleBinding")
        });
        for binding in bindings {
            let rules = rules_of(binding, objects);
            for subject in binding["subjects"].as_array().into_iter().flatten() {
                let namespace = text(subject, "/namespace");
                let separator = if namespace.is_empty() { "" } else { "/" };
                let name =
                    format!("{} {namespace}{separator}{}", text(subject, "/kind"), text(subject, "/name"));
                of_subject.entry(name).or_default().extend(rules.iter().cloned());
            }
        }
        all.extend(
            of_subject.into_iter().map(
                |(subject, rules)| json!({"label": provider.label(), "subject": subject, "rules": rules}),
            ),
        );
    }
    all
}

/// The rules that a binding gives.
fn rules_of(binding: &Value, objects: &[&Value]) -> Vec<Value> {
    let namespace = text(binding, "/metadata/namespace");
    let (kind, name) = (text(binding, "/roleRef/kind"), text(binding, "/roleRef/name"));
    let is_meant = |object: &&&Value| {
        api_group(text(object, "/apiVersion")) == RBAC
            && text(object, "/kind") == kind
            && text(object, "/metadata/name") == name
            && (kind == "ClusterRole" || text(object, "/metadata/namespace") == namespace)
    };
    let Some(role) = objects.iter().find(is_meant) else {
        return vec![json!({"role": format!("{kind} {name}")})];
    };
    let mut rules: Vec<Value> = role["rules"].as_array().cloned().unwrap_or_default();
    for selector in role["aggregationRule"]["clusterRoleSelectors"].as_array().into_iter().flatten() {
        let wanted = selector["matchLabels"].as_object();
        let aggregated = objects.iter().filter(|object| {
            text(object, "/kind") == "ClusterRole"
                && wanted.is_some_and(|wanted| {
                    wanted.iter().all(|(name, value)| object["metadata"]["labels"].get(name) == Some(value))
                })
        });
        rules.extend(aggregated.flat_map(|role| role["rules"].as_array().cloned().unwrap_or_default()));
    }
    if !namespace.is_empty() {
        for rule in rules.iter_mut().filter_map(Value::as_object_mut) {
            rule.insert("namespace".to_owned(), json!(namespace));
        }
    }
    rules
}

/// Resources of the kinds that the set's definitions bring.
fn plurals(objects: &[&Value]) -> BTreeMap<(String, String), String> {
    let definitions = objects.iter().filter(|object| text(object, "/kind") == "CustomResourceDefinition");
    definitions
        .map(|definition| {
            let word = |path: &str| text(definition, path).to_owned();
            ((word("/spec/group"), word("/spec/names/kind")), word("/spec/names/plural"))
        })
        .collect()
}

/// The resource of a kind, as Kubernetes guesses it where nobody says
/// (`UnsafeGuessKindToResource` of <https://pkg.go.dev/k8s.io/apimachinery/pkg/api/meta>), and for its own kinds rightly.
fn plural(kind: &str) -> String {
    let word = kind.to_ascii_lowercase();
    match word.as_str() {
        "endpoints" => word,
        _ if word.ends_with('s') => format!("{word}es"),
        _ => match word.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None => format!("{word}s"),
        },
    }
}

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
#[path = "installation_tests.rs"]
mod tests;
