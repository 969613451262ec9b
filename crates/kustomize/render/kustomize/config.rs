//! Which fields the transformers of a kustomization reach: kustomize's own, and those of files under
//! `configurations` and `crds`.

use serde_json::Value;

use super::fields::{Conflict, Create, FieldSpec, split_path};
use super::id::Gvk;
use crate::render::budget::RenderBudget;
use crate::render::error::RenderError;
use crate::render::keys::{fields_of, spelled};
use crate::render::placed::{PlacedContent, PlacedValue, SourceOffset};
use capstan_model::spelling::hint;

/// The fields of all transformers.
#[derive(Debug, Clone, Default)]
pub(in crate::render) struct Config {
    pub(super) name_prefix: Vec<FieldSpec>,
    pub(super) name_suffix: Vec<FieldSpec>,
    pub(super) namespace: Vec<FieldSpec>,
    pub(super) common_labels: Vec<FieldSpec>,
    pub(super) labels: Vec<FieldSpec>,
    pub(super) template_labels: Vec<FieldSpec>,
    pub(super) annotations: Vec<FieldSpec>,
    pub(super) images: Vec<FieldSpec>,
    pub(super) replicas: Vec<FieldSpec>,
    pub(super) references: Vec<NameReference>,
    /// Where `$(NAME)` is replaced.
    pub(super) variables: Vec<FieldSpec>,
}

/// Fields that hold the name of an object of some kind.
#[derive(Debug, Clone)]
pub(super) struct NameReference {
    pub(super) target: Gvk,
    pub(super) fields: Vec<FieldSpec>,
}

/// The keys of a configuration file.
const KEYS: [&str; 11] = [
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "labels",
    "templateLabels",
    "commonAnnotations",
    "nameReference",
    "varReference",
    "images",
    "replicas",
];

impl Config {
    /// Reads a file that `configurations` names.
    pub(super) fn read(document: &PlacedValue) -> Result<Self, RenderError> {
        let mut config = Self::default();
        for (key, value) in spelled(document, &KEYS)?.entries() {
            if key == "nameReference" {
                config.references =
                    list(value)?.iter().map(NameReference::read).collect::<Result<_, RenderError>>()?;
                continue;
            }
            let fields = list(value)?.iter().map(read_field).collect::<Result<Vec<_>, RenderError>>()?;
            match config.slot(key) {
                Some(slot) => *slot = fields,
                None => {
                    return Err(RenderError::malformed(
                        &value.place,
                        format!("a configuration of transformers has no field `{key}`{}", hint(key, &KEYS)),
                    ));
                }
            }
        }
        Ok(config)
    }

    fn slot(&mut self, key: &str) -> Option<&mut Vec<FieldSpec>> {
        Some(match key {
            "namePrefix" => &mut self.name_prefix,
            "nameSuffix" => &mut self.name_suffix,
            "namespace" => &mut self.namespace,
            "commonLabels" => &mut self.common_labels,
            "labels" => &mut self.labels,
            "templateLabels" => &mut self.template_labels,
            "commonAnnotations" => &mut self.annotations,
            "images" => &mut self.images,
            "replicas" => &mut self.replicas,
            "varReference" => &mut self.variables,
            _ => return None,
        })
    }

    /// Takes another in. What both have must agree.
    pub(super) fn merge(
        &mut self,
        other: &Self,
        place: &SourceOffset,
        budget: &RenderBudget,
    ) -> Result<(), RenderError> {
        // Each field is looked for among all.
        budget.pairs(self.fields(), other.fields(), place)?;
        self.take(other).map_err(|Conflict| {
            RenderError::malformed(
                place,
                "two configurations of transformers disagree about `create` of one field: make them agree",
            )
        })
    }

    /// How many fields it names.
    fn fields(&self) -> usize {
        let lists = [
            &self.name_prefix,
            &self.name_suffix,
            &self.namespace,
            &self.common_labels,
            &self.labels,
            &self.template_labels,
            &self.annotations,
            &self.images,
            &self.replicas,
            &self.variables,
        ];
        let references = self.references.iter().map(|reference| reference.fields.len() + 1);
        lists.into_iter().map(Vec::len).chain(references).sum()
    }

    fn take(&mut self, other: &Self) -> Result<(), Conflict> {
        FieldSpec::merge_all(&mut self.name_prefix, &other.name_prefix)?;
        FieldSpec::merge_all(&mut self.name_suffix, &other.name_suffix)?;
        FieldSpec::merge_all(&mut self.namespace, &other.namespace)?;
        FieldSpec::merge_all(&mut self.common_labels, &other.common_labels)?;
        FieldSpec::merge_all(&mut self.labels, &other.labels)?;
        FieldSpec::merge_all(&mut self.template_labels, &other.template_labels)?;
        FieldSpec::merge_all(&mut self.annotations, &other.annotations)?;
        FieldSpec::merge_all(&mut self.images, &other.images)?;
        FieldSpec::merge_all(&mut self.replicas, &other.replicas)?;
        FieldSpec::merge_all(&mut self.variables, &other.variables)?;
        for reference in &other.references {
            self.take_reference(reference)?;
        }
        Ok(())
    }

    fn take_reference(&mut self, new: &NameReference) -> Result<(), Conflict> {
        match self.references.iter_mut().find(|known| known.target == new.target) {
            Some(known) => FieldSpec::merge_all(&mut known.fields, &new.fields),
            None => {
                self.references.push(new.clone());
                Ok(())
            }
        }
    }

