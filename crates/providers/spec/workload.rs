//! What a provider object says of Deployments and of the manager in them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::duration::Seconds;
use crate::fields::FieldReader;
use crate::refusal::Refusal;

#[derive(Debug, Clone, Default)]
pub(crate) struct Manager {
    pub(crate) group_kind_concurrency: BTreeMap<String, i64>,
    pub(crate) max_concurrent_reconciles: Option<i64>,
    pub(crate) cache_namespace: String,
    pub(crate) health_probe_bind_address: String,
    pub(crate) readiness_endpoint_name: String,
    pub(crate) liveness_endpoint_name: String,
    pub(crate) metrics_bind_address: String,
    pub(crate) diagnostics_address: String,
    pub(crate) insecure_diagnostics: bool,
    pub(crate) webhook_host: String,
    pub(crate) webhook_port: Option<i64>,
    pub(crate) webhook_cert_dir: String,
    pub(crate) profiler_address: String,
    pub(crate) leader_election: Option<LeaderElection>,
    pub(crate) sync_period: Option<Seconds>,
    pub(crate) verbosity: i64,
    pub(crate) feature_gates: BTreeMap<String, bool>,
    pub(crate) additional_args: BTreeMap<String, String>,
}

/// `manager.leaderElection`: all of it, since the definition wants all of it.
#[derive(Debug, Clone)]
pub(crate) struct LeaderElection {
    pub(crate) leader_elect: bool,
    pub(crate) resource_name: String,
    pub(crate) resource_namespace: String,
    pub(crate) lease_duration: Seconds,
    pub(crate) renew_deadline: Seconds,
    pub(crate) retry_period: Seconds,
}

/// `deployment`. What is an `Option` says nothing where it is absent, and clears where it is empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deployment {
    pub(crate) replicas: Option<i64>,
    pub(crate) node_selector: Option<BTreeMap<String, String>>,
    pub(crate) tolerations: Option<Vec<Value>>,
    pub(crate) affinity: Option<Value>,
    pub(crate) service_account_name: String,
    pub(crate) image_pull_secrets: Option<Vec<Value>>,
    pub(crate) containers: Vec<Container>,
}

/// An entry of `deployment.containers`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) image_url: Option<String>,
    pub(crate) args: BTreeMap<String, String>,
    pub(crate) env: Vec<Value>,
    pub(crate) resources: Option<Value>,
    pub(crate) command: Option<Vec<String>>,
}

/// An entry of `additionalDeployments`.
#[derive(Debug, Clone, Default)]
pub(crate) struct AdditionalDeployment {
    pub(crate) manager: Option<Manager>,
    pub(crate) deployment: Option<Deployment>,
}

pub(super) const MANAGER: &[&str] = &[
    "additionalArgs",
    "cacheNamespace",
    "controller",
    "featureGates",
    "gracefulShutDown",
    "health",
    "leaderElection",
    "maxConcurrentReconciles",
    "metrics",
    "profilerAddress",
    "syncPeriod",
    "verbosity",
    "webhook",
];
pub(super) const CONTROLLER: &[&str] = &["cacheSyncTimeout", "groupKindConcurrency", "recoverPanic"];
pub(super) const HEALTH: &[&str] =
    &["healthProbeBindAddress", "livenessEndpointName", "readinessEndpointName"];
pub(super) const LEADER_ELECTION: &[&str] = &[
    "leaderElect",
    "leaseDuration",
    "renewDeadline",
    "resourceLock",
    "resourceName",
    "resourceNamespace",
    "retryPeriod",
];
pub(super) const METRICS: &[&str] = &["bindAddress", "diagnosticsAddress", "insecureDiagnostics"];
pub(super) const WEBHOOK: &[&str] = &["certDir", "host", "port"];
pub(super) const DEPLOYMENT: &[&str] = &[
    "affinity",
    "containers",
    "imagePullSecrets",
    "nodeSelector",
    "replicas",
    "serviceAccountName",
    "tolerations",
];
pub(super) const AFFINITY: &[&str] = &["nodeAffinity", "podAffinity", "podAntiAffinity"];
pub(super) const TOLERATION: &[&str] = &["effect", "key", "operator", "tolerationSeconds", "value"];
pub(super) const CONTAINER: &[&str] = &["args", "command", "env", "imageUrl", "name", "resources"];
pub(super) const OLDER_CONTAINER: &[&str] =
    &["args", "command", "env", "image", "imageUrl", "name", "resources"];
pub(super) const ENV: &[&str] = &["name", "value", "valueFrom"];
pub(super) const RESOURCES: &[&str] = &["claims", "limits", "requests"];
pub(super) const ADDITIONAL_DEPLOYMENT: &[&str] = &["deployment", "manager"];

/// What a Deployment's `replicas` can be.
const MOST_REPLICAS: i64 = i32::MAX as i64;

