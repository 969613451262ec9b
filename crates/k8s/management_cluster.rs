//! [`ManagementCluster`] on the Kubernetes API.

use std::collections::BTreeSet;

use async_trait::async_trait;
use capstan_live::live_objects::{HOSTS_MANAGER, MANAGER};
use capstan_model::object::FieldPath;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;

use super::cluster::{KubeCluster, List, ListDepth, in_run, path};
use super::discovery::Served;
use super::rest::ApiCall;
use super::{delete, take_over, watch};
use capstan_ports::{
    ApiKind, ApiObject, As, Contested, Deleted, HeldRights, KindScope, KindsInNamespaces, LiveChanges,
    LiveError, ManagementCluster, ObjectPart, Post, Preconditions, Run, Watched,
};

/// How many objects one page of a list holds.
const PAGE: &str = "500";

#[async_trait]
impl ManagementCluster for KubeCluster {
    async fn uid(&self) -> Result<String, LiveError> {
        let call = ApiCall::new(
            "reading Namespace kube-system",
            &As::Reconciler,
            Method::GET,
            "/api/v1/namespaces/kube-system",
        );
        let namespace = self.rest.done(&call).await?;
        let uid = namespace.pointer("/metadata/uid").and_then(Value::as_str);
        uid.map(str::to_owned).ok_or_else(|| call.unreachable("its namespace kube-system has no UID"))
    }

    async fn version(&self) -> Result<String, LiveError> {
        let call =
            ApiCall::new("asking for the API server's version", &As::Reconciler, Method::GET, "/version");
        let told = self.rest.done(&call).await?;
        let version = told.get("gitVersion").and_then(Value::as_str);
        version.map(str::to_owned).ok_or_else(|| call.unreachable("it reports no version"))
    }

