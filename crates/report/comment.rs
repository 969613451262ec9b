//! The comment that answers commands: one answer a command, folded where it is long, cut at GitHub's limit.
//!
//! GitHub refuses a body of more than 65,536 characters, and the author would get no answer at all. So each
//! answer has its fair share of the room. A cut is at the end of a line, and closes the fences and folds that
//! are open there.

use capstan_model::wording::count;
use capstan_plan::command::CommentId;

use super::markdown::MAX_BODY;
use super::pages::Refusal;

const MARKER: &str = "<!-- capstan-answer:";
const BETWEEN: &str = "\n---\n\n";

/// Lines of a comment that are visible without a click; the following ones are folded.
const OPEN_LINES: usize = 40;
/// Lines of a paragraph that stays outside of a fold.
const LEAD_LINES: usize = 8;
/// Bytes of the note about what was cut.
const ROOM_TO_SAY: usize = 64;

/// The answer to one command: one piece for each cluster that the command is about, or a single one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer(Vec<AnswerPiece>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AnswerPiece {
    text: String,
    says: PieceKind,
}

/// What a piece says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    /// Information that is shown nowhere else.
    This,
    /// Information that the pull request shows too, in its check or in its description.
    WhatShows,
    /// Why something was not done.
    Refusal,
}

impl Answer {
    /// A piece of Markdown, which ends a line, about something that was done or found.
    pub fn info(text: impl Into<String>) -> Self {
        Self::piece(text.into(), PieceKind::This)
    }

    /// The same, where the pull request shows it too, in its check or in its description.
    pub fn shown(text: impl Into<String>) -> Self {
        Self::piece(text.into(), PieceKind::WhatShows)
    }

    /// Why something was not done, with the page that explains it.
    pub fn refused(refusal: Refusal, text: &str) -> Self {
        Self::piece(refusal.after(text), PieceKind::Refusal)
    }

    fn piece(text: String, says: PieceKind) -> Self {
        let is_nothing = text.is_empty() && says != PieceKind::Refusal;
        if is_nothing { Self::default() } else { Self(vec![AnswerPiece { text, says }]) }
    }

    /// The same, as information that is shown nowhere else, if it is not a refusal.
    #[must_use]
    pub fn nowhere_else(mut self) -> Self {
        let shown = self.0.iter_mut().filter(|piece| piece.says == PieceKind::WhatShows);
        shown.for_each(|piece| piece.says = PieceKind::This);
        self
    }

    /// Both, one below the other.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The same with a text after its last piece.
    #[must_use]
    pub fn with(mut self, text: &str) -> Self {
        match self.0.last_mut() {
            Some(last) => last.text.push_str(text),
            None => self = Self::info(text),
        }
        self
    }

    /// Whether there is no piece.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether everything that was asked for was refused.
    pub fn is_refusal(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|piece| piece.says == PieceKind::Refusal)
    }

    /// Whether the pull request shows all of it.
    pub fn is_shown(&self) -> bool {
        self.0.iter().all(|piece| piece.says == PieceKind::WhatShows)
    }

    /// All of it, whatever its length.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.0.iter().map(|piece| piece.text.as_str()).collect();
        texts.join("\n")
    }
}

impl FromIterator<Self> for Answer {
    fn from_iter<T: IntoIterator<Item = Self>>(answers: T) -> Self {
        Self(answers.into_iter().flat_map(|answer| answer.0).collect())
    }
}

/// A comment that answers `comment`: the answers one below the other, and a hidden marker that finds it after
/// the database was lost. It never exceeds GitHub's limit.
pub fn answer_comment(comment: CommentId, answers: &[Answer]) -> String {
    let marked = match comment {
        CommentId::Comment(id) => id.to_string(),
        CommentId::Issue(_) => comment.to_string(),
    };
    let marker = format!("\n{MARKER}{marked} -->\n");
    let mut open = OPEN_LINES;
    let mut pieces: Vec<(&str, String)> = Vec::new();
    for answer in answers {
        for (at, piece) in answer.0.iter().enumerate() {
            let before = match (pieces.is_empty(), at) {
                (true, _) => "",
                (false, 0) => BETWEEN,
                (false, _) => "\n",
            };
            pieces.push((before, folded(&piece.text, &mut open)));
        }
    }
    let between: usize = pieces.iter().map(|(before, _)| before.len()).sum();
    let lengths: Vec<usize> = pieces.iter().map(|(_, text)| text.len()).collect();
    let share = fair_share(&lengths, MAX_BODY.saturating_sub(marker.len() + between));
    let mut text = String::new();
    for (before, piece) in pieces {
        text.push_str(before);
        text.push_str(&cut(&piece, share));
    }
    text + &marker
}

