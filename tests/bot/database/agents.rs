//! What only the records of agents can show: keys, tokens, leases, and what is forgotten.

use std::time::Duration;

use capstan_live::agent::permission::ManagedBy;
use capstan_live::agent::{
    AgentId, PreflightAnswer, PreflightId, PreflightState, Progress, PublicKey, ReportId, RolloutReport,
    RolloutState,
};
use capstan_model::ids::ClusterId;
use capstan_model::tree::{CommitId, RepoPath};
use capstan_plan::settings::{ManagementClusterUid, RepositoryName as SettingsName};
use capstan_ports::{
    Agent, AgentWork, Clock, Enrolled, Enrolment, FollowedCluster, FollowedMerge, Invitation, MergeSettled,
    PreflightRecord, ReportReceipt, ReportedToGitHub, Repository, RepositoryName, RolloutRecords, TokenUse,
    WatchedRepository,
};
use jiff::SignedDuration;

use super::each_engine;
use super::engines::Bench;

/// Larger than any 32-bit number: GitHub's ids are past that.
const REPOSITORY: u64 = 1 << 40;
const UID: &str = "6f1c2d3e-0000-4000-8000-00000000000A";

fn agent_id(digit: char) -> AgentId {
    AgentId::parse(&format!("0{}", digit.to_string().repeat(25))).unwrap()
}

fn uid() -> ManagementClusterUid {
    ManagementClusterUid::parse(UID).unwrap()
}

fn commit(digit: &str) -> CommitId {
    CommitId::parse(&digit.repeat(40)).unwrap()
}

fn cluster(id: &str) -> ClusterId {
    ClusterId::new(RepoPath::parse(id).unwrap())
}

fn agent(bench: &Bench, digit: char) -> Agent {
    Agent {
        id: agent_id(digit),
        management_cluster: uid(),
        name: "mc-eu".to_owned(),
        public_key: PublicKey::new([u8::try_from(digit).unwrap(); 32]),
        invited_by: String::new(),
        enrolled_at: bench.clock.now(),
        seen_at: None,
        revoked_at: None,
    }
}

/// Makes an agent known, beside others of its management cluster.
async fn enrol(bench: &Bench, agent: &Agent) {
    let invitation = Invitation {
        hash: agent.id.to_string(),
        management_cluster: uid(),
        agent: Some(format!("agent-{}", agent.id)),
        invited_by: "ada@bot".to_owned(),
        expires_at: bench.clock.now() + SignedDuration::from_hours(1),
    };
    bench.database.save_invitation(&invitation).await.unwrap();
    assert_eq!(bench.database.enrol(agent.id.as_str(), agent).await.unwrap(), Enrolled::Yes);
}

fn watched(tip: &str) -> WatchedRepository {
    WatchedRepository {
        repository: Repository {
            id: REPOSITORY,
            installation: 7,
            name: RepositoryName::parse("Acme/GitOps").unwrap(),
            default_branch: "main".to_owned(),
            archived: false,
            fork: false,
            node_id: "R_1".to_owned(),
            clone_url: "https://github.com/Acme/GitOps.git".to_owned(),
            html_url: "https://github.com/Acme/GitOps".to_owned(),
        },
        tip: commit(tip),
        managed_by: ManagedBy::default(),
    }
}

