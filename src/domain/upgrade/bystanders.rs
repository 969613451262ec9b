//! Machines of the customer's own that share a template with the release's (U9): their version is in
//! nobody's release, and the template's image moves under them.

use std::cmp::Ordering;

use super::plan::Plan;
use crate::finding::Severity;
use crate::kinds::version_paths;
use crate::merge::objects::ClusterMerge;
use crate::merge::step_group::StepGroup;
use crate::templates::references;
use crate::version::KubernetesVersion;

impl Plan<'_> {
    /// Blocks where an object that the release does not speak of would get the release's image and keep
    /// its own version.
    pub(super) fn bystanders(&mut self, merge: &ClusterMerge, group: &StepGroup) {
        for object in 0..self.base.objects.len() {
            if merge.merged.iter().any(|merged| merged.object == object) {
                continue;
            }
            let id = &self.base.objects[object].id;
            let node = self.base.node(object);
            let own = version_paths(id).into_iter().find_map(|path| Some((path.clone(), node.at(&path)?)));
            let Some((path, own)) = own else { continue };
            let (at, text) = (own.span.start, own.as_scalar().map_or("", |scalar| scalar.text.as_str()));
            let same = |wanted: &KubernetesVersion| {
                KubernetesVersion::parse(text).and_then(|own| own.compare(wanted)) == Some(Ordering::Equal)
            };
            let found = references(&id.group, &id.kind, node);
            let moving = self.moved.iter().map(|moved| &self.base.objects[*moved].id);
            let Some(template) = moving.into_iter().find(|template| {
                found
                    .iter()
                    .any(|reference| reference.kind == template.kind && reference.name == template.name)
            }) else {
                continue;
            };
            if group.wanted.is_empty() || group.wanted.iter().any(same) {
                continue;
            }
            let message = format!(
                "{id} is not of the release and stays at {text}, but {template}, which it names, moves to the release's version. Set its version too, or give it a template of its own.",
            );
            self.blocked.push(format!(
                "{id} would keep its version {text} with the image that the release gives {template}."
            ));
            self.finding_at("step-group-split", Severity::Error, message, object, at, &path);
        }
    }
}
