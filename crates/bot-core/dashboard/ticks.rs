//! Whose word a tick is: GitHub tells who changed the body since Capstan wrote it, and its delivery who made one edit.

use std::collections::BTreeSet;

use capstan_facts::{TextEdit, Ticks};
use capstan_plan::command::Right;
use capstan_plan::settings::RepositorySettings;
use capstan_report::markdown::code;
use capstan_report::{Choice, DashboardReading, EarlierText};
use jiff::Timestamp;

use crate::facts::Facts;
use crate::requests::{CommandAuthor, Request, RequestOrigin, hearing_of};

/// How many boxes of one run are processed. A body with more ticks asks for all of them, and no person makes that.
const MOST: usize = 100;

/// Who ticked, and when first.
#[derive(Debug, PartialEq, Eq)]
pub enum Editor<'a> {
    Person(&'a str, Timestamp),
    /// It is unknown who did, or their ticks do not count: why.
    Nobody(String),
}

fn is_own(edit: &TextEdit, own: &str) -> bool {
    edit.by_bot && edit.by.as_deref() == Some(own)
}

/// What others changed of a body since Capstan, `own`, wrote it; newest first, as `edits` are.
pub fn by_others<'a>(edits: &'a [TextEdit], own: &str) -> Vec<&'a TextEdit> {
    edits.iter().take_while(|edit| !is_own(edit, own)).collect()
}

/// Whose change Capstan wrote over with the last write of `edits`, newest first, when it had seen `seen` changes of
/// others before it; the newest of them.
pub fn written_over<'a>(edits: &'a [TextEdit], own: &str, seen: usize) -> Option<&'a TextEdit> {
    let last = edits.iter().position(|edit| is_own(edit, own))?;
    let before = by_others(edits.get(last + 1..)?, own);
    before.first().filter(|_| before.len() > seen).copied()
}

/// Who changed a body since Capstan, `own`, wrote it; `edits` are newest first. If several people did, it is unknown
/// who ticked what, so none of it counts.
pub fn whose<'a>(edits: &'a [TextEdit], own: &str) -> Editor<'a> {
    let since = by_others(edits, own);
    let named: BTreeSet<Option<&str>> = since.iter().map(|edit| edit.by.as_deref()).collect();
    let people: Vec<&str> = named.iter().flatten().copied().collect();
    match (people.as_slice(), since.last()) {
        _ if since.iter().any(|edit| edit.by_bot) => {
            Editor::Nobody("Capstan ignores ticks by bots".to_owned())
        }
        ([one], Some(first)) if named.len() == 1 => Editor::Person(one, first.at),
        ([], _) | ([_], _) => Editor::Nobody("GitHub does not say who ticked it".to_owned()),
        (several, _) => {
            let names: Vec<String> = several.iter().take(5).map(|one| code(one, 60)).collect();
            Editor::Nobody(format!("several people edited this page at once ({})", names.join(", ")))
        }
    }
}

/// Which ticks of these edits were never processed, in the order in which they were made: Capstan wrote over the text
/// that had them, and nobody took them back before.
pub fn late<'a>(edits: &'a [Ticks], earlier: &[EarlierText]) -> Vec<(&'a Ticks, Vec<Choice>)> {
    let mut late: Vec<(&Ticks, Vec<Choice>)> = Vec::new();
    for edit in edits {
        let Some(text) = earlier.iter().find(|text| text.is_of(&edit.boxes)) else { continue };
        for (_, choices) in late.iter_mut().filter(|(before, _)| text.is_of(&before.boxes)) {
            choices.retain(|choice| !edit.boxes.unticked.contains(choice));
        }
        let asked_before = |choice: &Choice| {
            late.iter().any(|(before, choices)| text.is_of(&before.boxes) && choices.contains(choice))
        };
        let is_new = |choice: &&Choice| !text.has_heard(choice) && !asked_before(choice);
        let new: Vec<Choice> = edit.boxes.ticked.iter().filter(is_new).take(MOST).cloned().collect();
        late.push((edit, new));
    }
    late.retain(|(_, choices)| !choices.is_empty());
    late
}

/// Boxes that one person ticked.
#[derive(Debug, PartialEq, Eq)]
pub struct TickedBoxes<'a> {
    /// Their login.
    pub by: &'a str,
    /// When they ticked first.
    pub at: Timestamp,
    pub choices: Vec<Choice>,
}

/// What becomes of the changes of a body since Capstan wrote it.
#[derive(Debug, PartialEq, Eq)]
pub enum DashboardEdit<'a> {
    /// They are the ticks of one person, in that moment.
    Ticks(TickedBoxes<'a>),
    /// No tick is processed; this is what a notice says about that.
    Said(String),
    /// There are none.
    Nothing,
}

