//! One step of a kustomization's transformation: of its own fields, or of a plugin that kustomize has built in.

use super::builder::Builder;
use super::config::Config;
use super::fields::{Conflict, FieldSpec};
use super::file::{Kustomization, PlacedText};
use super::images::{self, ImageEntry};
use super::labels::add_pairs;
use super::names::{self, NameEnd};
use super::namespace::{self, NamespaceReach};
use super::patches::{self, Patch};
use super::replacements::{REPLACEMENT, Replacement};
use super::replicas::{self, Replicas};
use crate::render::budget::LOOK;
use crate::render::dialect::Dialect;
use crate::render::error::RenderError;
use crate::render::keys::spelled;
use crate::render::placed::{PlacedContent, PlacedValue, SourceOffset};
use crate::render::resource::RenderedResource;
use capstan_model::tree::RepoPath;

/// A step, with the fields that it reaches.
pub(super) enum Transformer {
    Patches(&'static str, Vec<Patch>),
    Namespace(PlacedText, Vec<FieldSpec>, NamespaceReach),
    Name(NameEnd, PlacedText, Vec<FieldSpec>),
    Pairs(&'static str, Vec<(String, PlacedValue)>, Vec<FieldSpec>),
    Replicas(Replicas, Vec<FieldSpec>),
    Image(ImageEntry, Vec<FieldSpec>),
    Replacements(Vec<Replacement>),
    /// Several under one name.
    Several(&'static str, Vec<Transformer>),
}

impl Transformer {
    /// Kustomize's name for it.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Patches(kind, _) | Self::Pairs(kind, ..) | Self::Several(kind, _) => kind,
            Self::Namespace(..) => "NamespaceTransformer",
            Self::Name(NameEnd::Prefix, ..) => "PrefixTransformer",
            Self::Name(NameEnd::Suffix, ..) => "SuffixTransformer",
            Self::Replicas(..) => "ReplicaCountTransformer",
            Self::Image(..) => "ImageTagTransformer",
            Self::Replacements(_) => "ReplacementTransformer",
        }
    }

    /// How often it looks at each object; what looks on its own charges on its own.
    fn looks(&self) -> usize {
        match self {
            Self::Patches(..) | Self::Replacements(_) | Self::Several(..) => 0,
            Self::Namespace(_, fields, _)
            | Self::Name(_, _, fields)
            | Self::Replicas(_, fields)
            | Self::Image(_, fields) => fields.len() + 1,
            Self::Pairs(_, pairs, fields) => pairs.len().saturating_mul(fields.len() + 1),
        }
    }

    pub(super) fn apply(
        self,
        builder: &mut Builder<'_>,
        resources: &mut Vec<RenderedResource>,
        place: &SourceOffset,
    ) -> Result<(), RenderError> {
        let budget = &builder.loader.budget;
        budget.pairs(resources.len(), self.looks().saturating_mul(LOOK), place)?;
        match self {
            Self::Patches(_, all) => {
                all.iter().try_for_each(|patch| patches::apply(builder, resources, patch))
            }
            Self::Namespace(namespace, fields, reach) => {
                namespace::set(resources, &namespace, &fields, reach, budget)
            }
            Self::Name(end, text, fields) => names::add(resources, end, &text, &fields, budget),
            Self::Pairs(_, pairs, fields) => add_pairs(resources, &pairs, &fields, budget),
            Self::Replicas(replicas, fields) => replicas::set(resources, &replicas, &fields, budget),
            Self::Image(image, fields) => images::set(resources, &image, &fields, budget),
            Self::Replacements(all) => all.iter().try_for_each(|one| one.apply(resources, budget)),
            Self::Several(_, all) => all.into_iter().try_for_each(|one| one.apply(builder, resources, place)),
        }
    }
}

/// The steps of a kustomization's own fields, in kustomize's order.
pub(super) fn of(
    kustomization: &Kustomization,
    config: &Config,
    builder: &mut Builder<'_>,
    folder: &RepoPath,
) -> Result<Vec<Transformer>, RenderError> {
    let mut all = Vec::new();
    if !kustomization.strategic.is_empty() {
        let patches = patches::strategic(builder, folder, &kustomization.strategic)?;
        all.push(Transformer::Patches("PatchStrategicMergeTransformer", patches));
    }
    for entry in &kustomization.patches {
        all.push(Transformer::Patches("PatchTransformer", patches::load(builder, folder, entry)?));
    }
    if let Some(namespace) = &kustomization.namespace {
        all.push(Transformer::Namespace(
            namespace.clone(),
            config.namespace.clone(),
            NamespaceReach::default(),
        ));
    }
    if let Some(prefix) = &kustomization.prefix {
        all.push(Transformer::Name(NameEnd::Prefix, prefix.clone(), config.name_prefix.clone()));
    }
    if let Some(suffix) = &kustomization.suffix {
        all.push(Transformer::Name(NameEnd::Suffix, suffix.clone(), config.name_suffix.clone()));
    }
    for labels in &kustomization.labels {
        let fields = labels.all_fields(config).map_err(|Conflict| {
            RenderError::malformed(
                &kustomization.place,
                "`fields` of `labels` disagree with kustomize's defaults about `create` of one field: make them agree",
            )
        })?;
        all.push(Transformer::Pairs("LabelTransformer", labels.pairs.clone(), fields));
    }
    if !kustomization.labels.is_empty() || !kustomization.common_labels.is_empty() {
        let pairs = kustomization.common_labels.clone();
        all.push(Transformer::Pairs("LabelTransformer", pairs, config.common_labels.clone()));
    }
    if !kustomization.annotations.is_empty() {
        let pairs = kustomization.annotations.clone();
        all.push(Transformer::Pairs("AnnotationsTransformer", pairs, config.annotations.clone()));
    }
    for entry in &kustomization.json6902 {
        all.push(Transformer::Patches(
            "PatchJson6902Transformer",
            patches::json6902(builder, folder, entry)?,
        ));
    }
    for replicas in &kustomization.replicas {
        all.push(Transformer::Replicas(replicas.clone(), config.replicas.clone()));
    }
    for image in &kustomization.images {
        all.push(Transformer::Image(image.clone(), config.images.clone()));
    }
    if !kustomization.replacements.is_empty() {
        all.push(Transformer::Replacements(replacements(builder, folder, &kustomization.replacements)?));
    }
    Ok(all)
}

/// Replacements, those of files included.
pub(super) fn replacements(
    builder: &mut Builder<'_>,
    folder: &RepoPath,
    entries: &[PlacedValue],
) -> Result<Vec<Replacement>, RenderError> {
    let mut all = Vec::new();
    for entry in entries {
        let entry = &*spelled(entry, &REPLACEMENT)?;
        let path = entry.field("path").filter(|path| !path.written().is_empty());
        let Some(path) = path else {
            all.push(Replacement::read(entry, &builder.loader.budget)?);
            continue;
        };
        if entry.entries().len() > 1 {
            return Err(RenderError::malformed(
                &entry.place,
                "a replacement has either a `path` or its own `source` and `targets`: give one of them",
            ));
        }
        let name = PlacedText { text: path.written().into_owned(), place: path.place.clone() };
        let loaded = builder.read_as(folder, &name, Dialect::Kubernetes)?;
        for document in loaded.documents.iter().take(1) {
            match &document.content {
                PlacedContent::Sequence(items) => {
                    for item in items {
                        all.push(Replacement::read(item, &builder.loader.budget)?);
                    }
                }
                _ => all.push(Replacement::read(document, &builder.loader.budget)?),
            }
        }
    }
    Ok(all)
}
