//! A kustomization file, read strictly: what is not rendered is refused by its field's name.

use std::borrow::Cow;
use std::rc::Rc;

use super::id::Gvk;
use super::images::ImageEntry;
use super::order::SortOrder;
use super::replicas::Replicas;
use crate::render::budget::RenderBudget;
use crate::render::error::{RenderError, RenderErrorKind};
use crate::render::keys::{fields_of, spelled};
use crate::render::placed::{PlacedContent, PlacedValue, SourceOffset};
use crate::render::selector::PatchSelector;
use capstan_model::spelling::hint;

use super::config::read_field;
use super::fields::FieldSpec;
use super::vars::Var;

/// What a kustomization says.
pub(super) struct Kustomization {
    pub(super) place: SourceOffset,
    pub(super) resources: Vec<PlacedText>,
    pub(super) components: Vec<PlacedText>,
    pub(super) configurations: Vec<PlacedText>,
    pub(super) crds: Vec<PlacedText>,
    pub(super) openapi: Option<PlacedText>,
    pub(super) config_maps: Vec<PlacedValue>,
    pub(super) secrets: Vec<PlacedValue>,
    pub(super) generator_options: Option<PlacedValue>,
    pub(super) generators: Vec<PlacedText>,
    pub(super) transformers: Vec<PlacedText>,
    pub(super) strategic: Vec<PlacedText>,
    pub(super) patches: Vec<PatchEntry>,
    pub(super) json6902: Vec<PatchEntry>,
    pub(super) namespace: Option<PlacedText>,
    pub(super) prefix: Option<PlacedText>,
    pub(super) suffix: Option<PlacedText>,
    pub(super) labels: Vec<LabelsEntry>,
    pub(super) common_labels: Vec<(String, PlacedValue)>,
    pub(super) annotations: Vec<(String, PlacedValue)>,
    pub(super) images: Vec<ImageEntry>,
    pub(super) replicas: Vec<Replicas>,
    pub(super) replacements: Vec<PlacedValue>,
    pub(super) vars: Vec<Var>,
    pub(super) build_metadata: Vec<PlacedText>,
    pub(super) order: SortOrder,
}

/// A text of a kustomization, and its place.
#[derive(Debug, Clone)]
pub(in crate::render) struct PlacedText {
    pub(in crate::render) text: String,
    pub(in crate::render) place: SourceOffset,
}

/// An entry of `patches` or `patchesJson6902`.
pub(super) struct PatchEntry {
    pub(super) place: SourceOffset,
    pub(super) target: Option<(Rc<PatchSelector>, SourceOffset)>,
    pub(super) body: PatchBody,
    pub(super) may_change: MayChange,
}

/// Where a patch is written.
#[derive(Clone)]
pub(super) enum PatchBody {
    Inline(PlacedText),
    File(PlacedText),
}

impl PatchBody {
    /// As kustomize takes an entry of `patches`: without the white space at both ends of what is inline. A block
    /// scalar that ends the patch loses its last newline with that. Files, and the older fields, stay whole.
    pub(super) fn trimmed(&self) -> Cow<'_, Self> {
        match self {
            Self::File(_) => Cow::Borrowed(self),
            Self::Inline(PlacedText { text, place }) => {
                Cow::Owned(Self::Inline(PlacedText { text: text.trim().to_owned(), place: place.clone() }))
            }
        }
    }
}

/// Whether a patch may change what an object is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MayChange {
    pub(super) name: LoadAllowed,
    pub(super) kind: LoadAllowed,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum LoadAllowed {
    #[default]
    No,
    Yes,
}

/// An entry of `labels`.
pub(super) struct LabelsEntry {
    pub(super) pairs: Vec<(String, PlacedValue)>,
    pub(super) reach: LabelReach,
    pub(super) fields: Vec<FieldSpec>,
}

/// How far labels go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelReach {
    /// The objects' own labels.
    Metadata,
    /// Those of pod templates too.
    Templates,
    /// Selectors too.
    Selectors,
}

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::render) enum Flavour {
    /// What is built itself: either.
    Outermost,
    Kustomization,
    Component,
}