/// Says what becomes of them; `edits` are newest first, and `own` is Capstan's login.
pub fn edited<'a>(reading: &DashboardReading, edits: &'a [TextEdit], own: &str) -> DashboardEdit<'a> {
    match (whose(edits, own), reading) {
        (_, DashboardReading::AsWritten) => DashboardEdit::Nothing,
        (Editor::Person(by, at), DashboardReading::Ticked(choices)) => DashboardEdit::Ticks(TickedBoxes {
            by,
            at,
            choices: choices.iter().take(MOST).cloned().collect(),
        }),
        (Editor::Person(login, _), DashboardReading::Edited) => DashboardEdit::Said(format!(
            "{} edited this page: the edit was reverted; no checkbox was processed.",
            code(login, 60)
        )),
        (Editor::Nobody(why), DashboardReading::Ticked(_)) => {
            DashboardEdit::Said(format!("No checkbox was processed: {why}. Tick again."))
        }
        (Editor::Nobody(_), DashboardReading::Edited) => DashboardEdit::Said(
            "This page was edited: the edit was reverted; no checkbox was processed.".to_owned(),
        ),
    }
}

/// What is said to who edited the page between the last look at it and the write of Capstan's that followed.
pub fn said_to_lost(by: Option<&str>) -> (String, String) {
    let by = by.map_or_else(|| "Somebody".to_owned(), |login| code(login, 60));
    let text = format!(
        "{by} edited this page while Capstan wrote it. Capstan processes the ticked boxes when GitHub reports them. If there is no answer here within a minute, tick again."
    );
    (by, text)
}

/// The requests that the ticks of one person are, in an issue of that number; `before` is how many ticks are requests
/// already.
pub fn tick_requests(
    facts: &Facts,
    number: u64,
    before: usize,
    ticked: TickedBoxes<'_>,
    right: Right,
    settings: &RepositorySettings,
) -> Vec<Request> {
    let given =
        CommandAuthor { by: ticked.by, at: ticked.at, right, hearing: hearing_of(right, &settings.commands) };
    let mut requests = Vec::new();
    for choice in ticked.choices {
        let Some(command) = choice.command() else { continue };
        let pull = choice.proposal.as_ref().and_then(|proposal| facts.pull_of(proposal));
        let origin = RequestOrigin::Tick { at: before + requests.len(), about: choice.proposal };
        requests.push(Request::new(origin, number, pull.cloned(), given, vec![Ok(command)]));
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_that_nobody_had_seen_before_the_write_was_written_over() {
        let edit = |by: &str| TextEdit {
            by: (!by.is_empty()).then(|| by.to_owned()),
            by_bot: by.ends_with("[bot]"),
            at: Timestamp::from_second(1_800_000_000).unwrap(),
        };
        let (own, other) = ("capstan[bot]", "ada");
        for (edits, seen, expected) in [
            (vec![own, other, own], 0, Some("ada")),
            (vec![own, other, own], 1, None),
            (vec![own, "eve", other, own], 1, Some("eve")),
            // An edit after the write is processed the next time.
            (vec!["eve", own, own], 0, None),
            (vec!["eve", own, other, own], 0, Some("ada")),
            (vec![own, own, other, own], 0, None),
            // Nobody had edited what was opened so.
            (vec![own], 0, None),
            (vec![own, other], 0, Some("ada")),
            (vec![other], 0, None),
            (vec![], 0, None),
        ] {
            let made: Vec<TextEdit> = edits.iter().map(|by| edit(by)).collect();
            let found = written_over(&made, own, seen);
            assert_eq!(found.and_then(|edit| edit.by.as_deref()), expected, "{edits:?}, {seen}");
        }
    }

    #[test]
    fn a_tick_is_the_word_of_the_one_person_who_edited_since_capstan_wrote() {
        let at = |second: i64| Timestamp::from_second(1_800_000_000 + second).unwrap();
        let edit = |by: &str, second| TextEdit {
            by: (!by.is_empty()).then(|| by.to_owned()),
            by_bot: by.ends_with("[bot]"),
            at: at(second),
        };
        let nobody = |why: &str| Editor::Nobody(why.to_owned());
        let told = "GitHub does not say who ticked it";
        for (edits, expected) in [
            (vec![edit("ada", 2), edit("capstan[bot]", 1)], Editor::Person("ada", at(2))),
            (vec![edit("ada", 3), edit("ada", 2), edit("capstan[bot]", 1)], Editor::Person("ada", at(2))),
            (vec![edit("ada", 2)], Editor::Person("ada", at(2))),
            (
                vec![edit("ada", 3), edit("mallory", 2), edit("capstan[bot]", 1)],
                nobody("several people edited this page at once (`ada`, `mallory`)"),
            ),
            (vec![edit("ada", 3), edit("capstan[bot]", 2), edit("mallory", 1)], Editor::Person("ada", at(3))),
            (vec![edit("ada", 3), edit("", 2), edit("capstan[bot]", 1)], nobody(told)),
            (vec![edit("", 2), edit("capstan[bot]", 1)], nobody(told)),
            (vec![edit("helper[bot]", 2), edit("ada", 1)], nobody("Capstan ignores ticks by bots")),
            (vec![edit("capstan[bot]", 1)], nobody(told)),
            (vec![], nobody(told)),
        ] {
            assert_eq!(whose(&edits, "capstan[bot]"), expected, "{edits:?}");
        }
    }
}
