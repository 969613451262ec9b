//! PostgreSQL goes away in the middle of a write: nothing is half written, and the same write is done again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use capstan_bot::intake::{Delivery, DeliveryHint, DeliveryStore as _, Event, NamedRepository};
use capstan_database::Database;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::version::KubernetesVersion;
use capstan_ports::{
    CampaignRecord, CampaignTarget, ClusterFilter, FleetFacts, Jobs as _, Lease, ListExtent,
    PageRecords as _, Records as _, RepositoryName, SystemClock, VisibleRepositories, WavePlace,
};
use capstan_report::ProposalState;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

use super::engines::fresh_postgres;

/// When a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cut {
    /// Before PostgreSQL receives the message.
    Before,
    /// After PostgreSQL received the message, and before Capstan reads the answer.
    After,
}

/// The wire between Capstan and PostgreSQL.
struct Wire {
    /// How many messages of Capstan's still pass. The next cut its connection, and then all is well again.
    left: AtomicI64,
    after: AtomicBool,
}

impl Wire {
    fn cut_at(&self, message: i64, cut: Cut) {
        self.after.store(cut == Cut::After, Ordering::SeqCst);
        self.left.store(message, Ordering::SeqCst);
    }

    /// Whether nothing was cut. From now on nothing is.
    fn is_whole(&self) -> bool {
        self.left.swap(i64::MAX, Ordering::SeqCst) != i64::MAX
    }

    /// Whether this message is the one.
    fn is_cut_now(&self) -> bool {
        let left = self.left.load(Ordering::SeqCst);
        if left == i64::MAX {
            return false;
        }
        self.left.store(if left == 0 { i64::MAX } else { left - 1 }, Ordering::SeqCst);
        left == 0
    }
}

/// A message of PostgreSQL's protocol; those that begin a connection have no kind
/// (<https://www.postgresql.org/docs/current/protocol-message-formats.html>).
async fn message(from: &mut (impl AsyncRead + Unpin), has_kind: bool) -> std::io::Result<Vec<u8>> {
    let head = if has_kind { 5 } else { 4 };
    let mut bytes = vec![0; head];
    from.read_exact(&mut bytes).await?;
    let length = u32::from_be_bytes(*bytes.last_chunk().unwrap());
    bytes.resize(head + length as usize - 4, 0);
    from.read_exact(&mut bytes[head..]).await?;
    Ok(bytes)
}

/// Until the connection is cut, or one of the two ends it.
async fn carry(mut near: UnixStream, mut far: UnixStream, wire: Arc<Wire>) -> std::io::Result<()> {
    const WANTS_TLS: u32 = 80_877_103;
    loop {
        let first = message(&mut near, false).await?;
        far.write_all(&first).await?;
        if first.get(4..8) != Some(&WANTS_TLS.to_be_bytes()) {
            break;
        }
        let mut answer = [0];
        far.read_exact(&mut answer).await?;
        near.write_all(&answer).await?;
    }
    let (mut near, mut heard) = near.into_split();
    let (mut answers, mut far) = far.into_split();
    let telling = async {
        loop {
            let told = message(&mut near, true).await?;
            let is_cut = wire.is_cut_now();
            if !is_cut || wire.after.load(Ordering::SeqCst) {
                far.write_all(&told).await?;
            }
            if is_cut {
                return Ok(());
            }
        }
    };
    tokio::select! {
        told = telling => told,
        heard = tokio::io::copy(&mut answers, &mut heard) => heard.map(drop),
    }
}

/// A way to the database behind this URL that can be cut.
fn wired(url: &str, folder: &Path) -> (String, Arc<Wire>) {
    let (before, socket) = url.split_once("?host=").unwrap();
    let far = PathBuf::from(socket).join(".s.PGSQL.5432");
    let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
    let wire = Arc::new(Wire { left: AtomicI64::new(i64::MAX), after: AtomicBool::new(false) });
    let here = Arc::clone(&wire);
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let far = UnixStream::connect(&far).await.unwrap();
            tokio::spawn(carry(near, far, Arc::clone(&here)));
        }
    });
    (format!("{before}?host={}", folder.display()), wire)
}