impl Manager {
    pub(super) fn read(fields: &FieldReader<'_>) -> Result<Self, Refusal> {
        let controller = fields.nested("controller", CONTROLLER)?;
        let health = fields.nested("health", HEALTH)?;
        let metrics = fields.nested("metrics", METRICS)?;
        let webhook = fields.nested("webhook", WEBHOOK)?;
        let text = |fields: &Option<FieldReader<'_>>, key: &str| match fields {
            Some(fields) => fields.text(key).map(Option::unwrap_or_default),
            None => Ok(String::new()),
        };
        // These add no argument, but their types are checked.
        fields.duration("gracefulShutDown")?;
        if let Some(controller) = &controller {
            controller.integer("cacheSyncTimeout", i64::MIN, i64::MAX)?;
            controller.boolean("recoverPanic")?;
        }
        let concurrency = match &controller {
            Some(controller) => {
                controller.map("groupKindConcurrency", |value| value.to_value().as_i64(), "a whole number")?
            }
            None => None,
        };
        let leader_election = fields.nested("leaderElection", LEADER_ELECTION)?;
        Ok(Self {
            group_kind_concurrency: concurrency.unwrap_or_default(),
            max_concurrent_reconciles: fields.integer("maxConcurrentReconciles", 1, i64::MAX)?,
            cache_namespace: fields.text("cacheNamespace")?.unwrap_or_default(),
            health_probe_bind_address: text(&health, "healthProbeBindAddress")?,
            readiness_endpoint_name: text(&health, "readinessEndpointName")?,
            liveness_endpoint_name: text(&health, "livenessEndpointName")?,
            metrics_bind_address: text(&metrics, "bindAddress")?,
            diagnostics_address: text(&metrics, "diagnosticsAddress")?,
            insecure_diagnostics: match &metrics {
                Some(metrics) => metrics.boolean("insecureDiagnostics")?.unwrap_or_default(),
                None => false,
            },
            webhook_host: text(&webhook, "host")?,
            webhook_port: match &webhook {
                Some(webhook) => webhook.integer("port", i64::MIN, i64::MAX)?,
                None => None,
            },
            webhook_cert_dir: text(&webhook, "certDir")?,
            profiler_address: fields.text("profilerAddress")?.unwrap_or_default(),
            leader_election: leader_election.as_ref().map(LeaderElection::read).transpose()?,
            sync_period: fields.duration("syncPeriod")?,
            // The definition's default.
            verbosity: fields.integer("verbosity", 0, i64::MAX)?.unwrap_or(1),
            feature_gates: fields
                .map("featureGates", |value| value.to_value().as_bool(), "`true` or `false`")?
                .unwrap_or_default(),
            additional_args: fields.text_map("additionalArgs")?.unwrap_or_default(),
        })
    }
}

impl LeaderElection {
    fn read(fields: &FieldReader<'_>) -> Result<Self, Refusal> {
        if let Some(missing) = LEADER_ELECTION.iter().find(|key| fields.field(key).is_none()) {
            return Err(fields.refuse_all(format!(
                "needs all of its fields, as in the API, but `{missing}` is missing: add it"
            )));
        }
        let duration = |key: &str| fields.duration(key).map(|read| read.unwrap_or(Seconds(0)));
        fields.text("resourceLock")?;
        Ok(Self {
            leader_elect: fields.boolean("leaderElect")?.unwrap_or_default(),
            resource_name: fields.text("resourceName")?.unwrap_or_default(),
            resource_namespace: fields.text("resourceNamespace")?.unwrap_or_default(),
            lease_duration: duration("leaseDuration")?,
            renew_deadline: duration("renewDeadline")?,
            retry_period: duration("retryPeriod")?,
        })
    }
}

impl Deployment {
    /// `container_fields` are those of the object's version.
    pub(super) fn read(fields: &FieldReader<'_>, container_fields: &[&str]) -> Result<Self, Refusal> {
        let mut containers = Vec::new();
        for (at, item) in fields.items("containers")?.unwrap_or_default().iter().enumerate() {
            let path = format!("{}[{at}]", fields.path_of("containers"));
            containers.push(Container::read(&FieldReader::of(item, path, container_fields)?)?);
        }
        Ok(Self {
            replicas: fields.integer("replicas", 0, MOST_REPLICAS)?,
            node_selector: fields.text_map("nodeSelector")?,
            tolerations: fields.kubernetes_list("tolerations", TOLERATION)?,
            affinity: fields.kubernetes("affinity", AFFINITY)?,
            service_account_name: fields.text("serviceAccountName")?.unwrap_or_default(),
            image_pull_secrets: fields.kubernetes_list("imagePullSecrets", &["name"])?,
            containers,
        })
    }
}

impl Container {
    fn read(fields: &FieldReader<'_>) -> Result<Self, Refusal> {
        let env = fields.kubernetes_list("env", ENV)?.unwrap_or_default();
        if env.iter().any(|one| one.get("name").and_then(Value::as_str).is_none_or(str::is_empty)) {
            return Err(fields.refuse("env", "has an entry without `name`: add it"));
        }
        Ok(Self {
            name: fields.wanted_text("name")?,
            image_url: image_url(fields)?,
            args: fields.text_map("args")?.unwrap_or_default(),
            env,
            resources: fields.kubernetes("resources", RESOURCES)?,
            command: fields.texts("command")?,
        })
    }
}

/// `imageUrl`, or what v1alpha1 had for it.
fn image_url(fields: &FieldReader<'_>) -> Result<Option<String>, Refusal> {
    let newer = fields.text("imageUrl")?;
    let Some(image) = fields.nested("image", &["name", "repository", "tag"])? else { return Ok(newer) };
    if newer.is_some() {
        return Err(fields.refuse("image", "and `imageUrl` say the same: keep `imageUrl`"));
    }
    let part = |key: &str| image.text(key).map(Option::unwrap_or_default);
    let (repository, name, tag) = (part("repository")?, part("name")?, part("tag")?);
    let named = [repository.trim_end_matches('/'), &name].into_iter().filter(|part| !part.is_empty());
    let mut url = named.collect::<Vec<_>>().join("/");
    if !tag.is_empty() {
        url = format!("{url}:{tag}");
    }
    Ok(Some(url))
}