/// Which comment this answers. Only for comments that Capstan wrote.
pub fn answered_comment(body: &str) -> Option<CommentId> {
    let (_, rest) = body.rsplit_once(MARKER)?;
    CommentId::parse(rest.split_once(" -->")?.0)
}

/// The most bytes that each of several texts may have so that all of them fit into `room`: short texts leave
/// their rest to long ones.
fn fair_share(lengths: &[usize], room: usize) -> usize {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    for (at, length) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at);
        if *length > share {
            return share;
        }
        left -= length;
    }
    room
}

/// The text as it is where it fits into the visible lines left, else its first paragraph and a fold.
fn folded(text: &str, open: &mut usize) -> String {
    let lines = open_lines(text);
    if lines <= *open {
        *open -= lines;
        return text.to_owned();
    }
    let (lead, rest) = first_paragraph(text);
    *open = open.saturating_sub(lead.lines().count());
    let more = rest.lines().filter(|line| !line.is_empty()).count();
    if more == 0 {
        return text.to_owned();
    }
    let more = count(more, "line", "lines");
    let what = if lead.is_empty() { more } else { format!("{more} more") };
    let blank = if lead.is_empty() { "" } else { "\n" };
    format!(
        "{lead}{blank}<details><summary>{what}</summary>\n\n{}\n\n</details>\n",
        rest.trim_end_matches('\n')
    )
}

/// The first paragraph, and the rest; all is the rest if the paragraph is long.
fn first_paragraph(text: &str) -> (&str, &str) {
    let (lead, rest) = match text.split_once("\n\n") {
        Some((lead, _)) => text.split_at(lead.len() + 1),
        None => (text, ""),
    };
    // A fence cannot be split.
    if lead.lines().count() > LEAD_LINES || lead.lines().any(|line| fence(line).is_some()) {
        return ("", text);
    }
    (lead, rest.trim_start_matches('\n'))
}

/// The lines that are read without opening a fold.
fn open_lines(text: &str) -> usize {
    let mut place = OpenMarkdown::default();
    let mut lines = 0;
    for line in text.lines() {
        let was_folded = place.folds > 0;
        place.read(line);
        lines += usize::from(!was_folded && !line.is_empty());
    }
    lines
}

/// A text of at most `most` bytes: whole lines, with open fences and folds closed, and how much was left out.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut place = OpenMarkdown::default();
    let (mut kept, mut end) = (0, 0);
    for line in text.split_inclusive('\n') {
        let mut next = place;
        next.read(line);
        if end + line.len() + next.closing().len() + ROOM_TO_SAY > most {
            break;
        }
        (place, kept, end) = (next, kept + 1, end + line.len());
    }
    let left = text.lines().count() - kept;
    let shown = text.get(..end).unwrap_or_default();
    format!(
        "{shown}{}\n… {} not fit into a comment.\n",
        place.closing(),
        count(left, "more line does", "more lines do")
    )
}

/// What is open at the end of a line.
#[derive(Debug, Clone, Copy, Default)]
struct OpenMarkdown {
    /// The character and the length of the fence of a block of code.
    fence: Option<(char, usize)>,
    /// Open folds.
    folds: usize,
}

impl OpenMarkdown {
    fn read(&mut self, line: &str) {
        match (self.fence, fence(line)) {
            (None, Some((opened, _))) => self.fence = Some(opened),
            (Some(open), Some((closing, is_bare))) => {
                if is_bare && closing.0 == open.0 && closing.1 >= open.1 {
                    self.fence = None;
                }
            }
            (Some(_), None) => {}
            // Capstan's own folds begin a line, and a stranger's text never begins a line unescaped.
            (None, None) if line.starts_with("<details") && !line.contains("</details>") => self.folds += 1,
            (None, None) if line.starts_with("</details>") => self.folds = self.folds.saturating_sub(1),
            (None, None) => {}
        }
    }

    fn closing(self) -> String {
        let fence = self
            .fence
            .map_or_else(String::new, |(mark, length)| format!("{}\n", String::from(mark).repeat(length)));
        fence + &"\n</details>\n".repeat(self.folds)
    }
}

