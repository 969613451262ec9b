//! The names under which a claimed cluster's templates are applied ([U12], first way).
//!
//! Git keeps logical names; what is applied has the live name where the live template still has that
//! spec, and a name by content where not. References follow.
//!
//! [U12]: crate::templates#u12

use std::collections::{BTreeMap, BTreeSet};

use super::live::TemplateNames;
use super::naming::{SpecDigest, base_name, rotated_name};
use super::references::references;
use super::role::{TemplateRole, treatment_in_role};
use super::values::{is_named_by_value, naming_values, renamed};
use capstan_kustomize::render::{PlacedContent, RenderedObject};
use capstan_model::kinds::{Treatment, is_class, is_cluster, is_template};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::Value;

/// One template and the name that it is applied under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTemplate {
    /// The object as Git names it.
    pub logical: ObjectId,
    /// The name that it is applied under.
    pub name: String,
    /// Its rendered spec, references rewritten.
    pub spec: SpecDigest,
    /// Where the name comes from.
    pub naming: Naming,
}

/// Where a template's name comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Naming {
    /// The live template has this spec and keeps its name.
    Live,
    /// By content: no live template is known to have this spec.
    Content,
}

/// Names templates name templates: what is named comes before what names it.
const ORDER: [RenameRound; 4] =
    [RenameRound::Data, RenameRound::Parts, RenameRound::Templates, RenameRound::Classes];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RenameRound {
    Data,
    Parts,
    Templates,
    Classes,
}

/// Gives templates, bootstrap configs of MachinePools, and ClusterClasses with what they name, the names
/// under which they are applied, and rewrites every reference. Classes that Clusters of other folders use
/// (`shared_classes`), and their templates, stay as they are.
///
/// Of two objects that end as one (a template and what an earlier rotation in Git left of it), the first
/// stays.
pub fn name_templates(
    objects: &mut Vec<RenderedObject>,
    names: &TemplateNames,
    shared_classes: &[String],
) -> Vec<NamedTemplate> {
    let own_namespace =
        objects.iter().find(|object| is_cluster(&object.id)).and_then(|cluster| cluster.id.namespace.clone());
    let owners = TemplateOwners::of(objects);
    let mut named = Vec::new();
    for turn in ORDER {
        for at in 0..objects.len() {
            if owners.turn(objects, at, shared_classes) != Some(turn) {
                continue;
            }
            let object = &objects[at];
            let Some(spec) = object.value.get("spec") else { continue };
            let digest = SpecDigest::of(spec);
            let mut logical = object.id.clone();
            let live = names.live_name(&logical, &digest).or_else(|| {
                // The reconciler knows the namespace that Git leaves out.
                logical.namespace = logical.namespace.take().or_else(|| own_namespace.clone());
                names.live_name(&logical, &digest)
            });
            let (name, naming) = match live {
                Some(live) => (live.to_owned(), Naming::Live),
                None => (rotated_name(base_name(&object.id.name, spec), spec), Naming::Content),
            };
            named.push(NamedTemplate {
                logical: object.id.clone(),
                name: name.clone(),
                spec: digest,
                naming,
            });
            for (owner, path) in &owners.of_object[at] {
                let text = objects[*owner].value.pointer(&path.to_string()).and_then(Value::as_str);
                if let Some(text) = text.and_then(|text| renamed(text, &objects[at].id.name, &name)) {
                    set_text(&mut objects[*owner], path, &text);
                }
            }
            set_text(&mut objects[at], &FieldPath::root().key("metadata").key("name"), &name);
            objects[at].id.name = name;
        }
    }
    let mut seen = BTreeSet::new();
    objects.retain(|object| seen.insert(object.id.clone()));
    named
}

/// Which objects name which, before anything is renamed.
struct TemplateOwners {
    /// By object: the objects that name it, and where.
    of_object: Vec<Vec<(usize, FieldPath)>>,
    /// By object: what it is there for.
    roles: Vec<Vec<TemplateRole>>,
    /// Objects that one value may name, where it is unclear which of them it means.
    doubtful: BTreeSet<usize>,
}

impl TemplateOwners {
    fn of(objects: &[RenderedObject]) -> Self {
        let mut by_name: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for (at, object) in objects.iter().enumerate() {
            by_name.entry((&object.id.kind, &object.id.name)).or_default().push(at);
        }
        let mut owners = Self {
            of_object: vec![Vec::new(); objects.len()],
            roles: vec![Vec::new(); objects.len()],
            doubtful: BTreeSet::new(),
        };
        let templates: Vec<usize> =
            (0..objects.len()).filter(|at| is_named_by_value(&objects[*at].id)).collect();
        for (at, owner) in objects.iter().enumerate() {
            let role = if is_template(&owner.id) { TemplateRole::Part } else { TemplateRole::Machines };
            for value in naming_values(&owner.id.group, &owner.id.kind, &owner.value) {
                let means = |named: &&usize| value.means(&objects[**named].id);
                match templates.iter().filter(means).collect::<Vec<_>>().as_slice() {
                    [named] => {
                        owners.of_object[**named].push((at, value.path.clone()));
                        owners.roles[**named].push(role);
                    }
                    several => owners.doubtful.extend(several.iter().copied()),
                }
            }
            for reference in references(&owner.id.group, &owner.id.kind, &owner.value) {
                let alike = by_name.get(&(reference.kind, reference.name)).into_iter().flatten();
                for named in alike {
                    if reference.means(owner.id.namespace.as_deref(), &objects[*named].id) {
                        owners.of_object[*named].push((at, reference.path.clone()));
                        owners.roles[*named].push(reference.role);
                    }
                }
            }
        }
        owners
    }

