//! Plugins that kustomize has built in, under `generators` and `transformers`. All others are programs and
//! are refused.

use super::builder::Builder;
use super::config::read_field;
use super::fields::FieldSpec;
use super::file::{PlacedText, name, pairs, patch_entry};
use super::generate::GeneratorKind;
use super::images::ImageEntry;
use super::names::NameEnd;
use super::namespace::{NamespaceReach, Subjects, UnsetOnly};
use super::patches;
use super::replicas::Replicas;
use super::transformer::{Transformer, replacements};
use crate::render::budget::RenderBudget;
use crate::render::dialect::Dialect;
use crate::render::error::RenderError;
use crate::render::keys::spelled;
use crate::render::load::{expand, read_if_yaml};
use crate::render::placed::{PlacedContent, PlacedValue};
use crate::render::resource::RenderedResource;
use capstan_model::tree::RepoPath;

/// The fields of all built-in transformers. None has a field whose other case is one of another.
const FIELDS: [&str; 17] = [
    "annotations",
    "fieldSpecs",
    "imageTag",
    "jsonOp",
    "labels",
    "options",
    "patch",
    "patches",
    "path",
    "paths",
    "prefix",
    "replacements",
    "replica",
    "setRoleBindingSubjects",
    "suffix",
    "target",
    "unsetOnly",
];

/// Plugins that are written where they are listed; `None` for the name of a file or folder.
pub(super) fn inline(
    name: &PlacedText,
    budget: &RenderBudget,
) -> Result<Option<Vec<RenderedResource>>, RenderError> {
    match read_if_yaml(&name.text, &name.place, Dialect::Kustomize, budget)? {
        Some(documents) if documents.iter().all(PlacedValue::is_mapping) => expand(&documents).map(Some),
        _ => Ok(None),
    }
}

fn built_in<'a>(plugin: &'a PlacedValue, field: &str) -> Result<&'a str, RenderError> {
    let kind = plugin.text_at(&["kind"]).unwrap_or_default();
    if plugin.text_at(&["apiVersion"]) == Some("builtin") {
        return Ok(kind);
    }
    Err(RenderError::unsupported(
        &plugin.place,
        format!(
            "Capstan does not render `{field}` that are programs, like {kind}. Use those built into kustomize (`apiVersion: builtin`), or patches"
        ),
    ))
}

fn unknown(plugin: &PlacedValue, field: &str, kind: &str) -> RenderError {
    RenderError::unsupported(
        &plugin.place,
        format!(
            "Capstan does not render `{field}` of the kind {kind}: write what it does as patches or plain files"
        ),
    )
}

/// A generator's entry as the kustomization would contain it.
pub(super) fn generator(plugin: &PlacedValue) -> Result<(GeneratorKind, PlacedValue), RenderError> {
    let kind = match built_in(plugin, "generators")? {
        "ConfigMapGenerator" => GeneratorKind::ConfigMap,
        "SecretGenerator" => GeneratorKind::Secret,
        other => return Err(unknown(plugin, "generators", other)),
    };
    let mut entry = spelled(plugin, &["name", "namespace"])?.into_owned();
    entry.remove("apiVersion");
    entry.remove("kind");
    let metadata = entry.remove("metadata");
    for field in ["name", "namespace"] {
        if let Some(value) = metadata.as_ref().and_then(|metadata| metadata.field(field))
            && entry.field(field).is_none()
        {
            entry.set(field, value.clone());
        }
    }
    Ok((kind, entry))
}

