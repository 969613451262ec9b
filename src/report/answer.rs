//! Answers to slash-commands.

use capstan_plan::command::Push;

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

/// For somebody whose comment was edited, by themselves or by others.
pub fn edited_refusal(prefix: &str) -> String {
    format!(
        "Nothing of this comment was carried out: it was edited after it had been written, and so it may not be its author's words any more. Write {} in a new comment.\n",
        code(&format!("{prefix} …"), 200)
    )
}

/// For somebody who asked for a branch to be written anew and had not seen what came to it since.
pub fn unseen_refusal(command: &str, branch: &str, pushes: &[Push]) -> String {
    const NAMED: usize = 5;
    let who =
        |push: &Push| push.actor.as_deref().map_or_else(|| "somebody".to_owned(), |actor| code(actor, 80));
    let named: Vec<String> = pushes
        .iter()
        .take(NAMED)
        .map(|push| format!("- {} by {}, {}\n", code(push.after.as_str(), 80), who(push), push.at))
        .collect();
    let more = match pushes.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("- and {more} more\n"),
    };
    let command = code(command, 200);
    format!(
        "{command} was not carried out: commits came to {} after the comment was written (or in the same second), and they would have been overwritten:\n\n{}{more}\nNothing was overwritten. Have a look at them; where they may go, comment {command} again.\n",
        code(branch, 300),
        named.concat(),
    )
}

/// The same where GitHub does not tell what came to the branch.
pub fn untold_refusal(command: &str, branch: &str) -> String {
    let command = code(command, 200);
    let branch = code(branch, 300);
    format!(
        "{command} was not carried out: GitHub does not tell when the head of {branch} was pushed, so that commits after the comment cannot be told from those before it. Nothing was overwritten. Where all that stands there may go, delete the branch, and comment {command} here once more.\n"
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
    fn what_was_not_seen_is_named_and_a_login_calls_nobody() {
        let push = |after: char, actor: Option<&str>| Push {
            after: capstan_model::tree::CommitId::parse(&after.to_string().repeat(40)).unwrap(),
            actor: actor.map(str::to_owned),
            at: "2026-11-23T02:00:00Z".parse().unwrap(),
        };
        let text = unseen_refusal(
            "/capstan replan",
            "capstan/upgrade/gauss/peu01",
            &[push('b', Some("mallory")), push('a', None)],
        );
        let (b, a) = ("b".repeat(40), "a".repeat(40));
        let expected = format!(
            "`/capstan replan` was not carried out: commits came to `capstan/upgrade/gauss/peu01` after the comment was written (or in the same second), and they would have been overwritten:

- `{b}` by `mallory`, 2026-11-23T02:00:00Z
- `{a}` by somebody, 2026-11-23T02:00:00Z

Nothing was overwritten. Have a look at them; where they may go, comment `/capstan replan` again.
"
        );
        assert_eq!(text, expected);
        let many = unseen_refusal("/capstan replan", "x", &vec![push('b', Some("mallory")); 100]);
        assert!(many.contains("\n- and 95 more\n"), "{many}");
    }

    #[test]
    fn a_refusal_says_what_is_needed() {
        assert!(
            refusal("/capstan replan")
                .starts_with("`/capstan replan` was not carried out: it needs write permission")
        );
    }
}
