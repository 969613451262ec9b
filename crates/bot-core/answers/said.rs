//! What is done to tell somebody the answers: a comment, a reaction, or a line in a check, where there is little room.

use capstan_facts::Reaction;
use capstan_report::{Answer, answer_comment};

use crate::effects::{AnswerNeed, AnswerOf, Effect};
use crate::requests::{Request, RequestOrigin};

/// How many characters of an answer a check shows.
const LONGEST_ON_CHECK: usize = 800;

/// The effect that answers a request; `not_shown` is the part of the answers that is shown nowhere else. `None` for ticks
/// and orders on the page: the dashboard answers those. A button is answered in the check of its head, which is
/// reported at the end of the run.
pub fn said(request: &Request, parts: &[Answer], not_shown: &[Answer]) -> Option<Effect> {
    match &request.origin {
        RequestOrigin::Tick { .. } | RequestOrigin::Page(_) => None,
        RequestOrigin::Button(press) => {
            let words = in_one_line(&without_repeats(parts), LONGEST_ON_CHECK);
            let words = format!("`{}`, pressed by `{}`: {words}", press.button, press.by);
            Some(Effect::Pressed { head: request.pull.as_ref()?.head.clone(), words })
        }
        RequestOrigin::Comment(comment) => {
            let told = without_repeats(if not_shown.is_empty() { parts } else { not_shown });
            let is_refused = parts.iter().any(Answer::is_refusal);
            Some(Effect::Answer(AnswerOf {
                comment: comment.id,
                number: request.number,
                body: answer_comment(comment.id, &told),
                need: if not_shown.is_empty() { AnswerNeed::Reaction } else { AnswerNeed::Comment },
                verdict: if is_refused { Reaction::Confused } else { Reaction::ThumbsUp },
            }))
        }
    }
}

/// Answers as one line of text of at most `most` characters, for places with little room. The cut leaves no code span
/// open.
pub fn in_one_line(answers: &[Answer], most: usize) -> String {
    let texts: Vec<String> = answers.iter().map(Answer::text).collect();
    let words: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
    let line = words.join(" ");
    let Some((end, _)) = line.char_indices().nth(most) else { return line };
    let kept = line.get(..end).and_then(|cut| Some(cut.rsplit_once(' ')?.0)).unwrap_or_default();
    let open = kept.matches('`').count() % 2 == 1;
    let kept = if open { kept.rsplit_once('`').map_or(kept, |(before, _)| before) } else { kept };
    format!("{} …", kept.trim_end())
}

/// The answers without those that say again what the one before says.
pub(super) fn without_repeats(answers: &[Answer]) -> Vec<Answer> {
    let mut told: Vec<Answer> = answers.iter().filter(|answer| !answer.is_empty()).cloned().collect();
    told.dedup();
    told
}
