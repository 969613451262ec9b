//! What is done to tell somebody the answers: a comment, a reaction, or a line in a check, where there is little room.

use capstan_facts::Reaction;
use capstan_report::{Answer, answer_comment};

use crate::effects::{AnswerNeed, AnswerOf, Effect};
use crate::requests::{Origin, Request};

/// So many characters of an answer stand in a check.
const LONGEST_ON_CHECK: usize = 800;

/// Says what comes of a request; `untold` is what of it stands nowhere else. `None` where nothing is done for that: ticks
/// and orders on the page are answered in the dashboard, and a button in the check of its head, which is reported with that at the end of the run.
pub fn said(request: &Request, parts: &[Answer], untold: &[Answer]) -> Option<Effect> {
    match &request.origin {
        Origin::Tick { .. } | Origin::Page(_) => None,
        Origin::Button(press) => {
            let words = in_one_line(&told_once(parts), LONGEST_ON_CHECK);
            let words = format!("`{}`, pressed by `{}`: {words}", press.button, press.by);
            Some(Effect::Pressed { head: request.pull.as_ref()?.head.clone(), words })
        }
        Origin::Comment(comment) => {
            let told = told_once(if untold.is_empty() { parts } else { untold });
            let is_refused = parts.iter().any(Answer::is_refusal);
            Some(Effect::Answer(AnswerOf {
                comment: comment.id,
                number: request.number,
                body: answer_comment(comment.id, &told),
                need: if untold.is_empty() { AnswerNeed::Reaction } else { AnswerNeed::Comment },
                verdict: if is_refused { Reaction::Confused } else { Reaction::ThumbsUp },
            }))
        }
    }
}

/// Answers as one line of text, at most so many characters, for where no more stands. What is cut off leaves no code span
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
pub(super) fn told_once(answers: &[Answer]) -> Vec<Answer> {
    let mut told: Vec<Answer> = answers.iter().filter(|answer| !answer.is_empty()).cloned().collect();
    told.dedup();
    told
}
