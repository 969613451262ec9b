//! `cluster-resource-set-stays`

use super::evidence::Evidence;
use super::rule::{About, Rule};
use capstan_kustomize::render::RenderedObject;
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::FieldPath;

pub(super) struct ClusterResourceSetStays;

static ABOUT: About = About::new(
    rules::CLUSTER_RESOURCE_SET_STAYS,
    include_str!("../../../docs/rules/cluster-resource-set-stays.md"),
);

impl Rule for ClusterResourceSetStays {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let is_set = |object: &&RenderedObject| role_of(&object.id) == Some(KindRole::ResourceSet);
        for old in change.before.objects.iter().filter(is_set) {
            let Some(new) = change.after.object(&old.id) else {
                let message = format!(
                    "{} goes, and nothing deletes what it applied inside the cluster: delete that there, by hand",
                    old.id
                );
                verdicts.push(
                    Finding::new(rules::CLUSTER_RESOURCE_SET_STAYS, message)
                        .object(&old.id)
                        .path(&FieldPath::root())
                        .place(old.origin()),
                );
                continue;
            };
            no_longer_listed(old, new, verdicts);
        }
    }
}

/// Resources that a set applied and lists no more.
fn no_longer_listed(old: &RenderedObject, new: &RenderedObject, verdicts: &mut Vec<Finding>) {
    let resources = |object: &RenderedObject| -> Vec<(String, String)> {
        let list = object.placed.at(&["spec", "resources"]);
        let text = |item: &capstan_kustomize::render::Placed, key: &str| {
            item.text_at(&[key]).map(|text| text.to_string()).unwrap_or_default()
        };
        list.map(|list| list.items().iter().map(|item| (text(item, "kind"), text(item, "name"))).collect())
            .unwrap_or_default()
    };
    let left = resources(new);
    for (kind, name) in resources(old).iter().filter(|resource| !left.contains(resource)) {
        let path = FieldPath::of_keys(["spec", "resources"]);
        let message = format!(
            "{} lists {kind} {name} no more, and nothing deletes what it applied from there inside the cluster: delete that there, by hand",
            new.id
        );
        let place = &new.placed.nearest(&path).place;
        verdicts.push(
            Finding::new(rules::CLUSTER_RESOURCE_SET_STAYS, message).object(&new.id).path(&path).place(place),
        );
    }
}
