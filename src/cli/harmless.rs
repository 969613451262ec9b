//! Text for people, in which names from others cannot do more than be read.

use capstan_model::wording::is_unfit;

/// The styles that Capstan and clap write, as terminals read them: plain, bold, underlined, red, green, yellow. Others hide
/// what follows.
const STYLES: [&str; 6] = ["0", "1", "4", "31", "32", "33"];

/// Lines as they may be shown: names from others move no cursor and reorder nothing, and no line is a command
/// to the runner of GitHub's workflows. The runner reads logs for lines that begin with `::` after any white
/// space, and for `##[` anywhere in a line. Styles stay, and do not count in the comparison: a log has none.
pub(super) fn harmless(text: &str) -> String {
    text.split_inclusive('\n').map(|line| shown(line, |c| c == '\n' || c == '\t')).collect()
}

/// The same for one line, with its end: a name from others begins no new line.
pub(super) fn harmless_line(line: &str) -> String {
    shown(line, |_| false) + "\n"
}

fn shown(line: &str, stays: impl Fn(char) -> bool) -> String {
    let bare = anstream::adapter::strip_str(line).to_string();
    let mut line = line.to_owned();
    // No style has a colon or a hash.
    if bare.trim_start().starts_with("::") {
        line = line.replacen(':', "\\u{3a}", 1);
    }
    if bare.contains("##[") {
        line = line.replace('#', "\\u{23}");
    }
    let mut shown = String::with_capacity(line.len() + 1);
    let mut rest = line.as_str();
    while let Some(at) = rest.find(|c| is_unfit(c) && !stays(c)) {
        let (fit, unfit) = rest.split_at(at);
        shown.push_str(fit);
        let (style, letters) = unfit.split_at(style(unfit));
        shown.push_str(style);
        rest = letters;
        if style.is_empty() {
            let mut left = letters.chars();
            shown.extend(left.next().into_iter().flat_map(char::escape_default));
            rest = left.as_str();
        }
    }
    shown.push_str(rest);
    shown
}

/// How long the style is that a text begins with.
fn style(text: &str) -> usize {
    let of = |codes: &str| {
        STYLES
            .iter()
            .find(|style| codes.strip_prefix(**style).is_some_and(|rest| rest.starts_with('m')))
            .map(|style| "\u{1b}[m".len() + style.len())
    };
    text.strip_prefix("\u{1b}[").and_then(of).unwrap_or_default()
}

/// Adds a line to a text: a name from others in it cannot end the line.
macro_rules! line {
    ($text:expr, $($said:tt)*) => {
        $text.push_str(&$crate::cli::harmless::harmless_line(&format!($($said)*)))
    };
}
pub(super) use line;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_and_no_command() {
        let red = "\u{1b}[1m\u{1b}[31merror\u{1b}[0m: a\n\tb\n";
        assert_eq!(harmless(red), red);
        let hostile = "a\u{1b}]0;b\u{7}\u{1b}[2J\u{9b}c\u{202e}d\re\n  ::stop-commands::f\n::\n: :\u{1b}[";
        let shown = "a\\u{1b}]0;b\\u{7}\\u{1b}[2J\\u{9b}c\\u{202e}d\\re\n  \\u{3a}:stop-commands::f\n\\u{3a}:\n: :\\u{1b}[";
        assert_eq!(harmless(hostile), shown);
        assert_eq!(harmless("\u{1b}[8mhidden\u{1b}[0m"), "\\u{1b}[8mhidden\u{1b}[0m");
        for (hostile, shown) in [
            ("\u{1b}[1m::error::x", "\u{1b}[1m\\u{3a}:error::x"),
            (":\u{1b}[0m:error::x", "\\u{3a}\u{1b}[0m:error::x"),
            ("\u{a0}::error::x", "\u{a0}\\u{3a}:error::x"),
            ("a ##[add-mask]x", "a \\u{23}\\u{23}[add-mask]x"),
            ("#\u{1b}[0m#[error]x", "\\u{23}\u{1b}[0m\\u{23}[error]x"),
            ("# a heading, ## two, a::b", "# a heading, ## two, a::b"),
        ] {
            assert_eq!(harmless(hostile), shown);
        }
    }

    #[test]
    fn a_name_ends_no_line() {
        assert_eq!(harmless_line("w\nerror: all lost\t\u{1b}[1mb"), "w\\nerror: all lost\\t\u{1b}[1mb\n");
        assert_eq!(harmless_line("  ::error::x"), "  \\u{3a}:error::x\n");
        let mut text = String::new();
        line!(text, "  {}", "a\nb");
        assert_eq!(text, "  a\\nb\n");
    }
}
