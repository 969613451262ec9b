//! ClusterClasses in one cluster's folder that other clusters use.

use capstan_model::ids::ClusterId;
use capstan_model::tree::Tree;
use capstan_plan::classes::{ClassRef, classes_used};
use capstan_plan::cluster::Cluster;
use capstan_plan::layout::{Layout, TargetFolder};

use super::Fleet;
use super::wide::ClassUsers;

impl Fleet {
    /// Those of a cluster's classes that Clusters of other folders use.
    pub(super) fn used_elsewhere<'c>(
        &self,
        cluster: &ClusterId,
        classes: impl IntoIterator<Item = &'c str>,
    ) -> Vec<String> {
        let kept = |folder: &TargetFolder| match self.unread.contains(&folder.id) {
            true => Some(Vec::new()),
            false => Some(self.kept(&folder.id)?.classes_used.clone()),
        };
        let users = self.wide.class_users(|| read_class_users(self.tree.as_ref(), &self.layout, kept));
        let elsewhere = |class: &&str| {
            let mut of_name = users.iter().filter(|(used, _)| used.name == *class);
            of_name.any(|(_, clusters)| clusters.iter().any(|user| user != cluster))
        };
        classes.into_iter().filter(elsewhere).map(ToOwned::to_owned).collect()
    }
}

/// Which clusters use which class, as is known of some without reading them. Clusters that cannot be read use none.
pub(super) fn read_class_users(
    tree: &dyn Tree,
    layout: &Layout,
    known: impl Fn(&TargetFolder) -> Option<Vec<ClassRef>>,
) -> ClassUsers {
    let mut users = ClassUsers::new();
    for folder in &layout.targets {
        let read = || Cluster::read(tree, folder).map(|cluster| classes_used(&cluster));
        let used = known(folder).map_or_else(read, Ok);
        for class in used.unwrap_or_default() {
            users.entry(class).or_default().push(folder.id.clone());
        }
    }
    users
}