/// What kustomize has and Capstan does not render.
const UNSUPPORTED: [&str; 5] =
    ["helmChartInflationGenerator", "helmCharts", "helmGlobals", "inventory", "validators"];

/// What is rendered.
const SUPPORTED: [&str; 32] = [
    "apiVersion",
    "kind",
    "metadata",
    "bases",
    "buildMetadata",
    "commonAnnotations",
    "commonLabels",
    "components",
    "configMapGenerator",
    "configurations",
    "crds",
    "generatorOptions",
    "generators",
    "imageTags",
    "images",
    "labels",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "openapi",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "replacements",
    "replicas",
    "resources",
    "secretGenerator",
    "sortOptions",
    "transformers",
    "helmCharts",
    "validators",
    "vars",
];

/// The one built-in description of Kubernetes that kustomize has.
const OPENAPI_VERSION: &str = "v1.21.2";

impl Kustomization {
    /// Reads the one document of a kustomization file.
    pub(super) fn read(
        documents: &[PlacedValue],
        start: &SourceOffset,
        flavour: Flavour,
        budget: &RenderBudget,
    ) -> Result<Self, RenderError> {
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
                    "a kustomization has one document, but a second one begins here: remove it",
                ));
            }
        };
        let document = &*spelled(document, &[&SUPPORTED[..], &UNSUPPORTED].concat())?;
        check_type(document, flavour)?;
        check_fields(document)?;
        let mut resources = names(document, "resources")?;
        resources.extend(names(document, "bases")?);
        let images = list(document, "images")?.iter().chain(list(document, "imageTags")?);
        Ok(Self {
            place: document.place.clone(),
            resources,
            components: names(document, "components")?,
            configurations: names(document, "configurations")?,
            crds: names(document, "crds")?,
            openapi: openapi(document)?,
            config_maps: list(document, "configMapGenerator")?.to_vec(),
            secrets: list(document, "secretGenerator")?.to_vec(),
            generator_options: document
                .field("generatorOptions")
                .filter(|options| !options.is_null())
                .cloned(),
            generators: names(document, "generators")?,
            transformers: names(document, "transformers")?,
            strategic: names(document, "patchesStrategicMerge")?,
            patches: patches(document, "patches", budget)?,
            json6902: patches(document, "patchesJson6902", budget)?,
            namespace: name(document, "namespace")?,
            prefix: name(document, "namePrefix")?,
            suffix: name(document, "nameSuffix")?,
            labels: list(document, "labels")?.iter().map(labels).collect::<Result<_, RenderError>>()?,
            common_labels: pairs(document, "commonLabels")?,
            annotations: pairs(document, "commonAnnotations")?,
            images: images
                .map(|image| ImageEntry::read(image, budget))
                .collect::<Result<_, RenderError>>()?,
            replicas: list(document, "replicas")?
                .iter()
                .map(Replicas::read)
                .collect::<Result<_, RenderError>>()?,
            replacements: list(document, "replacements")?.to_vec(),
            vars: list(document, "vars")?.iter().map(Var::read).collect::<Result<_, RenderError>>()?,
            build_metadata: names(document, "buildMetadata")?,
            order: match document.field("sortOptions").filter(|options| !options.is_null()) {
                Some(options) => SortOrder::read(options)?,
                None => SortOrder::default(),
            },
        })
    }

    /// Whether `buildMetadata` asks for something.
    pub(super) fn adds(&self, what: &str) -> bool {
        self.build_metadata.iter().any(|option| option.text == what)
    }
}

