//! What the patches of a class make of one template.

use serde_json::json;

use super::blueprint::{Blueprint, MachineGroup, Template, TemplateProduct};
use super::go_template::{self, Mentions, mentions};
use super::json_patch::{ClassPatchOperation, apply};
use super::value::{ClassWork, holds_variable, is_uncomputed, uncomputed};
use super::variables::Variables;
use crate::rollout::pointer::PointerTarget;
use capstan_model::kinds::made_from;
use capstan_yaml::Value;

/// A template with its patches, and who wrote what.
#[derive(Debug)]
pub(super) struct Patched {
    /// `{apiVersion, kind, spec}` of what is made from it: of a template again, or of the object.
    pub(super) made: Value,
    pub(super) traces: Vec<Trace>,
}

/// What one patch did to a template.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) patch: String,
    /// The fields of the variables that it read.
    pub(super) reads: Vec<String>,
    /// Paths in the template, and all that the operation there means.
    pub(super) writes: Vec<(String, Value)>,
}

/// The patches of a class, in their order.
pub(super) fn patches(class: &Value) -> impl Iterator<Item = &Value> {
    class.at("/spec/patches").and_then(Value::as_array).into_iter().flatten()
}

/// The name of a patch that a runtime extension computes; only that can tell what it makes.
pub(super) fn external(patch: &Value) -> Option<&str> {
    let inline = patch.get("definitions").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    patch.get("external").filter(|_| !inline)?;
    Some(name(patch))
}

fn name(patch: &Value) -> &str {
    patch.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// `None` where it would cost too much.
pub(super) fn patched(
    side: &Blueprint<'_>,
    group: &MachineGroup<'_>,
    template: &Template<'_>,
    variables: &Variables,
    work: &ClassWork,
) -> Option<Patched> {
    let base = template.object.cloned().unwrap_or_else(|| json!({"spec": {"template": {"spec": {}}}}));
    work.spend_on(&base)?;
    let mut document = json!({"spec": base.get("spec")});
    let mut traces = Vec::new();
    for patch in patches(side.class) {
        let definitions = patch.get("definitions").and_then(Value::as_array);
        let definitions = definitions.map(Vec::as_slice).unwrap_or_default();
        work.spend(definitions.len() + 1)?;
        let fitting: Vec<&Value> = definitions.iter().filter(|one| selects(one, group, template)).collect();
        if !fitting.is_empty() {
            let run = PatchRun { patch, variables, work };
            traces.push(run.apply(&fitting, &mut document)?);
        }
    }
    Some(Patched { made: made(template, &base, &document), traces })
}

/// `updateDesiredState`: only `spec.template.spec` is taken over.
fn made(template: &Template<'_>, base: &Value, patched: &Value) -> Value {
    let path = ["/spec", "/spec/template", "/spec/template/spec"];
    let parts = path.map(|path| patched.at(path));
    let unknown = parts.iter().flatten().find(|part| is_uncomputed(part));
    let spec = unknown.copied().or(parts[2]).cloned().unwrap_or(Value::Null);
    let spec = if template.part == TemplateProduct::Machines && !is_uncomputed(&spec) {
        let mut whole = base.get("spec").cloned().unwrap_or(Value::Null);
        match whole.get_mut("template").and_then(Value::as_object_mut) {
            Some(template) => drop(template.insert("spec".to_owned(), spec)),
            None => whole = json!({"template": {"spec": spec}}),
        }
        whole
    } else {
        spec
    };
    let kind = template.kind;
    let kind = if template.part == TemplateProduct::Machines { kind } else { made_from(kind) };
    json!({"apiVersion": template.api_version, "kind": kind, "spec": spec})
}

/// Whether a definition's selector names this template of this group.
fn selects(definition: &Value, group: &MachineGroup<'_>, template: &Template<'_>) -> bool {
    let Some(selector) = definition.get("selector") else { return false };
    let text = |key: &str| selector.get(key).and_then(Value::as_str);
    let same_version = template.api_version.is_none_or(|version| text("apiVersion") == Some(version));
    let resources = |path: &str| selector.get("matchResources").and_then(|resources| resources.at(path));
    let of_class = |path: &str| {
        let class = group.value.get("class").and_then(Value::as_str).unwrap_or_default();
        let names = resources(path).and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str).any(|name| fits(name, class))
    };
    let of_group = match group.list {
        "controlPlane" => resources("/controlPlane") == Some(&Value::Bool(true)),
        "machineDeployments" => of_class("/machineDeploymentClass/names"),
        _ => of_class("/machinePoolClass/names"),
    };
    same_version && text("kind") == Some(template.kind) && of_group
}

