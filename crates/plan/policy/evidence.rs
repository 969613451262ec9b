//! What several rules ask of a cluster, found out once.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::OnceLock;

use jiff::civil::Date;

use super::cluster_api::{CoreVersion, of_release};
use super::facts::{Occasion, PolicyFacts, ValueGivers};
use super::filled::substituted;
use super::fitting::{ObjectMisfit, misfits_of};
use super::kubernetes::{RequiredVersion, wanted};
use super::references::{FieldReference, named_by};
use super::variables::found_in;
use crate::boundary::Surroundings;
use crate::merge::AppliedBy;
use crate::templates::{Reference, base_name, references, split_suffix};
use capstan_kustomize::render::{RenderedFolder, RenderedObject, SourceOffset};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::{Finding, Place, RuleEntry};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::version::KubernetesMinor;
use capstan_yaml::Value;

/// A cluster before and after a change; the facts themselves are at hand too.
#[derive(Debug)]
pub struct Evidence<'a> {
    facts: &'a PolicyFacts<'a>,
    /// The cluster as it is.
    pub(super) before: ClusterEvidence<'a>,
    /// The cluster as it would be.
    pub(super) after: ClusterEvidence<'a>,
    /// Objects before the change that have another API version after it, in that.
    converted: HashMap<ObjectId, RenderedObject>,
}

impl<'a> Evidence<'a> {
    pub(super) fn of(facts: &'a PolicyFacts<'a>) -> Self {
        // A release that brings Cluster API itself brings it before the clusters follow.
        let brought = facts.release.as_ref().and_then(|step| of_release(step.to));
        let core = brought.or_else(|| facts.cluster_api.clone());
        let survey = |rendered| ClusterEvidence::of(rendered, facts, core.clone());
        let (before, after) = (survey(facts.before), survey(facts.after));
        let converted = after.objects.iter().filter_map(|new| {
            let old = before.object(&new.id)?.in_version(&new.api_version, facts.schemas)?;
            Some((new.id.clone(), old))
        });
        let converted = converted.collect();
        Self { facts, before, after, converted }
    }

    /// Objects that are there before and after, both in the API version after.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&RenderedObject, &'a RenderedObject)> + '_ {
        let objects: &'a [RenderedObject] = self.after.objects;
        objects.iter().filter_map(|new| Some((self.old(new)?, new)))
    }

    /// What an object was before the change, in the API version that it has after it.
    pub(super) fn old(&self, new: &RenderedObject) -> Option<&RenderedObject> {
        self.converted.get(&new.id).or_else(|| self.before.object(&new.id))
    }

    /// Whether a verdict on the cluster before the change says what one after it says: of the same field of
    /// the same object, or of the template that it was before it got a new name.
    pub(super) fn is_same(&self, old: &Finding, new: &Finding) -> bool {
        // A text with several variables may have a finding for each, so for these the messages have to match too.
        let is_alone = self.after.variables(new.rule).all(|one| one.path != new.path);
        if old.path != new.path || !is_alone && old.message != new.message {
            return false;
        }
        match (&old.object, &new.object) {
            (Some(one), Some(other)) if one != other => {
                let is_rotated = split_suffix(&other.name).is_some();
                is_rotated && self.before.logical(one) == self.after.logical(other)
            }
            (one, other) => one == other,
        }
    }

    /// The place of a field, or of its nearest ancestor that exists. An upgrade names the files before it, a pull
    /// request those that it brings.
    pub(super) fn nearest_place<'o>(
        &self,
        old: &'o RenderedObject,
        new: &'o RenderedObject,
        path: &FieldPath,
    ) -> &'o SourceOffset {
        let object = if self.facts.occasion == Occasion::Upgrade { old } else { new };
        &object.placed.nearest(path).place
    }

    /// Findings of an upgrade name lines of the files before it: for a new field the line of its nearest ancestor, for
    /// a new object no line.
    pub(super) fn in_words_of_the_occasion(&self, verdict: Finding) -> Finding {
        if self.facts.occasion == Occasion::Revision {
            return verdict;
        }
        let id = verdict.object.as_ref();
        if id.is_some_and(|id| self.facts.inside.iter().any(|object| object.id == *id)) {
            // The upgrade leaves that file as it is.
            return verdict;
        }
        let old = id.and_then(|id| self.converted.get(id).or_else(|| self.before.object(id)));
        let path = verdict.path.clone().unwrap_or_default();
        let known = old.map(|old| old.written_at(&path));
        let nowhere = verdict.place.clone().map(Place::without_line);
        verdict.maybe_place(known.or(nowhere))
    }
}

impl<'a> Deref for Evidence<'a> {
    type Target = PolicyFacts<'a>;

    fn deref(&self) -> &PolicyFacts<'a> {
        self.facts
    }
}

/// Who names an object as its template, control plane or class: by kind and name of what is named.
type Owners<'a> = HashMap<(&'a str, &'a str), Vec<(&'a RenderedObject, Reference<'a>)>>;

