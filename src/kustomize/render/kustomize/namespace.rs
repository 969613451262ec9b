//! `namespace`: the namespace of every object that has one, and of what is known to name it.

use super::fields::{Blank, Create, FieldSpec, put_scalar};
use super::file::Named;
use super::id::{Gvk, text_at};
use crate::render::error::{RenderError, Trouble};
use crate::render::placed::{Content, Placed};
use crate::render::resource::Resource;

/// Which objects keep a namespace that they have, and which subjects of role bindings move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Reach {
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
    resources: &mut [Resource],
    namespace: &Named,
    fields: &[FieldSpec],
    reach: Reach,
) -> Result<(), RenderError> {
    let text = Placed::text(&namespace.text, &namespace.place);
    let put = |found: &mut Placed| {
        // A null that kustomize no longer knows as one is a text to it.
        let there = matches!(&found.content, Content::Scalar(scalar) if !scalar.is_known_null())
            && !found.written().is_empty();
        if reach.unset_only == UnsetOnly::Yes && there { Ok(()) } else { put_scalar(found, text.clone()) }
    };
    let own = FieldSpec::new(Gvk::default(), "metadata/namespace", Create::Yes);
    for index in 0..resources.len() {
        let Some(resource) = resources.get_mut(index) else { break };
        resource.remember();
        let gvk = Gvk::of(&resource.value);
        if !gvk.is_cluster_scoped() {
            own.visit(resource, Blank::Text, &namespace.place, &mut |found| put(found))?;
        }
        if matches!(gvk.kind.as_str(), "RoleBinding" | "ClusterRoleBinding") {
            bind(&mut resource.value, reach, &text);
        }
        for field in fields.iter().filter(|field| applies(field, &gvk)) {
            field.visit(resource, Blank::Text, &namespace.place, &mut |found| put(found))?;
        }
        refuse_conflict(resources, index, namespace)?;
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

fn bind(binding: &mut Placed, reach: Reach, namespace: &Placed) {
    let Some(Content::Sequence(subjects)) = binding.field_mut("subjects").map(|field| &mut field.content)
    else {
        return;
    };
    for subject in subjects {
        let moves = match reach.subjects {
            Subjects::Default => text_at(subject, &["name"]) == "default",
            Subjects::Accounts => text_at(subject, &["kind"]) == "ServiceAccount",
            Subjects::None => false,
        };
        let stays = reach.unset_only == UnsetOnly::Yes && !text_at(subject, &["namespace"]).is_empty();
        if moves && !stays {
            subject.set("namespace", namespace.clone());
        }
    }
}

fn refuse_conflict(resources: &[Resource], index: usize, namespace: &Named) -> Result<(), RenderError> {
    let Some(id) = resources.get(index).map(Resource::id) else { return Ok(()) };
    match resources.iter().enumerate().find(|(at, other)| *at != index && other.id().is(&id)) {
        None => Ok(()),
        Some((_, other)) => Err(RenderError::at(
            &namespace.place,
            Trouble::Duplicate,
            format!(
                "this namespace makes {} and the object of {} line {} one: rename one of them",
                id.object_id(),
                other.value.place.file(),
                other.value.place.position().line
            ),
        )),
    }
}