    /// When an object gets its name; `None` for one that keeps the one in Git.
    fn turn(&self, objects: &[RenderedObject], at: usize, shared_classes: &[String]) -> Option<RenameRound> {
        let id = &objects[at].id;
        // Under the name in Git the API server says whether it may change.
        if self.doubtful.contains(&at) {
            return None;
        }
        if is_class(id) {
            let used_here = self.roles[at].contains(&TemplateRole::Class);
            return (used_here && !shared_classes.contains(&id.name)).then_some(RenameRound::Classes);
        }
        let classes: Vec<usize> = self.of_object[at]
            .iter()
            .map(|(owner, _)| *owner)
            .filter(|owner| is_class(&objects[*owner].id))
            .collect();
        let class_stays = |class: &usize| self.turn(objects, *class, shared_classes).is_none();
        if classes.iter().any(class_stays) {
            return None;
        }
        match treatment_in_role(id, &objects[at].value, &self.roles[at])? {
            Treatment::Rotate if self.roles[at].contains(&TemplateRole::Data) => Some(RenameRound::Data),
            Treatment::Rotate if self.roles[at].contains(&TemplateRole::Part) => Some(RenameRound::Parts),
            Treatment::Rotate => Some(RenameRound::Templates),
            Treatment::Never if !classes.is_empty() => Some(RenameRound::Templates),
            Treatment::Never | Treatment::MutableAndRolls | Treatment::MutableSilent => None,
        }
    }
}

fn set_text(object: &mut RenderedObject, path: &FieldPath, text: &str) {
    if let Some(value) = object.value.pointer_mut(&path.to_string()) {
        *value = Value::from(text);
    }
    if let Some(placed) = object.placed.get_mut(path) {
        placed.content = PlacedContent::Scalar(Value::from(text).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_kustomize::render::{Folders, render};
    use capstan_model::tree::RepoPath;
    use capstan_test_support::Files;

    fn named(text: &str) -> Vec<RenderedObject> {
        let path = |text: &str| RepoPath::parse(text).unwrap();
        let folders = Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") };
        let mut objects = render(&Files::new(&[("c/base/all.yaml", text)]), &folders).unwrap().objects;
        name_templates(&mut objects, &TemplateNames::default(), &[]);
        objects
    }

    fn find<'o>(objects: &'o [RenderedObject], kind: &str) -> &'o RenderedObject {
        objects.iter().find(|object| object.id.kind == kind).unwrap()
    }

    const CLUSTER: &str = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: a}\nspec:\n  topology:\n    classRef: {name: c}\n    variables: [{name: boards, value: a-boards}]\n";
    const MACHINES: &str = "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: DockerMachineTemplate\nmetadata: {name: a-boards}\nspec: {template: {spec: {customImage: b}}}\n";

    #[test]
    fn a_value_that_names_a_template_follows() {
        let objects = named(&format!("{CLUSTER}{MACHINES}"));
        let name = &find(&objects, "DockerMachineTemplate").id.name;
        assert!(name.starts_with("a-boards-"), "{name}");
        let value = "/spec/topology/variables/0/value";
        assert_eq!(find(&objects, "Cluster").value.pointer(value).unwrap(), name.as_str());
    }

    #[test]
    fn a_template_of_templates_comes_before_them() {
        let servers = "---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: RKE2ControlPlaneTemplate\nmetadata: {name: s}\nspec: {template: {spec: {infrastructureRef: {kind: DockerMachineTemplate, name: a-boards}}}}\n---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: c}\nspec: {controlPlane: {templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: RKE2ControlPlaneTemplate, name: s}}}\n";
        let objects = named(&format!("{CLUSTER}{servers}{MACHINES}"));
        let text = |kind: &str, pointer: &str| find(&objects, kind).value.pointer(pointer).unwrap().clone();
        let name = |kind: &str| Value::from(find(&objects, kind).id.name.as_str());
        let servers = "RKE2ControlPlaneTemplate";
        assert_eq!(
            text(servers, "/spec/template/spec/infrastructureRef/name"),
            name("DockerMachineTemplate")
        );
        assert_eq!(text("ClusterClass", "/spec/controlPlane/templateRef/name"), name(servers));
        // Its own name holds what it names.
        let spec = &find(&objects, servers).value["spec"];
        assert_eq!(name(servers), Value::from(rotated_name("s", spec)));
    }

    #[test]
    fn a_value_that_could_name_two_templates_renames_neither() {
        let config = MACHINES
            .replace("infrastructure.", "bootstrap.")
            .replace("DockerMachineTemplate", "KubeadmConfigTemplate");
        let objects = named(&format!("{CLUSTER}{MACHINES}{config}"));
        assert_eq!(find(&objects, "DockerMachineTemplate").id.name, "a-boards");
        assert_eq!(find(&objects, "KubeadmConfigTemplate").id.name, "a-boards");
    }
}
