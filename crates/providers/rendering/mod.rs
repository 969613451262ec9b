//! A provider's components as they would be applied: all steps, in the operator's order.
//!
//! | step | |
//! |---|---|
//! | 1 | the components, then the additional manifests |
//! | 2 | variables, in the text |
//! | 3 | objects, by YAML 1.1 |
//! | 4 | overrides of images from the Secret's key `images` |
//! | 5, 6, 7, 8 | one Namespace at most; the provider's namespace; its labels; the order |
//! | 9 | Namespaces go; the provider is named as owner where its UID is known |
//! | 10 | `deployment`, `manager`, `additionalDeployments` |
//! | 11 | `patches` or `manifestPatches` |
//! | 12 | overrides of images from the operator's own configuration |

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::digest::sha256;
use capstan_model::object::ObjectId;
use capstan_model::tree::Tree;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::images::{self, Overrides, Short};
use super::objects::{self, Object};
use super::placing::{self, OwnerLabels};
use super::pods::{self, Container};
use super::refusal::{Refusal, RenderStage};
use super::set::ProviderSet;
use super::source::{self, VersionComponents};
use super::spec::Provider;
use super::variables::{self, Fallback, Substituted, VariableError, VariableValues};
use super::{deployment, patches};

/// The key of a config Secret that holds overrides of images.
const IMAGES: &str = "images";

/// The key of a ConfigMap that holds additional manifests.
const MANIFESTS: &str = "manifests";

/// What a provider is rendered from.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The repository.
    pub tree: &'a dyn Tree,
    /// The objects around the provider.
    pub set: &'a ProviderSet,
    /// Values for what config Secrets that are not at hand would have, and theirs lack.
    pub variables: &'a VariableValues,
    /// Overrides of images in the configuration that the operator is started with, if it is.
    pub configuration: Option<&'a Overrides>,
}

/// A provider, rendered.
#[derive(Debug, Clone)]
pub struct RenderedObjects {
    /// The label of its objects: `infrastructure-aws`.
    pub label: String,
    /// The version that was rendered.
    pub version: String,
    /// The contract of Cluster API that this version keeps.
    pub contract: String,
    /// The objects in the order in which they are applied.
    pub objects: Vec<Value>,
    /// The images that their pods run; ordered, each once.
    pub images: BTreeSet<String>,
    /// What a person should know besides, one sentence each.
    pub notes: Vec<String>,
    /// What was found on the way.
    pub(crate) traces: RenderTraces,
}

/// Facts of rendering that the objects no longer show.
#[derive(Debug, Clone, Default)]
pub(crate) struct RenderTraces {
    /// SHA-256 of the components' text, in hex digits.
    pub(crate) sha256: String,
    /// Feature gates that the components name, before the provider object changes them.
    pub(crate) listed_gates: BTreeSet<String>,
    /// The variables of the text.
    pub(crate) variables: BTreeMap<String, Variable>,
    /// Those that have values, with them.
    pub(crate) values: VariableValues,
}

/// The source of a variable's value. The value itself is never shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Variable {
    /// The config Secret, or its replacement.
    Bound,
    /// Its default in the text.
    Default,
    /// It has no default, and the config Secret is not at hand.
    Unseen,
    /// It has neither value nor default.
    Unbound,
}

/// What becomes of variables that have neither value nor default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gaps {
    /// They are refused, as the operator does.
    Refused,
    /// They are left empty, to see the rest: never to be applied.
    Empty,
}

/// Renders a provider of the set.
///
/// # Errors
/// Components are missing, or something cannot be rendered as the operator would: with the place, the object,
/// and what to do. Values of variables are never shown.
pub fn render(provider: &Provider, inputs: Inputs<'_>) -> Result<RenderedObjects, Refusal> {
    render_with(provider, inputs, Gaps::Refused)
}

/// As [`render`] does, but for variables that have neither value nor default.
pub(crate) fn render_with(
    provider: &Provider,
    inputs: Inputs<'_>,
    gaps: Gaps,
) -> Result<RenderedObjects, Refusal> {
    rendered(provider, inputs, gaps)
        .map_err(|refusal| refusal.of(provider.subject()).at(provider.place.clone()))
}

fn rendered(provider: &Provider, inputs: Inputs<'_>, gaps: Gaps) -> Result<RenderedObjects, Refusal> {
    let VersionComponents { version, contract, text, place, mut notes } =
        source::find(inputs.tree, inputs.set, provider)?;
    let sha256 = sha256(&text);
    let mut values = values(provider, inputs, &mut notes)?;
    let of_text = |refusal: Refusal| refusal.of("its components").at(place.clone());
    // Neither text is kept beside its objects: components have megabytes.
    let text = with_manifests(text, provider, inputs.set)?;
    let variables = states(&text, provider, inputs.set, &values).map_err(of_text)?;
    if gaps == Gaps::Empty {
        let gap = |name: &&String| values.get(name).is_none() && variables[*name] != Variable::Default;
        let gaps: Vec<String> = variables.keys().filter(gap).cloned().collect();
        gaps.into_iter().for_each(|name| values.insert(name, ""));
    }
    let with_values = substituted(&text, provider, &values).map_err(of_text)?;
    drop(text);
    let mut objects = objects::read(&with_values).map_err(of_text)?;
    drop(with_values);

    let label = provider.label();
    let overrides = values.get(IMAGES).map(Overrides::read).transpose();
    let overrides = overrides.map_err(|refusal| refusal.of("its config Secret"))?.unwrap_or_default();
    for object in &mut objects {
        override_images(object, &label, &overrides, Short::Refused)?;
    }
    refuse_second_namespace(&objects).map_err(of_text)?;
    for object in &mut objects {
        let id = object.id();
        placing::place(&mut object.value, &provider.namespace).map_err(|refusal| of_text(refusal.of(id)))?;
        placing::label(&mut object.value, &label);
    }
    objects.sort_by_key(|object| placing::rank(&object.value));
    objects.retain(|object| object.kind() != "Namespace");
    if let Some(uid) = &provider.uid {
        let owner = OwnerLabels { kind: provider.kind.name(), name: &provider.name, uid };
        objects.iter_mut().for_each(|object| placing::own(&mut object.value, &owner));
    }
    let listed_gates = listed_gates(&objects);
    deployment::customize(&mut objects, &provider.spec)
        .map_err(|refusal| refusal.during(RenderStage::Customization))?;
    let patched = patches::apply(&mut objects, &provider.spec.patches);
    notes.extend(patched.map_err(|refusal| refusal.during(RenderStage::Patches))?);
    if let Some(overrides) = inputs.configuration {
        for object in &mut objects {
            override_images(object, &label, overrides, Short::Kept)
                .map_err(|refusal| refusal.during(RenderStage::ImageOverrides))?;
        }
    }
    refuse_twins(&objects)?;
    let objects: Vec<Value> = objects.into_iter().map(|object| object.value).collect();
    let images = objects.iter().flat_map(images::of_object).collect();
    let traces = RenderTraces { sha256, listed_gates, variables, values };
    Ok(RenderedObjects { label, version, contract, objects, images, notes, traces })
}

