//! What an agent reads: its own folders, what their render reads, and nothing else.

use capstan_agent_client::AgentError;
use capstan_forge::{Edit, NewPull};
use capstan_kustomize::render;
use capstan_model::tree::Tree;
use capstan_plan::policy::folders_of;
use capstan_plan::settings::RepositorySettings;
use capstan_test_support::tally;

use super::raw::Raw;
use super::{EU, SETTINGS, US, client, each_engine, enrolled, path};
use crate::running::town::{REPOSITORY, Town};

fn paths(tree: &dyn Tree) -> Vec<String> {
    tree.entries().iter().map(|entry| entry.path.to_string()).collect()
}

fn text(tree: &dyn Tree, file: &str) -> String {
    let entry = tree.entry(&path(file)).unwrap();
    String::from_utf8(tree.read(entry).unwrap().to_vec()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_holds_the_claimed_folders_and_their_sources_alone() {
    each_engine(&["gauss/peu01", "euler/x", "both/y", "other/z"], async |town, _| {
        town.push(
            "main",
            &[
                Edit::write(
                    "gauss/peu01/overlay/kustomization.yaml",
                    "resources: [../../../shared/monitoring]\n",
                ),
                Edit::write(
                    "shared/monitoring/kustomization.yaml",
                    "resources: [health.yaml]\n",
                ),
                Edit::write(
                    "shared/monitoring/health.yaml",
                    "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineHealthCheck\nmetadata: {name: mhc, namespace: my-org}\nspec: {clusterName: peu01}\n",
                ),
                Edit::write("shared/unread.yaml", "a: secret of somebody else\n"),
            ],
        );
        town.settle().await;
        let state = tempfile::tempdir().unwrap();
        let agent = enrolled(&town, EU, state.path()).await;
        let fetched = agent.fetch().await.unwrap();
        assert_eq!(fetched.commit.as_str(), town.forge.resolve(REPOSITORY, "main").unwrap().unwrap());
        assert_eq!(
            paths(&*fetched.tree),
            [
                ".capstan.yaml",
                "gauss/peu01/base/cluster.yaml",
                "gauss/peu01/base/machinepool.yaml",
                "gauss/peu01/capstan.yaml",
                "gauss/peu01/overlay/kustomization.yaml",
                "shared/monitoring/health.yaml",
                "shared/monitoring/kustomization.yaml",
            ],
            "a folder that two claim is nobody's"
        );
        assert_eq!(text(&*fetched.tree, ".capstan.yaml"), SETTINGS);
        let layout = capstan_plan::layout::discover(&*fetched.tree, &RepositorySettings::default());
        let rendered = render::render(&*fetched.tree, &folders_of(layout.target("gauss/peu01").unwrap())).unwrap();
        let check = rendered.objects.iter().any(|object| object.id.kind == "MachineHealthCheck");
        assert!(check, "rendered as the bot renders it: {:?}", rendered.notes);
        assert!(fetched.tree.folder_id(&path("gauss/peu01")).is_some());
        assert!(fetched.tree.folder_id(&path("euler")).is_none());
        let before = fetched.tree.folder_id(&path("gauss/peu01")).unwrap();

        agent.keep(&fetched.commit).await.unwrap();
        // Nothing new: nothing is fetched; something new elsewhere: the folder is still the same.
        let archives = || {
            let root = state.path().join("agents");
            let own = std::fs::read_dir(root).unwrap().next().unwrap().unwrap().path().join("source");
            std::fs::read_dir(own).unwrap().count()
        };
        assert_eq!(archives(), 2, "the archive, and which one it is");
        town.push("main", &[Edit::write("euler/x/overlay/a.yaml", "x: 1\n")]);
        town.settle().await;
        let next = agent.fetch().await.unwrap();
        assert_ne!(next.commit, fetched.commit);
        agent.keep(&next.commit).await.unwrap();
        assert_eq!(next.tree.folder_id(&path("gauss/peu01")), Some(before));
        assert_eq!(archives(), 2, "the one before is gone");
        town.done();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_provider_set_that_the_settings_name_travels_and_no_other() {
    let set = |namespace: &str| {
        format!(
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\n\
             metadata: {{name: cluster-api, namespace: {namespace}}}\nspec: {{version: v1.13.4}}\n"
        )
    };
    let named = "\"both/*\"], providers: {path: mc/providers, by: capstan}}";
    let settings = SETTINGS.replacen("\"both/*\"]}", named, 1);
    let town = Town::new(&settings, &["gauss/peu01"]).await;
    town.push(
        "main",
        &[
            Edit::write("mc/providers/base/providers.yaml", set("capi-system")),
            // Its folder matches the pattern of the clusters, but no setting names it.
            Edit::write("gauss/providers/base/providers.yaml", set("other")),
        ],
    );
    town.settle().await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let fetched = agent.fetch().await.unwrap();
    let travelled = paths(&*fetched.tree);
    let sets: Vec<&String> = travelled.iter().filter(|path| path.contains("providers")).collect();
    assert_eq!(sets, ["mc/providers/base/providers.yaml"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_in_another_clusters_folder_is_not_sent_even_if_a_folder_names_it() {
    let town = Town::new(SETTINGS, &["gauss/peu01", "euler/x"]).await;
    let steals =
        Edit::write("gauss/peu01/overlay/kustomization.yaml", "resources: [../../../euler/x/overlay]\n");
    town.push(
        "main",
        &[
            Edit::write("euler/x/overlay/kustomization.yaml", "resources: [secret.yaml]\n"),
            Edit::write(
                "euler/x/overlay/secret.yaml",
                "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: other}\n",
            ),
            steals,
        ],
    );
    town.settle().await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let fetched = agent.fetch().await.unwrap();
    let theirs: Vec<_> =
        paths(&*fetched.tree).into_iter().filter(|path| path.starts_with("euler/")).collect();
    assert_eq!(theirs, [""; 0]);
    let layout = capstan_plan::layout::discover(&*fetched.tree, &RepositorySettings::default());
    let rendered = render::render(&*fetched.tree, &folders_of(layout.target("gauss/peu01").unwrap()));
    assert!(rendered.is_err(), "a render without it would be of another cluster");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_repositories_and_commits_are_not_there() {
    let town = Town::new(SETTINGS, &["gauss/peu01", "euler/x"]).await;
    town.forge.create_repository("acme/secret").unwrap();
    let agent = Raw::enrolled(&town).await;
    let tip = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
    let number = town.open("ada", "mine", &[Edit::write("README.md", "touches no cluster\n")]);
    town.settle().await;
    let head = town.pull(number).head;
    let nothing = "There is nothing here for this agent";
    for (query, status) in [
        (format!("archive?repository=acme/gitops&commit={tip}"), 200),
        (format!("archive?repository=ACME/GitOps&commit={tip}"), 200),
        (format!("archive?repository=acme/secret&commit={tip}"), 404),
        (format!("archive?repository=acme/nowhere&commit={tip}"), 404),
        (format!("archive?repository=acme/gitops&commit={head}"), 404),
        (format!("archive?repository=acme/gitops&commit={}", "f".repeat(40)), 404),
        ("work?repository=acme/secret".to_owned(), 404),
        ("record?repository=acme/gitops&cluster=euler/x".to_owned(), 404),
        ("record?repository=acme/gitops&cluster=gauss/peu01".to_owned(), 200),
    ] {
        let token = agent.token();
        let request = agent.http.get(format!("{}/{query}", agent.root)).bearer_auth(token);
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{query}");
        if status == 404 {
            assert!(response.text().await.unwrap().starts_with(nothing), "{query}");
        }
    }
    let token = agent.token();
    agent
        .get("archive?repository=acme/gitops&commit=HEAD", Some(&token))
        .await
        .refuses(400, "The request cannot be read");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_management_cluster_dropped_from_the_default_branch_gets_nothing_more() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let before = agent.fetch().await.unwrap();
    // A pull request that takes the folder for another one changes nothing before it is merged.
    let grab = SETTINGS.replace("[\"gauss/*\", \"both/*\"]", "[]").replace("\"euler/*\"", "\"*/*\"");
    let new = NewPull {
        title: "Grab".to_owned(),
        head: "grab".to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    town.forge
        .commit(REPOSITORY, "grab", "ada", "Grab", &[Edit::write(".capstan.yaml", grab.as_str())])
        .unwrap();
    town.forge.open_pull(REPOSITORY, "ada", new).unwrap();
    town.settle().await;
    assert_eq!(agent.fetch().await.unwrap().commit, before.commit);

    town.push("main", &[Edit::write(".capstan.yaml", grab.as_str())]);
    town.settle().await;
    let now = agent.fetch().await.unwrap();
    assert_eq!(paths(&*now.tree), [".capstan.yaml"], "named still, with nothing of its own");
    assert_eq!(agent.at(&before.commit).await.map(|tree| paths(&*tree)).unwrap(), [".capstan.yaml"]);
    town.push("main", &[Edit::write(".capstan.yaml", "mode: propose\n")]);
    town.settle().await;
    assert!(matches!(agent.fetch().await, Err(AgentError::NotThere { .. })));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_was_changed_is_not_believed() {
    let town = Town::new(SETTINGS, &["gauss/peu01", "euler/x"]).await;
    let (state, other_state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let agent = enrolled(&town, EU, state.path()).await;
    let other = enrolled(&town, US, other_state.path()).await;
    let fetched = agent.fetch().await.unwrap();
    other.fetch().await.unwrap();
    for each in [&agent, &other] {
        each.keep(&fetched.commit).await.unwrap();
    }
    let archive = |state: &std::path::Path| {
        let own = std::fs::read_dir(state.join("agents")).unwrap().next().unwrap().unwrap().path();
        own.join("source").join(format!("{}.tar.gz", fetched.commit))
    };
    let (mine, theirs) = (archive(state.path()), archive(other_state.path()));
    let good = std::fs::read(&mine).unwrap();
    let current = mine.with_file_name("current.json");
    let record = std::fs::read(&current).unwrap();

    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    drop(agent);
    std::fs::write(&mine, bad).unwrap();
    let opened = client(&town, EU, state.path(), None);
    let refused = opened.kept().await.err().unwrap().to_string();
    assert!(refused.ends_with("cannot be trusted: its digest differs"), "{refused}");
    assert_eq!(opened.fetch().await.unwrap().commit, fetched.commit, "and so it is fetched again");
    opened.keep(&fetched.commit).await.unwrap();
    drop(opened);

    // Another agent's archive of the same commit, with its good signature.
    std::fs::copy(&theirs, &mine).unwrap();
    std::fs::copy(theirs.with_file_name("current.json"), &current).unwrap();
    let refused = client(&town, EU, state.path(), None).kept().await.err().unwrap().to_string();
    assert!(refused.ends_with("cannot be trusted: its signature is not the bot's"), "{refused}");

    std::fs::write(&mine, &good).unwrap();
    std::fs::write(&current, record).unwrap();
    let kept = client(&town, EU, state.path(), None).kept().await.unwrap().unwrap();
    assert_eq!(kept.commit, fetched.commit);
}

#[tokio::test(flavor = "multi_thread")]
async fn links_and_submodules_are_named_and_never_followed() {
    let town = Town::new(SETTINGS, &["gauss/peu01", "euler/x"]).await;
    // Written with Git itself: a link to another customer's file, and one out of the repository.
    let clone = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let done = tally::command("git")
            .args(["-c", "user.name=ada", "-c", "user.email=ada@example.com", "-C"])
            .arg(clone.path())
            .args(arguments)
            .output()
            .unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let token = town.forge.token_for("ada").unwrap();
    let url =
        format!("{}/{REPOSITORY}.git", town.forge.url()).replace("http://", &format!("http://x:{token}@"));
    git(&["clone", "-q", &url, "."]);
    let base = clone.path().join("gauss/peu01/base");
    std::os::unix::fs::symlink("../../../euler/x/base/cluster.yaml", base.join("stolen.yaml")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", base.join("passwd.yaml")).unwrap();
    git(&["add", "-A"]);
    git(&["commit", "-qm", "links"]);
    git(&["push", "-q", "origin", "HEAD:main"]);
    town.settle().await;

    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let fetched = agent.fetch().await.unwrap();
    let link = fetched.tree.entry(&path("gauss/peu01/base/stolen.yaml")).unwrap();
    assert!(fetched.tree.read(link).is_err(), "its target does not travel");
    assert!(fetched.tree.entry(&path("euler/x/base/cluster.yaml")).is_none());
    let layout = capstan_plan::layout::discover(&*fetched.tree, &RepositorySettings::default());
    let rendered = render::render(&*fetched.tree, &folders_of(layout.target("gauss/peu01").unwrap()));
    assert!(rendered.is_err(), "a render without the link would be of another cluster");
    for entry in walk(state.path()) {
        assert!(!entry.to_string_lossy().contains("passwd"), "nothing is unpacked: {entry:?}");
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path));
        }
        found.push(path);
    }
    found
}
