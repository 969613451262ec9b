//! References by name follow the objects that were renamed.
//!
//! Kustomize's rules (<https://github.com/kubernetes-sigs/kustomize/blob/master/api/filters/nameref/nameref.go>):
//! among the objects that once had the name, one of the wanted kind that the referrer can see; of several,
//! the one that got the same prefixes and suffixes.

use std::collections::{BTreeSet, HashMap};

use super::config::{Config, NameReference};
use super::fields::{Blank, FieldSpec};
use super::id::{Gvk, Id, text_at};
use crate::render::budget::RenderBudget;
use crate::render::error::RenderError;
use crate::render::placed::{PlacedContent, PlacedValue};
use crate::render::resource::RenderedResource;

/// Steps of looking whether a name is an object's.
const FITS: usize = 4;

/// What is known of an object that may be referred to.
struct ReferenceCandidate {
    id: Id,
    former: Vec<Id>,
    prefixes: Vec<String>,
    suffixes: Vec<String>,
}

impl ReferenceCandidate {
    fn original(&self) -> &Id {
        self.former.first().unwrap_or(&self.id)
    }

    /// Whether both got the same names put to theirs, as far as both got any.
    fn same_ends(&self, other: &Self, empty: Empty) -> bool {
        let same = |one: &[String], other: &[String]| {
            (empty == Empty::FitsAll && (one.is_empty() || other.is_empty())) || same_end(one, other)
        };
        same(&self.prefixes, &other.prefixes) && same(&self.suffixes, &other.suffixes)
    }
}

/// What an object without prefixes fits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Empty {
    FitsAll,
    FitsEmpty,
}

fn same_end(one: &[String], other: &[String]) -> bool {
    let (short, long) = if one.len() > other.len() { (other, one) } else { (one, other) };
    if short.is_empty() { long.is_empty() } else { long.ends_with(short) }
}

/// Rewrites every reference.
pub(super) fn fix(
    resources: &mut [RenderedResource],
    config: &Config,
    budget: &RenderBudget,
) -> Result<(), RenderError> {
    if resources.iter().all(|resource| resource.former.is_empty()) {
        return Ok(());
    }
    let candidates: Vec<ReferenceCandidate> = resources
        .iter()
        .map(|resource| ReferenceCandidate {
            id: resource.id(),
            former: resource.former_ids(),
            prefixes: resource.prefixes.clone(),
            suffixes: resource.suffixes.clone(),
        })
        .collect();
    let index = NameIndex::of(&candidates);
    for (resource, own) in resources.iter_mut().zip(&candidates) {
        let mut sight = None;
        let original = own.original().gvk.clone();
        for reference in &config.references {
            for field in reference.fields.iter().filter(|field| original.fits(&field.gvk)) {
                budget.steps(FITS, &resource.value.place)?;
                let sight = sight.get_or_insert_with(|| VisibleObjects::of(&resource.value, own));
                let referrer = Referrer {
                    own,
                    index: &index,
                    sight,
                    reference,
                    field,
                    budget,
                    role: role_of(&resource.value, field),
                };
                // The object's kind may have changed since.
                let field = FieldSpec::new(Gvk::default(), &field.path, field.create);
                let place = resource.value.place.clone();
                field.visit(resource, Blank::Nothing, &place, budget, &mut |found| referrer.update(found))?;
            }
        }
    }
    Ok(())
}

/// The objects by what references name: so that each looks at those of its name alone.
struct NameIndex<'a> {
    /// By each name that they had or have.
    named: HashMap<&'a str, Vec<&'a ReferenceCandidate>>,
    /// By the namespace that they were loaded with.
    housed: HashMap<String, Vec<&'a ReferenceCandidate>>,
}

impl<'a> NameIndex<'a> {
    fn of(candidates: &'a [ReferenceCandidate]) -> Self {
        let mut index = Self { named: HashMap::new(), housed: HashMap::new() };
        for candidate in candidates {
            let names: BTreeSet<&str> = candidate.former.iter().map(|id| id.name.as_str()).collect();
            for name in names {
                index.named.entry(name).or_default().push(candidate);
            }
            let original = candidate.original();
            if !original.is_cluster_scoped() {
                let namespace = original.effective_namespace().to_owned();
                index.housed.entry(namespace).or_default().push(candidate);
            }
        }
        index
    }
}

/// The objects that an object may refer to: those of its namespace and those without; an object without
/// namespace may refer to all, and a role binding to those in the namespaces of its subjects.
struct VisibleObjects<'a> {
    own: &'a ReferenceCandidate,
    bound: Vec<String>,
}

impl<'a> VisibleObjects<'a> {
    fn of(value: &PlacedValue, own: &'a ReferenceCandidate) -> Self {
        let subjects = value.field("subjects").map(PlacedValue::items).unwrap_or_default();
        let bound = subjects
            .iter()
            .filter(|_| own.id.gvk.kind == "RoleBinding")
            .filter(|subject| text_at(subject, &["kind"]) == "ServiceAccount")
            .filter(|subject| subject.field("namespace").is_some())
            .map(|subject| text_at(subject, &["namespace"]))
            .collect();
        Self { own, bound }
    }

    fn sees(&self, other: &ReferenceCandidate) -> bool {
        self.own.id.is_cluster_scoped()
            || other.id.is_cluster_scoped()
            || other.id.same_namespace(&self.own.id)
            || self.bound.contains(&other.id.namespace)
    }
}

