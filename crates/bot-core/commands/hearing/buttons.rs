//! A button on the check of a proposal: a command like any other.

use capstan_facts::{AuditEntry, Press};
use capstan_plan::command::{Hearing, Right, hear};
use capstan_plan::settings::CommandSettings;
use capstan_report::pressed_meanwhile;

use crate::effects::Effect;
use crate::facts::Facts;
use crate::proposals::DecisionStep;
use crate::requests::{CommandAuthor, Request, RequestOrigin, meant_by, readers_of};

/// The request of a pressed button, or what is done instead. Asks for the right of the person who pressed it.
pub fn press(
    facts: &Facts,
    settings: &CommandSettings,
    press: &Press,
    right: Option<Right>,
) -> DecisionStep<Result<Box<Request>, Effect>, ()> {
    let Some((command, pull)) = meant_by(facts, press) else {
        // The head has changed, or the pull request is closed: the button is gone.
        let detail = format!("{}, button at {}", press.button, press.head);
        let audited = AuditEntry::by(facts.repository.id, &press.by, "command-overtaken", detail);
        return DecisionStep::Decided(Err(Effect::Audit(audited)));
    };
    let Some(right) = right else { return DecisionStep::Ask(()) };
    let hearing = hear(right, readers_of(settings), press.at, None);
    let given = CommandAuthor { by: &press.by, at: press.at, right, hearing };
    let origin = RequestOrigin::Button(press.clone());
    let request = Request::new(origin, pull.number, Some(pull.clone()), given, vec![Ok(command)]);
    DecisionStep::Decided(Ok(Box::new(request)))
}

/// What a check says at once of a button that is obeyed. The next run writes that check again.
pub fn line_of_press(request: &Request) -> Option<Effect> {
    let RequestOrigin::Button(press) = &request.origin else { return None };
    let pull = request.pull.as_ref().filter(|_| request.hearing == Hearing::Obeyed)?;
    let line = pressed_meanwhile(&press.button, &press.by);
    Some(Effect::LineAbove { head: pull.head.clone(), line })
}
