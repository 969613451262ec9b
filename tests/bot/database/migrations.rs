//! What an older Capstan wrote is found again.

use std::sync::Arc;

use capstan_database::Database;
use capstan_model::target::Target;
use capstan_model::tree::CommitId;
use capstan_plan::proposal::ProposalId;
use capstan_ports::{
    ClusterFilter, ListExtent, PageRecords as _, ProposalRecord, Records as _, Retention as _, SystemClock,
    VisibleRepositories,
};
use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

use super::engines::each_empty_database;

/// Number, name and SQL for both engines of the migrations before sources and targets were values.
const OLD: [(i64, &str, [&str; 2]); 4] = [
    (
        1,
        "records",
        [
            include_str!("../../../migrations/sqlite/0001_records.sql"),
            include_str!("../../../migrations/postgres/0001_records.sql"),
        ],
    ),
    (
        2,
        "put off",
        [
            include_str!("../../../migrations/sqlite/0002_put_off.sql"),
            include_str!("../../../migrations/postgres/0002_put_off.sql"),
        ],
    ),
    (
        3,
        "agents",
        [
            include_str!("../../../migrations/sqlite/0003_agents.sql"),
            include_str!("../../../migrations/postgres/0003_agents.sql"),
        ],
    ),
    (
        4,
        "preflight content",
        [
            include_str!("../../../migrations/sqlite/0004_preflight_content.sql"),
            include_str!("../../../migrations/postgres/0004_preflight_content.sql"),
        ],
    ),
];

const ROWS: &str = "
INSERT INTO jobs (repository, installation, name, state, cause, requested, started, attempts, lost_leases,
                  not_before_ms, queued_at_ms)
VALUES (7, 1, 'acme/gitops', 'idle', 'start', 1, 1, 0, 0, 0, 0);
INSERT INTO proposals (repository, cluster, pull_request, source, plan, head, opened_at_ms)
VALUES (7, 'gauss/peu01', 12, 'aws/v22.0.0@-', 'plan', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 5);
INSERT INTO campaigns (repository, source, changed_at_ms) VALUES (7, 'aws/v22.0.0', 5);
INSERT INTO campaign_clusters (repository, cluster, state, reason)
VALUES (7, 'gauss/peu01', 'proposed', '#12'), (7, 'gauss/peu02', 'waiting', 'It waits.');
INSERT INTO audit (id, at_ms, repository, cluster, actor, action, detail)
VALUES ('01', 5, 7, 'gauss/peu01', 'capstan', 'proposal-opened', ''), ('02', 6, 7, NULL, 'ada', 'command-refused', '');
";

fn migrator(engine: usize) -> Migrator {
    let migration = |(version, name, sql): &(i64, &'static str, [&'static str; 2])| {
        Migration::new(*version, (*name).into(), MigrationType::Simple, sql[engine].into_sql_str(), false)
    };
    let mut migrator = Migrator::with_migrations(OLD.iter().map(migration).collect());
    migrator.dangerous_set_table_name("capstan_migrations");
    migrator
}

async fn write_as_before(url: &str) {
    if url.starts_with("sqlite") {
        let pool = sqlx::SqlitePool::connect(url).await.unwrap();
        migrator(0).run(&pool).await.unwrap();
        sqlx::raw_sql(ROWS).execute(&pool).await.unwrap();
        pool.close().await;
    } else {
        let pool = sqlx::PgPool::connect(url).await.unwrap();
        migrator(1).run(&pool).await.unwrap();
        sqlx::raw_sql(ROWS).execute(&pool).await.unwrap();
        pool.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn proposals_and_campaigns_of_clusters_are_those_of_releases() {
    each_empty_database(async |url| {
        write_as_before(url).await;
        let database = Database::open(url, Arc::new(SystemClock)).await.unwrap();
        let known = ProposalRecord {
            repository: 7,
            proposal: ProposalId::of_release(Target::parse("gauss/peu01").unwrap()),
            pull_request: Some(12),
            source: "aws/v22.0.0@-".to_owned(),
            plan: "plan".to_owned(),
            head: CommitId::parse(&"a".repeat(40)).unwrap(),
            opened_at: jiff::Timestamp::from_millisecond(5).unwrap(),
            ended_at: None,
        };
        assert_eq!(database.proposals(7).await.unwrap(), [known]);
        let counts = database.row_counts().await.unwrap();
        assert!(counts.contains(&("campaigns", 1)), "{counts:?}");
        let targets = async || {
            let all = ListExtent { skip: 0, take: 10 };
            database.targets(&VisibleRepositories::Everything, &ClusterFilter::default(), all).await.unwrap()
        };
        let found = targets().await;
        let rows: Vec<_> = found
            .iter()
            .map(|row| (row.target.as_str(), row.kind.as_str(), row.state.as_str(), row.pull_request))
            .collect();
        assert_eq!(
            rows,
            [("gauss/peu01", "release", "proposed", Some(12)), ("gauss/peu02", "release", "waiting", None)]
        );
        database.save_campaigns(7, &[]).await.unwrap();
        database
            .forget_proposal(7, &ProposalId::of_release(Target::parse("gauss/peu01").unwrap()))
            .await
            .unwrap();
        assert_eq!(targets().await, []);
    })
    .await;
}
