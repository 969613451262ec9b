//! Which check run carries a report: the one that is there, one that is gone on with or updated, or another one.
//!
//! *Guarantees.* A run with a conclusion has all of its annotations, each once, also where a process was killed between
//! two calls. Nothing is sent that stands there already, but where somebody wants it anew.

use super::fingerprint::ReportId;

/// GitHub's id of a check run.
pub type RunId = u64;

/// What is known of the check runs on a head.
#[derive(Debug, Clone, Copy)]
pub struct RunFacts<'a> {
    /// What is to be said.
    pub report: &'a ReportId,
    /// In how many calls.
    pub calls: Calls,
    /// Whether somebody wants it said anew.
    pub wish: RunWish,
    /// The run that the records know: its id, and what it says.
    pub noted: Option<(RunId, &'a ReportId)>,
    /// The newest run that GitHub has.
    pub newest: Newest<'a>,
}

/// How many calls a report takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// It is written whole or not at all.
    One,
    /// Its annotations come in parts.
    Several,
}

/// Whether somebody wants a report anew: a button, or GitHub's *re-run*.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunWish {
    /// Nobody does.
    AsItIs,
    /// Somebody does.
    Anew,
}

/// The newest check run on a head, as GitHub has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newest<'a> {
    /// GitHub was not asked.
    NotAsked,
    /// There is none.
    Absent,
    /// One that is still at work.
    Running(RunId, &'a ReportId),
    /// One with a conclusion.
    Concluded(RunId, &'a ReportId),
}

/// What becomes of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunDecision {
    /// It depends on what GitHub has.
    Ask,
    /// That run says it.
    Keep(RunId),
    /// A run that has some of its annotations gets the others.
    Finish(RunId),
    /// That run says it from now on.
    Update(RunId),
    /// Another run says it.
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
    // What is sent once for each annotation is not sent before GitHub was asked what it has: of a process that was killed
    // the records know less.
    if newest == Newest::NotAsked && (noted.is_none() || report.is_annotated()) {
        return RunDecision::Ask;
    }
    match newest {
        Newest::Running(run, says) if calls == Calls::Several && *says == report.unfinished() => {
            return RunDecision::Finish(run);
        }
        Newest::Concluded(run, says) if says == report => {
            // One that somebody wants anew counts only where it was made since: it is not the one that is noted.
            let is_since = noted.is_some_and(|(noted, says)| noted != run && *says == report.unfinished());
            if wish == RunWish::AsItIs || is_since {
                return RunDecision::Keep(run);
            }
        }
        _ => {}
    }
    // A run with a conclusion does not go back to work, which one that is sent in parts would have to.
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

    /// Reports, with one call or several, on a head with one noted run and one that GitHub has.
    #[test]
    fn a_report_is_said_once() {
        let id = |text: &str| ReportId::read(text);
        let (plain, other, pending) = (id("aa"), id("bb"), id("aa-pending"));
        let (annotated, unfinished) = (id("aa-annotated"), id("aa-unfinished"));
        let other_annotated = id("bb-annotated");
        use Calls::{One, Several};
        use Newest::{Absent, Concluded, NotAsked, Running};
        use RunDecision::{Ask, Create, Finish, Keep, Update};
        use RunWish::{Anew, AsItIs};
        for (at, (report, calls, wish, noted, newest, decision)) in [
            // Nothing is known: GitHub is asked, and what stands there already is kept.
            (&plain, One, AsItIs, None, NotAsked, Ask),
            (&plain, One, AsItIs, None, Absent, Create),
            (&plain, One, AsItIs, None, Concluded(7, &plain), Keep(7)),
            (&pending, One, AsItIs, None, Running(7, &pending), Keep(7)),
            (&plain, One, AsItIs, None, Running(7, &pending), Update(7)),
            (&plain, One, AsItIs, None, Concluded(7, &other_annotated), Create),
            // What is noted is believed where no annotation could be sent twice.
            (&plain, One, AsItIs, Some((7, &plain)), NotAsked, Keep(7)),
            (&plain, One, AsItIs, Some((7, &other)), NotAsked, Update(7)),
            (&pending, One, AsItIs, Some((7, &other)), NotAsked, Create),
            (&plain, One, AsItIs, Some((7, &annotated)), NotAsked, Create),
            (&annotated, One, AsItIs, Some((7, &plain)), NotAsked, Ask),
            (&annotated, One, AsItIs, Some((7, &plain)), Concluded(7, &plain), Update(7)),
            // A process was killed after GitHub had it all, or a part.
            (&annotated, One, AsItIs, Some((7, &plain)), Concluded(8, &annotated), Keep(8)),
            (&annotated, Several, AsItIs, Some((7, &unfinished)), Running(8, &unfinished), Finish(8)),
            (&annotated, Several, AsItIs, Some((7, &unfinished)), Concluded(8, &annotated), Keep(8)),
            (&annotated, Several, AsItIs, None, Running(8, &unfinished), Finish(8)),
            // In parts, only a run that is still at work can take them.
            (&annotated, Several, AsItIs, Some((7, &pending)), Running(7, &pending), Update(7)),
            (&annotated, Several, AsItIs, Some((7, &plain)), Concluded(7, &plain), Create),
            // Somebody wants it anew.
            (&plain, One, Anew, Some((7, &plain)), NotAsked, Update(7)),
            (&plain, One, Anew, None, Concluded(7, &plain), Update(7)),
            (&annotated, One, Anew, Some((7, &annotated)), Concluded(7, &annotated), Create),
            (&annotated, Several, Anew, Some((7, &unfinished)), Concluded(7, &annotated), Create),
            (&annotated, Several, Anew, Some((7, &unfinished)), Concluded(8, &annotated), Keep(8)),
        ]
        .into_iter()
        .enumerate()
        {
            let facts = RunFacts { report, calls, wish, noted, newest };
            assert_eq!(place(&facts), decision, "row {at}: {facts:?}");
        }
    }
}
