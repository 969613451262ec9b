//! How far a command is, in a line on standard error: where that is a terminal, and the command takes more than a second.

use std::io::{self, IsTerminal as _};
use std::sync::OnceLock;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A command that ends within this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the line shows before anything is counted: a wheel that turns, what is done, and for how long.
const DOING: &str = "{spinner} {msg} {elapsed}";

/// The same once clusters are counted.
const COUNTING: &str = "{spinner} {msg} {wide_bar} {pos}/{len} {elapsed}";

/// The only line: a terminal has one place for it.
static LINE: OnceLock<ProgressBar> = OnceLock::new();

/// Begins the line of a command.
pub(super) fn begin(doing: &'static str) {
    if !io::stderr().is_terminal() {
        return;
    }
    let line = LINE.get_or_init(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()));
    show(line, DOING);
    line.set_message(doing);
    let line = line.clone();
    // It ends with the process at the latest: nobody waits for it.
    drop(std::thread::Builder::new().name("progress".to_owned()).spawn(move || {
        std::thread::sleep(PATIENCE);
        if !line.is_finished() {
            line.set_draw_target(ProgressDrawTarget::stderr());
            line.enable_steady_tick(Duration::from_millis(200));
        }
    }));
}

fn show(line: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        line.set_style(style);
    }
}

/// From here on clusters are counted: this is their number.
pub(super) fn count_clusters(clusters: usize) {
    let Some(line) = LINE.get() else { return };
    show(line, COUNTING);
    line.set_position(0);
    line.set_length(u64::try_from(clusters).unwrap_or(u64::MAX));
}

/// One more of them is done.
pub(super) fn cluster_done() {
    if let Some(line) = LINE.get() {
        line.inc(1);
    }
}

/// Ends the line before a result is printed where it would be drawn over.
pub(super) fn end_before_result() {
    if io::stdout().is_terminal() {
        end();
    }
}

/// Ends the line.
pub(super) fn end() {
    if let Some(line) = LINE.get() {
        line.finish_and_clear();
    }
}

/// Writes to standard error beside the line.
pub(super) fn beside(write: impl FnOnce()) {
    match LINE.get() {
        Some(line) => line.suspend(write),
        None => write(),
    }
}

/// Says something on standard error, beside the line that tells how far the command is.
macro_rules! say {
    ($($said:tt)*) => {
        $crate::cli::progress::beside(|| anstream::eprint!("{}", $crate::cli::harmless::harmless_line(&format!($($said)*))))
    };
}
pub(super) use say;
