//! Which check run carries a report: the existing one as it is, the existing one updated, or a new one.
//!
//! *Guarantees.* A run with a conclusion has all of its annotations, each once, even if a process was killed
//! between two calls. A report that GitHub has is not sent again, unless somebody asks for it.

use super::fingerprint::ReportId;

/// GitHub's id of a check run.
pub type RunId = u64;

/// What is known about the check runs on a head.
#[derive(Debug, Clone, Copy)]
pub struct RunFacts<'a> {
    pub report: &'a ReportId,
    /// How many calls it takes.
    pub calls: Calls,
    /// Whether somebody asked to report again.
    pub wish: RunWish,
    /// The recorded run: its id, and its report.
    pub noted: Option<(RunId, &'a ReportId)>,
    /// The newest run that GitHub has.
    pub newest: Newest<'a>,
}

/// How many calls a report takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// The report is written whole or not at all.
    One,
    /// Its annotations come in parts.
    Several,
}

/// Whether somebody asked to report again, by a button or GitHub's *re-run*.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunWish {
    /// Nobody did.
    AsItIs,
    /// Somebody did.
    Again,
}

/// The newest check run on a head, as GitHub has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newest<'a> {
    /// GitHub was not asked.
    NotAsked,
    /// There is none.
    Absent,
    /// A run that is in progress.
    Running(RunId, &'a ReportId),
    /// A run with a conclusion.
    Concluded(RunId, &'a ReportId),
}

/// What to do with a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunDecision {
    /// Ask GitHub first: it depends on the runs there.
    Ask,
    /// That run has the report already.
    Keep(RunId),
    /// Send the missing annotations to that run.
    Finish(RunId),
    /// Update that run.
    Update(RunId),
    /// Create a new run.
    Create,
}

/// Which run carries a report.
pub fn place(facts: &RunFacts<'_>) -> RunDecision {
    let RunFacts { report, calls, wish, noted, newest } = *facts;
    if let Some((run, says)) = noted
        && says == report
        && wish == RunWish::AsItIs
    {
        return RunDecision::Keep(run);
    }
    // Annotations must not be sent twice. After a kill the records may be behind, so GitHub is asked first.
    if newest == Newest::NotAsked && (noted.is_none() || report.is_annotated()) {
        return RunDecision::Ask;
    }
    match newest {
        Newest::Running(run, says) if calls == Calls::Several && *says == report.unfinished() => {
            return RunDecision::Finish(run);
        }
        Newest::Concluded(run, says) if says == report => {
            // With a request to report again, only a run created since then counts: not the recorded one.
            let is_since = noted.is_some_and(|(noted, says)| noted != run && *says == report.unfinished());
            if wish == RunWish::AsItIs || is_since {
                return RunDecision::Keep(run);
            }
        }
        _ => {}
    }
    // A completed run does not go back to work, which a report in several calls would require.
    let may_replace =
        |says: &ReportId| report.may_replace(says) && (calls == Calls::One || says.is_pending());
    match (noted, newest) {
        (Some((run, says)), _) if may_replace(says) => RunDecision::Update(run),
        (Some(_), _) => RunDecision::Create,
        (None, Newest::Running(run, says) | Newest::Concluded(run, says)) => {
            if says == report && wish == RunWish::AsItIs {
                RunDecision::Keep(run)
            } else if may_replace(says) {
                RunDecision::Update(run)
            } else {
                RunDecision::Create
            }
        }
        (None, Newest::NotAsked | Newest::Absent) => RunDecision::Create,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports, with one call or several, on a head with one recorded run and one on GitHub.
    #[test]
    fn a_report_is_sent_once() {
        let id = |text: &str| ReportId::read(text);
        let (plain, other, pending) = (id("aa"), id("bb"), id("aa-pending"));
        let (annotated, unfinished) = (id("aa-annotated"), id("aa-unfinished"));
        let other_annotated = id("bb-annotated");
        use Calls::{One, Several};
        use Newest::{Absent, Concluded, NotAsked, Running};
        use RunDecision::{Ask, Create, Finish, Keep, Update};
        use RunWish::{Again, AsItIs};
        for (at, (report, calls, wish, noted, newest, decision)) in [
            // Nothing is recorded: GitHub is asked, and a report that it has is kept.
            (&plain, One, AsItIs, None, NotAsked, Ask),
            (&plain, One, AsItIs, None, Absent, Create),
            (&plain, One, AsItIs, None, Concluded(7, &plain), Keep(7)),
            (&pending, One, AsItIs, None, Running(7, &pending), Keep(7)),
            (&plain, One, AsItIs, None, Running(7, &pending), Update(7)),
            (&plain, One, AsItIs, None, Concluded(7, &other_annotated), Create),
            // The record is enough where no annotation could be sent twice.
            (&plain, One, AsItIs, Some((7, &plain)), NotAsked, Keep(7)),
            (&plain, One, AsItIs, Some((7, &other)), NotAsked, Update(7)),
            (&pending, One, AsItIs, Some((7, &other)), NotAsked, Create),
            (&plain, One, AsItIs, Some((7, &annotated)), NotAsked, Create),
            (&annotated, One, AsItIs, Some((7, &plain)), NotAsked, Ask),
            (&annotated, One, AsItIs, Some((7, &plain)), Concluded(7, &plain), Update(7)),
            // A process was killed after it sent all or a part.
            (&annotated, One, AsItIs, Some((7, &plain)), Concluded(8, &annotated), Keep(8)),
            (&annotated, Several, AsItIs, Some((7, &unfinished)), Running(8, &unfinished), Finish(8)),
            (&annotated, Several, AsItIs, Some((7, &unfinished)), Concluded(8, &annotated), Keep(8)),
            (&annotated, Several, AsItIs, None, Running(8, &unfinished), Finish(8)),
            // In parts, only a run that is in progress can take them.
            (&annotated, Several, AsItIs, Some((7, &pending)), Running(7, &pending), Update(7)),
            (&annotated, Several, AsItIs, Some((7, &plain)), Concluded(7, &plain), Create),
            // Somebody asked to report again.
            (&plain, One, Again, Some((7, &plain)), NotAsked, Update(7)),
            (&plain, One, Again, None, Concluded(7, &plain), Update(7)),
            (&annotated, One, Again, Some((7, &annotated)), Concluded(7, &annotated), Create),
            (&annotated, Several, Again, Some((7, &unfinished)), Concluded(7, &annotated), Create),
            (&annotated, Several, Again, Some((7, &unfinished)), Concluded(8, &annotated), Keep(8)),
        ]
        .into_iter()
        .enumerate()
        {
            let facts = RunFacts { report, calls, wish, noted, newest };
            assert_eq!(place(&facts), decision, "row {at}: {facts:?}");
        }
    }
}
