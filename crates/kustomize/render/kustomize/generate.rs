//! `configMapGenerator` and `secretGenerator`.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::origin::ORIGIN;
use super::sources::{KeyValue, ReadFile, pairs};
use crate::render::budget::{LOOK, RenderBudget, ValueSize};
use crate::render::error::{RenderError, RenderErrorKind};
use crate::render::keys::fields_of;
use crate::render::placed::{PlacedContent, PlacedValue, SourceOffset};
use crate::render::resource::{Hashed, RenderedResource};

/// What is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GeneratorKind {
    ConfigMap,
    Secret,
}

impl GeneratorKind {
    const fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }

    pub(super) const fn generator(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMapGenerator",
            Self::Secret => "SecretGenerator",
        }
    }
}

/// What a generated object does to one that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behavior {
    Create,
    Replace,
    Merge,
}

/// The first is a Secret's alone.
const FIELDS: [&str; 9] =
    ["type", "name", "namespace", "behavior", "files", "literals", "envs", "env", "options"];
const OPTIONS: [&str; 4] = ["disableNameSuffixHash", "labels", "annotations", "immutable"];

/// One entry of a generator.
#[derive(Clone, Copy)]
pub(super) struct Generator<'a> {
    pub(super) kind: GeneratorKind,
    pub(super) entry: &'a PlacedValue,
    /// `generatorOptions`.
    pub(super) global: Option<&'a PlacedValue>,
}

/// Generates one object of an entry that was read, and puts it among the others.
pub(super) fn generate(
    Generator { kind, entry, global }: Generator<'_>,
    mark: &dyn Fn(&mut PlacedValue),
    read: &ReadFile<'_>,
    resources: &mut Vec<RenderedResource>,
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    let options = [global, entry.field("options")].into_iter().flatten();
    let options: Vec<Cow<'_, PlacedValue>> = options
        .map(|options| fields_of(options, "`options` of generators", &OPTIONS))
        .collect::<Result<_, RenderError>>()?;
    let options: Vec<&PlacedValue> = options.iter().map(|options| &**options).collect();
    budget.objects(1, &entry.place)?;
    budget.pairs(resources.len(), LOOK, &entry.place)?;
    let mut value = object(kind, entry, &options, pairs(entry, read, budget)?)?;
    mark(&mut value);
    let mut resource = RenderedResource::unnamed(value);
    let is_set = |field: &str| {
        options.iter().any(|option| option.field(field).map(PlacedValue::to_value) == Some(Value::Bool(true)))
    };
    resource.hashed = if is_set("disableNameSuffixHash") { Hashed::No } else { Hashed::Yes };
    budget.size(ValueSize { bytes: 0, ..ValueSize::of(&resource.value) }, &entry.place)?;
    absorb(resource, behavior(entry)?, resources, budget)
}

/// An entry as it is written, its fields spelled as kustomize has them.
pub(super) fn read_entry(
    kind: GeneratorKind,
    entry: &PlacedValue,
) -> Result<Cow<'_, PlacedValue>, RenderError> {
    match kind {
        GeneratorKind::ConfigMap => fields_of(entry, "an entry of `configMapGenerator`", &FIELDS[1..]),
        GeneratorKind::Secret => fields_of(entry, "an entry of `secretGenerator`", &FIELDS),
    }
}

fn behavior(entry: &PlacedValue) -> Result<Behavior, RenderError> {
    match entry.field("behavior") {
        None => Ok(Behavior::Create),
        Some(value) => match value.as_str() {
            Some("" | "unspecified" | "create") => Ok(Behavior::Create),
            Some("replace") => Ok(Behavior::Replace),
            Some("merge") => Ok(Behavior::Merge),
            _ => {
                Err(RenderError::malformed(&value.place, "`behavior` must be `create`, `replace` or `merge`"))
            }
        },
    }
}

fn object(
    kind: GeneratorKind,
    entry: &PlacedValue,
    options: &[&PlacedValue],
    pairs: Vec<KeyValue>,
) -> Result<PlacedValue, RenderError> {
    let place = &entry.place;
    let name =
        entry.field("name").filter(|name| name.as_str().is_some_and(|text| !text.is_empty())).ok_or_else(
            || RenderError::malformed(place, format!("this generated {} has no `name`: add it", kind.name())),
        )?;
    let mut value = PlacedValue::empty(place);
    value.set("apiVersion", PlacedValue::text("v1", place));
    value.set("kind", PlacedValue::text(kind.name(), place));
    let mut metadata = PlacedValue::empty(place);
    metadata.set("name", name.clone());
    if let Some(namespace) = entry.field("namespace").filter(|namespace| !namespace.written().is_empty()) {
        metadata.set("namespace", namespace.clone());
    }
    for field in ["labels", "annotations"] {
        // A generator's own win over those of `generatorOptions`.
        let mut merged = Vec::new();
        for (key, pair) in
            options.iter().filter_map(|option| option.field(field)).flat_map(PlacedValue::entries)
        {
            if pair.as_str().is_none() {
                return Err(RenderError::malformed(&pair.place, format!("`{key}` is not a text: quote it")));
            }
            merged.push((key.clone(), pair.clone()));
        }
        let merged = PlacedValue::mapping(merged, place);
        if !merged.entries().is_empty() {
            metadata.set(field, merged);
        }
    }
    value.set("metadata", metadata);
    if kind == GeneratorKind::Secret {
        let of = entry.field("type").filter(|of| !of.written().is_empty());
        value.set("type", of.cloned().unwrap_or_else(|| PlacedValue::text("Opaque", place)));
        value.set("data", PlacedValue::empty(place));
    }
    let mut fields: Vec<(&str, Vec<(String, PlacedValue)>)> = Vec::new();
    for KeyValue { key, value: bytes, place: source } in pairs {
        let (field, text) = match (kind, String::from_utf8(bytes)) {
            (GeneratorKind::Secret, text) => {
                ("data", base64_lines(&text.map_or_else(|error| error.into_bytes(), String::into_bytes)))
            }
            (GeneratorKind::ConfigMap, Ok(text)) => ("data", text),
            (GeneratorKind::ConfigMap, Err(error)) => ("binaryData", base64_lines(error.as_bytes())),
        };
        let pair = (key, PlacedValue::text(&text, &source));
        match fields.iter_mut().find(|(known, _)| *known == field) {
            Some((_, pairs)) => pairs.push(pair),
            None => fields.push((field, vec![pair])),
        }
    }
    for (field, pairs) in fields {
        value.set(field, PlacedValue::mapping(pairs, place));
    }
    let immutable = |option: &&PlacedValue| {
        option.field("immutable").map(PlacedValue::to_value) == Some(Value::Bool(true))
    };
    if options.iter().any(immutable) {
        value.set(
            "immutable",
            PlacedValue { place: place.clone(), content: PlacedContent::Scalar(Value::Bool(true).into()) },
        );
    }
    Ok(value)
}

