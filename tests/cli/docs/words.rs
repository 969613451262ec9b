//! How pages read: the length of their sentences, and words that do not occur. Only running text counts: neither code nor
//! tables nor headings.
//!
//! A sentence ends with its mark; the end of a paragraph or of a list item ends one too. An item without a mark at its
//! end is not a sentence. It counts for the longest, and not for the average, which short items would improve.

use capstan_test_parts::page::Page;

use super::pages;

/// Pages by the beginning of their path, of which the first that fits counts: words a sentence on average, in tenths, and
/// words of the longest sentence. A bound may go down and never up.
const BOUNDS: &[(&str, usize, usize)] =
    &[("docs/tutorials/", 120, 30), ("docs/rules/", 155, 30), ("", 160, 40)];

/// Where a phrase does not occur.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// On no page, and in nothing that the programs say.
    Everywhere,
    /// In nothing that the programs say.
    InPrograms,
}

/// What does not occur: other words are plainer.
pub(crate) const PHRASES: &[(&str, Held)] = &[
    ("all the same", Held::Everywhere),
    ("anew", Held::Everywhere),
    ("cannot be told", Held::Everywhere),
    ("comes to no end", Held::Everywhere),
    ("hangs on", Held::Everywhere),
    ("has come to", Held::Everywhere),
    ("has it go on", Held::Everywhere),
    ("hence", Held::Everywhere),
    ("lies", Held::Everywhere),
    ("nobody can tell", Held::Everywhere),
    ("nobody knows", Held::Everywhere),
    ("none such", Held::Everywhere),
    ("says not", Held::Everywhere),
    ("so that nobody", Held::Everywhere),
    ("so-manieth", Held::Everywhere),
    ("stands", Held::Everywhere),
    ("such a one", Held::Everywhere),
    ("thereof", Held::Everywhere),
    ("told", Held::Everywhere),
    ("were it", Held::Everywhere),
    ("wherein", Held::Everywhere),
    ("whoever", Held::Everywhere),
    ("whom", Held::Everywhere),
    ("whomever", Held::Everywhere),
    ("as good as", Held::InPrograms),
    ("goes on", Held::InPrograms),
    ("looked at", Held::InPrograms),
    ("somebody else", Held::InPrograms),
];

/// What is counted of a page.
#[derive(Debug, PartialEq, Eq)]
struct Reading {
    average: usize,
    longest: usize,
    longest_text: String,
    words: Vec<String>,
}

fn reading(page: &Page) -> Reading {
    let all: Vec<(Vec<&str>, bool)> = page.prose.iter().flat_map(|text| sentences(text)).collect();
    let whole: Vec<usize> = all.iter().filter(|(_, ends)| *ends).map(|(words, _)| words.len()).collect();
    let longest = all.iter().map(|(words, _)| words).max_by_key(|words| words.len());
    // What code says is code's.
    let spoken = all.iter().flat_map(|(words, _)| words).filter(|word| !word.contains('`'));
    let letters = |word: &str| word.to_lowercase().replace(|c: char| !c.is_alphabetic() && c != '-', " ");
    let spoken: Vec<String> = spoken.map(|word| letters(word).trim().to_owned()).collect();
    let spoken = format!(" {} ", spoken.join(" "));
    let held = PHRASES.iter().filter(|(_, held)| *held == Held::Everywhere);
    let found = held.flat_map(|(phrase, _)| {
        let times = spoken.matches(&format!(" {phrase} ")).count();
        std::iter::repeat_n((*phrase).to_owned(), times)
    });
    Reading {
        average: (whole.iter().sum::<usize>() * 10).div_ceil(whole.len().max(1)),
        longest: longest.map_or(0, Vec::len),
        longest_text: longest.map(|words| words.join(" ")).unwrap_or_default(),
        words: found.collect(),
    }
}

/// The sentences of a piece of text, each with whether a mark ends it.
fn sentences(text: &str) -> Vec<(Vec<&str>, bool)> {
    let is_word = |word: &&str| word.contains(|c: char| c.is_alphanumeric() || c == '`');
    let (mut all, mut words) = (Vec::new(), Vec::new());
    let mut rest = text.split_whitespace().peekable();
    while let Some(word) = rest.next() {
        words.extend(Some(word).filter(is_word));
        let bare = word.trim_end_matches([')', '"', '\'', '”']);
        let is_short = ["e.g.", "i.e.", "etc.", "vs.", "cf."].contains(&bare);
        // A mark within a name, as in `v1.2` or `Node.js`, has no space behind it.
        let goes_on = rest.peek().is_some_and(|next| next.starts_with(char::is_lowercase));
        if bare.ends_with(['.', '!', '?', ':']) && !is_short && !(goes_on && bare.ends_with('.')) {
            let ends = !bare.ends_with(':') || rest.peek().is_none();
            // What a colon introduces belongs to its sentence.
            if ends {
                all.push((std::mem::take(&mut words), true));
            }
        }
    }
    all.extend((!words.is_empty()).then_some((words, false)));
    all
}

#[test]
fn every_page_reads_easily() {
    let mut troubles = Vec::new();
    let pages = pages();
    for page in pages.iter().filter(|page| page.path != "docs/SUMMARY.md") {
        let read = reading(page);
        let bounds = BOUNDS.iter().find(|(beginning, ..)| page.path.starts_with(beginning));
        let (_, average, longest) = bounds.unwrap();
        if read.average > *average {
            troubles.push(format!(
                "{}: {} tenths of a word a sentence on average, at most {average} are meant",
                page.path, read.average
            ));
        }
        if read.longest > *longest {
            troubles.push(format!(
                "{}: a sentence of {} words, at most {longest} are meant: {}",
                page.path, read.longest, read.longest_text
            ));
        }
        troubles.extend(
            read.words.iter().map(|word| format!("{}: write something else than `{word}`", page.path)),
        );
    }
    assert!(troubles.is_empty(), "{}", troubles.join("\n"));
    let sentences: usize = pages.iter().flat_map(|page| &page.prose).map(|text| sentences(text).len()).sum();
    assert!(sentences > 2_000, "{sentences} sentences: the test looks in the wrong place");
}

#[test]
fn prose_is_read_as_people_read_it() {
    let page = Page::read(
        "a.md",
        "# A heading without end\n\n\
         One two `anew four` [five six](b.md). A version v1.2 is one word, e.g. this.\n\
         **Bold**: goes on after a colon. Of whom?\n\n\
         - no sentence at all\n- Whoever reads this is read.\n\n\
         ```sh\ncapstan plan whoever\n```\n\n| whoever | b |\n|---|---|\n| anew | z |\n",
    );
    let lengths: Vec<Vec<(usize, bool)>> = page
        .prose
        .iter()
        .map(|text| sentences(text).into_iter().map(|(words, ends)| (words.len(), ends)).collect())
        .collect();
    assert_eq!(
        lengths,
        [vec![(5, true), (8, true), (6, true), (2, true)], vec![(4, false)], vec![(5, true)]]
    );
    let read = reading(&page);
    // 26 words in five sentences.
    assert_eq!((read.average, read.longest), (52, 8));
    assert_eq!(read.longest_text, "A version v1.2 is one word, e.g. this.");
    assert_eq!(read.words, ["whoever", "whom"]);
}
