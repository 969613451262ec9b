//! Text for people, in which nothing that somebody else named does more than be read.

use capstan_model::wording::is_unfit;

/// Lines as they may be shown: what somebody else named moves no cursor and reorders nothing, and no line of it is a command
/// to the runner of GitHub's workflows, which reads logs for lines that begin with `::`. Colours stay.
pub(super) fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let blank = line.len() - line.trim_start().len();
        let (before, mut rest) = line.split_at(blank);
        shown.push_str(before);
        if rest.starts_with("::") {
            shown.push_str("\\u{3a}");
            rest = &rest[1..];
        }
        while let Some(at) = rest.find(|c| c != '\n' && c != '\t' && is_unfit(c)) {
            let (fit, unfit) = rest.split_at(at);
            shown.push_str(fit);
            let (colour, letters) = unfit.split_at(colour(unfit));
            shown.push_str(colour);
            rest = letters;
            if colour.is_empty() {
                let mut left = letters.chars();
                shown.extend(left.next().into_iter().flat_map(char::escape_default));
                rest = left.as_str();
            }
        }
        shown.push_str(rest);
    }
    shown
}

/// How long the colour is that a text begins with, as terminals read it.
fn colour(text: &str) -> usize {
    let of = |codes: &str| {
        let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        codes[end..].starts_with('m').then_some("\u{1b}[".len() + end + "m".len())
    };
    text.strip_prefix("\u{1b}[").and_then(of).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_and_no_command() {
        let red = "\u{1b}[1;31merror\u{1b}[0m: a\n\tb\n";
        assert_eq!(harmless(red), red);
        let hostile = "a\u{1b}]0;b\u{7}\u{1b}[2J\u{9b}c\u{202e}d\re\n  ::stop-commands::f\n::\n: :\u{1b}[";
        let shown = "a\\u{1b}]0;b\\u{7}\\u{1b}[2J\\u{9b}c\\u{202e}d\\re\n  \\u{3a}:stop-commands::f\n\\u{3a}:\n: :\\u{1b}[";
        assert_eq!(harmless(hostile), shown);
    }
}
