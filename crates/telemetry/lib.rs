//! Tracing and metrics: how they are set up, which metrics there are, and nothing of what is said.
//!
//! `CAPSTAN_LOG` (or `RUST_LOG`) says what is logged: a level, or directives such as
//! `info,capstan_bot=debug`. `CAPSTAN_LOG_FORMAT` is `text` or `json`. With the feature `otlp` Capstan's own spans go to a
//! collector: one for each delivery, job, proposal and check.

mod catalogue;
#[cfg(feature = "otlp")]
mod traces;

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::time::Duration;

use capstan_model::wording::{in_one_line, is_unfit};
use metrics_exporter_prometheus::{
    BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use secrecy::SecretString;
use tracing::Metadata;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::fmt::{FormatFields, MakeWriter, format};
#[cfg(not(feature = "otlp"))]
use tracing_subscriber::layer::Identity;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use url::Url;

pub use catalogue::{METRICS, Metric, MetricKind, Program};
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
    #[error("CAPSTAN_LOG_FORMAT: `{0}` is not a format; expected `text` or `json`")]
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
    let lines = lines(format, io::stderr, io::stderr().is_terminal());
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

/// Where traces go, and the headers that are shown there.
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

/// Events, a line each. Names from others (folders, branches) forge no line, move no cursor and reorder
/// nothing: only this place escapes them, so a caller logs such a name as it is.
fn lines<S, W>(format: LogFormat, to: W, with_ansi: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_ansi(with_ansi);
    match format {
        LogFormat::Text => lines.with_writer(to).fmt_fields(text_fields()).boxed(),
        LogFormat::Json => lines.with_writer(EscapedJson(to)).json().flatten_event(true).boxed(),
    }
}

/// Fields as text for people.
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

/// JSON with every control character escaped: JSON itself only requires that for the first 32. A parser gets
/// the same texts.
struct EscapedJson<W>(W);

impl<'writer, W: MakeWriter<'writer>> MakeWriter<'writer> for EscapedJson<W> {
    type Writer = EscapedJson<W::Writer>;

    fn make_writer(&'writer self) -> Self::Writer {
        EscapedJson(self.0.make_writer())
    }

    fn make_writer_for(&'writer self, of: &Metadata<'_>) -> Self::Writer {
        EscapedJson(self.0.make_writer_for(of))
    }
}

impl<W: io::Write> io::Write for EscapedJson<W> {
    /// Given whole lines, as the log writes them.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let mut escaped = String::with_capacity(text.len());
        for c in text.chars() {
            // Text contains no line feed; this one ends the line.
            if c == '\n' || !is_unfit(c) {
                escaped.push(c);
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(escaped, "\\u{unit:04x}").map_err(io::Error::other)?;
                }
            }
        }
        self.0.write_all(escaped.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What the log says, in the format, of a name.
    fn logged(format: LogFormat, name: &str) -> String {
        let written = Written::default();
        let writer = written.clone();
        let lines = lines(format, move || writer.clone(), false);
        let error = io::Error::other(name.to_owned());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
            tracing::warn!(cluster = %name, text = name, quoted = ?name, %error, number = 3, "looked at {name}");
            let error: &(dyn std::error::Error + 'static) = &error;
            tracing::info!(error, "again");
        });
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    /// Of each: a name, and how a line of text has it.
    const NAMES: [(&str, &str); 9] = [
        ("a\n2026-11-29T00:00:00Z ERROR capstan: forged", r"a\n2026-11-29T00:00:00Z ERROR capstan: forged"),
        ("a\r\u{1b}[2K\u{1b}]0;title\u{7}", r"a\r\u{1b}[2K\u{1b}]0;title\u{7}"),
        ("a\u{9b}31m\u{85}\u{7f}\0", r"a\u{9b}31m\u{85}\u{7f}\u{0}"),
        ("a\u{202e}yek\u{2066}x\u{2069}\u{2028}\u{2029}", r"a\u{202e}yek\u{2066}x\u{2069}\u{2028}\u{2029}"),
        ("a\u{200e}\u{200f}\u{61c}\u{200b}\u{feff}", r"a\u{200e}\u{200f}\u{61c}\u{200b}\u{feff}"),
        ("a\u{e0041}\u{e007f}", r"a\u{e0041}\u{e007f}"),
        (r#"a","level":"ERROR","x":"#, r#"a","level":"ERROR","x":"#),
        ("a level=ERROR", "a level=ERROR"),
        ("Zürich/集群🚀", "Zürich/集群🚀"),
    ];

    #[test]
    fn a_name_forges_no_line_moves_no_cursor_and_reorders_nothing() {
        for (name, shown) in NAMES {
            let text = logged(LogFormat::Text, name);
            assert_eq!(text.lines().count(), 2, "{text}");
            assert!(text.contains(&format!("looked at {shown} cluster={shown} ")), "{text}");
            assert!(text.contains(&format!(" error={shown} number=3\n")), "{text}");
            assert!(text.ends_with(&format!("again error={shown}\n")), "{text}");

            let json = logged(LogFormat::Json, name);
            let lines: Vec<serde_json::Value> =
                json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(lines.len(), 2, "{json}");
            assert_eq!(lines[0]["level"], "WARN");
            assert_eq!(lines[0]["message"], format!("looked at {name}"));
            for field in ["cluster", "text", "error"] {
                assert_eq!(lines[0][field], name, "{json}");
            }
            assert_eq!(lines[1]["error"], name, "{json}");

            for written in [text, json] {
                let unfit: Vec<char> = written.chars().filter(|c| *c != '\n' && is_unfit(*c)).collect();
                assert!(unfit.is_empty(), "{unfit:?}: {written}");
            }
        }
    }
}
