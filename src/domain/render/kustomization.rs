//! A kustomization file, read strictly: what is not rendered is refused by its field's name.

use super::error::{RenderError, Trouble};
use super::placed::{Content, Place, Placed};
use super::selector::Selector;
use super::strategic::{Allowed, MayChange};
use crate::spelling::hint;

/// What a kustomization says, as far as it is rendered.
pub(super) struct Kustomization {
    pub(super) resources: Vec<Named>,
    pub(super) components: Vec<Named>,
    pub(super) config_maps: Vec<Placed>,
    pub(super) generator_options: Option<Placed>,
    pub(super) strategic: Vec<Named>,
    pub(super) patches: Vec<PatchEntry>,
    pub(super) json6902: Vec<PatchEntry>,
    pub(super) namespace: Option<Named>,
    pub(super) prefix: Option<Named>,
    pub(super) suffix: Option<Named>,
    pub(super) labels: Vec<Labels>,
    pub(super) annotations: Vec<(String, Placed)>,
    pub(super) notes: Vec<String>,
}

/// A text of a kustomization, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) text: String,
    pub(super) place: Place,
}

/// An entry of `patches` or `patchesJson6902`.
pub(super) struct PatchEntry {
    pub(super) place: Place,
    pub(super) target: Option<(Selector, Place)>,
    pub(super) body: PatchBody,
    pub(super) may_change: MayChange,
}

/// Where a patch is written.
pub(super) enum PatchBody {
    Inline(Named),
    File(Named),
}

/// An entry of `labels`, or `commonLabels`.
pub(super) struct Labels {
    pub(super) pairs: Vec<(String, Placed)>,
    pub(super) reach: Reach,
}

/// How far labels go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The objects' own labels.
    Metadata,
    /// Those of pod templates too.
    Templates,
    /// Selectors too.
    Selectors,
}

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    Kustomization,
    Component,
}

/// What kustomize has and Capstan does not render.
const UNSUPPORTED: [&str; 16] = [
    "configurations",
    "crds",
    "generators",
    "helmChartInflationGenerator",
    "helmCharts",
    "helmGlobals",
    "imageTags",
    "images",
    "inventory",
    "openapi",
    "replacements",
    "replicas",
    "secretGenerator",
    "transformers",
    "validators",
    "vars",
];

/// What is rendered.
const SUPPORTED: [&str; 19] = [
    "apiVersion",
    "kind",
    "metadata",
    "bases",
    "buildMetadata",
    "commonAnnotations",
    "commonLabels",
    "components",
    "configMapGenerator",
    "generatorOptions",
    "labels",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "resources",
    "sortOptions",
];

impl Kustomization {
    /// Reads the one document of a kustomization file.
    pub(super) fn read(documents: &[Placed], start: &Place, flavour: Flavour) -> Result<Self, RenderError> {
        let document = match documents {
            [document] if document.is_mapping() => document,
            [] => {
                return Err(RenderError::malformed(
                    start,
                    "this kustomization is empty: list its `resources`",
                ));
            }
            [other] => {
                return Err(RenderError::malformed(&other.place, "a kustomization is a mapping of fields"));
            }
            [_, second, ..] => {
                return Err(RenderError::malformed(
                    &second.place,
                    "a kustomization has one document, and here begins a second: remove it",
                ));
            }
        };
        check_type(document, flavour)?;
        check_fields(document)?;
        let mut resources = names(document, "resources")?;
        resources.extend(names(document, "bases")?);
        Ok(Self {
            resources,
            components: names(document, "components")?,
            config_maps: list(document, "configMapGenerator")?.to_vec(),
            generator_options: document.field("generatorOptions").cloned(),
            strategic: names(document, "patchesStrategicMerge")?,
            patches: patches(document, "patches")?,
            json6902: patches(document, "patchesJson6902")?,
            namespace: name(document, "namespace")?,
            prefix: name(document, "namePrefix")?,
            suffix: name(document, "nameSuffix")?,
            labels: labels(document)?,
            annotations: pairs(document, "commonAnnotations")?,
            notes: notes(document),
        })
    }
}

fn check_type(document: &Placed, flavour: Flavour) -> Result<(), RenderError> {
    let api = document.text_at(&["apiVersion"]).unwrap_or_default();
    if !api.is_empty() && !api.starts_with("kustomize.config.k8s.io/") {
        return Err(RenderError::malformed(
            &document.place,
            format!(
                "a file of this name is a kustomization of kustomize, and this one is of `{api}`: rename the file"
            ),
        ));
    }
    match (flavour, document.text_at(&["kind"])) {
        (Flavour::Kustomization, Some("Component")) => Err(RenderError::malformed(
            &document.place,
            "this is a component: list its folder under `components`, not under `resources`",
        )),
        (Flavour::Component, Some("Component")) | (Flavour::Kustomization, None | Some("Kustomization")) => {
            Ok(())
        }
        (Flavour::Component, _) => Err(RenderError::malformed(
            &document.place,
            "this is no component: list its folder under `resources`, or give it `kind: Component`",
        )),
        (Flavour::Kustomization, Some(kind)) => Err(RenderError::malformed(
            &document.place,
            format!("a kustomization is of kind `Kustomization`, and this one is of `{kind}`"),
        )),
    }
}

