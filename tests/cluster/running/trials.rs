//! Folders that cannot be rendered within the limits.

use std::sync::Arc;
use std::time::Duration;

use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::ports::{PreflightVerdict, TrialFailed};
use capstan_reconciler::reconcile::preflight::preflight;
use capstan_reconciler::reconcile::resources::ConditionType;

use super::applying::plain;
use super::world::{MemoryTree, World, id, question};

#[tokio::test]
async fn a_folder_beyond_the_limits_is_refused_and_its_neighbour_applied() {
    let world = World::new();
    plain(&world, "peu01");
    plain(&world, "peu02");
    world.trial.fail("gauss/peu02", TrialFailed::TooLarge("Rendering ended by signal 6.".to_owned()));

    let revision = world.revision().await;
    assert_eq!(revision.try_again_after(), None);
    let outcome = world.reconcile_at(&revision, "gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    world.live.take_writes();
    let outcome = world.reconcile_at(&revision, "gauss/peu02").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Refused(_)), "{:?}", outcome.ended);
    assert_eq!(world.live.take_writes(), [""; 0]);
    assert_eq!(world.condition("gauss-peu02", ConditionType::Refused), "True TooLarge");
    assert_eq!(
        world.status("gauss-peu02").refused[0].message,
        "Rendering ended by signal 6. Capstan applies none of its objects and deletes none: revert the last change, or make it smaller"
    );

    // What a neighbour changes does not have it tried again; what it changes itself does.
    world.trial.pass("gauss/peu02");
    world.write("gauss/peu01/base/more.yaml", "# nothing\n");
    assert!(world.revision().await.untried.contains_key(&id("gauss/peu02")));
    world.write("gauss/peu02/base/more.yaml", "# nothing\n");
    let outcome = world.reconcile("gauss/peu02").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    assert_eq!(world.trial.takes(), ["gauss/peu01 gauss/peu02", "gauss/peu01", "gauss/peu02"]);
}

#[tokio::test]
async fn a_folder_that_is_not_rendered_loses_nothing_and_is_tried_again() {
    let world = World::new();
    plain(&world, "peu01");
    world.reconcile("gauss/peu01").await;
    world.live.take_writes();
    world.remove("gauss/peu01/base/maps.yaml");
    world.trial.fail("gauss/peu01", TrialFailed::Killed("Rendering ended by signal 9.".to_owned()));
    let revision = world.revision().await;
    assert_eq!(revision.try_again_after(), Some(Duration::from_secs(30)));
    world.reconcile_at(&revision, "gauss/peu01").await;
    assert_eq!(world.live.take_writes(), [""; 0]);
    assert_eq!(world.condition("gauss-peu01", ConditionType::Refused), "True NotRendered");
    assert_eq!(world.status("gauss-peu01").inventory.objects().len(), 3);
}

#[tokio::test]
async fn a_folder_that_took_too_long_is_tried_again_when_its_text_says_so() {
    let world = World::new();
    plain(&world, "peu01");
    let slow = |again_after| TrialFailed::TooSlow {
        why: "Rendering took more than the allowed 60 s and was stopped.".to_owned(),
        again_after,
    };
    let pause = Duration::from_hours(6);
    world.trial.fail("gauss/peu01", slow(Some(pause)));
    let revision = world.revision().await;
    assert_eq!(revision.try_again_after(), Some(pause));
    world.reconcile_at(&revision, "gauss/peu01").await;
    assert_eq!(world.condition("gauss-peu01", ConditionType::Refused), "True TooSlow");
    // It was tried often enough.
    let world = World::new();
    plain(&world, "peu01");
    world.trial.fail("gauss/peu01", slow(None));
    assert_eq!(world.revision().await.try_again_after(), None);
}

