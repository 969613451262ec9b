//! Every call of the port, with its expected outcomes.

use capstan_forge::{Edit, MergeMethod, ReviewState};
use capstan_model::tree::{BlobId, CommitId, RepoPath, TreeId};
use capstan_plan::command::CommentId;
use capstan_plan::proposal::Sidebar;
use capstan_plan::verbs::Verb;
use capstan_ports::{
    BranchHead, Branches, CheckConclusion, Checks, CodeHostError, Comments, CommitMetadata, Contents,
    CreatedPullRequest, CreatedReference, EarlierPullRequest, Installations, Merging, MovedReference,
    NewCheckRun, NewPullRequest, NewTreeEntry, Permission, PermissionLookup, PullRequest, PullRequestEdit,
    PullRequestState, PullRequests, Reaction, RepositoryName, ReviewDecision, SidebarPart, Sidebars, Trees,
};
use capstan_report::{Annotation, AnnotationLevel};

use super::fleet::{Fleet, NAME};
use capstan_test_parts::conformance::assert_conforms;

const BRANCH: &str = "capstan/upgrade/gauss/peu01";

fn absent() -> String {
    "9d1f000000000000000000000000000000000000".to_owned()
}

fn new_pull(branch: &str) -> NewPullRequest {
    NewPullRequest {
        title: "Upgrade gauss/peu01 to aws/v22.0.0".to_owned(),
        body: "What changes.".to_owned(),
        head_branch: branch.to_owned(),
        base_branch: "main".to_owned(),
        draft: false,
    }
}