/// The kind that a role binding's `roleRef` names.
fn role_of(value: &PlacedValue, field: &FieldSpec) -> Option<Gvk> {
    if !field.path.ends_with("roleRef/name") {
        return None;
    }
    let role = value.field("roleRef")?;
    let (group, kind) = (role.field("apiGroup")?, role.field("kind")?);
    Some(Gvk::new(&group.written(), "", &kind.written()))
}

struct Referrer<'a> {
    own: &'a ReferenceCandidate,
    index: &'a NameIndex<'a>,
    sight: &'a VisibleObjects<'a>,
    reference: &'a NameReference,
    field: &'a FieldSpec,
    budget: &'a RenderBudget,
    role: Option<Gvk>,
}

/// What of two objects must be the same for either to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Same {
    Name,
    NameAndNamespace,
}

impl Referrer<'_> {
    fn update(&self, found: &mut PlacedValue) -> Result<(), RenderError> {
        match &mut found.content {
            PlacedContent::Scalar(_) => self.update_name(found),
            PlacedContent::Mapping(_) => self.update_mapping(found),
            PlacedContent::Sequence(items) => items.iter_mut().try_for_each(|item| match item.content {
                PlacedContent::Scalar(_) => self.update_name(item),
                PlacedContent::Mapping(_) => self.update_mapping(item),
                PlacedContent::Sequence(_) => Err(RenderError::malformed(
                    &item.place,
                    "a name is required here, or a mapping with a name: correct the object",
                )),
            }),
        }
    }

    fn update_name(&self, found: &mut PlacedValue) -> Result<(), RenderError> {
        if found.is_null() {
            return Ok(());
        }
        let old = found.written().into_owned();
        if let Some(target) = self.select(&old, &|_| true, Same::Name, found)?
            && target.id.name != old
        {
            let place = found.place.clone();
            found.replace_scalar(PlacedValue::open(&target.id.name, &place));
        }
        Ok(())
    }

    fn update_mapping(&self, found: &mut PlacedValue) -> Result<(), RenderError> {
        let Some(name) = found.field("name") else {
            return Err(RenderError::malformed(
                &found.place,
                format!(
                    "this mapping has no `name`, which the path `{}` of a name reference needs",
                    self.field.path
                ),
            ));
        };
        let (old, place) = (name.written().into_owned(), name.place.clone());
        let target = match found.field("namespace") {
            None => self.select(&old, &|_| true, Same::NameAndNamespace, found)?,
            Some(namespace) => {
                let namespace = namespace.written();
                let is_in = |id: &Id| !id.is_cluster_scoped() && id.effective_namespace() == namespace;
                let housed = self.index.housed.get(&*namespace).map(Vec::as_slice).unwrap_or_default();
                self.budget.steps(housed.len(), &found.place)?;
                // What was loaded with that namespace comes before what has it now.
                if housed.iter().any(|candidate| self.sight.sees(candidate)) {
                    self.select(&old, &|one| is_in(one.original()), Same::NameAndNamespace, found)?
                } else {
                    self.select(&old, &|one| is_in(&one.id), Same::NameAndNamespace, found)?
                }
            }
        };
        let Some(target) = target else { return Ok(()) };
        if target.id.name == old && target.id.namespace.is_empty() {
            return Ok(());
        }
        found.set("name", PlacedValue::text(&target.id.name, &place));
        if !target.id.namespace.is_empty() {
            let place = found.field("namespace").map_or(place, |namespace| namespace.place.clone());
            found.set("namespace", PlacedValue::text(&target.id.namespace, &place));
        }
        Ok(())
    }

    fn select(
        &self,
        name: &str,
        is_meant: &dyn Fn(&ReferenceCandidate) -> bool,
        same: Same,
        found: &PlacedValue,
    ) -> Result<Option<&ReferenceCandidate>, RenderError> {
        let candidates = self.index.named.get(name).map(Vec::as_slice).unwrap_or_default();
        self.budget.pairs(candidates.len(), FITS, &found.place)?;
        let fits = |candidate: &&&ReferenceCandidate| {
            self.sight.sees(candidate)
                && is_meant(candidate)
                && candidate.former.iter().any(|id| id.gvk.fits(&self.reference.target))
                && self.role.as_ref().is_none_or(|role| candidate.former.iter().any(|id| id.gvk.fits(role)))
                && self.is_near(candidate)
        };
        let mut left: Vec<&ReferenceCandidate> = candidates.iter().filter(fits).copied().collect();
        if left.len() > 1 {
            left.retain(|candidate| candidate.same_ends(self.own, Empty::FitsAll));
        }
        if left.len() > 1 {
            left.retain(|candidate| candidate.same_ends(self.own, Empty::FitsEmpty));
        }
        let Some((first, others)) = left.split_first() else { return Ok(None) };
        let alike = |other: &&ReferenceCandidate| {
            other.id.name == first.id.name && (same == Same::Name || other.id.namespace == first.id.namespace)
        };
        if others.iter().all(alike) {
            return Ok(Some(first));
        }
        let names: Vec<String> = left.iter().map(|candidate| candidate.id.object_id().to_string()).collect();
        Err(RenderError::reference(
            &found.place,
            format!("`{name}` could mean each of {}: give them different names", names.join(", ")),
        ))
    }

    fn is_near(&self, candidate: &ReferenceCandidate) -> bool {
        self.own.id.is_cluster_scoped()
            || candidate.id.is_cluster_scoped()
            || candidate.id.gvk.kind == "ServiceAccount"
            || candidate.id.same_namespace(&self.own.id)
    }
}