fn listed_gates(objects: &[Object]) -> BTreeSet<String> {
    let containers = objects.iter().flat_map(|object| pods::containers(&object.value));
    containers.flat_map(Container::feature_gates).map(|(gate, _)| gate.to_owned()).collect()
}

/// Where each variable of a text has its value from. Of an encrypted Secret the names are known.
fn states(
    text: &str,
    provider: &Provider,
    set: &ProviderSet,
    values: &VariableValues,
) -> Result<BTreeMap<String, Variable>, Refusal> {
    let secret = provider.spec.config_secret.as_ref();
    let names = secret.map(|secret| set.secret_names(secret));
    let state = |(name, fallback): (String, Fallback)| {
        let is_bound =
            values.get(&name).is_some() || names.iter().flatten().any(|names| names.contains(&name));
        let state = match (fallback, &names) {
            _ if is_bound => Variable::Bound,
            (Fallback::Given, _) => Variable::Default,
            (Fallback::Missing, Some(None)) => Variable::Unseen,
            (Fallback::Missing, _) => Variable::Unbound,
        };
        (name, state)
    };
    Ok(variables::uses(text)?.into_iter().map(state).collect())
}

/// What the provider's config Secret gives its variables. Where it names none, they have no values.
fn values(
    provider: &Provider,
    inputs: Inputs<'_>,
    notes: &mut Vec<String>,
) -> Result<VariableValues, Refusal> {
    let Some(secret) = &provider.spec.config_secret else { return Ok(VariableValues::default()) };
    let mut values = match inputs.set.secret(secret)? {
        Some((values, no_text)) => {
            if !no_text.is_empty() {
                notes
                    .push(format!("of Secret {secret}, {} have no text and are ignored", no_text.join(", ")));
            }
            values
        }
        None => {
            notes.push(format!(
                "Secret {secret} is not here, or is encrypted: variables have the given values, else their defaults"
            ));
            VariableValues::default()
        }
    };
    values.fill(inputs.variables);
    Ok(values)
}

/// The text with the additional manifests behind it.
fn with_manifests(text: String, provider: &Provider, set: &ProviderSet) -> Result<String, Refusal> {
    let Some(wanted) = &provider.spec.additional_manifests else { return Ok(text) };
    let map = set.config_map(wanted).ok_or_else(|| {
        Refusal::new(format!("ConfigMap {wanted}, which `additionalManifests` names, is missing: add it"))
    })?;
    Ok(match map.text("data", MANIFESTS) {
        Some((manifests, _)) if !manifests.is_empty() => format!("{text}\n---\n{manifests}"),
        _ => text,
    })
}

fn substituted(text: &str, provider: &Provider, values: &VariableValues) -> Result<Substituted, Refusal> {
    variables::substitute(text, values).map_err(|trouble| match trouble {
        VariableError::Refused(refusal) => refusal,
        VariableError::Missing(names) => {
            let what_to_do = match &provider.spec.config_secret {
                Some(secret) => {
                    format!("put them into Secret {secret}")
                }
                None => "name a Secret that has them in `spec.configSecret`".to_owned(),
            };
            Refusal::new(format!(
                "these variables have neither value nor default: {}; {what_to_do}",
                names.join(", ")
            ))
        }
    })
}

fn override_images(
    object: &mut Object,
    label: &str,
    overrides: &Overrides,
    short: Short,
) -> Result<(), Refusal> {
    images::override_in(&mut object.value, label, overrides, short).map_err(|refusal| refusal.of(object.id()))
}

fn refuse_second_namespace(objects: &[Object]) -> Result<(), Refusal> {
    let mut namespaces = objects.iter().filter(|object| object.kind() == "Namespace");
    match (namespaces.next(), namespaces.next()) {
        (Some(first), Some(second)) => Err(Refusal::new(format!(
            "they have the Namespaces {} and {}, but a provider has one: remove one",
            first.metadata("name"),
            second.metadata("name")
        ))),
        _ => Ok(()),
    }
}

fn refuse_twins(objects: &[Object]) -> Result<(), Refusal> {
    let mut known: BTreeSet<ObjectId> = BTreeSet::new();
    match objects.iter().find(|object| !known.insert(object.id())) {
        None => Ok(()),
        Some(twin) => {
            Err(twin.refuse("it is twice among the components, including additional manifests: keep one"))
        }
    }
}

#[cfg(test)]
mod tests;