/// Base64 in lines of 70 characters, as kustomize writes it.
fn base64_lines(bytes: &[u8]) -> String {
    const LINE: usize = 70;
    let encoded = STANDARD.encode(bytes);
    if encoded.len() < LINE {
        return encoded;
    }
    let mut text = String::with_capacity(encoded.len() + encoded.len() / LINE + 1);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(LINE));
        text.push_str(line);
        text.push('\n');
        rest = more;
    }
    text
}

fn absorb(
    new: RenderedResource,
    behavior: Behavior,
    resources: &mut Vec<RenderedResource>,
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    let id = new.id();
    let mut there = resources.iter_mut().filter(|resource| resource.ids().iter().any(|known| known.is(&id)));
    let (first, second) = (there.next(), there.next().is_some());
    let place = new.value.place.clone();
    match (first, second, behavior) {
        (_, true, _) => Err(RenderError::at(
            &place,
            RenderErrorKind::Duplicate,
            format!("several objects are or were {}: give them different names", id.object_id()),
        )),
        (None, false, Behavior::Create) => {
            resources.push(new);
            Ok(())
        }
        (None, false, _) => Err(RenderError::reference(
            &place,
            format!(
                "there is no {} with data to replace or merge: correct the name, or generate it with `behavior: create`",
                id.object_id()
            ),
        )),
        (Some(old), false, Behavior::Create) => Err(RenderError::at(
            &place,
            RenderErrorKind::Duplicate,
            format!(
                "{} is here and also in {} line {}. An object may be there only once: remove or rename one, or write `behavior: merge` or `replace`",
                id.object_id(),
                old.value.place.file(),
                old.value.place.position().line
            ),
        )),
        (Some(old), false, behavior) => {
            budget.value(&old.value, &place)?;
            take_over(old, new, behavior, &place);
            Ok(())
        }
    }
}

/// The new object in the old one's place, under its name, with its labels and annotations besides, and
/// with its data where they are merged.
fn take_over(old: &mut RenderedResource, new: RenderedResource, behavior: Behavior, place: &SourceOffset) {
    let mut value = new.value;
    let texts = |entries: &[(String, PlacedValue)]| -> Vec<(String, PlacedValue)> {
        let text = |(key, pair): &(String, PlacedValue)| {
            (key.clone(), PlacedValue::text(&pair.written(), &pair.place))
        };
        entries.iter().map(text).collect()
    };
    let merged = |value: &mut PlacedValue, keys: &[&str]| {
        let of = |source: &PlacedValue| texts(source.at(keys).map(PlacedValue::entries).unwrap_or_default());
        let all = PlacedValue::mapping([&old.value, &*value].into_iter().flat_map(of), place);
        let Some((last, way)) = keys.split_last() else { return };
        let Some(parent) = value.mapping_at(way, place) else { return };
        parent.remove(last);
        if !all.entries().is_empty() {
            parent.set(last, all);
        }
    };
    merged(&mut value, &["metadata", "labels"]);
    merged(&mut value, &["metadata", "annotations"]);
    // What is merged stays what it was.
    if behavior == Behavior::Merge
        && let Some(origin) = old.value.at(&["metadata", "annotations", ORIGIN])
        && let Some(annotations) = value.mapping_at(&["metadata", "annotations"], place)
    {
        annotations.set(ORIGIN, origin.clone());
    }
    if behavior == Behavior::Merge {
        merged(&mut value, &["data"]);
        merged(&mut value, &["binaryData"]);
    }
    if let Some(metadata) = value.field_mut("metadata") {
        for field in ["name", "namespace"] {
            match old.value.at(&["metadata", field]) {
                Some(there) => drop(metadata.set(field, there.clone())),
                None => drop(metadata.remove(field)),
            }
        }
    }
    old.value = value;
    if new.hashed == Hashed::No {
        old.hashed = Hashed::No;
    }
}