    /// Reads a file that `crds` names: definitions whose properties say what they are for.
    pub(super) fn of_definitions(document: &PlacedValue, budget: &RenderBudget) -> Result<Self, RenderError> {
        let definitions = document.to_value();
        let mut config = Self::default();
        for (name, definition) in definitions.as_object().into_iter().flatten() {
            let properties = properties_of(definition);
            let has = |key: &str| properties.is_some_and(|properties| properties.contains_key(key));
            if !(has("kind") && has("apiVersion") && has("metadata")) {
                continue;
            }
            let kind = name.rsplit('.').next().unwrap_or_default();
            let walk = Definitions { all: &definitions, kind, place: &document.place, budget };
            walk.collect(&mut config, name, &mut Vec::new())?;
        }
        Ok(config)
    }
}

struct Definitions<'a> {
    all: &'a Value,
    kind: &'a str,
    place: &'a SourceOffset,
    budget: &'a RenderBudget,
}

/// Steps of looking at one property of a definition.
const PROPERTY: usize = 1_024;

/// How deep definitions may refer to one another.
const DEEPEST: usize = 32;

fn properties_of(definition: &Value) -> Option<&serde_json::Map<String, Value>> {
    let schema = definition.get("Schema").or_else(|| definition.get("schema"))?;
    schema.get("properties")?.as_object()
}

impl Definitions<'_> {
    /// The fields of a definition, and of those that it refers to: as often as they are referred to.
    fn collect(&self, config: &mut Config, name: &str, way: &mut Vec<String>) -> Result<(), RenderError> {
        let Some(properties) = self.all.get(name).and_then(properties_of).filter(|_| way.len() < DEEPEST)
        else {
            return Ok(());
        };
        self.budget.pairs(properties.len(), PROPERTY, self.place)?;
        for (field, property) in properties {
            way.push(field.clone());
            self.take(config, property, way)?;
            if let Some(reference) = property.get("$ref").and_then(Value::as_str) {
                self.collect(config, reference, way)?;
            }
            way.pop();
        }
        Ok(())
    }

    /// What one property says of itself.
    fn take(&self, config: &mut Config, property: &Value, way: &mut Vec<String>) -> Result<(), RenderError> {
        let text = |key: &str| property.get(key).and_then(Value::as_str);
        let spec = |way: &[String]| FieldSpec::new(Gvk::new("", "", self.kind), &way.join("/"), Create::No);
        let mut own = Config::default();
        if text("x-kubernetes-annotation").is_some() {
            own.annotations.push(spec(way));
        }
        if text("x-kubernetes-label-selector").is_some() {
            own.common_labels.push(spec(way));
        }
        if text("x-kubernetes-identity").is_some() {
            own.name_prefix.push(spec(way));
        }
        if let (Some(version), Some(kind)) =
            (text("x-kubernetes-object-ref-api-version"), text("x-kubernetes-object-ref-kind"))
        {
            let name_key = text("x-kubernetes-object-ref-name-key").unwrap_or("name");
            way.push(name_key.to_owned());
            let fields = vec![spec(way)];
            way.pop();
            own.references.push(NameReference { target: Gvk::new("", version, kind), fields });
        }
        match own.fields() {
            0 => return Ok(()),
            new => self.budget.pairs(config.fields(), new, self.place)?,
        }
        self.budget.text(way.iter().map(String::len).sum(), self.place)?;
        config.take(&own).map_err(|Conflict| {
            RenderError::malformed(self.place, "two definitions disagree about one field")
        })
    }
}

impl NameReference {
    fn read(entry: &PlacedValue) -> Result<Self, RenderError> {
        let fields = ["group", "version", "kind", "fieldSpecs"];
        let entry = &*fields_of(entry, "an entry of `nameReference`", &fields)?;
        let fields = match entry.field("fieldSpecs") {
            Some(fields) => list(fields)?.iter().map(read_field).collect::<Result<_, RenderError>>()?,
            None => Vec::new(),
        };
        Ok(Self { target: gvk(entry)?, fields })
    }
}

/// Reads one field of a configuration.
pub(super) fn read_field(entry: &PlacedValue) -> Result<FieldSpec, RenderError> {
    let fields = ["group", "version", "kind", "path", "create"];
    let entry = &*fields_of(entry, "a field of a transformer", &fields)?;
    let path = text(entry, "path")?;
    if path.is_empty() || split_path(&path, '/').iter().any(|part| part.is_empty() || part == "[]") {
        return Err(RenderError::malformed(
            &entry.place,
            "this field has no `path` or one with an empty part: write `spec/some/field`",
        ));
    }
    let create = match entry.field("create").map(PlacedValue::to_value) {
        None | Some(Value::Null | Value::Bool(false)) => Create::No,
        Some(Value::Bool(true)) => Create::Yes,
        Some(_) => {
            return Err(RenderError::malformed(&entry.place, "`create` is `true` or `false`"));
        }
    };
    Ok(FieldSpec::new(gvk(entry)?, &path, create))
}

fn gvk(entry: &PlacedValue) -> Result<Gvk, RenderError> {
    Ok(Gvk { group: text(entry, "group")?, version: text(entry, "version")?, kind: text(entry, "kind")? })
}

fn text(entry: &PlacedValue, key: &str) -> Result<String, RenderError> {
    match entry.field(key).filter(|value| !value.is_null()) {
        None => Ok(String::new()),
        Some(value) => value
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| RenderError::malformed(&value.place, format!("`{key}` is a text: quote it"))),
    }
}

fn list(value: &PlacedValue) -> Result<&[PlacedValue], RenderError> {
    match &value.content {
        PlacedContent::Sequence(items) => Ok(items),
        PlacedContent::Scalar(scalar) if scalar.value().is_null() => Ok(&[]),
        _ => Err(RenderError::malformed(&value.place, "a list of fields is required here")),
    }
}
