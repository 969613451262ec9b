//! Failures, limits and conditional reads.

use std::time::Duration;

use capstan_forge::{Edit, Fault, Forge, Matching, Strike};
use capstan_github::GitHubLimits;
use capstan_model::tree::CommitId;
use capstan_plan::settings::MergeMethod;
use capstan_ports::{
    Branches, CodeHostError, Comments, CreatedPullRequest, CreatedReference, Installations, Issues,
    MergeAnswer, MergeCall, Merging, NewIssue, NewPullRequest, PullRequests,
};
use capstan_test_support::serving::serve_each;
use secrecy::ExposeSecret;

use super::fleet::{Fleet, NAME, connect, connect_within};

#[tokio::test]
async fn a_read_outlives_failures_and_gives_up_in_the_end() {
    let fleet = Fleet::new().await;
    for fault in [Fault::Status(502), Fault::Status(500), Fault::Drop] {
        fleet.forge.fail_next(2, Matching::any().path("/git/ref/"), Strike::Before, fault.clone());
        let head = fleet.github.branch(&fleet.repository, "main").await.unwrap();
        assert_eq!(head.as_ref(), Some(&fleet.head), "{fault:?}");
    }
    fleet.forge.clear_exchanges();
    fleet.forge.fail_next(10, Matching::any().path("/git/ref/"), Strike::Before, Fault::Status(503));
    let error = fleet.github.branch(&fleet.repository, "main").await.unwrap_err();
    assert!(
        matches!(&error, CodeHostError::Unreachable { reason, .. } if reason.starts_with("503")),
        "{error}"
    );
    assert_eq!(fleet.take_requests().len(), 4, "once, and three times again");
}

#[tokio::test]
async fn a_write_whose_fate_is_unknown_is_looked_for_before_it_is_repeated() {
    let fleet = Fleet::new().await;
    fleet.branch("capstan/upgrade/x", "one\n").await;
    let mut opened = Vec::new();
    for (strike, fault, requests) in
        [(Strike::Before, Fault::Status(502), 3), (Strike::After, Fault::Drop, 2)]
    {
        fleet.forge.fail_next(1, Matching::any().method("POST").path("/pulls"), strike, fault);
        let new = NewPullRequest {
            title: "x".to_owned(),
            body: String::new(),
            head_branch: "capstan/upgrade/x".to_owned(),
            base_branch: "main".to_owned(),
            draft: false,
        };
        fleet.forge.clear_exchanges();
        let made = fleet.github.create_pull_request(&fleet.repository, &new).await.unwrap();
        let CreatedPullRequest::Created(pull) = made else { panic!("{made:?}") };
        opened.push(pull.number);
        let made = fleet.take_requests().iter().filter(|(request, _)| request.ends_with("/pulls")).count();
        assert_eq!(made, requests, "asked, looked, asked again where nothing was found");
        assert_eq!(fleet.forge.pulls(NAME).unwrap().len(), opened.len());
        fleet.forge.close(NAME, pull.number, "alice").unwrap();
    }
    let (github, repository) = (&fleet.github, &fleet.repository);

    for strike in [Strike::Before, Strike::After] {
        let posts = |path: &str| Matching::any().method("POST").path(path);
        fleet.forge.fail_next(1, posts("/comments"), strike, Fault::Drop);
        github.create_comment(repository, opened[0], &format!("Hello {strike:?}")).await.unwrap();
        let said = format!("Hello {strike:?}");
        let comments = fleet.forge.comments(NAME, opened[0]).unwrap();
        assert_eq!(comments.iter().filter(|comment| comment.body == said).count(), 1, "{strike:?}");

        fleet.forge.fail_next(1, posts("/git/refs"), strike, Fault::Drop);
        let branch = format!("b-{strike:?}").to_lowercase();
        let created = github.create_branch(repository, &branch, &fleet.head).await.unwrap();
        assert_eq!(created, CreatedReference::Created, "{strike:?}");

        fleet.forge.fail_next(1, posts("/issues"), strike, Fault::Drop);
        let issue = NewIssue { title: said.clone(), body: "What waits.".to_owned(), labels: Vec::new() };
        let opened = github.create_issue(repository, &issue).await.unwrap();
        let mut issues = fleet.forge.issues(NAME).unwrap();
        issues.retain(|issue| issue.title == said);
        assert_eq!(
            issues.iter().map(|issue| issue.number).collect::<Vec<_>>(),
            [opened.number],
            "{strike:?}"
        );

        let file = Edit::write(format!("notes/{branch}"), "hello\n");
        let branch = format!("m-{branch}");
        let head = fleet.forge.commit(NAME, &branch, "alice", "A note", &[file]).unwrap();
        let new = NewPullRequest {
            title: said,
            body: String::new(),
            head_branch: branch,
            base_branch: "main".to_owned(),
            draft: false,
        };
        let made = github.create_pull_request(repository, &new).await.unwrap();
        let CreatedPullRequest::Created(pull) = made else { panic!("{made:?}") };
        let commits = fleet.forge.commits(NAME, "main").unwrap().len();
        fleet.forge.fail_next(1, Matching::any().method("PUT").path("/merge"), strike, Fault::Drop);
        let call = MergeCall::Now(MergeMethod::Squash);
        let head = CommitId::parse(&head).unwrap();
        let answer = github.merge(repository, &pull, &head, call).await.unwrap();
        assert_eq!(answer, MergeAnswer::Done, "{strike:?}");
        assert_eq!(fleet.forge.commits(NAME, "main").unwrap().len(), commits + 1, "{strike:?}: merged once");
    }
}

