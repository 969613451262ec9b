//! Proposals, checks, campaigns, and what the fleet page reads of them.

use std::time::Duration;

use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::tree::CommitId;
use capstan_plan::command::CommentId;
use capstan_plan::proposal::ProposalId;
use capstan_ports::{
    AuditEntry, CampaignLimits, CampaignRecord, CampaignTarget, CheckRecord, CheckVerdict, Clock,
    ClusterFilter, FleetView, JobCause, JobRequest, JobState, Jobs, KnownDashboard, ListExtent, PageRecords,
    ProposalRecord, Records, RefusedWrite, RepositoryName, ShownTarget, VisibleRepositories,
};
use capstan_report::ProposalState;

use super::each_engine;

/// Larger than any 32-bit number: GitHub's ids are past that.
const REPOSITORY: u64 = 1 << 40;

fn target(path: &str) -> Target {
    Target::parse(path).unwrap()
}

fn id(path: &str, kind: &str) -> ProposalId {
    ProposalId { target: target(path), kind: SourceKind::parse(kind).unwrap() }
}

fn commit(digit: &str) -> CommitId {
    CommitId::parse(&digit.repeat(40)).unwrap()
}

fn proposal(path: &str, opened_at: jiff::Timestamp) -> ProposalRecord {
    ProposalRecord {
        repository: REPOSITORY,
        proposal: id(path, "release"),
        pull_request: Some(12),
        source: "aws/v22.0.0@9d1f".to_owned(),
        plan: "plan".to_owned(),
        head: commit("a"),
        opened_at,
        ended_at: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_is_read_back_as_saved_and_replaced_and_forgotten() {
    each_engine(async |bench| {
        let records = &bench.database;
        let first = proposal("gauss/peu01", bench.clock.now());
        let mut second = proposal("euler/ü 2", bench.clock.now());
        second.pull_request = None;
        records.save_proposal(&first).await.unwrap();
        records.save_proposal(&second).await.unwrap();
        assert_eq!(records.proposals(REPOSITORY).await.unwrap(), [second.clone(), first.clone()]);
        assert_eq!(records.proposals(1).await.unwrap(), []);

        second.pull_request = Some(13);
        second.head = commit("b");
        second.ended_at = Some(bench.clock.now());
        records.save_proposal(&second).await.unwrap();
        assert_eq!(records.proposals(REPOSITORY).await.unwrap(), [second, first.clone()]);
        records.forget_proposal(REPOSITORY, &id("euler/ü 2", "release")).await.unwrap();
        assert_eq!(records.proposals(REPOSITORY).await.unwrap(), std::slice::from_ref(&first));

        let beside = ProposalRecord { proposal: id("gauss/peu01", "values"), ..first.clone() };
        records.save_proposal(&beside).await.unwrap();
        assert_eq!(records.proposals(REPOSITORY).await.unwrap(), [first.clone(), beside.clone()]);
        records.forget_proposal(REPOSITORY, &first.proposal).await.unwrap();
        assert_eq!(records.proposals(REPOSITORY).await.unwrap(), [beside]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_is_known_by_commit_and_name() {
    each_engine(async |bench| {
        let records = &bench.database;
        let mut check = CheckRecord {
            repository: REPOSITORY,
            head: commit("a"),
            name: "capstan".to_owned(),
            check_run: 5,
            content: "one".to_owned(),
            verdict: None,
            pressed: None,
        };
        records.save_check(&check).await.unwrap();
        check.content = "two".to_owned();
        check.pressed = Some("`merge`, pressed by `ada`: it is not merged.".to_owned());
        check.verdict =
            Some(CheckVerdict { conclusion: "success".to_owned(), title: "Nothing to do".to_owned() });
        records.save_check(&check).await.unwrap();
        assert_eq!(records.check(REPOSITORY, &commit("a"), "capstan").await.unwrap(), Some(check));
        assert_eq!(records.check(REPOSITORY, &commit("b"), "capstan").await.unwrap(), None);
        assert_eq!(records.check(REPOSITORY, &commit("a"), "capstan/rollout").await.unwrap(), None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answered_comment_stays_answered() {
    each_engine(async |bench| {
        let records = &bench.database;
        let [comment, issue] = [CommentId::Comment(9), CommentId::Issue(9)];
        assert!(!records.is_comment_answered(REPOSITORY, comment).await.unwrap());
        records.save_comment_answered(REPOSITORY, comment).await.unwrap();
        records.save_comment_answered(REPOSITORY, comment).await.unwrap();
        assert!(records.is_comment_answered(REPOSITORY, comment).await.unwrap());
        assert!(!records.is_comment_answered(1, comment).await.unwrap());
        assert!(!records.is_comment_answered(REPOSITORY, issue).await.unwrap(), "of the same number");
        records.save_comment_answered(REPOSITORY, issue).await.unwrap();
        records.save_comment_answered(REPOSITORY, issue).await.unwrap();
        assert!(records.is_comment_answered(REPOSITORY, issue).await.unwrap());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_write_is_remembered_until_it_is_taken_or_a_month_old() {
    each_engine(async |bench| {
        let records = &bench.database;
        let now = jiff::Timestamp::from_millisecond(bench.clock.now().as_millisecond()).unwrap();
        let refused = |what: &str, refusals, days: i64| RefusedWrite {
            repository: REPOSITORY,
            what: what.to_owned(),
            content: "release@tree".to_owned(),
            refusals,
            not_before: now + jiff::SignedDuration::from_hours(24 * days),
            reason: "issue is locked".to_owned(),
        };
        records.save_refused_write(&refused("answer 9", 1, -29)).await.unwrap();
        records.save_refused_write(&refused("check a", u32::MAX, -31)).await.unwrap();
        assert_eq!(
            records.refused_writes(REPOSITORY).await.unwrap(),
            [refused("answer 9", 1, -29)],
            "the other is forgotten at once"
        );
        records.save_refused_write(&refused("answer 9", 2, 1)).await.unwrap();
        assert_eq!(records.refused_writes(REPOSITORY).await.unwrap(), [refused("answer 9", 2, 1)]);
        assert_eq!(records.refused_writes(1).await.unwrap(), []);
        records.forget_refused_write(REPOSITORY, "answer 9").await.unwrap();
        records.forget_refused_write(REPOSITORY, "answer 9").await.unwrap();
        assert_eq!(records.refused_writes(REPOSITORY).await.unwrap(), []);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_of_a_dashboard_is_each_repositorys_own() {
    each_engine(async |bench| {
        let records = &bench.database;
        let known =
            |issue, record: &str| KnownDashboard { repository: REPOSITORY, issue, record: record.to_owned() };
        assert_eq!(records.dashboard(REPOSITORY).await.unwrap(), None);
        for next in [known(None, ""), known(Some(1 << 40), "{}"), known(Some(7), "{\"edition\":2}")] {
            records.save_dashboard(&next).await.unwrap();
            assert_eq!(records.dashboard(REPOSITORY).await.unwrap(), Some(next));
        }
        assert_eq!(records.dashboard(1).await.unwrap(), None);
    })
    .await;
}

/// Few rows that changed are written alone, many all together: either way what is read is what was saved last.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_campaign_what_was_saved_last_is_read() {
    each_engine(async |bench| {
        let records = &bench.database;
        let name = RepositoryName::parse("acme/gitops").unwrap();
        let request = JobRequest { repository: REPOSITORY, installation: 7, name, cause: JobCause::Start };
        records.enqueue(&request).await.unwrap();
        let one = |number: usize, state: &str, hold: Option<&str>| CampaignTarget {
            target: target(&format!("gauss/c{number:03}")),
            state: ProposalState::parse(state).unwrap(),
            reason: format!("It is {state}."),
            at: Some("aws/v1.0.0".to_owned()),
            offered: None,
            hold: hold.map(str::to_owned),
            facts: capstan_ports::FleetFacts::default(),
        };
        let mut campaign = CampaignRecord {
            kind: SourceKind::parse("release").unwrap(),
            source: "aws/v2.0.0@9d1f".to_owned(),
            limits: None,
            targets: (0..300).map(|number| one(number, "waiting", None)).collect(),
        };
        let is_kept = async |campaign: &CampaignRecord| {
            records.save_campaigns(REPOSITORY, std::slice::from_ref(campaign)).await.unwrap();
            let all = ListExtent { skip: 0, take: 1_000 };
            let shown = records
                .targets(&VisibleRepositories::Everything, &ClusterFilter::default(), all)
                .await
                .unwrap();
            let shown: Vec<_> =
                shown.into_iter().map(|one| (one.target, one.state, one.reason, one.at, one.hold)).collect();
            let saved = campaign.targets.iter().map(|one| {
                let one = one.clone();
                (one.target.to_string(), one.state.as_str().to_owned(), one.reason, one.at, one.hold)
            });
            assert_eq!(shown, saved.collect::<Vec<_>>());
        };
        is_kept(&campaign).await;
        is_kept(&campaign).await;
        campaign.targets[7] = one(7, "proposed", Some("Held by `ada`."));
        campaign.targets.remove(100);
        campaign.targets.push(one(300, "waiting", None));
        is_kept(&campaign).await;
        campaign.targets.iter_mut().for_each(|target| target.state = ProposalState::Current);
        is_kept(&campaign).await;
        campaign.limits = Some(CampaignLimits { open: 20, per_hour: 20 });
        campaign.targets.truncate(3);
        is_kept(&campaign).await;
        campaign.targets.clear();
        is_kept(&campaign).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fleet_shows_campaign_and_proposals_of_a_repository() {
    each_engine(async |bench| {
        let records = &bench.database;
        let name = RepositoryName::parse("acme/gitops").unwrap();
        let request = JobRequest { repository: REPOSITORY, installation: 7, name, cause: JobCause::Start };
        records.enqueue(&request).await.unwrap();
        let campaign = |kind: &str, source: &str, rows: &[[&str; 3]]| CampaignRecord {
            kind: SourceKind::parse(kind).unwrap(),
            source: source.to_owned(),
            limits: None,
            targets: rows
                .iter()
                .map(|[path, state, reason]| CampaignTarget {
                    target: target(path),
                    state: ProposalState::parse(state).unwrap(),
                    reason: (*reason).to_owned(),
                    at: None,
                    offered: None,
                    hold: None,
                    facts: capstan_ports::FleetFacts::default(),
                })
                .collect(),
        };
        let old = campaign("release", "aws/v21.0.0@1", &[["gauss/gone", "waiting", ""]]);
        records.save_campaigns(REPOSITORY, &[old]).await.unwrap();
        let releases =
            [["gauss/peu01", "proposed", "open"], ["gauss/peu02", "waiting", "20 proposals are open"]];
        let releases = campaign("release", "aws/v22.0.0@9d1f", &releases);
        let values = campaign("values", "values://peu01.yaml", &[["gauss/peu01", "blocked", "It blocks."]]);
        records.save_campaigns(REPOSITORY, &[releases, values]).await.unwrap();
        records.save_proposal(&proposal("gauss/peu01", bench.clock.now())).await.unwrap();
        records
            .audit(&AuditEntry {
                repository: REPOSITORY,
                proposal: Some(id("gauss/peu01", "release")),
                actor: "capstan".to_owned(),
                action: "proposal-opened",
                detail: "It's \"there\".".to_owned(),
            })
            .await
            .unwrap();

        let repositories = records.shown_repositories(&VisibleRepositories::Everything).await.unwrap();
        let [repository] = repositories.as_slice() else { unreachable!("one repository: {repositories:?}") };
        assert_eq!((repository.id, repository.name.as_str()), (REPOSITORY, "acme/gitops"));
        assert_eq!(repository.job.state, JobState::Queued);
        assert_eq!(repository.job.finished_at, None);
        let shown = |path: &str, kind: &str, state: &str, reason: &str| ShownTarget {
            repository: REPOSITORY,
            repository_name: "acme/gitops".to_owned(),
            target: path.to_owned(),
            kind: kind.to_owned(),
            state: state.to_owned(),
            reason: reason.to_owned(),
            at: None,
            offered: None,
            hold: None,
            since: Some(bench.clock.now()),
            kubernetes: None,
            kubernetes_offered: None,
            wave: None,
            machines: None,
            more_machines: false,
            pull_request: None,
            check: None,
            rollout: None,
        };
        let all = ListExtent { skip: 0, take: 10 };
        let targets =
            records.targets(&VisibleRepositories::Everything, &ClusterFilter::default(), all).await.unwrap();
        assert_eq!(
            targets,
            [
                ShownTarget {
                    pull_request: Some(12),
                    offered: Some("aws/v22.0.0".to_owned()),
                    ..shown("gauss/peu01", "release", "proposed", "open")
                },
                shown("gauss/peu01", "values", "blocked", "It blocks."),
                shown("gauss/peu02", "release", "waiting", "20 proposals are open"),
            ]
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_age_of_the_oldest_due_job_is_reported() {
    each_engine(async |bench| {
        let name = RepositoryName::parse("acme/gitops").unwrap();
        let request = JobRequest { repository: 1, installation: 7, name, cause: JobCause::Event };
        bench.database.enqueue(&request).await.unwrap();
        bench.clock.advance(Duration::from_secs(90));
        let counts = bench.database.job_counts().await.unwrap();
        assert_eq!((counts.queued, counts.running, counts.oldest_due_ms), (1, 0, 90_000));
        bench.database.ping().await.unwrap();
        bench.database.close().await;
        bench.database.ping().await.unwrap_err();
    })
    .await;
}
