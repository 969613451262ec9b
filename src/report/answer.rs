//! Answers to slash-commands.

use super::body::{Proposal, visible_plan};
use super::markdown::{MAX_BODY, code, prose};

const MARKER: &str = "<!-- capstan-answer:";

/// A comment that answers comment `comment`: the parts one below the other, and a hidden marker by
/// which the answer is found again when the database is lost.
pub fn answer(comment: u64, parts: &[String]) -> String {
    let mut text = String::new();
    for part in parts {
        let room = MAX_BODY.saturating_sub(text.len() + 400);
        if part.len() > room {
            text.push_str("\n… the rest does not fit into a comment.\n");
            break;
        }
        if !text.is_empty() {
            text.push_str("\n---\n\n");
        }
        text.push_str(part);
    }
    format!("{text}\n{MARKER}{comment} -->\n")
}

/// Which comment an answer of Capstan's answers. Only to be asked of comments that Capstan wrote.
pub fn answered_comment(body: &str) -> Option<u64> {
    let (_, rest) = body.rsplit_once(MARKER)?;
    rest.split_once(" -->")?.0.parse().ok()
}

/// For somebody who may not.
pub fn refusal(command: &str) -> String {
    format!(
        "{} was not carried out: it needs write permission in this repository. Ask somebody who has it to comment it.\n",
        code(command, 200)
    )
}

/// The plan of one cluster, at length.
pub fn plan_answer(proposal: &Proposal<'_>) -> String {
    visible_plan(proposal, 55_000)
}

/// A sentence about one cluster.
pub fn about(cluster: &str, sentence: &str) -> String {
    format!("{}: {}\n", code(cluster, 200), prose(sentence, 900))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_tells_which_comment_it_answers() {
        let text = answer(42, &["Done.\n".to_owned(), "And more.\n".to_owned()]);
        assert_eq!(text, "Done.\n\n---\n\nAnd more.\n\n<!-- capstan-answer:42 -->\n");
        assert_eq!(answered_comment(&text), Some(42));
        assert_eq!(answered_comment("hello"), None);
    }

    #[test]
    fn an_answer_keeps_githubs_limit() {
        let text = answer(42, &["x".repeat(60_000), "y".repeat(60_000)]);
        assert!(text.len() <= 65_536);
        assert_eq!(answered_comment(&text), Some(42));
    }

    #[test]
    fn a_refusal_says_what_is_needed() {
        assert!(
            refusal("/capstan replan")
                .starts_with("`/capstan replan` was not carried out: it needs write permission")
        );
    }
}
