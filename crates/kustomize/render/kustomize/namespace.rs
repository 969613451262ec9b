//! `namespace`: the namespace of every object that has one, and of what is known to name it.

use std::collections::{BTreeSet, HashMap};

use super::fields::{Blank, Create, FieldSpec, put_scalar};
use super::file::PlacedText;
use super::id::{Gvk, IdKey, text_at};
use crate::render::budget::RenderBudget;
use crate::render::error::{RenderError, RenderErrorKind};
use crate::render::placed::{PlacedContent, PlacedValue};
use crate::render::resource::RenderedResource;

/// Which objects keep a namespace that they have, and which subjects of role bindings move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct NamespaceReach {
    pub(super) unset_only: UnsetOnly,
    pub(super) subjects: Subjects,
}

/// Whether a namespace that is there stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum UnsetOnly {
    #[default]
    No,
    Yes,
}

/// Which subjects of role bindings move along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Subjects {
    /// Those of the name `default`.
    #[default]
    Default,
    /// All service accounts.
    Accounts,
    None,
}

/// Sets the namespace.
pub(super) fn set(
    resources: &mut [RenderedResource],
    namespace: &PlacedText,
    fields: &[FieldSpec],
    reach: NamespaceReach,
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    let text = PlacedValue::text(&namespace.text, &namespace.place);
    let put = |found: &mut PlacedValue| {
        budget.text(namespace.text.len(), &namespace.place)?;
        // A null that kustomize no longer knows as one is a text to it.
        let there = matches!(&found.content, PlacedContent::Scalar(scalar) if !scalar.is_known_null())
            && !found.written().is_empty();
        if reach.unset_only == UnsetOnly::Yes && there { Ok(()) } else { put_scalar(found, text.clone()) }
    };
    let own = FieldSpec::new(Gvk::default(), "metadata/namespace", Create::Yes);
    let mut known = IdentityIndex::of(resources);
    for index in 0..resources.len() {
        let Some(resource) = resources.get_mut(index) else { break };
        let old = resource.id().key();
        resource.remember();
        let gvk = Gvk::of(&resource.value);
        if !gvk.is_cluster_scoped() {
            own.visit(resource, Blank::Text, &namespace.place, budget, &mut |found| put(found))?;
        }
        if matches!(gvk.kind.as_str(), "RoleBinding" | "ClusterRoleBinding") {
            bind(&mut resource.value, reach, &text, budget)?;
        }
        for field in fields.iter().filter(|field| applies(field, &gvk)) {
            field.visit(resource, Blank::Text, &namespace.place, budget, &mut |found| put(found))?;
        }
        let new = resource.id().key();
        if let Some(other) = known.move_to(index, &old, new).and_then(|at| resources.get(at)) {
            return Err(conflict(resources, index, other, namespace));
        }
    }
    Ok(())
}

/// `metadata.namespace` is done already, `metadata.name` is the namespace only of a Namespace, and
/// subjects have rules of their own.
fn applies(field: &FieldSpec, gvk: &Gvk) -> bool {
    let bindings = ["RoleBinding", "ClusterRoleBinding"];
    match field.path.as_str() {
        "metadata/namespace" => false,
        "metadata/name" => gvk.api_version() == "v1",
        "subjects/namespace" => {
            !(bindings.contains(&gvk.kind.as_str()) && bindings.contains(&field.gvk.kind.as_str()))
        }
        _ => true,
    }
}

/// Which objects have an identity, while identities change.
struct IdentityIndex(HashMap<IdKey, BTreeSet<usize>>);

impl IdentityIndex {
    fn of(resources: &[RenderedResource]) -> Self {
        let mut known: HashMap<IdKey, BTreeSet<usize>> = HashMap::with_capacity(resources.len());
        for (at, resource) in resources.iter().enumerate() {
            known.entry(resource.id().key()).or_default().insert(at);
        }
        Self(known)
    }

    /// The first other object of the identity that one has now.
    fn move_to(&mut self, at: usize, old: &IdKey, new: IdKey) -> Option<usize> {
        if let Some(there) = self.0.get_mut(old) {
            there.remove(&at);
        }
        let there = self.0.entry(new).or_default();
        let other = there.first().copied();
        there.insert(at);
        other
    }
}

fn bind(
    binding: &mut PlacedValue,
    reach: NamespaceReach,
    namespace: &PlacedValue,
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    let Some(PlacedContent::Sequence(subjects)) =
        binding.field_mut("subjects").map(|field| &mut field.content)
    else {
        return Ok(());
    };
    for subject in subjects {
        let moves = match reach.subjects {
            Subjects::Default => text_at(subject, &["name"]) == "default",
            Subjects::Accounts => text_at(subject, &["kind"]) == "ServiceAccount",
            Subjects::None => false,
        };
        let stays = reach.unset_only == UnsetOnly::Yes && !text_at(subject, &["namespace"]).is_empty();
        if moves && !stays {
            budget.value(namespace, &namespace.place)?;
            subject.set("namespace", namespace.clone());
        }
    }
    Ok(())
}

fn conflict(
    resources: &[RenderedResource],
    index: usize,
    other: &RenderedResource,
    namespace: &PlacedText,
) -> RenderError {
    let made = resources.get(index).map(|resource| resource.id().object_id().to_string()).unwrap_or_default();
    RenderError::at(
        &namespace.place,
        RenderErrorKind::Duplicate,
        format!(
            "this namespace makes {made} and the object of {} line {} one: rename one of them",
            other.value.place.file(),
            other.value.place.position().line
        ),
    )
}
