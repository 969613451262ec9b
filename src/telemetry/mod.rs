//! Tracing and metrics: how they are set up, and nothing of what is said.
//!
//! `CAPSTAN_LOG` (or `RUST_LOG`) says what is logged: a level, or directives such as
//! `info,capstan::app=debug`. `CAPSTAN_LOG_FORMAT` is `text` or `json`. With the feature `otlp` Capstan's own spans go to a
//! collector: one for each delivery, job, proposal and check.

mod catalogue;
#[cfg(feature = "otlp")]
mod traces;

use std::io::IsTerminal;
use std::time::Duration;

use metrics_exporter_prometheus::{
    BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use secrecy::SecretString;
use tracing::Metadata;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::fmt::{FormatFields, format};
#[cfg(not(feature = "otlp"))]
use tracing_subscriber::layer::Identity;
use tracing_subscriber::layer::SubscriberExt as _;
#[cfg(feature = "otlp")]
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use url::Url;

pub use catalogue::{Kind, METRICS, Metric, Program};
#[cfg(feature = "otlp")]
pub use traces::Traces;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Why telemetry cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter cannot be read.
    #[error(
        "{variable}: `{text}` cannot be read ({reason}); expected a level such as `info`, or `info,capstan=debug`"
    )]
    Filter {
        /// The variable that it came from.
        variable: &'static str,
        /// What was given.
        text: String,
        /// Why.
        reason: String,
    },
    /// The format is not one of the two.
    #[error("CAPSTAN_LOG_FORMAT: `{0}` is no format; expected `text` or `json`")]
    Format(String),
    /// Something else set up logging in this process before.
    #[error("logging was set up twice: {0}")]
    Twice(String),
    /// Traces cannot be exported.
    #[error("traces: {0}")]
    Traces(String),
    /// Something else set up metrics in this process before.
    #[error("metrics: {0}")]
    Metrics(#[from] BuildError),
}

/// Starts logging to standard error. `default` is the filter where the environment says nothing.
///
/// # Errors
/// Where a variable cannot be read, or logging was started before.
pub fn start_logging(
    environment: &dyn Fn(&str) -> Option<String>,
    default: &str,
) -> Result<(), TelemetryError> {
    start_telling(environment, default, None).map(drop)
}

