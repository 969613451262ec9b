//! Who names which template of the base, and what follows for its rotation ([U12]).
//!
//! [U12]: crate::templates#u12

use std::collections::BTreeMap;

use crate::merge::cluster_objects::Base;
use crate::templates::{TemplateRole, is_named_by_value, naming_values, references, treatment_in_role};
use capstan_model::kinds::{KindRole, Treatment, is_class, is_template, role_of};
use capstan_model::object::{FieldPath, ObjectId};

/// Templates name templates: what is named rotates before what names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TemplateLevel {
    /// Named by other templates.
    Data,
    /// Named by templates of control planes.
    Part,
    /// Named by owners and classes.
    Template,
    /// Named by Clusters.
    Class,
}

/// Who names which object of the base, where, and as what.
pub(super) struct ObjectOwners {
    pub(super) of_object: Vec<Vec<(usize, TemplateRole)>>,
    /// Of values that could name several templates: the templates, with who has the value and where.
    pub(super) doubtful: BTreeMap<usize, (usize, FieldPath)>,
}

impl ObjectOwners {
    pub(super) fn of(base: &Base) -> Self {
        let mut by_name: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for (at, object) in base.objects.iter().enumerate() {
            by_name.entry((&object.id.kind, &object.id.name)).or_default().push(at);
        }
        let mut of_object = vec![Vec::new(); base.objects.len()];
        let mut doubtful = BTreeMap::new();
        let templates: Vec<usize> =
            (0..base.objects.len()).filter(|at| is_named_by_value(&base.objects[*at].id)).collect();
        for (at, owner) in base.objects.iter().enumerate() {
            let role = if is_template(&owner.id) { TemplateRole::Part } else { TemplateRole::Machines };
            for value in naming_values(&owner.id.group, &owner.id.kind, base.node(at)) {
                let means = |named: &&usize| value.means(&base.objects[**named].id);
                match templates.iter().filter(means).collect::<Vec<_>>().as_slice() {
                    [named] => of_object[**named].push((at, role)),
                    several => {
                        doubtful.extend(several.iter().map(|named| (**named, (at, value.path.clone()))));
                    }
                }
            }
            for reference in references(&owner.id.group, &owner.id.kind, base.node(at)) {
                for named in by_name.get(&(reference.kind, reference.name)).into_iter().flatten() {
                    if reference.means(owner.id.namespace.as_deref(), &base.objects[*named].id) {
                        of_object[*named].push((at, reference.role));
                    }
                }
            }
        }
        Self { of_object, doubtful }
    }

    /// On which level a template rotates; `None` where it does not.
    pub(super) fn level(&self, base: &Base, object: usize) -> Option<TemplateLevel> {
        let id = &base.objects[object].id;
        if is_class(id) {
            return Some(TemplateLevel::Class);
        }
        let roles: Vec<TemplateRole> = self.of_object[object].iter().map(|(_, role)| *role).collect();
        match treatment_in_role(id, base.node(object), &roles)? {
            Treatment::Rotate if roles.contains(&TemplateRole::Data) || is_data(id) => {
                Some(TemplateLevel::Data)
            }
            Treatment::Rotate if roles.contains(&TemplateRole::Part) => Some(TemplateLevel::Part),
            Treatment::Rotate | Treatment::Never => Some(TemplateLevel::Template),
            Treatment::MutableAndRolls | Treatment::MutableSilent => None,
        }
    }
}

/// Whether templates name such a template.
pub(super) fn is_data(id: &ObjectId) -> bool {
    role_of(id) == Some(KindRole::DataTemplate)
}
