//! ConfigMaps that a kustomization generates from files and literals.
//!
//! Only with `disableNameSuffixHash: true`: a name that ends in a hash of the content would also
//! have to be rewritten wherever built-in kinds name the ConfigMap.

use serde_json::Value;

use super::error::RenderError;
use super::kustomization::Kustomization;
use super::placed::{Content, Place, Placed};

/// What a generated ConfigMap does to one that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behavior {
    Create,
    Replace,
    Merge,
}

/// An entry of `configMapGenerator`: the ConfigMap without its data, and where the data comes from.
pub(super) struct Generated {
    pub(super) place: Place,
    pub(super) behavior: Behavior,
    pub(super) object: Placed,
    pub(super) data: Vec<Datum>,
}

/// One key of the data.
pub(super) enum Datum {
    Literal { key: String, value: Placed },
    File { key: String, path: super::kustomization::Named },
}

const FIELDS: [&str; 6] = ["name", "namespace", "behavior", "files", "literals", "options"];
const OPTIONS: [&str; 4] = ["disableNameSuffixHash", "labels", "annotations", "immutable"];

/// Reads one entry of `configMapGenerator`.
pub(super) fn read(kustomization: &Kustomization, entry: &Placed) -> Result<Generated, RenderError> {
    if let Some((field, value)) = entry.entries().iter().find(|(field, _)| !FIELDS.contains(&field.as_str()))
    {
        return Err(RenderError::unsupported(
            &value.place,
            format!(
                "Capstan does not render `{field}` of `configMapGenerator`: write the data as files or literals"
            ),
        ));
    }
    let options: Vec<&Placed> =
        [kustomization.generator_options.as_ref(), entry.field("options")].into_iter().flatten().collect();
    for option in &options {
        if let Some((field, value)) =
            option.entries().iter().find(|(field, _)| !OPTIONS.contains(&field.as_str()))
        {
            return Err(RenderError::malformed(
                &value.place,
                format!("generator options have no field `{field}`: they have {}", OPTIONS.join(", ")),
            ));
        }
    }
    let no_hash = options
        .iter()
        .any(|option| option.field("disableNameSuffixHash").map(Placed::to_value) == Some(Value::Bool(true)));
    if !no_hash {
        return Err(RenderError::unsupported(
            &entry.place,
            "Capstan does not render `configMapGenerator` with a hash in the name: set `generatorOptions: {disableNameSuffixHash: true}`",
        ));
    }
    Ok(Generated {
        place: entry.place.clone(),
        behavior: behavior(entry)?,
        object: object(entry, &options)?,
        data: data(entry)?,
    })
}

fn behavior(entry: &Placed) -> Result<Behavior, RenderError> {
    match entry.field("behavior") {
        None => Ok(Behavior::Create),
        Some(value) => match value.as_str() {
            Some("" | "unspecified" | "create") => Ok(Behavior::Create),
            Some("replace") => Ok(Behavior::Replace),
            Some("merge") => Ok(Behavior::Merge),
            _ => Err(RenderError::malformed(
                &value.place,
                "`behavior` is one of `create`, `replace` and `merge`: write one of them",
            )),
        },
    }
}

fn object(entry: &Placed, options: &[&Placed]) -> Result<Placed, RenderError> {
    let place = &entry.place;
    let name = entry
        .field("name")
        .filter(|name| name.as_str().is_some_and(|text| !text.is_empty()))
        .ok_or_else(|| RenderError::malformed(place, "this generated ConfigMap has no `name`: add it"))?;
    let mut metadata = vec![("name".to_owned(), name.clone())];
    if let Some(namespace) = entry.field("namespace").filter(|namespace| !namespace.is_null()) {
        metadata.push(("namespace".to_owned(), namespace.clone()));
    }
    for field in ["labels", "annotations"] {
        let mut merged = Placed { place: place.clone(), content: Content::Mapping(Vec::new()) };
        for (key, value) in options.iter().filter_map(|option| option.field(field)).flat_map(Placed::entries)
        {
            merged.set(key, value.clone());
        }
        if !merged.entries().is_empty() {
            metadata.push((field.to_owned(), merged));
        }
    }
    let mapping = |entries| Placed { place: place.clone(), content: Content::Mapping(entries) };
    let mut fields = vec![
        ("apiVersion".to_owned(), Placed::text("v1", place)),
        ("kind".to_owned(), Placed::text("ConfigMap", place)),
        ("metadata".to_owned(), mapping(metadata)),
        ("data".to_owned(), mapping(Vec::new())),
    ];
    if let Some(immutable) = options.iter().rev().find_map(|option| option.field("immutable")) {
        fields.push(("immutable".to_owned(), immutable.clone()));
    }
    Ok(mapping(fields))
}

fn data(entry: &Placed) -> Result<Vec<Datum>, RenderError> {
    let text = |item: &Placed| {
        item.as_str()
            .map(ToOwned::to_owned)
            .ok_or_else(|| RenderError::malformed(&item.place, "this is not a text: quote it"))
    };
    let mut data = Vec::new();
    for item in entry.field("literals").map(Placed::items).unwrap_or_default() {
        let text = text(item)?;
        let (key, value) = text.split_once('=').ok_or_else(|| {
            RenderError::malformed(&item.place, "a literal is written `key=value`: add the `=`")
        })?;
        let value = unquoted(value);
        data.push(Datum::Literal { key: key.to_owned(), value: Placed::text(value, &item.place) });
    }
    for item in entry.field("files").map(Placed::items).unwrap_or_default() {
        let text = text(item)?;
        let (key, path) = match text.split_once('=') {
            Some((key, path)) => (key.to_owned(), path),
            None => (text.rsplit('/').next().unwrap_or_default().to_owned(), text.as_str()),
        };
        let path = super::kustomization::Named { text: path.to_owned(), place: item.place.clone() };
        data.push(Datum::File { key, path });
    }
    Ok(data)
}

/// Kustomize takes one pair of quotes off a literal.
fn unquoted(value: &str) -> &str {
    ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(value)
}

/// Puts generated data into the data of a ConfigMap that is there.
pub(super) fn put_data(object: &mut Placed, generated: &Placed, behavior: Behavior) {
    let place = generated.place.clone();
    if behavior == Behavior::Replace {
        object.remove("data");
        object.remove("binaryData");
    }
    if let Some(data) = object.mapping_at(&["data"], &place) {
        for (key, value) in generated.field("data").map(Placed::entries).unwrap_or_default() {
            data.set(key, value.clone());
        }
    }
    for field in ["labels", "annotations"] {
        let new = generated.at(&["metadata", field]).map(Placed::entries).unwrap_or_default();
        if new.is_empty() {
            continue;
        }
        if let Some(mapping) = object.mapping_at(&["metadata", field], &place) {
            for (key, value) in new {
                mapping.set(key, value.clone());
            }
        }
    }
}
