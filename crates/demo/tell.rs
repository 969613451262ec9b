//! What the demo prints.

use std::fmt::Display;
use std::io::Write;

use anstyle::{AnsiColor, Style};

use super::failure::DemoFailure;

const BOLD: Style = Style::new().bold();

/// Begins a tour.
pub(super) fn title(name: &str, what: &str) -> Result<(), DemoFailure> {
    say(&format!("\n{BOLD}Tour `{name}`: {what}{BOLD:#}"))
}

pub(super) fn heading(number: u32, text: &str) -> Result<(), DemoFailure> {
    say(&format!("\n{BOLD}{number}. {text}{BOLD:#}"))
}

pub(super) fn say_diff(lines: &[String]) -> Result<(), DemoFailure> {
    for line in lines {
        let style = match line.as_bytes().first() {
            Some(b'+') => AnsiColor::Green.on_default(),
            Some(b'-') => AnsiColor::Red.on_default(),
            Some(b'@') => AnsiColor::Cyan.on_default(),
            _ => Style::new(),
        };
        say(&format!("      {style}{line}{style:#}"))?;
    }
    Ok(())
}

pub(super) fn indented_lines(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("      {line}")).collect::<Vec<_>>().join("\n")
}

/// Prints; colours are dropped where standard output is not a terminal.
pub(super) fn say(text: &(impl Display + ?Sized)) -> Result<(), DemoFailure> {
    let mut out = anstream::stdout().lock();
    match writeln!(out, "{text}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
