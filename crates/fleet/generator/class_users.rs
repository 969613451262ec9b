//! Which clusters use which ClusterClass.

use capstan_model::tree::Tree;
use capstan_plan::classes::{ClassRef, classes_used};
use capstan_plan::cluster::Cluster;
use capstan_plan::layout::{Layout, TargetFolder};

use super::wide::ClassUsers;

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