fn check_fields(document: &Placed) -> Result<(), RenderError> {
    for (field, value) in document.entries() {
        let empty = match &value.content {
            Content::Scalar(scalar) => scalar.is_null() || scalar == "",
            Content::Mapping(entries) => entries.is_empty(),
            Content::Sequence(items) => items.is_empty(),
        };
        if empty && (UNSUPPORTED.contains(&field.as_str()) || SUPPORTED.contains(&field.as_str())) {
            continue;
        }
        if UNSUPPORTED.contains(&field.as_str()) {
            return Err(RenderError::unsupported(
                &value.place,
                format!(
                    "Capstan does not render `{field}` of a kustomization yet: write what it does as patches or plain files"
                ),
            ));
        }
        if !SUPPORTED.contains(&field.as_str()) {
            return Err(RenderError::at(
                &value.place,
                Trouble::Malformed,
                format!("a kustomization has no field `{field}`{}", hint(field, &SUPPORTED)),
            ));
        }
    }
    Ok(())
}

fn wrong(place: &Place, field: &str, wanted: &str) -> RenderError {
    RenderError::malformed(place, format!("`{field}` of a kustomization is {wanted}"))
}

fn list<'a>(document: &'a Placed, field: &str) -> Result<&'a [Placed], RenderError> {
    match document.field(field) {
        None => Ok(&[]),
        Some(value) if value.is_null() => Ok(&[]),
        Some(value) => match &value.content {
            Content::Sequence(items) => Ok(items),
            _ => Err(wrong(&value.place, field, "a list")),
        },
    }
}

fn names(document: &Placed, field: &str) -> Result<Vec<Named>, RenderError> {
    let name = |item: &Placed| {
        let text = item.as_str().ok_or_else(|| wrong(&item.place, field, "a list of texts"))?;
        Ok(Named { text: text.to_owned(), place: item.place.clone() })
    };
    list(document, field)?.iter().map(name).collect()
}

fn name(document: &Placed, field: &str) -> Result<Option<Named>, RenderError> {
    match document.field(field).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => {
            let text = value.as_str().ok_or_else(|| wrong(&value.place, field, "a text: quote it"))?;
            Ok((!text.is_empty()).then(|| Named { text: text.to_owned(), place: value.place.clone() }))
        }
    }
}

fn pairs(document: &Placed, field: &str) -> Result<Vec<(String, Placed)>, RenderError> {
    let Some(value) = document.field(field).filter(|value| !value.is_null()) else { return Ok(Vec::new()) };
    if !value.is_mapping() {
        return Err(wrong(&value.place, field, "a mapping of texts"));
    }
    if let Some((key, bad)) = value.entries().iter().find(|(_, value)| value.as_str().is_none()) {
        return Err(RenderError::malformed(
            &bad.place,
            format!("`{key}` of `{field}` is not a text: quote it"),
        ));
    }
    Ok(value.entries().to_vec())
}

fn flag(entry: &Placed, field: &str) -> Allowed {
    match entry.field(field).map(Placed::to_value) {
        Some(serde_json::Value::Bool(true)) => Allowed::Yes,
        _ => Allowed::No,
    }
}

fn labels(document: &Placed) -> Result<Vec<Labels>, RenderError> {
    let mut found = Vec::new();
    let common = pairs(document, "commonLabels")?;
    if !common.is_empty() {
        found.push(Labels { pairs: common, reach: Reach::Selectors });
    }
    for entry in list(document, "labels")? {
        if let Some(fields) = entry.field("fields").or_else(|| entry.field("fieldSpecs")) {
            return Err(RenderError::unsupported(
                &fields.place,
                "Capstan does not render `fields` of `labels` in a kustomization yet: write the labels as patches",
            ));
        }
        let reach = match (flag(entry, "includeSelectors"), flag(entry, "includeTemplates")) {
            (Allowed::Yes, _) => Reach::Selectors,
            (Allowed::No, Allowed::Yes) => Reach::Templates,
            (Allowed::No, Allowed::No) => Reach::Metadata,
        };
        found.push(Labels { pairs: pairs(entry, "pairs")?, reach });
    }
    Ok(found)
}

fn patches(document: &Placed, field: &str) -> Result<Vec<PatchEntry>, RenderError> {
    list(document, field)?.iter().map(|entry| patch_entry(entry, field)).collect()
}

fn patch_entry(entry: &Placed, field: &str) -> Result<PatchEntry, RenderError> {
    if let Some((key, value)) = entry
        .entries()
        .iter()
        .find(|(key, _)| !["path", "patch", "target", "options"].contains(&key.as_str()))
    {
        return Err(RenderError::malformed(
            &value.place,
            format!("an entry of `{field}` has no field `{key}`: it has path, patch, target, options"),
        ));
    }
    let body = match (name(entry, "path")?, name(entry, "patch")?) {
        (Some(path), None) => PatchBody::File(path),
        (None, Some(text)) => PatchBody::Inline(text),
        _ => {
            return Err(RenderError::malformed(
                &entry.place,
                format!("an entry of `{field}` has either `path` or `patch`: give one of them"),
            ));
        }
    };
    let target = match entry.field("target").filter(|target| !target.is_null()) {
        Some(target) => Some((Selector::read(target)?, target.place.clone())),
        None => None,
    };
    let may_change = entry.field("options").map_or_else(MayChange::default, |options| MayChange {
        name: flag(options, "allowNameChange"),
        kind: flag(options, "allowKindChange"),
    });
    Ok(PatchEntry { place: entry.place.clone(), target, body, may_change })
}

fn notes(document: &Placed) -> Vec<String> {
    let Some(metadata) = document.field("buildMetadata") else { return Vec::new() };
    if metadata.items().is_empty() {
        return Vec::new();
    }
    let position = metadata.place.position();
    vec![format!(
        "{}:{}: `buildMetadata` adds labels and annotations that only say where objects come from; they are not rendered.",
        metadata.place.file(),
        position.line
    )]
}
