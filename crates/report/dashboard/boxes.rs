//! The boxes: each contains its command, in a comment that GitHub does not show.

use capstan_model::digest::sha256;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_plan::proposal::ProposalId;
use capstan_plan::verbs::{Command, Verb};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

use crate::block::ascii;

const OPEN: &str = "- [ ] <!-- capstan ";
const TICKED: [&str; 2] = ["- [x] <!-- capstan ", "- [X] <!-- capstan "];
const END: &str = " -->";

/// What a ticked box asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub verb: Verb,
    /// Its arguments, as in a comment.
    pub given: String,
    /// The proposal; `None` where it is about the whole repository.
    pub proposal: Option<ProposalId>,
}

#[derive(Serialize, Deserialize)]
struct BoxPayload {
    #[serde(rename = "do")]
    verb: Verb,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    with: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    of: Option<Target>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    from: Option<String>,
}

impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.payload().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let payload = BoxPayload::deserialize(deserializer)?;
        Self::of(payload).ok_or_else(|| de::Error::custom("there is no source of that kind"))
    }
}

impl Choice {
    /// A verb alone, for a proposal.
    pub fn about(verb: Verb, proposal: &ProposalId) -> Self {
        Self { verb, given: String::new(), proposal: Some(proposal.clone()) }
    }

    /// The command; `None` where this version has no such command.
    pub fn command(&self) -> Option<Command> {
        self.verb.with(&self.given).ok()
    }

    fn payload(&self) -> BoxPayload {
        let from = self
            .proposal
            .as_ref()
            .map(|proposal| &proposal.kind)
            .filter(|kind| **kind != SourceKind::RELEASE);
        BoxPayload {
            verb: self.verb,
            with: self.given.clone(),
            of: self.proposal.as_ref().map(|proposal| proposal.target.clone()),
            from: from.map(ToString::to_string),
        }
    }

    /// The box with its comment; the words follow.
    pub(super) fn to_box(&self) -> String {
        // Two dashes end a comment.
        let json = ascii(&serde_json::to_string(self).unwrap_or_default());
        format!("{OPEN}{}{END} ", json.replace('-', "\\u002d").replace('>', "\\u003e"))
    }

    /// The mark that identifies it in the record.
    pub(super) fn mark(&self) -> String {
        sha256(serde_json::to_string(self).unwrap_or_default())[..12].to_owned()
    }

    fn read(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    fn of(payload: BoxPayload) -> Option<Self> {
        let kind = payload.from.map_or(Some(SourceKind::RELEASE), |from| SourceKind::parse(&from))?;
        let proposal = payload.of.map(|target| ProposalId { target, kind });
        Some(Self { verb: payload.verb, given: payload.with, proposal })
    }
}

/// What a line with a ticked box asks for, and the line without the tick.
fn untick(line: &str) -> Option<(Option<Choice>, String)> {
    let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
    let rest = TICKED.iter().find_map(|ticked| line[indent.len()..].strip_prefix(ticked))?;
    let choice = rest.split_once(END).and_then(|(json, _)| Choice::read(json));
    Some((choice, format!("{indent}{OPEN}{rest}")))
}

/// The ticked boxes of a text, and the text without ticks. GitHub's page sends CRLF line ends.
pub(super) fn take_ticks(text: &str) -> (Vec<Choice>, String) {
    let mut choices = Vec::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        match untick(line) {
            Some((choice, unticked)) => {
                choices.extend(choice);
                lines.push(unticked);
            }
            None => lines.push(line.to_owned()),
        }
    }
    (choices, lines.join("\n"))
}

/// A text's digest, independent of ticks, line ends and blanks at its end.
pub(super) fn digest(text: &str) -> String {
    sha256(take_ticks(text).1.trim_end())
}