async fn open(fleet: &Fleet, branch: &str) -> PullRequest {
    match fleet.github.create_pull_request(&fleet.repository, &new_pull(branch)).await.unwrap() {
        CreatedPullRequest::Created(pull) => *pull,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_app_knows_itself_and_its_repositories() {
    let fleet = Fleet::new().await;
    assert_eq!(fleet.github.bot_login().await.unwrap(), "capstan[bot]");
    assert_eq!(fleet.repository.name.to_string(), NAME);
    assert_eq!(fleet.repository.default_branch, "main");
    let name = RepositoryName::parse(NAME).unwrap();
    let read = fleet.github.repository(fleet.repository.installation, &name).await.unwrap();
    assert_eq!(read, fleet.repository);
    let other = RepositoryName::parse("acme/other").unwrap();
    let error = fleet.github.repository(fleet.repository.installation, &other).await.unwrap_err();
    assert!(matches!(error, CodeHostError::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn a_proposal_takes_four_writes() {
    let fleet = Fleet::new().await;
    let commit = fleet.branch(BRANCH, "kind: Cluster # new\n").await;
    let pull = open(&fleet, BRANCH).await;
    assert_eq!(fleet.forge.write_calls(), 4);
    assert_eq!(
        (pull.state, &pull.head, pull.head_branch.as_str()),
        (PullRequestState::Open, &commit, BRANCH)
    );
    assert_eq!((pull.base_branch.as_str(), &pull.base), ("main", &fleet.head));
    assert_eq!(pull.author, "capstan[bot]");
    assert!(pull.head_in_repository);
    let written = fleet.forge.commits(NAME, BRANCH).unwrap().remove(0);
    assert!(written.verified, "GitHub signs what has no author");
    assert_eq!(
        fleet.forge.file(NAME, BRANCH, "gauss/peu01/base/cluster.yaml").unwrap().unwrap(),
        "kind: Cluster # new\n"
    );
    assert_eq!(
        fleet.forge.file(NAME, BRANCH, "gauss/peu02/base/cluster.yaml").unwrap().unwrap(),
        "kind: Cluster\n"
    );
}

#[tokio::test]
async fn what_exists_already_is_a_value() {
    let fleet = Fleet::new().await;
    let (github, repository) = (&fleet.github, &fleet.repository);
    let commit = fleet.branch(BRANCH, "kind: Cluster # new\n").await;
    assert_eq!(github.create_branch(repository, BRANCH, &commit).await.unwrap(), CreatedReference::Exists);
    open(&fleet, BRANCH).await;
    let again = github.create_pull_request(repository, &new_pull(BRANCH)).await.unwrap();
    assert_eq!(again, CreatedPullRequest::Exists);
    github.create_branch(repository, "capstan/upgrade/empty", &fleet.head).await.unwrap();
    let nothing = github.create_pull_request(repository, &new_pull("capstan/upgrade/empty")).await.unwrap();
    assert_eq!(nothing, CreatedPullRequest::NothingBetween);
    fleet.forge.protect(NAME, "refs/heads/locked/*", "nobody may").unwrap();
    assert_eq!(
        github.create_branch(repository, "locked/x", &commit).await.unwrap(),
        CreatedReference::Refused
    );
}

#[tokio::test]
async fn a_branch_moves_only_from_where_it_was() {
    let fleet = Fleet::new().await;
    let (github, repository) = (&fleet.github, &fleet.repository);
    let first = fleet.branch(BRANCH, "one\n").await;
    let second = fleet.commit("two\n").await;
    let third = fleet.commit("three\n").await;
    assert_eq!(github.move_branch(repository, BRANCH, &first, &second).await.unwrap(), MovedReference::Moved);
    assert_eq!(github.branch(repository, BRANCH).await.unwrap(), Some(second.clone()));
    assert_eq!(
        github.move_branch(repository, BRANCH, &first, &third).await.unwrap(),
        MovedReference::Elsewhere
    );
    assert_eq!(github.branch(repository, BRANCH).await.unwrap(), Some(second.clone()));

    fleet.forge.protect(NAME, "refs/heads/capstan/upgrade/gauss/peu01", "signed commits only").unwrap();
    let refused = github.move_branch(repository, BRANCH, &second, &third).await.unwrap();
    assert!(matches!(&refused, MovedReference::Refused(reason) if !reason.is_empty()), "{refused:?}");
    fleet.forge.unprotect(NAME).unwrap();

    let other = fleet.branch("capstan/upgrade/gauss/peu02", "other\n").await;
    fleet.branch("people/own", "own\n").await;
    let heads = github.branches(repository, "capstan/upgrade/").await.unwrap();
    assert_eq!(
        heads,
        [
            BranchHead { branch: BRANCH.to_owned(), commit: second.clone() },
            BranchHead { branch: "capstan/upgrade/gauss/peu02".to_owned(), commit: other },
        ]
    );
}

#[tokio::test]
async fn labels_assignees_and_reviewers_of_a_pull_request_come_and_go() {
    let fleet = Fleet::new().await;
    let (github, repository) = (&fleet.github, &fleet.repository);
    fleet.forge.create_team("acme", "platform", &["alice"]).unwrap();
    fleet.branch(BRANCH, "one\n").await;
    let pull = open(&fleet, BRANCH).await.number;
    let add = async |part, names: &[&str]| {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        github.add_to_sidebar(repository, pull, part, &names).await
    };
    let remove = async |part, names: &[&str]| {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        github.remove_from_sidebar(repository, pull, part, &names).await.unwrap();
    };
    let beside = async || github.pull_request(repository, pull).await.unwrap().sidebar;
    assert_eq!(add(SidebarPart::Labels, &["new", "kind/größe 1"]).await.unwrap(), [""; 0]);
    assert_eq!(add(SidebarPart::Assignees, &["Alice", "nobody"]).await.unwrap(), ["nobody"]);
    assert_eq!(add(SidebarPart::Reviewers, &["alice"]).await.unwrap(), [""; 0]);
    assert_eq!(add(SidebarPart::TeamReviewers, &["platform"]).await.unwrap(), [""; 0]);
    for (part, name) in [(SidebarPart::Reviewers, "nobody"), (SidebarPart::TeamReviewers, "nobody")] {
        let refused = add(part, &[name]).await.unwrap_err();
        assert!(matches!(refused, CodeHostError::Unexpected { status: 422, .. }), "{refused}");
    }
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let all = Sidebar {
        labels: texts(&["new", "kind/größe 1"]),
        assignees: texts(&["alice"]),
        reviewers: texts(&["alice", "acme/platform"]),
    };
    assert_eq!(beside().await, all);
    for _once_more_changes_nothing in 0..2 {
        remove(SidebarPart::Labels, &["kind/größe 1", "NEW"]).await;
        remove(SidebarPart::Assignees, &["alice"]).await;
        remove(SidebarPart::Reviewers, &["alice"]).await;
        remove(SidebarPart::TeamReviewers, &["platform"]).await;
        assert_eq!(beside().await, Sidebar::default());
    }
    assert_conforms(&fleet.forge);
}

#[tokio::test]
async fn pull_requests_are_seen_as_they_are() {
    let fleet = Fleet::new().await;
    let (github, repository) = (&fleet.github, &fleet.repository);
    fleet.branch(BRANCH, "one\n").await;
    let mine = open(&fleet, BRANCH).await;
    let own = fleet.branch("people/own", "two\n").await;
    let theirs = open(&fleet, "people/own").await;
    fleet.forge.add_label(NAME, theirs.number, "urgent", "alice").unwrap();

    let numbers = |pulls: Vec<PullRequest>| pulls.into_iter().map(|pull| pull.number).collect::<Vec<_>>();
    assert_eq!(numbers(github.open_pull_requests(repository).await.unwrap()), [theirs.number, mine.number]);
    let an_hour = jiff::SignedDuration::from_hours(1);
    let since = |at| github.pull_requests_since(repository, at);
    assert_eq!(numbers(since(mine.created_at - an_hour).await.unwrap()), [theirs.number, mine.number]);
    assert_eq!(numbers(since(mine.created_at + an_hour).await.unwrap()), [0; 0]);
    let read = github.pull_request(repository, theirs.number).await.unwrap();
    assert_eq!((read.sidebar.labels, read.head, read.auto_merge), (vec!["urgent".to_owned()], own, false));

    let state = github.merge_queue_state(repository, &mine).await.unwrap();
    assert_eq!((state.review, state.queued, state.auto_merge), (ReviewDecision::None, false, false));
    fleet.forge.review(NAME, mine.number, "alice", ReviewState::Approved, "").unwrap();
    fleet.forge.enable_auto_merge(NAME, mine.number, "alice", MergeMethod::Merge).unwrap();
    let state = github.merge_queue_state(repository, &mine).await.unwrap();
    assert_eq!((state.review, state.queued, state.auto_merge), (ReviewDecision::Approved, false, true));
    fleet.forge.enqueue(NAME, theirs.number, "alice").unwrap();
    assert!(github.merge_queue_state(repository, &theirs).await.unwrap().queued);

    let edit = PullRequestEdit {
        title: Some("New title".to_owned()),
        body: Some("New body".to_owned()),
        close: false,
    };
    let edited = github.edit_pull_request(repository, mine.number, &edit).await.unwrap();
    assert_eq!((edited.title.as_str(), edited.body.as_str()), ("New title", "New body"));
    let close = PullRequestEdit { close: true, ..PullRequestEdit::default() };
    let closed = github.edit_pull_request(repository, mine.number, &close).await.unwrap();
    assert_eq!((closed.state, closed.title.as_str()), (PullRequestState::Closed, "New title"));
    assert!(closed.closed_at.is_some());
}

#[tokio::test]
async fn long_lists_are_read_to_the_end() {
    let fleet = Fleet::new().await;
    for number in 0..103 {
        let edit = [Edit::write("notes.txt", format!("{number}\n"))];
        let branch = format!("capstan/upgrade/c{number:03}");
        fleet.forge.commit(NAME, &branch, "alice", "Note", &edit).unwrap();
        let new = capstan_forge::NewPull {
            title: branch.clone(),
            body: String::new(),
            head: branch,
            base: "main".to_owned(),
            draft: false,
        };
        fleet.forge.open_pull(NAME, "alice", new).unwrap();
    }
    let pulls = fleet.github.open_pull_requests(&fleet.repository).await.unwrap();
    assert_eq!(pulls.len(), 103);
    assert_eq!(pulls[0].head_branch, "capstan/upgrade/c102", "newest first");
    let branches: Vec<String> = (0..130).map(|number| format!("capstan/upgrade/c{number:03}")).collect();
    let mut newest =
        fleet.github.newest_pull_requests(&fleet.repository, &branches, Some("main")).await.unwrap();
    newest.sort_by_key(|pull| pull.number);
    assert_eq!(newest.len(), 103);
    assert_eq!((newest[102].number, newest[102].head_branch.as_str()), (103, "capstan/upgrade/c102"));
    assert_eq!(fleet.github.branches(&fleet.repository, "capstan/").await.unwrap().len(), 103);

    // A page that is full is "not modified" where another one has come behind it.
    let since = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(48);
    for number in 1..=101 {
        fleet.forge.comment(NAME, 1, "alice", &format!("{number}")).unwrap();
        if number >= 99 {
            let comments = fleet.github.recent_comments(&fleet.repository, since).await.unwrap();
            assert_eq!(comments.len(), number);
        }
    }
}

/// What became of a proposal before is found by its branch, past what strangers' forks call the same.
#[tokio::test]
async fn the_newest_pull_request_of_a_branch_is_found_past_those_of_forks() {
    let fleet = Fleet::new().await;
    let (github, repository) = (&fleet.github, &fleet.repository);
    let head = fleet.branch(BRANCH, "one\n").await;
    for _ in 0..2 {
        let opened = open(&fleet, BRANCH).await;
        let body = Some(format!("The body of #{}", opened.number));
        let edit = PullRequestEdit { close: true, body, ..PullRequestEdit::default() };
        github.edit_pull_request(repository, opened.number, &edit).await.unwrap();
    }
    fleet.forge.fork(NAME, "mallory").unwrap();
    let fork = NAME.replace("acme", "mallory");
    for number in 0..12 {
        let edit = [Edit::write("x", format!("{number}\n"))];
        fleet.forge.commit(&fork, BRANCH, "mallory", "Mine", &edit).unwrap();
        let new = capstan_forge::NewPull {
            title: "Mine".to_owned(),
            head: format!("mallory:{BRANCH}"),
            base: "main".to_owned(),
            ..capstan_forge::NewPull::default()
        };
        let opened = fleet.forge.open_pull(NAME, "mallory", new).unwrap();
        fleet.forge.close(NAME, opened, "mallory").unwrap();
    }
    let newest = async || {
        let branches = [BRANCH.to_owned(), "capstan/upgrade/none".to_owned()];
        github.newest_pull_requests(repository, &branches, Some("main")).await.unwrap()
    };
    let expected = |body: &str| EarlierPullRequest {
        number: 2,
        state: PullRequestState::Closed,
        body: body.to_owned(),
        head_branch: BRANCH.to_owned(),
        head: head.clone(),
        base: fleet.head.clone(),
    };
    // GitHub's times are whole seconds: by this the edit below is a later one.
    fleet.forge.age(NAME, 2, 2).unwrap();
    assert_eq!(newest().await, [expected("The body of #2")]);
    // Its text is read again where it has changed, and else not.
    fleet.take_requests();
    assert_eq!(newest().await, [expected("The body of #2")]);
    assert_eq!(fleet.take_requests().len(), 2, "the first page, and one past the forks");
    let edit = PullRequestEdit { body: Some("Another".to_owned()), ..PullRequestEdit::default() };
    github.edit_pull_request(repository, 2, &edit).await.unwrap();
    assert_eq!(newest().await, [expected("Another")]);
    let to = async |base: Option<&str>| {
        github.newest_pull_requests(repository, &[BRANCH.to_owned()], base).await.unwrap()
    };
    assert_eq!(to(Some("develop")).await, []);
    assert_eq!(to(None).await, [expected("Another")], "to whatever branch");
    assert_conforms(&fleet.forge);
}

#[tokio::test]
async fn trees_and_blobs_are_read_by_id() {
    let fleet = Fleet::new().await;
    let (github, repository) = (&fleet.github, &fleet.repository);
    let tree = fleet.root();
    let files = github.tree(repository, &tree).await.unwrap().unwrap();
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["gauss/peu01/base/cluster.yaml", "gauss/peu02/base/cluster.yaml"]);
    assert_eq!(github.blob(repository, &files[0].1).await.unwrap(), b"kind: Cluster\n");
    assert!(github.tree(repository, &TreeId::parse(&absent()).unwrap()).await.unwrap().is_none());
    let error = github.blob(repository, &BlobId::parse(&absent()).unwrap()).await.unwrap_err();
    assert!(matches!(error, CodeHostError::NotFound { .. }), "{error}");

    let entries = [
        NewTreeEntry::Delete { path: RepoPath::parse("gauss/peu02/base/cluster.yaml").unwrap() },
        NewTreeEntry::Write {
            path: RepoPath::parse("run.sh").unwrap(),
            text: "#!/bin/sh\n".to_owned(),
            executable: true,
        },
    ];
    let made = github.create_tree(repository, &tree, &entries).await.unwrap();
    let metadata = CommitMetadata { message: "x".to_owned(), tree: made, parents: vec![fleet.head.clone()] };
    let commit = github.create_commit(repository, &metadata).await.unwrap();
    let files: Vec<String> = fleet.forge.files(NAME, commit.as_str()).unwrap().into_keys().collect();
    assert_eq!(files, ["gauss/peu01/base/cluster.yaml", "run.sh"]);
}

fn check(head: &CommitId, annotations: usize, content: &str) -> NewCheckRun {
    NewCheckRun {
        name: "capstan".to_owned(),
        head: head.clone(),
        conclusion: Some(CheckConclusion::ActionRequired),
        title: "Two conflicts".to_owned(),
        summary: "Look.".to_owned(),
        annotations: (0..annotations)
            .map(|number| Annotation {
                path: RepoPath::parse("gauss/peu01/base/cluster.yaml").unwrap(),
                line: u32::try_from(number).unwrap() + 1,
                column: Some(3),
                level: AnnotationLevel::Warning,
                title: "overlay-hides-change".to_owned(),
                message: format!("number {number}"),
            })
            .collect(),
        external_id: content.to_owned(),
        unfinished_id: format!("{content}-unfinished"),
        buttons: vec![Verb::Merge],
    }
}

#[tokio::test]
async fn a_check_is_one_call_up_to_fifty_annotations() {
    let fleet = Fleet::new().await;
    let (github, repository) = (&fleet.github, &fleet.repository);
    for (annotations, calls) in [(0, 1), (50, 1), (51, 2), (120, 3)] {
        fleet.forge.clear_exchanges();
        let made = github.create_check_run(repository, &check(&fleet.head, annotations, "a")).await.unwrap();
        assert_eq!((made.name.as_str(), made.external_id.as_str()), ("capstan", "a"));
        assert_eq!(made.conclusion, Some(CheckConclusion::ActionRequired));
        assert_eq!(fleet.forge.write_calls(), calls, "{annotations} annotations");
        let seen = fleet.forge.checks(NAME, fleet.head.as_str()).unwrap();
        let seen = seen.iter().find(|seen| seen.id == made.id).unwrap();
        assert_eq!((seen.annotations.len(), seen.status.as_str()), (annotations, "completed"));
    }
    let made = github.create_check_run(repository, &check(&fleet.head, 0, "b")).await.unwrap();
    let success = NewCheckRun { conclusion: Some(CheckConclusion::Success), ..check(&fleet.head, 60, "c") };
    let updated = github.update_check_run(repository, made.id, &success).await.unwrap();
    assert_eq!((updated.conclusion, updated.external_id.as_str()), (Some(CheckConclusion::Success), "c"));
    let runs = github.check_runs(repository, &fleet.head, "capstan").await.unwrap();
    assert!(runs.iter().any(|run| run.id == made.id && run.external_id == "c"), "{runs:?}");
    assert!(github.check_runs(repository, &fleet.head, "capstan/rollout").await.unwrap().is_empty());
}

/// GitHub adds to a run's annotations and never takes one away.
#[tokio::test]
async fn a_check_cut_off_between_two_calls_continues_and_concludes_with_the_last() {
    let fleet = Fleet::new().await;
    let (github, repository) = (&fleet.github, &fleet.repository);
    let whole = check(&fleet.head, 120, "d");
    // The first call of three, as a process that was killed after it left it.
    let begun = NewCheckRun {
        conclusion: None,
        annotations: whole.annotations[..50].to_vec(),
        external_id: whole.unfinished_id.clone(),
        ..whole.clone()
    };
    let id = github.create_check_run(repository, &begun).await.unwrap().id;
    for (left, calls) in [(70, 2), (0, 1)] {
        let runs = github.check_runs(repository, &fleet.head, "capstan").await.unwrap();
        let run = runs.into_iter().find(|run| run.id == id).unwrap();
        assert_eq!(run.annotations, 120 - left);
        fleet.forge.clear_exchanges();
        let done = github.finish_check_run(repository, &run, &whole).await.unwrap();
        assert_eq!((done.id, done.external_id.as_str()), (id, "d"));
        assert_eq!(fleet.forge.write_calls(), calls);
        let seen = fleet.forge.checks(NAME, fleet.head.as_str()).unwrap();
        let seen = seen.into_iter().find(|seen| seen.id == id).unwrap();
        let numbers: Vec<_> =
            seen.annotations.iter().map(|one| one["start_line"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (1..=120).collect::<Vec<_>>(), "each once");
        assert_eq!(seen.conclusion.as_deref(), Some("action_required"));
    }
    let unconcluded = |exchange: &&capstan_forge::Exchange| {
        exchange.request["output"].is_object() && exchange.request["status"] == "in_progress"
    };
    fleet.forge.clear_exchanges();
    github.create_check_run(repository, &whole).await.unwrap();
    let exchanges = fleet.forge.exchanges();
    assert_eq!(exchanges.iter().filter(unconcluded).count(), 2, "the last of three concludes");
}

#[tokio::test]
async fn people_are_heard_and_answered() {
    let fleet = Fleet::new().await;
    let (github, repository) = (&fleet.github, &fleet.repository);
    for (login, permission) in [
        ("alice", Permission::Write),
        ("rita", Permission::Read),
        ("mallory", Permission::None),
        ("nobody-of-that-name", Permission::None),
    ] {
        let found = github.permission(repository, login).await.unwrap();
        // The forge's repositories may be public, where everybody may read.
        assert!(
            found == permission || (permission == Permission::None && found == Permission::Read),
            "{login} {found:?}"
        );
    }
    fleet.branch(BRANCH, "one\n").await;
    let pull = open(&fleet, BRANCH).await;
    let asked = fleet.forge.comment(NAME, pull.number, "alice", "/capstan plan").unwrap();
    let asked = CommentId::Comment(asked);
    github.react(repository, asked, Reaction::Eyes).await.unwrap();
    github.react(repository, asked, Reaction::Eyes).await.unwrap();
    let answered = github.create_comment(repository, pull.number, "Here it is.").await.unwrap();
    assert!(answered.by_bot);
    let since = answered.created_at - jiff::SignedDuration::from_mins(1);
    let recent = github.recent_comments(repository, since).await.unwrap();
    let said: Vec<_> = recent
        .iter()
        .map(|c| (c.comment.author.as_str(), c.comment.by_bot, c.comment.body.as_str()))
        .collect();
    assert_eq!(said, [("alice", false, "/capstan plan"), ("capstan[bot]", true, "Here it is.")]);
    let placed: Vec<_> = recent.iter().map(|c| (c.number, c.on_pull_request, c.comment.id)).collect();
    assert_eq!(placed, [(pull.number, true, asked), (pull.number, true, answered.id)]);
    let seen = fleet.forge.comments(NAME, pull.number).unwrap();
    assert_eq!(seen[0].reactions.len(), 1, "the same reaction twice is one");
}
