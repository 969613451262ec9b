//! The live names of a cluster's templates ([U12]): found by asking the API server, kept in the status.
//!
//! A name that the status has for a rendered spec holds as long as the object lives. For a spec that the
//! status does not know, a dry-run create under a generated name gives the spec with all defaults; a live
//! template of the same logical name whose spec equals that keeps its name, and nothing rolls. A template that was
//! written in another API version is compared besides with the defaults that this one would give it. Where none
//! does the name is by content, and the template is new.
//!
//! [U12]: capstan_plan::templates#u12

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_kustomize::render::{RenderedFolder, RenderedObject};
use capstan_model::ids::ClusterId;
use capstan_model::object::{ObjectId, api_group};
use capstan_plan::templates::{LiveTemplate, NamedTemplate, Naming, TemplateNames};
use serde_json::Value;

use super::blocking::where_blocking_is_allowed;
use super::dry_runs::try_one;
use capstan_fleet::generator::{Fleet, Refused, name_templates};
use capstan_ports::{ApiObject, As, LiveError, ManagementCluster};

/// What naming the templates of a cluster gave.
#[derive(Debug)]
pub(super) struct TemplateNaming {
    /// The render under live names.
    pub(super) rendered: RenderedFolder,
    /// All templates in it.
    pub(super) templates: Vec<NamedTemplate>,
    /// What was known, and what was found out now.
    pub(super) names: TemplateNames,
}

/// Why templates could not be named.
#[derive(Debug, thiserror::Error)]
pub(super) enum NamingError {
    /// The settings say two things of the cluster.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The API server did not answer.
    #[error(transparent)]
    Live(#[from] LiveError),
}

/// Which cluster's templates are named, and whose word counts.
pub(super) struct Namer<'a> {
    pub(super) fleet: &'a Arc<Fleet>,
    pub(super) cluster: &'a ClusterId,
    pub(super) live: &'a dyn ManagementCluster,
    pub(super) by: &'a As,
}

