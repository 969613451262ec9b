//! Client and mirror together: what the client wrote, the mirror reads with the client's token.

use capstan_git::{MirrorLimits, Mirrors};
use capstan_model::tree::RepoPath;
use capstan_ports::{Installations, Mirror};

use super::fleet::Fleet;

#[tokio::test]
async fn what_the_app_wrote_is_fetched_with_its_token() {
    let fleet = Fleet::new().await;
    let commit = fleet.branch("capstan/upgrade/gauss/peu01", "kind: Cluster # new\n").await;
    let token = fleet.github.git_token(&fleet.repository).await.unwrap();
    let state = tempfile::tempdir().unwrap();
    let mirrors = Mirrors::open(state.path(), MirrorLimits::default()).unwrap();
    let before = mirrors.snapshot(&fleet.repository, &token, &fleet.head).await.unwrap();
    let after = mirrors.snapshot(&fleet.repository, &token, &commit).await.unwrap();
    assert_eq!(before.root, fleet.root());
    assert_eq!(after.parents, std::slice::from_ref(&fleet.head));
    assert_eq!(after.trailers.plan.as_deref(), Some("20"));
    let entry = after.tree.entry(&RepoPath::parse("gauss/peu01/base/cluster.yaml").unwrap()).unwrap();
    assert_eq!(&*after.tree.read(entry).unwrap(), b"kind: Cluster # new\n");
}