/// A name, or one with a star at either end.
fn fits(pattern: &str, class: &str) -> bool {
    pattern == class
        || pattern.strip_prefix('*').is_some_and(|end| class.ends_with(end))
        || pattern.strip_suffix('*').is_some_and(|begin| class.starts_with(begin))
}

/// One patch, and what it computes with.
struct PatchRun<'r> {
    patch: &'r Value,
    variables: &'r Variables,
    work: &'r ClassWork,
}

/// Whether a patch is in force.
enum Enabled {
    Yes,
    No,
    /// As long as this is the same, so is that.
    Uncomputed(Value),
}

impl PatchRun<'_> {
    fn apply(&self, definitions: &[&Value], document: &mut Value) -> Option<Trace> {
        let mut trace = Trace { patch: name(self.patch).to_owned(), reads: Vec::new(), writes: Vec::new() };
        let enabled = self.enabled(&mut trace.reads)?;
        if matches!(enabled, Enabled::No) {
            return Some(trace);
        }
        let lists = definitions.iter().filter_map(|definition| definition.get("jsonPatches")?.as_array());
        for json_patch in lists.flatten() {
            let path = json_patch.get("path").and_then(Value::as_str).unwrap_or_default();
            let operation = self.operation(json_patch, &mut trace.reads)?;
            let operation = match &enabled {
                Enabled::Uncomputed(condition) => {
                    ClassPatchOperation::Uncertain(json!([condition, operation.as_value()]))
                }
                _ => operation,
            };
            let value = operation.as_value();
            if apply(document, path, &operation).is_err() {
                // Cluster API would stop here; what is live may have what this needs.
                *document = json!({"spec": uncomputed(&json!([document, path, value]))});
            }
            trace.writes.push((path.to_owned(), value));
        }
        Some(trace)
    }

    fn enabled(&self, reads: &mut Vec<String>) -> Option<Enabled> {
        let template = self.patch.get("enabledIf").and_then(Value::as_str).unwrap_or_default();
        if template.is_empty() {
            return Some(Enabled::Yes);
        }
        let value = self.template(template, reads)?;
        Some(match value {
            Value::Bool(true) => Enabled::Yes,
            value if is_uncomputed(&value) || holds_variable(&value) => Enabled::Uncomputed(value),
            _ => Enabled::No,
        })
    }

    fn operation(&self, json_patch: &Value, reads: &mut Vec<String>) -> Option<ClassPatchOperation> {
        let operation = match json_patch.get("op").and_then(Value::as_str) {
            Some("remove") => return Some(ClassPatchOperation::Remove),
            Some("add") => ClassPatchOperation::Add,
            Some("replace") => ClassPatchOperation::Replace,
            _ => return Some(ClassPatchOperation::Uncertain(json_patch.clone())),
        };
        let value = self.value(json_patch, reads)?;
        self.work.spend_on(&value)?;
        Some(operation(value))
    }

    fn value(&self, json_patch: &Value, reads: &mut Vec<String>) -> Option<Value> {
        let from = |key: &str| json_patch.at(key).and_then(Value::as_str);
        if let Some(value) = json_patch.get("value").filter(|value| !value.is_null()) {
            return Some(value.clone());
        }
        if let Some(variable) = from("/valueFrom/variable") {
            reads.push(variable.to_owned());
            let missing = || uncomputed(&json!(["missing", variable]));
            return Some(self.variables.at(variable).unwrap_or_else(missing));
        }
        match from("/valueFrom/template") {
            Some(template) => self.template(template, reads),
            None => Some(uncomputed(json_patch)),
        }
    }

    /// The value of a template; if it is not computed, a value that depends on everything that the template reads.
    fn template(&self, template: &str, reads: &mut Vec<String>) -> Option<Value> {
        self.work.spend(1 + template.len() / 16)?;
        let mentions = mentions(template);
        match &mentions {
            Mentions::Fields(fields) => reads.extend(fields.iter().cloned()),
            Mentions::Anything => {
                let all = self.variables.data().as_object();
                reads.extend(all.into_iter().flat_map(|all| all.keys().cloned()));
            }
        }
        if let Ok(value) = go_template::evaluate(template, self.variables.data()) {
            return Some(value);
        }
        let read = self.variables.read_by(&mentions);
        self.work.spend_on(&read)?;
        Some(uncomputed(&json!(["template", template, read])))
    }
}