fn report(number: u32, state: RolloutState) -> RolloutReport {
    RolloutReport {
        id: ReportId::parse(&format!("{number:026}")).unwrap(),
        repository: SettingsName::parse("acme/gitops").unwrap(),
        cluster: cluster("gauss/peu01"),
        attempted: commit("a"),
        applied: None,
        state,
        observed_at: "2026-11-21T12:00:00Z".parse().unwrap(),
        since: None,
        words: None,
        reasons: vec![],
        wanted: 3,
        ready: 1,
        machines: vec![],
        machines_left_out: 0,
        kubeconfig: None,
        names: vec![],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_key_stays() {
    each_engine(async |bench| {
        let records = &bench.database;
        assert_eq!(records.signing_key("x", &[0, 127, 255]).await.unwrap(), [0, 127, 255]);
        assert_eq!(bench.reopened().await.signing_key("x", &[1]).await.unwrap(), [0, 127, 255]);
        assert_eq!(records.signing_key("y", &[1]).await.unwrap(), [1]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_have_one_code_one_enrols() {
    each_engine(async |bench| {
        let records = &bench.database;
        let invitation = Invitation {
            hash: "h".to_owned(),
            management_cluster: ManagementClusterUid::parse(&UID.to_lowercase()).unwrap(),
            agent: None,
            invited_by: "ada@bot".to_owned(),
            expires_at: bench.clock.now() + SignedDuration::from_hours(1),
        };
        records.save_invitation(&invitation).await.unwrap();
        let mut tries = tokio::task::JoinSet::new();
        for digit in '1'..='8' {
            let (database, agent) = (bench.database.clone(), agent(&bench, digit));
            tries.spawn(async move { database.enrol("h", &agent).await.unwrap() });
        }
        let outcomes = tries.join_all().await;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Enrolled::Yes).count(), 1, "{outcomes:?}");
        assert_eq!(records.agents().await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_remembered_while_they_last_and_bounded() {
    each_engine(async |bench| {
        let records = &bench.database;
        let (one, other) = (agent_id('1'), agent_id('2'));
        let until = bench.clock.now() + SignedDuration::from_secs(60);
        for (agent, jti, outcome) in [
            (&one, "a", TokenUse::First),
            (&one, "a", TokenUse::Replayed),
            (&other, "a", TokenUse::First),
            (&one, "b", TokenUse::First),
            (&one, "c", TokenUse::TooMany),
        ] {
            assert_eq!(records.use_token(agent, jti, until, 2).await.unwrap(), outcome, "{agent} {jti}");
        }
        bench.clock.advance(Duration::from_secs(60));
        let later = bench.clock.now() + SignedDuration::from_secs(60);
        assert_eq!(records.use_token(&one, "c", later, 2).await.unwrap(), TokenUse::First);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_come_at_once_are_counted_one_after_the_other() {
    each_engine(async |bench| {
        let one = agent(&bench, '1');
        enrol(&bench, &one).await;
        let until = bench.clock.now() + SignedDuration::from_secs(60);
        let mut uses = tokio::task::JoinSet::new();
        for number in 0..16 {
            let (database, id) = (bench.database.clone(), one.id.clone());
            uses.spawn(async move { database.use_token(&id, &number.to_string(), until, 8).await.unwrap() });
        }
        let outcomes = uses.join_all().await;
        let count = |wanted: TokenUse| outcomes.iter().filter(|outcome| **outcome == wanted).count();
        assert_eq!((count(TokenUse::First), count(TokenUse::TooMany)), (8, 8), "{outcomes:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_at_a_time_holds_a_lease() {
    each_engine(async |bench| {
        let records = &bench.database;
        assert!(records.hold_lease("x", "one", 10).await.unwrap());
        assert!(!records.hold_lease("x", "two", 10).await.unwrap());
        assert!(records.hold_lease("y", "two", 10).await.unwrap());
        bench.clock.advance(Duration::from_secs(9));
        assert!(records.hold_lease("x", "one", 10).await.unwrap(), "renewed");
        bench.clock.advance(Duration::from_secs(9));
        assert!(!records.hold_lease("x", "two", 10).await.unwrap());
        bench.clock.advance(Duration::from_secs(1));
        assert!(records.hold_lease("x", "two", 10).await.unwrap());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_found_by_its_name_and_commits_stay_known() {
    each_engine(async |bench| {
        let records = &bench.database;
        assert!(records.watch_repository(&watched("a")).await.unwrap());
        assert!(!records.watch_repository(&watched("a")).await.unwrap(), "nothing new");
        assert!(records.watch_repository(&watched("b")).await.unwrap());
        assert_eq!(records.watched_repository("aCME/gitops").await.unwrap(), Some(watched("b")));
        assert_eq!(records.watched_repository("acme/other").await.unwrap(), None);
        assert!(records.was_tip(REPOSITORY, &commit("a")).await.unwrap());
        assert!(!records.was_tip(REPOSITORY, &commit("c")).await.unwrap());
        bench.clock.advance(Duration::from_secs(61 * 24 * 3600));
        records.forget_old().await.unwrap();
        assert!(!records.was_tip(REPOSITORY, &commit("a")).await.unwrap());
        assert!(records.was_tip(REPOSITORY, &commit("b")).await.unwrap(), "the tip is never forgotten");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_wait_only_while_somebody_follows_and_only_if_they_are_newer() {
    each_engine(async |bench| {
        let records = &bench.database;
        records.watch_repository(&watched("a")).await.unwrap();
        let one = agent(&bench, '1');
        enrol(&bench, &one).await;
        let take = async |number, state| {
            let reports = [report(number, state)];
            let heard = records.take_reports(REPOSITORY, &one, "mc-eu", &reports).await.unwrap();
            assert_eq!(heard, ReportReceipt::Stored);
        };
        take(1, RolloutState::Rolling).await;
        assert_eq!(records.pending_reports(REPOSITORY).await.unwrap(), [], "nobody follows");
        let merge = FollowedMerge {
            repository: REPOSITORY,
            pull_request: 12,
            head: commit("b"),
            merge_commit: commit("a"),
            merged_at: bench.clock.now(),
            reported: ReportedToGitHub::default(),
            clusters: vec![FollowedCluster {
                cluster: cluster("gauss/peu01"),
                management_cluster: ManagementClusterUid::parse(&UID.to_lowercase()).unwrap(),
                name: "mc-eu".to_owned(),
                progress: Progress::waiting(bench.clock.now()),
            }],
        };
        records.follow_merge(&merge).await.unwrap();
        records.follow_merge(&FollowedMerge { head: commit("f"), ..merge.clone() }).await.unwrap();
        assert_eq!(records.open_merges().await.unwrap(), [(watched("a"), merge.clone())]);
        for (number, state) in [
            (3, RolloutState::Stuck),
            (2, RolloutState::Rolling),
            (3, RolloutState::Done),
            (4, RolloutState::Done),
        ] {
            take(number, state).await;
        }
        let pending = records.pending_reports(REPOSITORY).await.unwrap();
        let said: Vec<_> = pending.iter().map(|one| (one.report.id.to_string(), one.report.state)).collect();
        assert_eq!(
            said,
            [(format!("{:026}", 3), RolloutState::Stuck), (format!("{:026}", 4), RolloutState::Done)]
        );
        let standing = &records.standings(REPOSITORY).await.unwrap()[0];
        assert_eq!((standing.0.as_str(), standing.1.report.state), ("gauss/peu01", RolloutState::Done));

        let mut told = merge.clone();
        told.reported = ReportedToGitHub {
            check_run: Some(REPOSITORY),
            check: "digest".to_owned(),
            completed: true,
            at: Some(bench.clock.now()),
            status: "success: x".to_owned(),
        };
        told.clusters[0].progress = told.clusters[0].progress.after(None, &pending[1].report).unwrap();
        records.save_merge(&told, MergeSettled::NotYet).await.unwrap();
        records.use_up_reports(&pending).await.unwrap();
        assert_eq!(bench.reopened().await.open_merges().await.unwrap(), [(watched("a"), told.clone())]);
        assert_eq!(records.pending_reports(REPOSITORY).await.unwrap(), []);
        records.save_merge(&told, MergeSettled::Yes).await.unwrap();
        assert_eq!(records.open_merges().await.unwrap(), []);
        assert_eq!(records.followed_pull_requests(REPOSITORY).await.unwrap(), [12]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn order_counts_within_one_agent_and_revoking_forgets_what_it_said() {
    each_engine(async |bench| {
        let records = &bench.database;
        let (one, other) = (agent(&bench, '1'), agent(&bench, '2'));
        enrol(&bench, &one).await;
        enrol(&bench, &other).await;
        let take = async |agent, number, state| {
            let reports = [report(number, state)];
            let heard = records.take_reports(REPOSITORY, agent, "mc-eu", &reports).await.unwrap();
            assert_eq!(heard, ReportReceipt::Stored);
        };
        let stands = async || {
            let standings = records.standings(REPOSITORY).await.unwrap();
            standings
                .into_iter()
                .map(|(_, standing)| (standing.agent, standing.report.state))
                .collect::<Vec<_>>()
        };
        // An agent with much higher ids does not block reports of others, and its own reports with older ids are
        // ignored.
        take(&one, 9_000, RolloutState::Done).await;
        take(&one, 5, RolloutState::Stuck).await;
        assert_eq!(stands().await, [(Some(one.id.clone()), RolloutState::Done)]);
        take(&other, 5, RolloutState::Stuck).await;
        assert_eq!(stands().await, [(Some(other.id.clone()), RolloutState::Stuck)]);
        take(&other, 4, RolloutState::Done).await;
        assert_eq!(stands().await, [(Some(other.id.clone()), RolloutState::Stuck)]);

        assert!(records.revoke(&one.id, "ada@bot").await.unwrap());
        assert_eq!(stands().await.len(), 1, "what another says stands");
        assert!(records.revoke(&other.id, "ada@bot").await.unwrap());
        assert_eq!(stands().await, []);
    })
    .await;
}

/// A request that was believed before its agent was revoked, and comes to its end after that.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_an_agent_is_stored_once_it_is_revoked() {
    each_engine(async |bench| {
        let records = &bench.database;
        let (one, id) = (agent(&bench, '1'), PreflightId::parse(&"1".repeat(26)).unwrap());
        enrol(&bench, &one).await;
        let asked = PreflightRecord {
            id: id.clone(),
            repository: REPOSITORY,
            head: commit("b"),
            commit: commit("b"),
            content: String::new(),
            standing: String::new(),
            management_cluster: uid(),
            clusters: vec![cluster("gauss/peu01")],
            asked_at: bench.clock.now(),
            until: bench.clock.now(),
            state: PreflightState::Asked,
        };
        records.save_preflight(&asked).await.unwrap();
        let answer = PreflightAnswer { duration_ms: 1, clusters: vec![] };
        let reports = [report(1, RolloutState::Done)];
        assert!(records.revoke(&one.id, "ada@bot").await.unwrap());

        let heard = records.take_reports(REPOSITORY, &one, "mc-eu", &reports).await.unwrap();
        assert_eq!((heard, records.standings(REPOSITORY).await.unwrap()), (ReportReceipt::Revoked, vec![]));
        assert_eq!(records.answer_preflight(&id, &one.id, &answer).await.unwrap(), ReportReceipt::Revoked);
        assert_eq!(records.preflight(&id).await.unwrap().unwrap().state, PreflightState::Asked);

        let other = agent(&bench, '2');
        enrol(&bench, &other).await;
        assert_eq!(records.answer_preflight(&id, &other.id, &answer).await.unwrap(), ReportReceipt::Stored);
        assert_eq!(
            records.answer_preflight(&id, &other.id, &answer).await.unwrap(),
            ReportReceipt::NotAwaited
        );
    })
    .await;
}

/// Whatever the order of the two, nothing of a revoked agent remains.
#[tokio::test(flavor = "multi_thread")]
async fn reports_that_race_with_the_revocation_of_their_agent_are_gone_with_it() {
    each_engine(async |bench| {
        for digit in '1'..='9' {
            let one = agent(&bench, digit);
            enrol(&bench, &one).await;
            let mut saying = tokio::task::JoinSet::new();
            for number in 1..=8 {
                let (database, agent) = (bench.database.clone(), one.clone());
                saying.spawn(async move {
                    let reports = [report(number, RolloutState::Done)];
                    database.take_reports(REPOSITORY, &agent, "mc-eu", &reports).await.unwrap()
                });
            }
            assert!(bench.database.revoke(&one.id, "ada@bot").await.unwrap());
            saying.join_all().await;
            assert_eq!(bench.database.standings(REPOSITORY).await.unwrap(), []);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures a run's reading of a large fleet; `--ignored --nocapture` shows the figures"]
async fn the_standings_of_ten_thousand_clusters_are_read() {
    each_engine(async |bench| {
        let records = &bench.database;
        let one = agent(&bench, '1');
        enrol(&bench, &one).await;
        for hundred in 0..100 {
            let reports: Vec<RolloutReport> = (0..100)
                .map(|one| {
                    let number = hundred * 100 + one;
                    let of = cluster(&format!("gauss/peu{number:05}"));
                    RolloutReport { cluster: of, ..report(number, RolloutState::Done) }
                })
                .collect();
            records.take_reports(REPOSITORY, &one, "mc-eu", &reports).await.unwrap();
        }
        let begun = std::time::Instant::now();
        assert_eq!(records.standings(REPOSITORY).await.unwrap().len(), 10_000);
        println!("standings: {:?}", begun.elapsed());
    })
    .await;
}
