//! Orders to campaigns on the page: who sees the buttons, and the command of each.
//!
//! The page decides with GitHub's answers of the last minutes. The run that carries an order out asks GitHub
//! again, for team members too. So it may refuse a person who still saw the button.

use std::collections::BTreeMap;

use capstan_bot_core::requests::right_of;
use capstan_plan::command::{Asker, CodeOwners, CommandPlace, RightsVerdict, judge};
use capstan_plan::settings::{CommandPermission, CommandSettings};
use capstan_plan::verbs::{Command, OrderWhat, Verb};
use capstan_ports::{CampaignProgress, Permission};

use super::visitors::Person;

/// A button of a campaign's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CampaignButton {
    /// The campaign opens no further pull request.
    Stop,
    /// It continues.
    Resume,
}

impl CampaignButton {
    /// Its word in a form and in a command.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Resume => "resume",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Stop, Self::Resume].into_iter().find(|button| button.as_str() == word)
    }

    /// The equivalent comment.
    pub fn command(self, prefix: &str, campaign: &str) -> Option<String> {
        Some(format!("{prefix} {} {}", Verb::Campaign.word(), self.given(campaign, "")?))
    }

    /// The arguments of the equivalent comment; `None` where a command cannot contain the reason.
    pub fn given(self, campaign: &str, reason: &str) -> Option<String> {
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        let given = match self {
            Self::Stop if !reason.is_empty() => format!("stop {reason} of {campaign}"),
            Self::Stop | Self::Resume => format!("{} of {campaign}", self.as_str()),
        };
        let Ok(Command::Campaign(order)) = Verb::Campaign.with(&given) else { return None };
        let is_it = matches!(
            (self, &order.what),
            (Self::Stop, OrderWhat::Stop(_)) | (Self::Resume, OrderWhat::Resume)
        );
        (is_it && order.of.as_deref() == Some(campaign)).then_some(given)
    }
}

/// Whether a person may stop and resume a campaign of a repository, by their login and their right there.
/// Team membership does not count here: a person's token does not show it.
pub fn may_order(person: &Person, repository: u64, campaign: &CampaignProgress) -> bool {
    let permission = person.rights.get(&repository).copied().unwrap_or(Permission::None);
    let allowed =
        CommandPermission { matches: None, verbs: vec![Verb::Campaign], allow: campaign.ordered_by.clone() };
    let settings = CommandSettings { permissions: vec![allowed], ..CommandSettings::default() };
    let teams = BTreeMap::new();
    let asker = Asker { login: &person.login, right: right_of(permission), teams: &teams };
    let place = CommandPlace { clusters: &[], fork_author: None };
    permission != Permission::None
        && judge(Verb::Campaign, asker, place, &settings, &CodeOwners::default()) == RightsVerdict::Allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_gives_the_command_of_a_comment_and_a_reason_no_other_one() {
        let (stop, resume) = (CampaignButton::Stop, CampaignButton::Resume);
        for (button, campaign, reason, expected) in [
            (stop, "fleet", "", Some("stop of fleet")),
            (stop, "fleet", "  wrong\r\n image ", Some("stop wrong image of fleet")),
            (stop, "fleet", "the rest of other", Some("stop the rest of other of fleet")),
            (resume, "fleet", "is not said", Some("resume of fleet")),
            // A name that settings cannot give a campaign.
            (stop, "fleet <1>", "", None),
            (resume, "a b", "", None),
        ] {
            assert_eq!(button.given(campaign, reason).as_deref(), expected, "{campaign}, {reason}");
        }
        assert_eq!(stop.given("fleet", &"x".repeat(1_000)), None);
        for (word, expected) in [("stop", Some(stop)), ("resume", Some(resume)), ("skip", None), ("", None)] {
            assert_eq!(CampaignButton::parse(word), expected);
        }
    }
}
