//! What a provider object does to Deployments: `deployment`, then `manager`, of which the later wins; and which
//! Deployments it means
//! (<https://github.com/kubernetes-sigs/cluster-api-operator/blob/v0.28.0/internal/controller/component_customizer.go>).

use serde_json::{Map, Value, json};

use super::duration::Seconds;
use super::objects::Object;
use super::refusal::Refusal;
use super::spec::{Container, Deployment, LeaderElection, Manager, Spec};

const KIND: &str = "Deployment";

/// The container that `manager` is about; the first where none has that name.
const MANAGER: &str = "manager";

/// How talkative managers are by default: says nothing.
const DEFAULT_VERBOSITY: i64 = 1;

/// Customizes every Deployment that the provider object means.
///
/// # Errors
/// A container that is not there, an argument that is there already: with the Deployment.
pub(crate) fn customize(objects: &mut [Object], spec: &Spec) -> Result<(), Refusal> {
    let several = objects.iter().filter(|object| object.kind() == KIND).count() > 1;
    for object in objects.iter_mut().filter(|object| object.kind() == KIND) {
        let name = object.metadata("name").to_owned();
        let is_manager = !several || (name.starts_with("ca") && name.ends_with("-controller-manager"));
        let (deployment, manager) = match (is_manager, spec.additional_deployments.get(&name)) {
            (true, _) => (spec.deployment.as_ref(), spec.manager.as_ref()),
            (false, Some(additional)) => (additional.deployment.as_ref(), additional.manager.as_ref()),
            (false, None) => continue,
        };
        let told = |refusal: Refusal| refusal.of(format!("{KIND} {name}"));
        if let Some(deployment) = deployment {
            of_deployment(&mut object.value, deployment).map_err(told)?;
        }
        if let Some(manager) = manager {
            of_manager(&mut object.value, manager).map_err(told)?;
        }
    }
    Ok(())
}

fn no_pod() -> Refusal {
    Refusal::new("it has no `spec.template.spec`: correct the components")
}

fn pod_mut(object: &mut Value) -> Result<&mut Map<String, Value>, Refusal> {
    object.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut).ok_or_else(no_pod)
}

fn containers_mut(object: &mut Value) -> Result<&mut [Value], Refusal> {
    Ok(pod_mut(object)?
        .get_mut("containers")
        .and_then(Value::as_array_mut)
        .map_or(&mut [], |list| list.as_mut_slice()))
}

/// What is empty is left out, as Go writes it.
fn set_or_clear(fields: &mut Map<String, Value>, key: &str, value: Value) {
    let is_empty = match &value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    if is_empty {
        fields.shift_remove(key);
    } else {
        fields.insert(key.to_owned(), value);
    }
}

fn of_deployment(object: &mut Value, wanted: &Deployment) -> Result<(), Refusal> {
    if let Some(replicas) = wanted.replicas {
        let spec = object.get_mut("spec").and_then(Value::as_object_mut).ok_or_else(no_pod)?;
        spec.insert("replicas".to_owned(), replicas.into());
    }
    let pod = pod_mut(object)?;
    if let Some(affinity) = &wanted.affinity {
        pod.insert("affinity".to_owned(), affinity.clone());
    }
    if let Some(selector) = &wanted.node_selector {
        set_or_clear(pod, "nodeSelector", json!(selector));
    }
    if let Some(tolerations) = &wanted.tolerations {
        set_or_clear(pod, "tolerations", json!(tolerations));
    }
    if !wanted.service_account_name.is_empty() {
        pod.insert("serviceAccountName".to_owned(), wanted.service_account_name.as_str().into());
    }
    if let Some(secrets) = &wanted.image_pull_secrets {
        set_or_clear(pod, "imagePullSecrets", json!(secrets));
    }
    for container in &wanted.containers {
        let named = |found: &&mut Value| found.get("name").and_then(Value::as_str) == Some(&container.name);
        let found = containers_mut(object)?.iter_mut().find(named).and_then(Value::as_object_mut);
        let missing = || {
            Refusal::new(format!(
                "it has no container `{}`, which `containers` names: correct the name",
                container.name
            ))
        };
        of_container(found.ok_or_else(missing)?, container)?;
    }
    Ok(())
}

fn of_container(found: &mut Map<String, Value>, wanted: &Container) -> Result<(), Refusal> {
    let mut arguments = ContainerArguments::of(found)?;
    for (name, value) in &wanted.args {
        arguments.set(name, value);
    }
    arguments.write(found);
    if !wanted.env.is_empty() {
        let env = found.entry("env").or_insert(Value::Null);
        if env.is_null() {
            *env = json!([]);
        }
        let env = env.as_array_mut().ok_or_else(|| Refusal::new("`env` of a container must be a list"))?;
        for variable in &wanted.env {
            if let Some(at) = env.iter().position(|other| other.get("name") == variable.get("name")) {
                env.remove(at);
            }
            env.push(variable.clone());
        }
    }
    if let Some(resources) = &wanted.resources {
        found.insert("resources".to_owned(), resources.clone());
    }
    if let Some(image) = &wanted.image_url {
        found.insert("image".to_owned(), image.as_str().into());
    }
    if let Some(command) = &wanted.command {
        set_or_clear(found, "command", json!(command));
    }
    Ok(())
}

