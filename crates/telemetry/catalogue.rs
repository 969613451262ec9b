//! Every metric that the programs have: what kind it is, which labels it has, what it says.
//!
//! Names and units follow Prometheus' conventions (<https://prometheus.io/docs/practices/naming/>). Values of labels
//! come from closed sets, or are kinds, Fleets and names of services, which are few; a cluster is never a label. Who counts writes the name
//! where something happens; a test holds all of those, the docs, the board and the alerts against this table.

/// What a metric does over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows, until the process ends.
    Counter,
    /// It is as it is now.
    Gauge,
    /// How often values up to some sizes were seen.
    Histogram,
}

impl MetricKind {
    /// The word that Prometheus has for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A program that has metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `capstan serve`
    Bot,
    /// `capstan reconcile`
    Reconciler,
}

#[derive(Debug, Clone, Copy)]
pub struct Metric {
    pub name: &'static str,
    pub kind: MetricKind,
    pub labels: &'static [&'static str],
    /// What has it.
    pub programs: &'static [Program],
    /// What it says, as a sentence without a full stop.
    pub help: &'static str,
}

const BOT: &[Program] = &[Program::Bot];
const RECONCILER: &[Program] = &[Program::Reconciler];
const BOTH: &[Program] = &[Program::Bot, Program::Reconciler];

const fn counter(
    programs: &'static [Program],
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Metric {
    Metric { name, kind: MetricKind::Counter, labels, programs, help }
}

const fn gauge(
    programs: &'static [Program],
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Metric {
    Metric { name, kind: MetricKind::Gauge, labels, programs, help }
}

const fn histogram(
    programs: &'static [Program],
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Metric {
    Metric { name, kind: MetricKind::Histogram, labels, programs, help }
}

/// All of them, in the order of the docs.
pub const METRICS: &[Metric] = &[
    gauge(BOTH, "capstan_build_info", &["version"], "1, with the version of the program"),
    counter(
        BOTH,
        "capstan_planner_process_failures_total",
        &["work"],
        "Processes that ended during their work, because of a limit or a fault: Planning (the bot's) or Rendering (the reconciler's)",
    ),
    counter(BOT, "capstan_webhooks_total", &["outcome"], "Deliveries that came to the webhook, by result"),
    histogram(
        BOT,
        "capstan_webhook_store_duration_seconds",
        &[],
        "How long it takes to store a batch of deliveries, which are answered afterwards",
    ),
    histogram(BOT, "capstan_webhook_batch_deliveries", &[], "How many deliveries are stored together"),
    counter(
        BOTH,
        "capstan_connections_closed_for_others_total",
        &[],
        "Connections that were silent for longest, and were closed because all were in use",
    ),
    gauge(BOT, "capstan_database_up", &[], "Whether the database answered when this was asked"),
    gauge(
        BOT,
        "capstan_jobs",
        &["state"],
        "Repositories whose work is queued, running, or dead: given up after many failures in a row, until something \
         happens to the repository",
    ),
    gauge(
        BOT,
        "capstan_jobs_oldest_due_seconds",
        &[],
        "How long the oldest job that is due has waited for a worker",
    ),
    counter(BOT, "capstan_worker_restarts_total", &[], "Workers that ended with a fault and were replaced"),
    counter(
        BOT,
        "capstan_github_requests_total",
        &["method", "route", "code"],
        "Requests to GitHub, by route and the status code of the answer; none where there was no answer",
    ),
    counter(
        BOT,
        "capstan_github_repeated_total",
        &["reason"],
        "Calls to GitHub that were repeated: not answered, asked to wait for a moment, or checked and not found",
    ),
    counter(
        BOT,
        "capstan_github_budget_waits_total",
        &["priority", "limit"],
        "Calls that had to wait because a limit of GitHub was used up or reserved for more important calls",
    ),
    counter(
        BOT,
        "capstan_wave_webhook_answers_total",
        &["result"],
        "Webhooks that were asked whether a wave is well, by answer: pass, fail, pending, or none for an unreadable or missing answer",
    ),
    gauge(
        BOT,
        "capstan_github_budget_wait_seconds",
        &["priority"],
        "How long the last delayed call had to wait",
    ),
    counter(
        BOT,
        "capstan_missed_deliveries_total",
        &["outcome"],
        "Deliveries that did not arrive: requested again, refused by GitHub, or older than its list (once per gap)",
    ),
    gauge(
        BOT,
        "capstan_last_look_timestamp_seconds",
        &["what"],
        "When all deliveries were last checked, and all repositories last queued for comparison",
    ),
    counter(BOT, "capstan_agent_requests_total", &["route", "outcome"], "Requests of reconcilers, by result"),
    gauge(BOT, "capstan_table_rows", &["table"], "Rows of a table of the database, counted every hour"),
    gauge(BOT, "capstan_mirrors", &[], "Repositories with a mirror, counted every hour"),
    gauge(BOT, "capstan_mirror_bytes", &[], "Size of all mirrors on disk, counted every hour"),
    gauge(RECONCILER, "capstan_leader", &[], "Whether this process holds the Lease, and so acts"),
    gauge(
        RECONCILER,
        "capstan_clusters",
        &["fleet", "phase"],
        "Clusters by phase, or by what blocks them; only from the process that acts",
    ),
    gauge(
        RECONCILER,
        "capstan_source_up",
        &["fleet"],
        "Whether the Fleet's source could be read the last time; no number once the Fleet is gone or another process acts",
    ),
    histogram(
        RECONCILER,
        "capstan_reconcile_duration_seconds",
        &["result"],
        "How long it takes to reconcile a cluster, by result",
    ),
    counter(
        RECONCILER,
        "capstan_reconciler_failures_total",
        &["cause"],
        "What failed or was refused, by cause: reconciliations, deletions, asking the bot for work",
    ),
    counter(RECONCILER, "capstan_applied_objects_total", &["kind"], "Objects that were written, by kind"),
    counter(RECONCILER, "capstan_deleted_objects_total", &["kind"], "Objects that were deleted, by kind"),
    counter(
        RECONCILER,
        "capstan_service_failures_total",
        &["service", "cause"],
        "Services inside clusters that began to need attention, or could not be read, by their names in capstan.yaml and by cause",
    ),
    histogram(RECONCILER, "capstan_preflight_duration_seconds", &[], "How long it takes to try a merge"),
    counter(
        RECONCILER,
        "capstan_apiserver_requests_total",
        &["method", "code"],
        "Requests to the API server, by the status code of the answer; none where there was no answer",
    ),
    histogram(
        RECONCILER,
        "capstan_apiserver_request_duration_seconds",
        &["method"],
        "How long the API server takes to answer",
    ),
    gauge(
        RECONCILER,
        "capstan_namespace_watches",
        &["state"],
        "Watches of one kind in one namespace: open, waiting for room, or refused for lack of rights",
    ),
];

/// Says to the recorder what each metric means, and begins those counters at 0 that have no labels, so that their first
/// step is seen as one.
pub(super) fn describe(program: Program) {
    for metric in METRICS.iter().filter(|metric| metric.programs.contains(&program)) {
        match metric.kind {
            MetricKind::Counter => metrics::describe_counter!(metric.name, metric.help),
            MetricKind::Gauge => metrics::describe_gauge!(metric.name, metric.help),
            MetricKind::Histogram => metrics::describe_histogram!(metric.name, metric.help),
        }
        if metric.kind == MetricKind::Counter && metric.labels.is_empty() {
            metrics::counter!(metric.name).increment(0);
        }
    }
    metrics::gauge!("capstan_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}