    async fn rights(&self, by: &As, namespace: &str) -> Result<HeldRights, LiveError> {
        // A question that has the form of a create, and leaves nothing behind.
        const PATH: &str = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace},
        });
        let call = ApiCall::new(format!("asking what may be done in {namespace}"), by, Method::POST, PATH)
            .body("application/json", &review);
        let told = self.rest.done(&call).await?;
        let rules = told.pointer("/status/resourceRules").and_then(Value::as_array).cloned();
        let is_whole = told.pointer("/status/incomplete").and_then(Value::as_bool) != Some(true);
        Ok(HeldRights { rules: rules.unwrap_or_default(), is_whole })
    }

    async fn read(&self, by: &As, object: &ApiObject) -> Result<Option<Value>, LiveError> {
        let doing = format!("reading {object}");
        let call = |served: &Served| Ok(ApiCall::new(&doing, by, Method::GET, path(&doing, served, object)?));
        let Some((_, call, answer)) = self.ask(&object.kind, call).await? else { return Ok(None) };
        match answer.status {
            status if status.is_success() => Ok(Some(answer.body)),
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(call.refused(&answer)),
        }
    }

    async fn list(
        &self,
        by: &As,
        kind: &ApiKind,
        namespace: Option<&str>,
        labels: &[(&str, &str)],
    ) -> Result<Vec<Value>, LiveError> {
        let list = List { kind, namespace, labels, fields: None, page: PAGE, part: ListDepth::Whole };
        self.list_as(by, &list, Some).await
    }

    async fn list_metadata(&self, by: &As, kind: &ApiKind, namespace: &str) -> Result<Vec<Value>, LiveError> {
        let part = ListDepth::Metadata;
        let list = List { kind, namespace: Some(namespace), labels: &[], fields: None, page: PAGE, part };
        self.list_as(by, &list, Some).await
    }

    async fn warnings(&self, by: &As, namespace: &str) -> Result<Vec<Value>, LiveError> {
        let kind = ApiKind::of_version("v1", "Event");
        let (fields, part) = (Some("type=Warning"), ListDepth::Whole);
        let list = List { kind: &kind, namespace: Some(namespace), labels: &[], fields, page: PAGE, part };
        self.list_as(by, &list, Some).await
    }

    async fn apply(
        &self,
        by: &As,
        manifest: &Value,
        run: Run,
        contested: Contested,
    ) -> Result<Value, LiveError> {
        self.apply_as(by, manifest, (MANAGER, run, contested)).await
    }

    async fn label(&self, by: &As, manifest: &Value) -> Result<Value, LiveError> {
        self.apply_as(by, manifest, (HOSTS_MANAGER, Run::Real, Contested::Refuse)).await
    }

    async fn dry_run_create(&self, by: &As, manifest: &Value) -> Result<Value, LiveError> {
        let object = identify("trying to create", manifest)?;
        let doing = format!("trying to create one like {object}");
        let mut unnamed = manifest.clone();
        if let Some(metadata) = unnamed.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("name");
            metadata.insert("generateName".to_owned(), json!(format!("{}-", object.name)));
        }
        let call = |served: &Served| {
            // Checks the name, which the path does not hold.
            path(&doing, served, &object)?;
            let call = ApiCall::new(&doing, by, Method::POST, served.path(object.namespace.as_deref()))
                .query("fieldManager", MANAGER)
                .query("fieldValidation", "Strict")
                .body("application/json", &unnamed);
            Ok(in_run(call, Run::Dry))
        };
        self.demand(&doing, &object.kind, call).await
    }

    async fn patch(
        &self,
        by: &As,
        object: &ApiObject,
        part: ObjectPart,
        patch: &Value,
        run: Run,
    ) -> Result<Value, LiveError> {
        let what = match part {
            ObjectPart::Whole => "",
            ObjectPart::Status => "the status of ",
            ObjectPart::Approval => "the approval of ",
        };
        let doing = match run {
            Run::Dry => format!("trying to change {what}{object}"),
            Run::Real => format!("changing {what}{object}"),
        };
        let call = |served: &Served| {
            let path = path(&doing, served, object)?;
            let path = match part {
                ObjectPart::Whole => path,
                ObjectPart::Status => format!("{path}/status"),
                ObjectPart::Approval => format!("{path}/approval"),
            };
            let call = ApiCall::new(&doing, by, Method::PATCH, path)
                .query("fieldManager", MANAGER)
                .query("fieldValidation", "Strict")
                .body("application/json-patch+json", patch);
            Ok(in_run(call, run))
        };
        self.demand(&doing, &object.kind, call).await
    }

    async fn delete(
        &self,
        by: &As,
        object: &ApiObject,
        only: Preconditions<'_>,
        run: Run,
    ) -> Result<Deleted, LiveError> {
        delete::delete(self, by, object, only, run).await
    }

    async fn take_over(
        &self,
        by: &As,
        object: &ApiObject,
        from: &[String],
        let_go: &[FieldPath],
    ) -> Result<(), LiveError> {
        take_over::take_over(self, by, object, from, let_go).await
    }

    async fn scope(&self, kind: &ApiKind) -> Result<Option<KindScope>, LiveError> {
        Ok(self.discovery.find(kind).await?.map(|served| served.scope))
    }

    async fn kinds_in_namespaces(&self) -> Result<KindsInNamespaces, LiveError> {
        self.discovery.in_namespaces().await
    }

    fn watch(&self, watched: Receiver<Watched>) -> LiveChanges {
        watch::watch(self.clone(), None, watched)
    }

    fn watch_posts(&self, by: As, posts: Receiver<BTreeSet<Post>>) -> LiveChanges {
        watch::watch_posts(self.clone(), by, posts)
    }
}

impl KubeCluster {
    async fn apply_as(
        &self,
        by: &As,
        manifest: &Value,
        (manager, run, contested): (&str, Run, Contested),
    ) -> Result<Value, LiveError> {
        let object = identify("applying", manifest)?;
        let doing = match run {
            Run::Dry => format!("trying to apply {object}"),
            Run::Real => format!("applying {object}"),
        };
        let call = |served: &Served| {
            let call = ApiCall::new(&doing, by, Method::PATCH, path(&doing, served, &object)?)
                .query("fieldManager", manager)
                .query("force", if contested == Contested::Take { "true" } else { "false" })
                .query("fieldValidation", "Strict")
                .body("application/apply-patch+yaml", manifest);
            Ok(in_run(call, run))
        };
        self.demand(&doing, &object.kind, call).await
    }
}

fn identify(doing: &str, manifest: &Value) -> Result<ApiObject, LiveError> {
    ApiObject::of(manifest).ok_or_else(|| LiveError::Malformed {
        doing: format!("{doing} an object"),
        reason: "its manifest lacks apiVersion, kind or metadata.name".to_owned(),
    })
}