fn check_type(document: &PlacedValue, flavour: Flavour) -> Result<(), RenderError> {
    let api = document.text_at(&["apiVersion"]).unwrap_or_default();
    if !api.is_empty() && !api.starts_with("kustomize.config.k8s.io/") {
        return Err(RenderError::malformed(
            &document.place,
            format!(
                "a file with this name must be a kustomization of kustomize, but this one has `{api}`: rename the file"
            ),
        ));
    }
    let kind = document.text_at(&["kind"]).unwrap_or("Kustomization");
    let wanted = match kind {
        "Component" => "kustomize.config.k8s.io/v1alpha1",
        _ => "kustomize.config.k8s.io/v1beta1",
    };
    match (flavour, kind) {
        (Flavour::Kustomization, "Component") => Err(RenderError::malformed(
            &document.place,
            "this is a component: list its folder under `components`, not under `resources`",
        )),
        (Flavour::Outermost | Flavour::Component, "Component")
        | (Flavour::Outermost | Flavour::Kustomization, "Kustomization") => {
            match document.field("apiVersion").filter(|_| !api.is_empty() && api != wanted) {
                None => Ok(()),
                Some(version) => Err(RenderError::malformed(
                    &version.place,
                    format!("the `apiVersion` of a {kind} must be `{wanted}` for kustomize"),
                )),
            }
        }
        (Flavour::Component, _) => Err(RenderError::malformed(
            &document.place,
            "this is not a component: list its folder under `resources`, or give it `kind: Component`",
        )),
        (Flavour::Outermost | Flavour::Kustomization, kind) => Err(RenderError::malformed(
            &document.place,
            format!("a kustomization has kind `Kustomization`, but this one has `{kind}`"),
        )),
    }
}

fn check_fields(document: &PlacedValue) -> Result<(), RenderError> {
    for (field, value) in document.entries() {
        let empty = value.is_empty() || value.as_str() == Some("");
        if UNSUPPORTED.contains(&field.as_str()) {
            if empty {
                continue;
            }
            return Err(RenderError::unsupported(
                &value.place,
                format!(
                    "Capstan does not render `{field}` of a kustomization: write what it does as patches, replacements or plain files"
                ),
            ));
        }
        if !SUPPORTED.contains(&field.as_str()) {
            return Err(RenderError::at(
                &value.place,
                RenderErrorKind::Malformed,
                format!("a kustomization has no field `{field}`{}", hint(field, &SUPPORTED)),
            ));
        }
    }
    let says = |(field, _): &(String, PlacedValue)| !["apiVersion", "kind"].contains(&field.as_str());
    if document.entries().iter().any(says) {
        return Ok(());
    }
    Err(RenderError::malformed(&document.place, "this kustomization is empty: list its `resources`"))
}

fn openapi(document: &PlacedValue) -> Result<Option<PlacedText>, RenderError> {
    let Some(openapi) = document.field("openapi").filter(|openapi| !openapi.is_empty()) else {
        return Ok(None);
    };
    for (key, value) in openapi.entries() {
        match key.as_str() {
            "path" => {}
            "version" if value.as_str() == Some(OPENAPI_VERSION) && openapi.field("path").is_none() => {}
            _ => {
                return Err(RenderError::malformed(
                    &value.place,
                    format!(
                        "`openapi` has either `path: FILE` or `version: {OPENAPI_VERSION}`, the one built into kustomize"
                    ),
                ));
            }
        }
    }
    name(openapi, "path")
}

fn wrong(place: &SourceOffset, field: &str, wanted: &str) -> RenderError {
    RenderError::malformed(place, format!("`{field}` of a kustomization is {wanted}"))
}

fn list<'a>(document: &'a PlacedValue, field: &str) -> Result<&'a [PlacedValue], RenderError> {
    match document.field(field) {
        None => Ok(&[]),
        Some(value) if value.is_null() => Ok(&[]),
        Some(value) => match &value.content {
            PlacedContent::Sequence(items) => Ok(items),
            _ => Err(wrong(&value.place, field, "a list")),
        },
    }
}

fn names(document: &PlacedValue, field: &str) -> Result<Vec<PlacedText>, RenderError> {
    let name = |item: &PlacedValue| {
        let text = item.as_str().ok_or_else(|| wrong(&item.place, field, "a list of texts"))?;
        Ok(PlacedText { text: text.to_owned(), place: item.place.clone() })
    };
    list(document, field)?.iter().map(name).collect()
}

pub(super) fn name(document: &PlacedValue, field: &str) -> Result<Option<PlacedText>, RenderError> {
    match document.field(field).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => {
            let text = value.as_str().ok_or_else(|| wrong(&value.place, field, "a text: quote it"))?;
            Ok((!text.is_empty()).then(|| PlacedText { text: text.to_owned(), place: value.place.clone() }))
        }
    }
}