#[tokio::test]
async fn a_short_wait_is_waited_for_where_the_call_is_made() {
    let fleet = Fleet::new().await;
    let any_pulls = Matching::any().path("/pulls");
    fleet.forge.fail_next(1, any_pulls, Strike::Before, Fault::SecondaryLimit { retry_after_seconds: 1 });
    fleet.github.open_pull_requests(&fleet.repository).await.unwrap();
}

#[tokio::test]
async fn limits_are_honoured_and_nothing_is_asked_meanwhile() {
    for (fault, at_least, at_most) in [
        (Fault::SecondaryLimit { retry_after_seconds: 40 }, 40, 40),
        (Fault::PrimaryLimit { reset_after_seconds: 900 }, 895, 901),
    ] {
        let fleet = Fleet::new().await;
        fleet.forge.fail_next(1, Matching::any().path("/git/ref/"), Strike::Before, fault);
        match fleet.github.branch(&fleet.repository, "main").await.unwrap_err() {
            CodeHostError::RateLimited { retry_after, .. } => {
                assert!((at_least..=at_most).contains(&retry_after.as_secs()), "{retry_after:?}");
            }
            error => panic!("{error}"),
        }
        fleet.forge.clear_exchanges();
        let error = fleet.github.open_pull_requests(&fleet.repository).await.unwrap_err();
        assert!(matches!(error, CodeHostError::RateLimited { .. }), "{error}");
        assert_eq!(fleet.take_requests(), [], "the installation is left alone");
        fleet.github.installations().await.unwrap();
    }
}