fn of_manager(object: &mut Value, wanted: &Manager) -> Result<(), Refusal> {
    let containers = containers_mut(object)?;
    let named = |found: &Value| found.get("name").and_then(Value::as_str) == Some(MANAGER);
    let at = containers.iter().position(named).unwrap_or_default();
    let Some(container) = containers.get_mut(at).and_then(Value::as_object_mut) else {
        return Err(Refusal::new("it has no container, but `manager` is set: correct the components"));
    };
    for (probe, name) in [
        ("livenessProbe", &wanted.liveness_endpoint_name),
        ("readinessProbe", &wanted.readiness_endpoint_name),
    ] {
        let http = container.get_mut(probe).and_then(|probe| probe.get_mut("httpGet")?.as_object_mut());
        if let Some(http) = http.filter(|_| !name.is_empty()) {
            http.insert("path".to_owned(), format!("/{name}").into());
        }
    }
    let mut arguments = ContainerArguments::of(container)?;
    manager_arguments(&mut arguments, wanted)?;
    arguments.write(container);
    Ok(())
}

/// In the operator's order; where that is the random one of a Go map, by name.
fn manager_arguments(arguments: &mut ContainerArguments, wanted: &Manager) -> Result<(), Refusal> {
    for (kind, number) in &wanted.group_kind_concurrency {
        arguments.set(&format!("--{}-concurrency", kind.to_lowercase()), number);
    }
    if let Some(number) = wanted.max_concurrent_reconciles {
        arguments.set("--max-concurrent-reconciles", number);
    }
    for (argument, value) in [
        ("--namespace", &wanted.cache_namespace),
        ("--health-addr", &wanted.health_probe_bind_address),
        ("--metrics-bind-addr", &wanted.metrics_bind_address),
        ("--diagnostics-address", &wanted.diagnostics_address),
        ("--webhook-host", &wanted.webhook_host),
        ("--webhook-cert-dir", &wanted.webhook_cert_dir),
        ("--profiler-address", &wanted.profiler_address),
    ] {
        if !value.is_empty() {
            arguments.set(argument, value);
        }
    }
    if let Some(election) = &wanted.leader_election {
        leader_election(arguments, election);
    }
    if wanted.insecure_diagnostics {
        arguments.set("--insecure-diagnostics", true);
    }
    if let Some(port) = wanted.webhook_port {
        arguments.set("--webhook-port", port);
    }
    if let Some(period) = wanted.sync_period {
        arguments.set_seconds("--sync-period", period);
    }
    if wanted.verbosity != DEFAULT_VERBOSITY {
        arguments.set("--v", wanted.verbosity);
    }
    if !wanted.feature_gates.is_empty() {
        let mut gates = arguments.feature_gates();
        gates.extend(wanted.feature_gates.iter().map(|(gate, on)| (gate.clone(), *on)));
        let mut gates: Vec<String> = gates.iter().map(|(gate, on)| format!("{gate}={on}")).collect();
        gates.sort();
        arguments.set("--feature-gates", gates.join(","));
    }
    for (name, value) in &wanted.additional_args {
        if arguments.find(name).is_some() {
            return Err(Refusal::new(format!(
                "`manager.additionalArgs` adds `{name}`, which is already there: change it where it is set"
            )));
        }
        arguments.set(name, value);
    }
    Ok(())
}

fn leader_election(arguments: &mut ContainerArguments, wanted: &LeaderElection) {
    arguments.set("--leader-elect", wanted.leader_elect);
    if !wanted.leader_elect {
        return;
    }
    if !wanted.resource_name.is_empty() && !wanted.resource_namespace.is_empty() {
        arguments
            .set("--leader-election-id", format!("{}/{}", wanted.resource_namespace, wanted.resource_name));
    }
    arguments.set_seconds("--leader-elect-lease-duration", wanted.lease_duration);
    arguments.set_seconds("--leader-elect-renew-deadline", wanted.renew_deadline);
    arguments.set_seconds("--leader-elect-retry-period", wanted.retry_period);
}

/// A container's arguments; one is known by `NAME=` at its start.
struct ContainerArguments(Vec<String>);

impl ContainerArguments {
    fn of(container: &Map<String, Value>) -> Result<Self, Refusal> {
        let items = match container.get("args") {
            None | Some(Value::Null) => return Ok(Self(Vec::new())),
            Some(args) => args.as_array(),
        };
        let texts =
            items.and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        texts.map(Self).ok_or_else(|| Refusal::new("`args` of a container must be a list of texts"))
    }

    fn write(self, container: &mut Map<String, Value>) {
        set_or_clear(container, "args", json!(self.0));
    }

    fn find(&self, name: &str) -> Option<usize> {
        let is = |argument: &String| argument.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
        self.0.iter().position(is)
    }

    fn set(&mut self, name: &str, value: impl std::fmt::Display) {
        let argument = format!("{name}={value}");
        match self.find(name) {
            Some(at) => self.0[at] = argument,
            None => self.0.push(argument),
        }
    }

    fn set_seconds(&mut self, name: &str, seconds: Seconds) {
        if seconds.0 > 0 {
            self.set(name, format!("{}s", seconds.0));
        }
    }

    /// What the first `--feature-gates` says.
    fn feature_gates(&self) -> std::collections::BTreeMap<String, bool> {
        let first = self.0.iter().find_map(|argument| argument.strip_prefix("--feature-gates="));
        let gates = first.unwrap_or_default().split(',').filter_map(|gate| gate.split_once('='));
        gates.map(|(gate, on)| (gate.to_owned(), on == "true")).collect()
    }
}

#[cfg(test)]
#[path = "deployment_tests.rs"]
mod tests;