/// A transformer.
pub(super) fn transformer(
    plugin: &PlacedValue,
    builder: &mut Builder<'_>,
    folder: &RepoPath,
) -> Result<Transformer, RenderError> {
    let kind = built_in(plugin, "transformers")?;
    let plugin = &*spelled(plugin, &FIELDS)?;
    let text = |field: &str| -> Result<PlacedText, RenderError> {
        let found = name(plugin, field)?;
        Ok(found.unwrap_or_else(|| PlacedText { text: String::new(), place: plugin.place.clone() }))
    };
    Ok(match kind {
        "PrefixTransformer" => Transformer::Name(NameEnd::Prefix, text("prefix")?, needed_fields(plugin)?),
        "SuffixTransformer" => Transformer::Name(NameEnd::Suffix, text("suffix")?, needed_fields(plugin)?),
        "PrefixSuffixTransformer" => Transformer::Several(
            "PrefixSuffixTransformer",
            vec![
                Transformer::Name(NameEnd::Prefix, text("prefix")?, needed_fields(plugin)?),
                Transformer::Name(NameEnd::Suffix, text("suffix")?, needed_fields(plugin)?),
            ],
        ),
        "NamespaceTransformer" => {
            let metadata = plugin.field("metadata").map(|metadata| spelled(metadata, &["namespace"]));
            let metadata = metadata.transpose()?;
            let namespace = metadata.map(|metadata| name(&metadata, "namespace")).transpose()?.flatten();
            match namespace {
                Some(namespace) => Transformer::Namespace(namespace, fields(plugin)?, reach(plugin)?),
                None => Transformer::Several("NamespaceTransformer", Vec::new()),
            }
        }
        "LabelTransformer" => {
            Transformer::Pairs("LabelTransformer", pairs(plugin, "labels")?, fields(plugin)?)
        }
        "AnnotationsTransformer" => {
            Transformer::Pairs("AnnotationsTransformer", pairs(plugin, "annotations")?, fields(plugin)?)
        }
        "ImageTagTransformer" => match plugin.field("imageTag") {
            Some(image) => {
                Transformer::Image(ImageEntry::read(image, &builder.loader.budget)?, fields(plugin)?)
            }
            None => {
                return Err(RenderError::malformed(
                    &plugin.place,
                    "this transformer has no `imageTag`: add it",
                ));
            }
        },
        "ReplicaCountTransformer" => match plugin.field("replica") {
            Some(replica) => Transformer::Replicas(Replicas::read(replica)?, fields(plugin)?),
            None => {
                return Err(RenderError::malformed(
                    &plugin.place,
                    "this transformer has no `replica`: add it",
                ));
            }
        },
        "ReplacementTransformer" => {
            let entries = plugin.field("replacements").map(PlacedValue::items).unwrap_or_default();
            Transformer::Replacements(replacements(builder, folder, entries)?)
        }
        "PatchTransformer" => {
            let entry = patch_entry(&own_fields(plugin), "patches", &builder.loader.budget)?;
            Transformer::Patches("PatchTransformer", patches::load(builder, folder, &entry)?)
        }
        "PatchJson6902Transformer" => {
            let mut fields = own_fields(plugin);
            if let Some(operations) = fields.remove("jsonOp") {
                fields.set("patch", operations);
            }
            let entry = patch_entry(&fields, "patchesJson6902", &builder.loader.budget)?;
            Transformer::Patches("PatchJson6902Transformer", patches::json6902(builder, folder, &entry)?)
        }
        "PatchStrategicMergeTransformer" => {
            let mut all = Vec::new();
            for item in plugin.field("paths").map(PlacedValue::items).unwrap_or_default() {
                all.push(PlacedText { text: item.written().into_owned(), place: item.place.clone() });
            }
            all.extend(name(plugin, "patches")?);
            let patches = patches::strategic(builder, folder, &all)?;
            Transformer::Patches("PatchStrategicMergeTransformer", patches)
        }
        other => return Err(unknown(plugin, "transformers", other)),
    })
}

fn own_fields(plugin: &PlacedValue) -> PlacedValue {
    let mut fields = plugin.clone();
    for field in ["apiVersion", "kind", "metadata"] {
        fields.remove(field);
    }
    fields
}

fn fields(plugin: &PlacedValue) -> Result<Vec<FieldSpec>, RenderError> {
    match plugin.field("fieldSpecs") {
        None => Ok(Vec::new()),
        Some(fields) => match &fields.content {
            PlacedContent::Sequence(items) => items.iter().map(read_field).collect(),
            _ => Err(RenderError::malformed(&fields.place, "`fieldSpecs` is a list of fields")),
        },
    }
}

fn needed_fields(plugin: &PlacedValue) -> Result<Vec<FieldSpec>, RenderError> {
    match fields(plugin)? {
        fields if fields.is_empty() => Err(RenderError::malformed(
            &plugin.place,
            "this transformer has no `fieldSpecs`, which kustomize requires: name the fields that it is for",
        )),
        fields => Ok(fields),
    }
}

fn reach(plugin: &PlacedValue) -> Result<NamespaceReach, RenderError> {
    let unset_only = match plugin.field("unsetOnly").map(PlacedValue::to_value) {
        Some(serde_json::Value::Bool(true)) => UnsetOnly::Yes,
        _ => UnsetOnly::No,
    };
    let subjects = match plugin.text_at(&["setRoleBindingSubjects"]) {
        None | Some("" | "defaultOnly") => Subjects::Default,
        Some("allServiceAccounts") => Subjects::Accounts,
        Some("none") => Subjects::None,
        Some(_) => {
            return Err(RenderError::malformed(
                &plugin.place,
                "`setRoleBindingSubjects` must be `defaultOnly`, `allServiceAccounts` or `none`",
            ));
        }
    };
    Ok(NamespaceReach { unset_only, subjects })
}