pub(super) fn pairs(document: &PlacedValue, field: &str) -> Result<Vec<(String, PlacedValue)>, RenderError> {
    let Some(value) = document.field(field).filter(|value| !value.is_null()) else { return Ok(Vec::new()) };
    if !value.is_mapping() {
        return Err(wrong(&value.place, field, "a mapping of texts"));
    }
    let text = |(key, pair): &(String, PlacedValue)| match pair.as_str() {
        // An unquoted date is its text here.
        Some(_) => Ok((key.clone(), PlacedValue::text(&pair.written(), &pair.place))),
        None if pair.is_null() => Ok((key.clone(), PlacedValue::text("", &pair.place))),
        None => {
            Err(RenderError::malformed(&pair.place, format!("`{key}` of `{field}` is not a text: quote it")))
        }
    };
    value.entries().iter().map(text).collect()
}

fn flag(entry: &PlacedValue, field: &str) -> LoadAllowed {
    match entry.field(field).map(PlacedValue::to_value) {
        Some(serde_json::Value::Bool(true)) => LoadAllowed::Yes,
        _ => LoadAllowed::No,
    }
}

fn labels(entry: &PlacedValue) -> Result<LabelsEntry, RenderError> {
    let fields = ["pairs", "includeSelectors", "includeTemplates", "fields"];
    let entry = &*fields_of(entry, "an entry of `labels`", &fields)?;
    let fields = list(entry, "fields")?.iter().map(read_field).collect::<Result<_, RenderError>>()?;
    let reach = match (flag(entry, "includeSelectors"), flag(entry, "includeTemplates")) {
        (LoadAllowed::Yes, _) => LabelReach::Selectors,
        (LoadAllowed::No, LoadAllowed::Yes) => LabelReach::Templates,
        (LoadAllowed::No, LoadAllowed::No) => LabelReach::Metadata,
    };
    Ok(LabelsEntry { pairs: pairs(entry, "pairs")?, reach, fields })
}

fn patches(
    document: &PlacedValue,
    field: &str,
    budget: &RenderBudget,
) -> Result<Vec<PatchEntry>, RenderError> {
    list(document, field)?.iter().map(|entry| patch_entry(entry, field, budget)).collect()
}

pub(super) fn patch_entry(
    entry: &PlacedValue,
    field: &str,
    budget: &RenderBudget,
) -> Result<PatchEntry, RenderError> {
    let what = format!("an entry of `{field}`");
    let entry = &*fields_of(entry, &what, &["path", "patch", "target", "options"])?;
    let inline = name(entry, "patch")?.filter(|patch| !patch.text.trim().is_empty());
    let body = match (name(entry, "path")?, inline) {
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
        Some(target) => Some((Rc::new(PatchSelector::read(target, budget)?), target.place.clone())),
        None => None,
    };
    let may_change = match entry.field("options") {
        None => MayChange::default(),
        Some(options) => {
            let options =
                fields_of(options, "`options` of a patch", &["allowNameChange", "allowKindChange"])?;
            MayChange { name: flag(&options, "allowNameChange"), kind: flag(&options, "allowKindChange") }
        }
    };
    Ok(PatchEntry { place: entry.place.clone(), target, body, may_change })
}

impl LabelsEntry {
    /// The fields that they are put into.
    pub(super) fn all_fields(
        &self,
        config: &super::config::Config,
    ) -> Result<Vec<FieldSpec>, super::fields::Conflict> {
        let own = FieldSpec::new(Gvk::default(), "metadata/labels", super::fields::Create::Yes);
        let mut fields = self.fields.clone();
        FieldSpec::merge_all(&mut fields, &config.labels)?;
        match self.reach {
            LabelReach::Selectors => FieldSpec::merge_all(&mut fields, &config.common_labels)?,
            LabelReach::Templates => {
                FieldSpec::merge_all(&mut fields, &config.template_labels)?;
                FieldSpec::merge_one(&mut fields, &own)?;
            }
            LabelReach::Metadata => FieldSpec::merge_one(&mut fields, &own)?,
        }
        Ok(fields)
    }
}
