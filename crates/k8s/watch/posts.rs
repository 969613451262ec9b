//! Watches with an account's rights, one for each kind and namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use capstan_model::doubling::Doubling;
use futures_util::stream;
use tokio::sync::watch::Receiver;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use super::follower::{FollowEnd, Follower};
use super::{BACKLOG, BEGINNINGS, WHOLE_REST, follower, rest};
use crate::cluster::KubeCluster;
use capstan_ports::{As, LiveChange, LiveChanges, Post};

/// The pauses before a post is asked for again that was refused.
const POSTS: Doubling = Doubling::new(Duration::from_secs(15), WHOLE_REST);

/// Watches what these posts say.
pub(crate) fn watch_posts(cluster: KubeCluster, by: As, posts: Receiver<BTreeSet<Post>>) -> LiveChanges {
    let (sender, changes) = mpsc::channel(BACKLOG);
    tokio::spawn(keep(cluster, by, posts, sender));
    Box::pin(stream::unfold(changes, |mut changes| async {
        changes.recv().await.map(|change| (change, changes))
    }))
}

/// Keeps one follower a post, until nobody listens any more.
async fn keep(
    cluster: KubeCluster,
    by: As,
    mut posts: Receiver<BTreeSet<Post>>,
    sender: mpsc::Sender<LiveChange>,
) {
    let beginnings = Arc::new(Semaphore::new(BEGINNINGS));
    // Dropped with this, and its tasks with it.
    let mut followers: JoinSet<()> = JoinSet::new();
    let mut standing: BTreeMap<Post, AbortHandle> = BTreeMap::new();
    let mut is_final = false;
    loop {
        let wanted = posts.borrow_and_update().clone();
        standing.retain(|post, follower| {
            let stays = wanted.contains(post);
            if !stays {
                follower.abort();
            }
            stays
        });
        for post in wanted {
            standing.entry(post).or_insert_with_key(|post| {
                let own = follower::Post {
                    kind: post.kind.clone(),
                    namespace: post.namespace.clone(),
                    name: post.name.clone(),
                    labels: post.labels.clone(),
                    by: by.clone(),
                };
                let follower = Follower::new(cluster.clone(), own, sender.clone(), Arc::clone(&beginnings));
                followers.spawn(hold(follower))
            });
        }
        tokio::select! {
            () = sender.closed() => return,
            changed = posts.changed(), if !is_final => is_final = changed.is_err(),
            Some(_) = followers.join_next() => {}
        }
    }
}

/// Follows; what is refused or not served is asked for again now and then.
async fn hold(mut follower: Follower) {
    let mut refusals: u32 = 0;
    loop {
        match follower.follow().await {
            FollowEnd::Unheard => return,
            FollowEnd::NotServed => refusals = 0,
            FollowEnd::Refused => {
                if refusals == 0 {
                    let post = follower.post();
                    tracing::warn!(
                        kind = %post.kind, namespace = post.namespace.as_deref().unwrap_or_default(),
                        name = post.name.as_deref().unwrap_or_default(),
                        "may not be watched: changes there are seen only at the interval"
                    );
                }
                refusals = if follower.was_open() { 0 } else { refusals.saturating_add(1) };
            }
        }
        rest(POSTS, refusals).await;
    }
}