/// The fence on a line, and whether nothing follows it, as a closing fence requires.
fn fence(line: &str) -> Option<((char, usize), bool)> {
    let line = line.trim_end();
    let bare = line.trim_start_matches(' ');
    if line.len() - bare.len() > 3 {
        return None;
    }
    let mark = bare.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = bare.trim_start_matches(mark);
    let length = bare.len() - rest.len();
    // A code span may begin a line with as many backticks.
    (length >= 3 && !(mark == '`' && rest.contains('`'))).then_some(((mark, length), rest.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMENT: CommentId = CommentId::Comment(42);

    #[test]
    fn an_answer_contains_the_id_of_its_comment() {
        let answers = [Answer::info("Done.\n"), Answer::info("One.\n").and(Answer::info("Two.\n"))];
        let text = answer_comment(CommentId::Issue(7), &answers);
        assert_eq!(text, "Done.\n\n---\n\nOne.\n\nTwo.\n\n<!-- capstan-answer:issue 7 -->\n");
        assert_eq!(answered_comment(&text), Some(CommentId::Issue(7)));
        let text = answer_comment(COMMENT, &answers);
        assert_eq!(text, "Done.\n\n---\n\nOne.\n\nTwo.\n\n<!-- capstan-answer:42 -->\n");
        assert_eq!(answered_comment(&text), Some(COMMENT));
        assert_eq!(answered_comment("hello"), None);
    }

    #[test]
    fn of_several_long_answers_each_has_its_share() {
        let long = |word: &str| {
            Answer::info(format!("First {word}.\n\n{}", format!("{word} {word}\n").repeat(9_000)))
        };
        let text =
            answer_comment(COMMENT, &[long("one").and(long("two")), Answer::info("Short.\n"), long("three")]);
        assert!(text.len() <= 65_536 && text.len() > 64_000, "{}", text.len());
        assert_eq!(answered_comment(&text), Some(COMMENT));
        for seen in ["First one.", "First two.", "First three.", "\n---\n\nShort.\n\n---\n"] {
            assert!(text.contains(seen), "{seen}");
        }
        assert_eq!(text.matches("more lines do not fit into a comment").count(), 3);
        assert_eq!(text.matches("<details>").count(), 3);
        assert_eq!(text.matches("</details>").count(), 3);
        // Short texts are not cut in favour of long ones.
        assert_eq!(fair_share(&[10, 500, 500], 610), 300);
        assert_eq!(fair_share(&[10, 20], 610), 610);
        assert_eq!(fair_share(&[700, 700], 610), 305);
    }

    #[test]
    fn what_is_long_is_folded_below_its_first_paragraph() {
        let rows = "| a | b |\n".repeat(50);
        let text = answer_comment(
            COMMENT,
            &[Answer::info("Brief.\n"), Answer::info(format!("About `x`.\n\n{rows}"))],
        );
        let expected = format!(
            "Brief.\n\n---\n\nAbout `x`.\n\n<details><summary>50 lines more</summary>\n\n{rows}\n</details>\n\n<!-- capstan-answer:42 -->\n"
        );
        assert_eq!(text, expected);
        // A table alone has no first paragraph.
        let text = answer_comment(COMMENT, &[Answer::info(rows)]);
        assert!(text.starts_with("<details><summary>50 lines</summary>\n\n| a | b |\n"), "{text}");
        // What is folded already is not counted.
        let folded =
            format!("Few.\n\n<details><summary>Many</summary>\n\n{}\n</details>\n", "x\n".repeat(90));
        let text = answer_comment(COMMENT, &[Answer::info(folded.clone())]);
        assert!(text.starts_with(&folded), "{text}");
    }

    #[test]
    fn what_is_cut_breaks_neither_a_fence_nor_a_fold() {
        let text = format!(
            "<details><summary>Diff</summary>\n\n````yaml\na: 1\n```\n{}````\n\n</details>\n",
            "b: 2\n".repeat(100)
        );
        let short = cut(&text, 150);
        assert!(short.len() <= 150, "{}", short.len());
        let expected = "<details><summary>Diff</summary>\n\n````yaml\na: 1\n```\nb: 2\nb: 2\nb: 2\n````\n\n</details>\n\n… 100 more lines do not fit into a comment.\n";
        assert_eq!(short, expected);
        // A line that is too long by itself is left out whole, and a short text does not change.
        assert_eq!(cut(&"x".repeat(600), 500), "\n… 1 more line does not fit into a comment.\n");
        assert_eq!(cut("a\n", 500), "a\n");
    }

    #[test]
    fn an_answer_is_a_refusal_where_nothing_was_done() {
        let refused = Answer::refused(Refusal::State, "It waits.\n");
        assert!(refused.is_refusal());
        assert!(!refused.clone().and(Answer::info("Done.\n")).is_refusal());
        assert!(!Answer::default().is_refusal());
        assert_eq!(
            refused.with("\nSee #3.\n").text(),
            "It waits. See `capstan help troubleshooting#states-of-a-proposal`.\n\nSee #3.\n"
        );
    }
}