/// [`start_logging`], and traces to a collector where one is given; to be called in a Tokio runtime then.
///
/// # Errors
/// As [`start_logging`], and where nothing can be exported.
pub fn start_telling(
    environment: &dyn Fn(&str) -> Option<String>,
    default: &str,
    traces: Option<TracesTo<'_>>,
) -> Result<Option<Traces>, TelemetryError> {
    let given = |name: &'static str| {
        environment(name).filter(|text| !text.trim().is_empty()).map(|text| (name, text))
    };
    let (variable, text) =
        given("CAPSTAN_LOG").or_else(|| given("RUST_LOG")).unwrap_or(("the default", default.to_owned()));
    let filter = EnvFilter::builder().parse(&text).map_err(|error| TelemetryError::Filter {
        variable,
        text: text.clone(),
        reason: error.to_string(),
    })?;
    let format = match given("CAPSTAN_LOG_FORMAT").map(|(_, text)| text.to_lowercase()).as_deref() {
        None | Some("text") => LogFormat::Text,
        Some("json") => LogFormat::Json,
        Some(other) => return Err(TelemetryError::Format(other.to_owned())),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let lines = match format {
        LogFormat::Text => lines.fmt_fields(text_fields()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    // A line says by itself what it is about; spans are for traces.
    let lines = lines.with_filter(filter.and(filter_fn(|of| !is_traced(of))));
    let (ended, spans) = trace(traces)?;
    tracing_subscriber::registry()
        .with(lines)
        .with(spans)
        .try_init()
        .map_err(|error| TelemetryError::Twice(error.to_string()))?;
    Ok(ended)
}

/// Where traces go, and what is shown there: see `config`.
pub type TracesTo<'a> = (&'a Url, &'a [(String, SecretString)]);

/// Whether it is a span of Capstan's own.
fn is_traced(of: &Metadata<'_>) -> bool {
    of.is_span() && of.target().starts_with("capstan")
}

#[cfg(feature = "otlp")]
fn trace<S>(to: Option<TracesTo<'_>>) -> Result<(Option<Traces>, Option<impl Layer<S>>), TelemetryError>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
    let Some((endpoint, headers)) = to else { return Ok((None, None)) };
    let (traces, tracer) = Traces::begin(endpoint, headers)?;
    let layer = tracing_opentelemetry::layer().with_tracer(tracer).with_location(false).with_threads(false);
    Ok((Some(traces), Some(layer.with_filter(filter_fn(is_traced)))))
}

/// Traces that this program was built without.
#[cfg(not(feature = "otlp"))]
#[derive(Debug)]
pub struct Traces(std::convert::Infallible);

#[cfg(not(feature = "otlp"))]
impl Traces {
    /// Sends what is left.
    pub async fn end(self) {
        match self.0 {}
    }
}

#[cfg(not(feature = "otlp"))]
fn trace(to: Option<TracesTo<'_>>) -> Result<(Option<Traces>, Identity), TelemetryError> {
    match to {
        None => Ok((None, Identity::new())),
        Some(_) => Err(TelemetryError::Traces("this program was built without them".to_owned())),
    }
}

/// Fields as text for people. What others named (folders, branches) forges no line and moves no cursor.
fn text_fields() -> impl for<'writer> FormatFields<'writer> + Send + Sync + 'static {
    format::debug_fn(|writer, field, value| {
        let value = in_one_line(&format!("{value:?}"));
        match field.name() {
            "message" => write!(writer, "{value}"),
            name => write!(writer, "{name}={value}"),
        }
    })
    .delimited(" ")
}

/// The text with every character written out that ends a line, controls a terminal or reorders what is read.
fn in_one_line(text: &str) -> String {
    let is_plain = |c: char| {
        !(c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
    };
    text.chars().fold(String::with_capacity(text.len()), |mut line, c| {
        if is_plain(c) {
            line.push(c)
        } else {
            line.extend(c.escape_default())
        }
        line
    })
}

/// Installs the process' metrics recorder; the handle renders `/metrics`. To be called in a Tokio
/// runtime: a task there keeps the histograms small.
///
/// # Errors
/// Where a recorder was installed before.
pub fn install_metrics(program: Program) -> Result<PrometheusHandle, TelemetryError> {
    let handle = builder()?.install_recorder()?;
    catalogue::describe(program);
    let upkeep = handle.clone();
    tokio::spawn(async move {
        let mut tick = tokio::time::interval(Duration::from_secs(5));
        loop {
            tick.tick().await;
            upkeep.run_upkeep();
        }
    });
    Ok(handle)
}

/// A recorder that is not installed: for tests, which may have many.
///
/// # Errors
/// Never with the present buckets.
pub fn metrics_recorder() -> Result<PrometheusRecorder, TelemetryError> {
    Ok(builder()?.build_recorder())
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(
            Matcher::Suffix("_seconds".to_owned()),
            &[
                0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
                300.0,
            ],
        )?
        .set_buckets_for_metric(
            Matcher::Suffix("_deliveries".to_owned()),
            &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0],
        )
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_folders_name_forges_no_line_and_moves_no_cursor() {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .without_time()
            .with_target(false)
            .fmt_fields(text_fields())
            .finish();
        let name = "a\n ERROR forged\u{1b}[2K\u{202e}ü";
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(cluster = %name, text = name, number = 3, "looked at {name}");
        });
        let line = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let shown = r"a\n ERROR forged\u{1b}[2K\u{202e}ü";
        assert_eq!(line, format!(" INFO looked at {shown} cluster={shown} text=\"{shown}\" number=3\n"));
    }
}