#[tokio::test]
async fn what_a_render_reads_in_anothers_folder_has_it_tried_again() {
    let world = World::new();
    plain(&world, "peu01");
    plain(&world, "peu02");
    world.write(
        "gauss/peu01/patches/kustomization.yaml",
        "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n",
    );
    world.write(
        "gauss/peu02/base/kustomization.yaml",
        "resources: [maps.yaml, cluster.yaml]\ncomponents: [../../peu01/patches]\n",
    );
    world.revision().await;
    world.write("gauss/peu01/base/more.yaml", "# nothing\n");
    let base = world.revision().await;
    world.write(
        "gauss/peu01/patches/kustomization.yaml",
        "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nnamePrefix: a-\n",
    );
    world.trial.fail("gauss/peu02", TrialFailed::TooLarge("Rendering ended by signal 6.".to_owned()));
    assert!(world.revision().await.untried.contains_key(&id("gauss/peu02")));
    let files = world.files.lock().unwrap().clone();
    let head = world.head(&base, Arc::new(MemoryTree::new(files)));
    assert!(head.untried.contains_key(&id("gauss/peu02")));
    assert_eq!(world.trial.takes(), ["gauss/peu01 gauss/peu02", "gauss/peu01", "gauss/peu01 gauss/peu02"]);
}

/// Files as they are, of which those below one folder must not be read.
struct Guarded {
    tree: MemoryTree,
    folder: &'static str,
}

impl Tree for Guarded {
    fn entries(&self) -> &[TreeEntry] {
        self.tree.entries()
    }
    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        assert!(!entry.path.as_str().contains(self.folder), "{} is read again", entry.path);
        self.tree.read(entry)
    }
    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.tree.folder_id(folder)
    }
}

#[tokio::test]
async fn of_a_head_only_what_it_changes_is_read_and_the_rest_is_as_it_was() {
    let world = World::new();
    plain(&world, "peu01");
    plain(&world, "peu02");
    world.reconcile("gauss/peu01").await;
    let base = world.revision().await;
    // It reaches for what the other folder has.
    world.write(
        "gauss/peu02/base/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: peu01-a, namespace: org}\ndata: {key: \"2\"}\n",
    );
    let files = world.files.lock().unwrap().clone();
    let tree = Guarded { tree: MemoryTree::new(files), folder: "peu01/base/maps" };
    let head = world.head(&base, Arc::new(tree));
    let (one, two) = (id("gauss/peu01"), id("gauss/peu02"));
    assert!(head.claims[&one].is_ok() && head.print(&one) == base.print(&one));
    assert_ne!(head.print(&two), base.print(&two));
    let fleet = world.fleet.lock().unwrap().clone();
    let answer = preflight(&world.ports(), &fleet, &head, &question(&head, &[two]), &[]).await.remove(0);
    assert_eq!(answer.verdict, PreflightVerdict::Rejected);
    assert!(answer.reasons[0].message.contains("gauss/peu01"), "{}", answer.reasons[0].message);
}

#[tokio::test]
async fn who_uses_a_class_is_not_asked_of_a_folder_beyond_the_limits() {
    let world = World::new();
    plain(&world, "peu01");
    plain(&world, "peu02");
    world.write(
        "gauss/peu01/base/class.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: small, namespace: org}\nspec: {}\n",
    );
    let base = world.revision().await;
    world.write("gauss/peu02/base/more.yaml", "# nothing\n");
    world.trial.fail("gauss/peu02", TrialFailed::TooLarge("Rendering ended by signal 6.".to_owned()));
    let files = world.files.lock().unwrap().clone();
    let head =
        world.head(&base, Arc::new(Guarded { tree: MemoryTree::new(files), folder: "peu02/base/maps" }));
    assert!(head.untried.contains_key(&id("gauss/peu02")));
    let fleet = world.fleet.lock().unwrap().clone();
    let asked = question(&head, &[id("gauss/peu01")]);
    let answer = preflight(&world.ports(), &fleet, &head, &asked, &[]).await.remove(0);
    assert_eq!(answer.verdict, PreflightVerdict::Accepted, "{:?}", answer.reasons);
}