fn deliveries(repository: u64) -> Vec<Delivery> {
    let of = |number: u64| Delivery {
        guid: format!("{repository}-{number}"),
        event: Event::IssueComment,
        action: "created".to_owned(),
        installation: 7,
        repositories: vec![NamedRepository {
            id: repository,
            name: RepositoryName::parse(&format!("acme/gitops-{repository}")).unwrap(),
        }],
        hint: DeliveryHint { pull_request: Some(number), comment: Some(number), ..DeliveryHint::default() },
        received_at: "2026-11-21T12:00:00Z".parse().unwrap(),
    };
    (1..=3).map(of).collect()
}

fn campaign(state: &str) -> CampaignRecord {
    let one = |number: usize| CampaignTarget {
        target: Target::parse(&format!("gauss/c{number:03}")).unwrap(),
        state: ProposalState::parse(state).unwrap(),
        reason: format!("It is {state}."),
        at: Some("aws/v1.0.0".to_owned()),
        offered: None,
        hold: None,
        facts: FleetFacts {
            kubernetes: KubernetesVersion::parse("v1.31.2"),
            kubernetes_offered: KubernetesVersion::parse("v1.32.0"),
            wave: Some(WavePlace { place: 1, name: "all".to_owned() }),
            machines: Some(3),
            more_machines: true,
        },
    };
    CampaignRecord {
        kind: SourceKind::parse("release").unwrap(),
        source: format!("aws/{state}"),
        limits: None,
        targets: (0..40).map(one).collect(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_cut_in_a_write_leaves_nothing_half_written_and_it_is_done_again() {
    let Some(url) = fresh_postgres().await else {
        println!("SKIPPED: PostgreSQL is not installed");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (through, wire) = wired(&url, folder.path());
    let bot = Database::open(&through, Arc::new(SystemClock)).await.unwrap();
    let pool = sqlx::PgPool::connect(&url).await.unwrap();
    // The server still processes what it received before the cut. The outcome is known only after that.
    let has_settled = async || {
        let sql = "SELECT COUNT(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()
                     AND state IN ('active', 'idle in transaction', 'idle in transaction (aborted)')";
        while sqlx::query_scalar::<_, i64>(sql).fetch_one(&pool).await.unwrap() > 0 {
            tokio::task::yield_now().await;
        }
    };
    // What is seen of both tables is one state.
    let stored = async |repository: i64| -> (i64, i64) {
        let sql = "SELECT (SELECT COUNT(*) FROM deliveries WHERE repository = $1),
                          (SELECT COUNT(*) FROM jobs WHERE repository = $1 AND state = 'queued')";
        sqlx::query_as(sql).bind(repository).fetch_one(&pool).await.unwrap()
    };
    let states = async |repository: i64| -> Vec<(String, String, i64)> {
        let sql = "SELECT campaigns.source, campaign_targets.state, COUNT(*) FROM campaigns
                   JOIN campaign_targets ON campaign_targets.repository = campaigns.repository
                   WHERE campaigns.repository = $1 GROUP BY 1, 2";
        sqlx::query_as(sql).bind(repository).fetch_all(&pool).await.unwrap()
    };
    // The job, and how many deliveries still wait for it.
    let standing = async |repository: i64| -> (String, i64) {
        let sql = "SELECT (SELECT state FROM jobs WHERE repository = $1),
                          (SELECT COUNT(*) FROM deliveries WHERE repository = $1 AND state = 'waiting')";
        sqlx::query_as(sql).bind(repository).fetch_one(&pool).await.unwrap()
    };
    let kept = |state: &str| vec![(format!("aws/{state}"), state.to_owned(), 40)];
    let mut repository = 0;
    let mut failures = 0;
    for cut in [Cut::Before, Cut::After] {
        for at in 0.. {
            repository += 1;
            let row = i64::try_from(repository).unwrap();
            let batch = deliveries(repository);
            wire.cut_at(at, cut);
            let said = bot.store(&batch).await;
            let is_whole = wire.is_whole();
            failures += usize::from(said.is_err());
            has_settled().await;
            let there = stored(row).await;
            assert!(
                there == (3, 1) || (there == (0, 0) && said.is_err()),
                "{cut:?} {at}: {there:?} {said:?}"
            );
            // It is sent again, by GitHub, which received no 202, or because the bot asks for what it lacks.
            bot.store(&batch).await.unwrap();
            assert_eq!(stored(row).await, (3, 1), "{cut:?} {at}");
            let job = bot.claim("worker", Duration::from_secs(30), 8).await.unwrap().unwrap();
            assert_eq!((job.repository, job.hints.comments.len()), (repository, 3), "{cut:?} {at}");

            // And rows of two tables that all change.
            bot.save_campaigns(repository, &[campaign("waiting")]).await.unwrap();
            wire.cut_at(at, cut);
            let said = bot.save_campaigns(repository, &[campaign("proposed")]).await;
            let is_whole = wire.is_whole() && is_whole;
            failures += usize::from(said.is_err());
            has_settled().await;
            let there = states(row).await;
            assert!(
                there == kept("proposed") || (there == kept("waiting") && said.is_err()),
                "{cut:?} {at}: {there:?} {said:?}"
            );
            bot.save_campaigns(repository, &[campaign("proposed")]).await.unwrap();
            assert_eq!(states(row).await, kept("proposed"), "{cut:?} {at}");
            let all = ListExtent { skip: 0, take: 100 };
            let shown =
                bot.targets(&VisibleRepositories::Everything, &ClusterFilter::default(), all).await.unwrap();
            assert_eq!(shown[0].kubernetes_offered.as_deref(), Some("v1.32.0"), "{cut:?} {at}");

            // The end of a job: it has ended with all its deliveries, or it still runs with all of them.
            wire.cut_at(at, cut);
            let said = bot.complete(&job, None).await;
            let is_whole = wire.is_whole() && is_whole;
            failures += usize::from(said.is_err());
            has_settled().await;
            let there = standing(row).await;
            let (ended, goes_on) = (("idle".to_owned(), 0), ("running".to_owned(), 3));
            assert!(
                there == ended || (there == goes_on && said.is_err()),
                "{cut:?} {at}: {there:?} {said:?}"
            );
            assert!(matches!(said, Err(_) | Ok(Lease::Held)), "{cut:?} {at}: {said:?}");
            // A second attempt ends a job that still runs. If the job has ended already, the lease is lost.
            let lease = bot.complete(&job, None).await.unwrap();
            assert_eq!(lease, if there == ended { Lease::Lost } else { Lease::Held }, "{cut:?} {at}");
            assert_eq!(standing(row).await, ended, "{cut:?} {at}");
            if is_whole {
                break;
            }
            assert!(at < 400, "it never comes through");
        }
    }
    assert!(failures > 10, "{failures}");
}

/// As the bot does that repeats a write while the server still commits the first one.
#[tokio::test(flavor = "multi_thread")]
async fn two_that_write_campaigns_at_once_both_succeed_and_one_is_kept_whole() {
    let Some(url) = fresh_postgres().await else {
        println!("SKIPPED: PostgreSQL is not installed");
        return;
    };
    let bot = Database::open(&url, Arc::new(SystemClock)).await.unwrap();
    let pool = sqlx::PgPool::connect(&url).await.unwrap();
    let of = |kind: &str, state: &str| CampaignRecord {
        kind: SourceKind::parse(kind).unwrap(),
        ..campaign(state)
    };
    // With nothing stored before in odd rounds, and with two kinds of source in even ones, of which each writer drops one.
    for repository in 1..=40_u64 {
        if repository % 2 == 0 {
            let before = [of("release", "waiting"), of("values", "waiting")];
            bot.save_campaigns(repository, &before).await.unwrap();
        }
        let second = if repository % 4 == 0 { "values" } else { "release" };
        let (one, other) = ([of("release", "proposed")], [of(second, "current")]);
        let (one, other) =
            tokio::join!(bot.save_campaigns(repository, &one), bot.save_campaigns(repository, &other));
        assert!(one.is_ok() && other.is_ok(), "{repository}: {one:?} {other:?}");
        let sql =
            "SELECT campaigns.source_kind, campaigns.source, campaign_targets.state, COUNT(*) FROM campaigns
                   JOIN campaign_targets USING (repository, source_kind)
                   WHERE repository = $1 GROUP BY 1, 2, 3 ORDER BY 1";
        let kept: Vec<(String, String, String, i64)> =
            sqlx::query_as(sql).bind(repository.cast_signed()).fetch_all(&pool).await.unwrap();
        let row = |kind: &str, state: &str| (kind.to_owned(), format!("aws/{state}"), state.to_owned(), 40);
        assert!(
            kept == [row("release", "proposed")] || kept == [row(second, "current")],
            "{repository}: {kept:?}"
        );
    }
}