/// One state of a cluster.
#[derive(Debug)]
pub struct ClusterEvidence<'a> {
    pub(super) rendered: &'a RenderedFolder,
    pub(super) objects: &'a [RenderedObject],
    /// The Kubernetes versions that are asked for.
    pub(super) versions: Vec<RequiredVersion<'a>>,
    /// Objects by name: references seldom name a namespace.
    named: HashMap<&'a str, Vec<&'a RenderedObject>>,
    pub(super) schemas: &'a Schemas,
    /// What the repository applies inside the cluster, before and after the change.
    pub(super) inside: &'a [RenderedObject],
    /// The version of Cluster API that manages the cluster, where that is known.
    pub(super) cluster_api: Option<CoreVersion>,
    /// The day (UTC) on which it is judged.
    pub(super) today: Date,
    /// What the folder is held apart by.
    pub(super) boundary: Option<Surroundings<'a>>,
    /// Who gives variables their values, where somebody looked, and who applies the cluster.
    values: Option<(ValueGivers<'a>, AppliedBy)>,
    misfits: OnceLock<Vec<ObjectMisfit<'a>>>,
    variables: OnceLock<Vec<Finding>>,
    references: OnceLock<Vec<(&'a RenderedObject, FieldReference<'a>)>>,
    owners: OnceLock<Owners<'a>>,
    minors: OnceLock<HashMap<&'a ObjectId, KubernetesMinor>>,
}

impl<'a> ClusterEvidence<'a> {
    fn of(
        rendered: &'a RenderedFolder,
        facts: &'a PolicyFacts<'a>,
        cluster_api: Option<CoreVersion>,
    ) -> Self {
        let mut named: HashMap<&str, Vec<&RenderedObject>> = HashMap::with_capacity(rendered.objects.len());
        for object in &rendered.objects {
            named.entry(&object.id.name).or_default().push(object);
        }
        Self {
            rendered,
            objects: &rendered.objects,
            versions: wanted(&rendered.objects),
            named,
            schemas: facts.schemas,
            inside: facts.inside,
            cluster_api,
            today: facts.today,
            boundary: facts.boundary,
            values: facts.values.map(|values| (values, facts.applied_by)),
            misfits: OnceLock::new(),
            variables: OnceLock::new(),
            references: OnceLock::new(),
            owners: OnceLock::new(),
            minors: OnceLock::new(),
        }
    }

    /// Objects of that kind and name, whatever their group and namespace.
    pub(super) fn named<'s>(
        &'s self,
        kind: &'s str,
        name: &str,
    ) -> impl Iterator<Item = &'a RenderedObject> + 's {
        let found = self.named.get(name).map(Vec::as_slice).unwrap_or_default();
        found.iter().copied().filter(move |object| object.id.kind == kind)
    }

    /// Where objects do not fit their definitions; looked for once for all rules.
    pub(super) fn misfits(&self) -> &[ObjectMisfit<'a>] {
        self.misfits
            .get_or_init(|| self.objects.iter().flat_map(|object| misfits_of(object, self.schemas)).collect())
    }

    /// What one rule says of variables and their values; looked for once for all rules.
    pub(super) fn variables(&self, rule: &'static RuleEntry) -> impl Iterator<Item = Finding> + '_ {
        let found = self.variables.get_or_init(|| match &self.values {
            Some((values, by)) => found_in(self.objects, values, *by, self.schemas),
            None => Vec::new(),
        });
        found.iter().filter(move |finding| finding.rule == rule).cloned()
    }

    /// An object with the values of its variables, as far as they are known; `None` where it has none, or nobody looked.
    pub(super) fn substituted(&self, object: &RenderedObject) -> Option<Value> {
        let (values, by) = self.values.as_ref()?;
        // Capstan's reconciler applies texts as they stand.
        if *by == AppliedBy::Others { substituted(object, values) } else { None }
    }

    /// Who names what, object by object; looked for once for all rules.
    pub(super) fn references(&self) -> &[(&'a RenderedObject, FieldReference<'a>)] {
        let objects: &'a [RenderedObject] = self.objects;
        let of = |object: &'a RenderedObject| named_by(object).into_iter().map(move |named| (object, named));
        self.references.get_or_init(|| objects.iter().flat_map(of).collect())
    }

    /// Who names an object as its template, control plane or class; looked for once for all objects.
    pub(super) fn owners<'s>(&'s self, named: &'s ObjectId) -> impl Iterator<Item = &'a RenderedObject> + 's {
        let objects: &'a [RenderedObject] = self.objects;
        let owners = self.owners.get_or_init(|| {
            let mut found = Owners::new();
            for owner in objects {
                for reference in references(&owner.id.group, &owner.id.kind, &owner.value) {
                    found.entry((reference.kind, reference.name)).or_default().push((owner, reference));
                }
            }
            found
        });
        let all = owners.get(&(named.kind.as_str(), named.name.as_str())).into_iter().flatten();
        let means = move |(owner, reference): &&(&'a RenderedObject, Reference<'a>)| {
            reference.means(owner.id.namespace.as_deref(), named)
        };
        all.filter(means).map(|(owner, _)| *owner)
    }

    /// The newest minor that an object asks for.
    pub(super) fn minor(&self, id: &ObjectId) -> Option<KubernetesMinor> {
        let minors = self.minors.get_or_init(|| {
            let mut found = HashMap::with_capacity(self.versions.len());
            for wanted in &self.versions {
                let minor = wanted.version.minor();
                let newest = found.entry(wanted.object).or_insert(minor);
                *newest = minor.max(*newest);
            }
            found
        });
        minors.get(id).copied()
    }

    /// Which object it is under the name that it has in Git whatever its spec says.
    fn logical(&self, id: &ObjectId) -> ObjectId {
        let spec = self.object(id).and_then(|object| object.value.get("spec"));
        let name = spec.map_or(id.name.as_str(), |spec| base_name(&id.name, spec));
        ObjectId { name: name.to_owned(), ..id.clone() }
    }

    /// The object of that identity.
    pub(super) fn object(&self, id: &ObjectId) -> Option<&'a RenderedObject> {
        self.named(&id.kind, &id.name).find(|object| object.id == *id)
    }
}