#[tokio::test]
async fn a_token_is_kept_and_renewed_once_when_it_is_refused() {
    let fleet = Fleet::new().await;
    fleet.github.branch(&fleet.repository, "main").await.unwrap();
    fleet.take_requests();
    fleet.github.branch(&fleet.repository, "other").await.unwrap();
    fleet.github.open_pull_requests(&fleet.repository).await.unwrap();
    assert!(!fleet.take_requests().iter().any(|(request, _)| request.ends_with("/access_tokens")));

    fleet.forge.fail_next(1, Matching::any().path("/pulls"), Strike::Before, Fault::Status(401));
    fleet.github.open_pull_requests(&fleet.repository).await.unwrap();
    let requests = fleet.take_requests();
    let statuses: Vec<u16> = requests.iter().map(|(_, status)| *status).collect();
    assert_eq!(statuses, [401, 201, 304], "{requests:?}");

    fleet.forge.fail_next(2, Matching::any().path("/pulls"), Strike::Before, Fault::Status(401));
    let error = fleet.github.pull_request(&fleet.repository, 1).await.unwrap_err();
    assert!(matches!(error, CodeHostError::Unauthenticated { .. }), "{error}");
    assert!(!error.is_refusal(), "it says nothing of the pull request");
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let fleet = Fleet::new().await;
    let first = fleet.github.repositories(fleet.repository.installation).await.unwrap();
    fleet.github.open_pull_requests(&fleet.repository).await.unwrap();
    // Each run asks from its own time on.
    let hour = jiff::Timestamp::now().as_second().div_euclid(3_600) * 3_600;
    let since = |seconds| jiff::Timestamp::from_second(hour - 3 * 24 * 3_600 + seconds).unwrap();
    assert!(fleet.github.recent_comments(&fleet.repository, since(0)).await.unwrap().is_empty());
    assert!(fleet.github.opened_issues(&fleet.repository, since(0), &[]).await.unwrap().is_empty());
    fleet.forge.clear_exchanges();
    fleet.github.recent_comments(&fleet.repository, since(3_599)).await.unwrap();
    fleet.github.opened_issues(&fleet.repository, since(3_599), &[]).await.unwrap();
    assert_eq!(fleet.github.repositories(fleet.repository.installation).await.unwrap(), first);
    assert!(fleet.github.open_pull_requests(&fleet.repository).await.unwrap().is_empty());
    let requests = fleet.take_requests();
    assert!(requests.iter().all(|(_, status)| *status == 304), "{requests:?}");

    fleet.branch("capstan/upgrade/x", "one\n").await;
    let new = NewPullRequest {
        title: "x".to_owned(),
        body: String::new(),
        head_branch: "capstan/upgrade/x".to_owned(),
        base_branch: "main".to_owned(),
        draft: false,
    };
    fleet.github.create_pull_request(&fleet.repository, &new).await.unwrap();
    assert_eq!(fleet.github.open_pull_requests(&fleet.repository).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let fleet = Fleet::new().await;
    let limits = GitHubLimits { timeout: Duration::from_millis(50), retries: 0, ..GitHubLimits::default() };
    let impatient = connect_within(&fleet.forge, fleet.forge.url(), limits);
    fleet.forge.fail_next(1, Matching::any(), Strike::Before, Fault::Hang(Duration::from_secs(5)));
    let error = impatient.installations().await.unwrap_err();
    assert!(matches!(error, CodeHostError::Unreachable { .. }), "{error}");

    let fleet_is_gone = connect(&fleet.forge);
    drop(fleet);
    let error = fleet_is_gone.bot_login().await.unwrap_err();
    assert!(matches!(error, CodeHostError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn no_error_and_no_debug_text_shows_a_token() {
    let fleet = Fleet::new().await;
    let token = fleet.github.git_token(&fleet.repository).await.unwrap();
    let mut shown = format!("{:?}", fleet.github);
    for fault in [Fault::Status(403), Fault::Status(422), Fault::Status(500), Fault::Drop] {
        fleet.forge.fail_next(4, Matching::any().path("/pulls"), Strike::Before, fault);
        let error = fleet.github.pull_request(&fleet.repository, 1).await.unwrap_err();
        shown.push_str(&format!("{error} {error:?}\n"));
        fleet.forge.clear_faults();
    }
    assert!(
        !shown.contains(token.expose_secret()) && !shown.contains("ghs_") && !shown.contains("Bearer"),
        "{shown}"
    );
}

/// How many installations are listed by an API that says so of the nth page, counted from 0; or the error.
async fn listed(
    forge: &Forge,
    limits: GitHubLimits,
    pages: impl Fn(usize) -> Option<String> + Send + Sync + 'static,
) -> (String, Result<usize, String>) {
    let host = serve_each(pages);
    let github = connect_within(forge, &format!("http://{host}"), GitHubLimits { retries: 0, ..limits });
    let listed = github.installations().await;
    (host, listed.map(|all| all.len()).map_err(|error| error.to_string()))
}

fn installations(count: usize, bytes: usize) -> Option<String> {
    let list = format!("[{}]", vec!["{\"id\": 1}"; count].join(","));
    Some(format!("{list}{}", " ".repeat(bytes.saturating_sub(list.len()))))
}

#[tokio::test]
async fn an_answer_is_read_at_each_bound_and_refused_beyond() {
    let fleet = Fleet::new().await;
    let limits = GitHubLimits { pages: 2, list_bytes: 7_000, ..GitHubLimits::default() };
    let impatient = GitHubLimits { timeout: Duration::from_millis(1), ..limits.clone() };
    let whole = GitHubLimits { list_bytes: usize::MAX, ..limits.clone() };
    // Pages of so many items and bytes.
    type Pages = &'static [(usize, usize)];
    let rows: [(&str, &GitHubLimits, Pages, Result<usize, &str>); 9] = [
        ("bytes of an answer", &whole, &[(1, 33_554_432)], Ok(1)),
        ("a byte more", &whole, &[(1, 33_554_433)], Err("200 HOST answers with more than 33554432 bytes")),
        ("bytes of a list", &limits, &[(100, 3_000), (1, 4_000)], Ok(101)),
        ("a byte more", &limits, &[(100, 3_000), (1, 4_001)], Err("200 the list has more than 7000 bytes")),
        ("pages", &limits, &[(100, 0), (100, 0), (0, 0)], Ok(200)),
        (
            "an item more",
            &limits,
            &[(100, 0), (100, 0), (1, 0)],
            Err("200 the list has more than 2 pages of 100"),
        ),
        ("a list that ends before", &limits, &[(100, 0), (99, 0)], Ok(199)),
        ("an empty one", &limits, &[(0, 0)], Ok(0)),
        ("no answer in time", &impatient, &[], Err("HOST does not answer within 0.001 s")),
    ];
    for (what, limits, pages, expected) in rows {
        let answer = |n: usize| pages.get(n).and_then(|(items, bytes)| installations(*items, *bytes));
        let (host, told) = listed(&fleet.forge, limits.clone(), answer).await;
        match (told, expected) {
            (Ok(count), Ok(expected)) => assert_eq!(count, expected, "{what}"),
            (Err(told), Err(expected)) => {
                let expected = expected.replace("HOST", &host);
                assert!(told.contains("GitHub") && told.ends_with(&expected), "{what}: {told}");
            }
            (told, _) => panic!("{what}: {told:?}"),
        }
    }
}

#[tokio::test]
async fn a_large_answer_is_asked_for_once_and_keeps_no_other_call_away() {
    let fleet = Fleet::new().await;
    let limits = GitHubLimits { answer_bytes: 1_000, ..GitHubLimits::default() };
    let sizes = |n: usize| installations(1, if n == 0 { 1_001 } else { 1_000 });
    let host = serve_each(sizes);
    let github = connect_within(&fleet.forge, &format!("http://{host}"), limits);
    let refused = github.installations().await.unwrap_err();
    assert!(refused.is_refusal(), "{refused}");
    assert_eq!(github.installations().await.unwrap().len(), 1);
}
