//! What the pages read, on both engines: narrowed, in parts, and only what may be seen.

use std::collections::BTreeSet;
use std::time::Duration;

use capstan_bot::intake::{DeliveryReading, DeliveryStore as _, read_delivery};
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::tree::CommitId;
use capstan_model::version::KubernetesVersion;
use capstan_plan::proposal::ProposalId;
use capstan_ports::{
    Again, AuditFilter, CampaignLimits, CampaignRecord, CampaignTarget, Clock as _, ClusterFilter,
    ClusterOrder, DeliveryFilter, DeliveryOutcome, FleetFacts, JobCause, JobRequest, Jobs as _, ListExtent,
    PageRecords as _, ProposalRecord, Records as _, RepositoryName, SortKey, VisibleRepositories, WavePlace,
};
use capstan_report::ProposalState;

use super::{Bench, each_engine};

/// Larger than any 32-bit number: GitHub's ids are past that.
const ONE: u64 = 1 << 40;
const OTHER: u64 = (1 << 40) + 1;
const GUID: &str = "11111111-1111-4111-8111-111111111111";
const ALL: ListExtent = ListExtent { skip: 0, take: 10 };

async fn fill(bench: &Bench) {
    for (repository, name, targets) in [
        (
            ONE,
            "acme/gitops",
            vec![("gauss/peu01", "held", "Überprüfung"), ("gauss/peu_2", "current", "100% `there`")],
        ),
        (OTHER, "acme/secret", vec![("noether/Vault", "current", "")]),
    ] {
        let name = RepositoryName::parse(name).unwrap();
        let request = JobRequest { repository, installation: 7, name, cause: JobCause::Start };
        bench.database.enqueue(&request).await.unwrap();
        let target = |(path, state, reason): (&str, &str, &str)| CampaignTarget {
            target: Target::parse(path).unwrap(),
            state: ProposalState::parse(state).unwrap(),
            reason: reason.to_owned(),
            at: Some("aws/v21.0.0".to_owned()),
            offered: None,
            hold: (state == "held").then(|| "On hold by `ada` until 2026-12-01: audit.".to_owned()),
            facts: FleetFacts::default(),
        };
        let campaign = CampaignRecord {
            kind: SourceKind::RELEASE,
            source: "aws/v22.0.0@9d1f".to_owned(),
            limits: Some(CampaignLimits { open: 20, per_hour: 5 }),
            targets: targets.into_iter().map(target).collect(),
        };
        bench.database.save_campaigns(repository, &[campaign]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_are_narrowed_and_what_may_not_be_seen_is_left_out() {
    each_engine(async |bench| {
        fill(&bench).await;
        let records = &bench.database;
        let one = VisibleRepositories::Repositories(BTreeSet::from([ONE]));
        let nothing = VisibleRepositories::Repositories(BTreeSet::new());
        let all = VisibleRepositories::Everything;
        let filter = |text: &str, state: &str, repository: &str| ClusterFilter {
            text: text.to_owned(),
            state: state.to_owned(),
            repository: repository.to_owned(),
            ..ClusterFilter::default()
        };
        let cases: [(&VisibleRepositories, ClusterFilter, &[&str]); 14] = [
            (&all, filter("", "", ""), &["gauss/peu01", "gauss/peu_2", "noether/Vault"]),
            (&one, filter("", "", ""), &["gauss/peu01", "gauss/peu_2"]),
            (&nothing, filter("", "", ""), &[]),
            (&one, filter("vault", "", ""), &[]),
            (&all, filter("VAULT v21", "", ""), &["noether/Vault"]),
            (&all, filter("peu_", "", ""), &["gauss/peu_2"]),
            (&all, filter("100%", "", ""), &["gauss/peu_2"]),
            (&all, filter("Überprüfung", "", ""), &["gauss/peu01"]),
            (&all, filter("\0", "\0", "\0"), &["gauss/peu01", "gauss/peu_2", "noether/Vault"]),
            (&all, filter("p\0eu01", "", ""), &["gauss/peu01"]),
            (&all, filter("", "held\0", ""), &["gauss/peu01"]),
            (&all, filter("", "held", ""), &["gauss/peu01"]),
            (&all, filter("", "", "ACME/secret"), &["noether/Vault"]),
            (&one, filter("", "", "acme/secret"), &[]),
        ];
        for (sight, filter, expected) in cases {
            let found = records.targets(sight, &filter, ALL).await.unwrap();
            let names: Vec<&str> = found.iter().map(|target| target.target.as_str()).collect();
            assert_eq!(names, expected, "{filter:?}");
        }
        let part = records.targets(&all, &filter("", "", ""), ListExtent { skip: 1, take: 1 }).await.unwrap();
        assert_eq!(part[0].target, "gauss/peu_2");
        let mut states = records.states(&all, &filter("", "held", "")).await.unwrap();
        states.sort();
        assert_eq!(states, [("current".to_owned(), 2), ("held".to_owned(), 1)]);
        assert_eq!(records.target(&one, "acme/gitops", "gauss/peu01").await.unwrap().len(), 1);
        assert_eq!(records.target(&one, "acme/secret", "noether/Vault").await.unwrap(), []);
        assert_eq!(records.merges(ONE, "gauss/peu01").await.unwrap(), []);
        // PostgreSQL takes no NUL; an address may hold one.
        assert_eq!(records.merges(ONE, "\0").await.unwrap(), []);
        assert_eq!(records.target(&one, "acme/gitops", "\0").await.unwrap(), []);
        assert_eq!(records.repository_of("\0").await.unwrap(), None);
        assert_eq!(records.replay("\0", "ada").await.unwrap(), Again::NotThere);
        let shown = records.shown_repositories(&one).await.unwrap();
        assert_eq!((shown.len(), shown[0].limits, shown[0].open), (1, Some((20, 5)), 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merged_proposal_is_not_counted_as_open_and_one_for_a_new_cluster_is() {
    each_engine(async |bench| {
        fill(&bench).await;
        let records = &bench.database;
        // It brought `gauss/peu01`, which has a row of the release alone since.
        for (target, kind) in [
            ("gauss/peu01", "values"),
            ("gauss/peu01", "release"),
            ("gauss/peu_2", "release"),
            ("gauss/new", "values"),
        ] {
            let proposal = ProposalRecord {
                repository: ONE,
                proposal: ProposalId {
                    target: Target::parse(target).unwrap(),
                    kind: SourceKind::parse(kind).unwrap(),
                },
                pull_request: Some(12),
                source: "aws/v22.0.0@9d1f".to_owned(),
                plan: "plan".to_owned(),
                head: CommitId::parse(&"a".repeat(40)).unwrap(),
                opened_at: bench.clock.now(),
                ended_at: None,
            };
            records.save_proposal(&proposal).await.unwrap();
        }
        let shown = records.shown_repositories(&VisibleRepositories::Everything).await.unwrap();
        let open: Vec<(&str, u64)> = shown.iter().map(|one| (one.name.as_str(), one.open)).collect();
        assert_eq!(open, [("acme/gitops", 2), ("acme/secret", 0)], "the held one, and the new cluster");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_says_what_became_of_it_and_is_replayed() {
    each_engine(async |bench| {
        fill(&bench).await;
        let records = &bench.database;
        let payload = serde_json::json!({
            "action": "created",
            "issue": {"number": 12, "pull_request": {}},
            "comment": {"id": 5},
            "repository": {"id": ONE, "full_name": "acme/gitops", "default_branch": "main"},
            "installation": {"id": 7},
            "sender": {"login": "somebody", "type": "User"},
        });
        let body = payload.to_string();
        let now = bench.clock.now();
        let Ok(DeliveryReading::Store(delivery)) = read_delivery(GUID, "issue_comment", body.as_bytes(), now)
        else {
            unreachable!("a comment is of interest")
        };
        records.store(&[*delivery]).await.unwrap();
        let all = VisibleRepositories::Everything;
        let outcome = async |expected| {
            let part = records.deliveries(&all, &DeliveryFilter::default(), ALL).await.unwrap();
            assert_eq!((part.items[0].outcome, part.more), (expected, false));
            let filter = DeliveryFilter { outcome: "done".to_owned(), ..DeliveryFilter::default() };
            let done = records.deliveries(&all, &filter, ALL).await.unwrap();
            assert_eq!(done.items.len(), usize::from(expected == DeliveryOutcome::Done));
        };
        outcome(DeliveryOutcome::Waiting).await;
        let work = async || {
            let mut jobs = Vec::new();
            while let Some(job) = records.claim("worker", Duration::from_secs(30), 8).await.unwrap() {
                jobs.push(job);
            }
            jobs
        };
        let jobs = work().await;
        outcome(DeliveryOutcome::Running).await;
        for job in &jobs {
            records.complete(job, None).await.unwrap();
        }
        outcome(DeliveryOutcome::Done).await;

        assert_eq!(records.repository_of(GUID).await.unwrap(), Some(ONE));
        assert_eq!(records.replay("none", "ada").await.unwrap(), Again::NotThere);
        assert_eq!(records.replay(GUID, "ada").await.unwrap(), Again::Queued);
        outcome(DeliveryOutcome::Waiting).await;
        let jobs = work().await;
        assert_eq!(jobs[0].hints.pull_requests, [12]);
        records.fail(&jobs[0], "the mirror is broken", None).await.unwrap();
        outcome(DeliveryOutcome::Failed).await;
        assert_eq!(records.look_again(ONE, "wim").await.unwrap(), Again::Queued);
        assert_eq!(records.look_again(99, "wim").await.unwrap(), Again::NotThere);

        let audit = async |sight: &VisibleRepositories, filter: AuditFilter| {
            let part = records.audit_trail(sight, &filter, ALL).await.unwrap();
            let said = part.items.into_iter().map(|entry| format!("{} {}", entry.actor, entry.action));
            // Entries of the same millisecond come in any order.
            said.collect::<BTreeSet<_>>()
        };
        let by = |actor: &str| AuditFilter { actor: actor.to_owned(), ..AuditFilter::default() };
        let both = ["ada delivery-replayed", "wim look-asked"].map(str::to_owned);
        assert_eq!(audit(&all, AuditFilter::default()).await, BTreeSet::from(both));
        assert_eq!(audit(&all, by("ADA")).await, BTreeSet::from(["ada delivery-replayed".to_owned()]));
        let other = VisibleRepositories::Repositories(BTreeSet::from([OTHER]));
        assert_eq!(audit(&other, AuditFilter::default()).await, BTreeSet::new());
        assert_eq!(records.deliveries(&other, &DeliveryFilter::default(), ALL).await.unwrap().items, []);
        let target = AuditFilter { target: Some("gauss/peu01".to_owned()), ..AuditFilter::default() };
        assert_eq!(audit(&all, target).await, BTreeSet::new());
    })
    .await;
}

/// Path, state, version of Kubernetes, wave with its place.
type Row<'a> = (&'a str, &'a str, Option<&'a str>, Option<(usize, &'a str)>);

#[tokio::test(flavor = "multi_thread")]
async fn the_fleet_is_sorted_counted_and_says_since_when() {
    each_engine(async |bench| {
        let records = &bench.database;
        let name = RepositoryName::parse("acme/gitops").unwrap();
        let request = JobRequest { repository: ONE, installation: 7, name, cause: JobCause::Start };
        records.enqueue(&request).await.unwrap();
        let one = |(path, state, version, wave): Row<'_>| CampaignTarget {
            target: Target::parse(path).unwrap(),
            state: ProposalState::parse(state).unwrap(),
            reason: String::new(),
            at: None,
            offered: None,
            hold: None,
            facts: FleetFacts {
                kubernetes: version.and_then(KubernetesVersion::parse),
                kubernetes_offered: None,
                wave: wave.map(|(place, name)| WavePlace { place, name: name.to_owned() }),
                machines: wave.map(|(place, _)| u32::try_from(place).unwrap() + 3),
                more_machines: false,
            },
        };
        let save = async |rows: &[Row<'_>]| {
            let kind = SourceKind::RELEASE;
            let targets = rows.iter().map(|row| one(*row)).collect();
            let campaign = CampaignRecord { kind, source: String::new(), limits: None, targets };
            records.save_campaigns(ONE, &[campaign]).await.unwrap();
        };
        let noon = bench.clock.now();
        save(&[
            ("a/1", "current", Some("v1.31.10"), Some((1, "all"))),
            ("a/2", "blocked", Some("v1.31.9"), Some((0, "canary"))),
            ("b/3", "proposed", None, None),
        ])
        .await;
        let in_order = async |key, is_reversed| {
            let order = ClusterOrder { key, is_reversed };
            let filter = ClusterFilter { order, ..ClusterFilter::default() };
            let shown = records.targets(&VisibleRepositories::Everything, &filter, ALL).await.unwrap();
            shown.into_iter().map(|one| one.target).collect::<Vec<_>>().join(" ")
        };
        for (key, forward, reversed) in [
            (SortKey::Need, "a/2 b/3 a/1", "a/1 b/3 a/2"),
            (SortKey::Cluster, "a/1 a/2 b/3", "b/3 a/2 a/1"),
            // What is not known comes last, either way.
            (SortKey::Kubernetes, "a/2 a/1 b/3", "a/1 a/2 b/3"),
            (SortKey::Wave, "a/2 a/1 b/3", "a/1 a/2 b/3"),
            (SortKey::Machines, "a/2 a/1 b/3", "a/1 a/2 b/3"),
            (SortKey::Since, "a/1 a/2 b/3", "a/1 a/2 b/3"),
            (SortKey::Release, "a/1 a/2 b/3", "a/1 a/2 b/3"),
            (SortKey::Proposal, "a/1 a/2 b/3", "a/1 a/2 b/3"),
            (SortKey::Check, "a/1 a/2 b/3", "a/1 a/2 b/3"),
        ] {
            assert_eq!(
                (in_order(key, false).await, in_order(key, true).await),
                (forward.to_owned(), reversed.to_owned()),
                "{key:?}"
            );
        }
        let mut versions =
            records.versions(&VisibleRepositories::Everything, &ClusterFilter::default()).await.unwrap();
        versions.sort_by(|a, b| a.version.cmp(&b.version));
        let versions: Vec<_> = versions.iter().map(|one| (one.version.as_deref(), one.clusters)).collect();
        assert_eq!(versions, [(None, 1), (Some("v1.31.10"), 1), (Some("v1.31.9"), 1)]);
        let nobody = VisibleRepositories::Repositories(BTreeSet::new());
        assert_eq!(records.versions(&nobody, &ClusterFilter::default()).await.unwrap(), []);
        assert_eq!(records.rolling(&nobody, ALL).await.unwrap().items, []);

        // A state that stays keeps its beginning, however the rows are written.
        let stamp = records.stamp(&VisibleRepositories::Everything).await.unwrap();
        let since = async || {
            let shown = records
                .targets(&VisibleRepositories::Everything, &ClusterFilter::default(), ALL)
                .await
                .unwrap();
            shown.into_iter().map(|one| one.since.unwrap()).collect::<Vec<_>>()
        };
        bench.clock.advance(Duration::from_secs(60));
        let later = bench.clock.now();
        save(&[
            ("a/1", "current", Some("v1.32.0"), None),
            ("a/2", "proposed", Some("v1.31.9"), None),
            ("b/3", "proposed", None, None),
        ])
        .await;
        assert_eq!(since().await, [noon, later, noon]);
        let campaign = CampaignRecord {
            kind: SourceKind::RELEASE,
            source: "another".to_owned(),
            limits: None,
            targets: ["a/1", "a/2"].map(|path| one((path, "proposed", None, None))).into(),
        };
        bench.clock.advance(Duration::from_secs(60));
        records.save_campaigns(ONE, &[campaign]).await.unwrap();
        assert_eq!(since().await, [bench.clock.now(), later]);
        assert_eq!(records.stamp(&VisibleRepositories::Everything).await.unwrap(), stamp);
        records.enqueue(&request).await.unwrap();
        assert_ne!(records.stamp(&VisibleRepositories::Everything).await.unwrap(), stamp);
    })
    .await;
}
