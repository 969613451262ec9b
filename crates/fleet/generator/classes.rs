//! ClusterClasses in one cluster's folder that other clusters use, and the names of templates, which depend on them.

use std::collections::BTreeSet;

use capstan_kustomize::render::RenderedFolder;
use capstan_model::ids::ClusterId;
use capstan_model::kinds::is_class;
use capstan_plan::layout::TargetFolder;
use capstan_plan::merge::AppliedBy;
use capstan_plan::templates::{self, NamedTemplate, TemplateNames};

use super::class_users::read_class_users;
use super::kept_plan::kept;
use super::{Fleet, Refused};

/// Those of a cluster's classes that Clusters of other folders use. It reads the whole fleet, as far as it is not kept.
pub(super) fn used_elsewhere<'c>(
    fleet: &Fleet,
    cluster: &ClusterId,
    classes: impl IntoIterator<Item = &'c str>,
) -> Vec<String> {
    let known = |folder: &TargetFolder| match fleet.supplement().unread.contains(&folder.id) {
        true => Some(Vec::new()),
        false => Some(kept(fleet, &folder.id)?.classes_used.clone()),
    };
    let users = fleet.wide().class_users(|| read_class_users(fleet.tree().as_ref(), fleet.layout(), known));
    let elsewhere = |class: &&str| {
        let mut of_name = users.iter().filter(|(used, _)| used.name == *class);
        of_name.any(|(_, clusters)| clusters.iter().any(|user| user != cluster))
    };
    classes.into_iter().filter(elsewhere).map(ToOwned::to_owned).collect()
}

/// Gives the templates of a claimed cluster's render the names under which they are applied; does
/// nothing to a cluster that others apply, which Git names to the letter.
///
/// # Errors
/// Two management clusters claim it.
pub fn name_templates(
    fleet: &Fleet,
    id: &ClusterId,
    rendered: &mut RenderedFolder,
    names: &TemplateNames,
) -> Result<Vec<NamedTemplate>, Refused> {
    if fleet.applied_by(id)? == AppliedBy::Others {
        return Ok(Vec::new());
    }
    let classes: BTreeSet<String> = rendered
        .objects
        .iter()
        .filter(|object| is_class(&object.id))
        .map(|object| object.id.name.clone())
        .collect();
    // Asking who uses a class reads the whole fleet.
    let shared = if classes.is_empty() {
        Vec::new()
    } else {
        used_elsewhere(fleet, id, classes.iter().map(String::as_str))
    };
    Ok(templates::name_templates(&mut rendered.objects, names, &shared))
}