impl Namer<'_> {
    /// Names the templates of a render. `known` are the names in the status.
    pub(super) async fn name(
        &self,
        plain: &RenderedFolder,
        known: &TemplateNames,
    ) -> Result<TemplateNaming, NamingError> {
        let mut names = known.clone();
        let mut specs = DefaultedSpecs::default();
        // Templates name templates: a name that was found changes the specs of those that hold it.
        loop {
            let (rendered, templates) = self.name_by(plain, &names).await?;
            let mut found = Vec::new();
            for template in templates.iter().filter(|template| template.naming == Naming::Content) {
                let Some(object) = named_object(&rendered, template) else { continue };
                if let Some(live) = self.live_name(template, object, &names, &mut specs).await? {
                    found.push(LiveTemplate {
                        group: template.logical.group.clone(),
                        kind: template.logical.kind.clone(),
                        namespace: template.logical.namespace.clone(),
                        name: template.logical.name.clone(),
                        live,
                        spec: template.spec,
                    });
                }
            }
            if found.is_empty() {
                return Ok(TemplateNaming { rendered, templates, names });
            }
            names = with(&names, found);
        }
    }

    /// Names the templates by what is known. Of a class the whole fleet is read, which takes its time.
    async fn name_by(
        &self,
        plain: &RenderedFolder,
        names: &TemplateNames,
    ) -> Result<(RenderedFolder, Vec<NamedTemplate>), Refused> {
        let (fleet, cluster) = (Arc::clone(self.fleet), self.cluster.clone());
        let (mut rendered, names) = (plain.clone(), names.clone());
        where_blocking_is_allowed(move || {
            let templates = name_templates(&fleet, &cluster, &mut rendered, &names)?;
            Ok((rendered, templates))
        })
        .await
    }

    /// The live template of that logical name with that very spec.
    async fn live_name(
        &self,
        template: &NamedTemplate,
        object: &RenderedObject,
        names: &TemplateNames,
        specs: &mut DefaultedSpecs,
    ) -> Result<Option<String>, LiveError> {
        let mut candidates: Vec<&str> = names
            .templates()
            .iter()
            .filter(|entry| {
                entry.kind == template.logical.kind
                    && entry.group == template.logical.group
                    && entry.namespace == template.logical.namespace
                    && entry.name == template.logical.name
            })
            .map(|entry| entry.live.as_str())
            .collect();
        // Applied by others before, it has the name in Git; applied by an earlier reconciler whose status
        // was lost, the one by content.
        candidates.extend([template.logical.name.as_str(), template.name.as_str()]);
        candidates.dedup();
        for candidate in candidates {
            let id = ObjectId { name: candidate.to_owned(), ..template.logical.clone() };
            let Some(found) = specs.live(self, &id, object).await? else { continue };
            let Some(wanted) = specs.defaulted(self, object).await? else { return Ok(None) };
            let is_wanted = |spec: &Value| spec.get("spec") == wanted.get("spec");
            if is_wanted(&found) {
                return Ok(Some(candidate.to_owned()));
            }
            // Written in another version, it lacks the defaults that this one brought since: an object has those of
            // the version in which it was written.
            if is_written_otherwise(&found, &object.value) {
                let mut again = object.clone();
                again.value["spec"] = found.get("spec").cloned().unwrap_or_default();
                let is_same = specs.defaulted(self, &again).await?.as_ref().is_some_and(is_wanted);
                if is_same && self.is_taken(&id, object).await? {
                    return Ok(Some(candidate.to_owned()));
                }
            }
        }
        Ok(None)
    }

    /// Whether the API server takes a manifest for an object of that name. A webhook that holds templates to be immutable
    /// may refuse the defaults that the newer version brings: then the template is a new one.
    async fn is_taken(&self, id: &ObjectId, object: &RenderedObject) -> Result<bool, LiveError> {
        let mut named = object.clone();
        named.value["metadata"]["name"] = Value::from(id.name.as_str());
        match try_one(self.live, self.by, &named).await {
            Ok(_) => Ok(true),
            Err(LiveError::Refused { refusal, .. }) if !refusal.worth_retrying() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What was read and asked already.
#[derive(Default)]
struct DefaultedSpecs {
    live: BTreeMap<ObjectId, Option<Value>>,
    defaulted: BTreeMap<(ObjectId, String), Option<Value>>,
}

impl DefaultedSpecs {
    async fn live(
        &mut self,
        namer: &Namer<'_>,
        id: &ObjectId,
        object: &RenderedObject,
    ) -> Result<Option<Value>, LiveError> {
        if !self.live.contains_key(id) {
            // In the version of the manifest: a spec means nothing without its version.
            let Some(wanted) = ApiObject::of(&object.value) else { return Ok(None) };
            let read = namer.live.read(namer.by, &ApiObject { name: id.name.clone(), ..wanted }).await?;
            self.live.insert(id.clone(), read);
        }
        Ok(self.live.get(id).cloned().flatten())
    }

    /// The spec with all defaults; `None` where the API server does not take it: it will say so when it is
    /// applied.
    async fn defaulted(
        &mut self,
        namer: &Namer<'_>,
        object: &RenderedObject,
    ) -> Result<Option<Value>, LiveError> {
        let digest = object.value.get("spec").map(ToString::to_string).unwrap_or_default();
        let key = (object.id.clone(), digest);
        if !self.defaulted.contains_key(&key) {
            let created = match namer.live.dry_run_create(namer.by, &object.value).await {
                Ok(created) => Some(created),
                Err(LiveError::Refused { refusal, .. }) if !refusal.worth_retrying() => None,
                Err(LiveError::Malformed { .. }) => None,
                Err(error) => return Err(error),
            };
            self.defaulted.insert(key.clone(), created);
        }
        Ok(self.defaulted.get(&key).cloned().flatten())
    }
}

/// Whether somebody wrote a live object in another version of its API group than that of a manifest.
fn is_written_otherwise(live: &Value, manifest: &Value) -> bool {
    let wanted = manifest.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.get("apiVersion")?.as_str())
        .any(|written| written != wanted && api_group(written) == api_group(wanted))
}

fn named_object<'r>(rendered: &'r RenderedFolder, template: &NamedTemplate) -> Option<&'r RenderedObject> {
    let id = ObjectId { name: template.name.clone(), ..template.logical.clone() };
    rendered.object(&id)
}

/// The names with what was found out; an earlier spec of the same live name gives way.
fn with(names: &TemplateNames, found: Vec<LiveTemplate>) -> TemplateNames {
    let same = |one: &LiveTemplate, other: &LiveTemplate| {
        (&one.group, &one.kind, &one.namespace) == (&other.group, &other.kind, &other.namespace)
            && (one.live == other.live || (one.name == other.name && one.spec == other.spec))
    };
    let mut templates = names.templates().to_vec();
    for entry in found {
        templates.retain(|earlier| !same(earlier, &entry));
        templates.push(entry);
    }
    TemplateNames::new(templates).unwrap_or_else(|_| names.clone())
}

/// The names after an apply: those of the render, and those of earlier specs that still live.
pub(super) fn kept_names(
    names: &TemplateNames,
    templates: &[NamedTemplate],
    is_there: impl Fn(&ObjectId) -> bool,
) -> TemplateNames {
    let present = templates
        .iter()
        .map(|template| LiveTemplate {
            group: template.logical.group.clone(),
            kind: template.logical.kind.clone(),
            namespace: template.logical.namespace.clone(),
            name: template.logical.name.clone(),
            live: template.name.clone(),
            spec: template.spec,
        })
        .collect();
    let earlier = names.templates().iter().filter(|entry| {
        is_there(&ObjectId {
            group: entry.group.clone(),
            kind: entry.kind.clone(),
            namespace: entry.namespace.clone(),
            name: entry.live.clone(),
        })
    });
    let earlier = TemplateNames::new(earlier.cloned().collect()).unwrap_or_default();
    with(&earlier, present)
}
