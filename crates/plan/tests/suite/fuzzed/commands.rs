//! Slash-commands: any text is a comment.

use capstan_plan::command::{Address, MAX_COMMANDS, help, parse};
use capstan_plan::settings::CommandPrefix;
use capstan_plan::verbs::Verb;

/// The first byte chooses the prefix, the rest is the comment.
pub(crate) fn check(data: &[u8]) {
    let Some((first, comment)) = data.split_first() else { return };
    let prefixes = ["/capstan", "/c", "/up-grade", "/A_1"];
    let Ok(prefix) = CommandPrefix::parse(prefixes[usize::from(*first) % prefixes.len()]) else { return };
    let comment = String::from_utf8_lossy(comment);
    let address = Address { prefix: &prefix, app: Some("capstan") };
    let found = parse(address, &comment);
    assert!(found.len() <= MAX_COMMANDS + 1, "{} commands", found.len());
    for command in &found {
        match command {
            // Nothing is found that is not asked for; the prefix alone asks for help.
            Ok(command) => {
                let is_addressed = comment.contains(prefix.as_str()) || spells(&comment, "@capstan");
                assert!(is_addressed, "{comment:?}");
                let verb = command.verb();
                assert!(verb == Verb::Help || spells(&comment, verb.word()), "{comment:?}");
            }
            Err(error) => assert!(!error.answer(&prefix).is_empty()),
        }
    }
    if comment.len() < 64 {
        assert!(help(&prefix).contains(prefix.as_str()));
    }
    // Quoted, it asks for nothing.
    let quoted: String = comment.lines().map(|line| format!("> {line}\n")).collect();
    if !comment.contains(['\r', '`', '~', '<']) {
        assert!(parse(address, &quoted).is_empty(), "{quoted:?}");
    }
}

/// Whether a text has a word's letters in their order: in any case, and with HTML comments, which are invisible,
/// between them.
fn spells(text: &str, word: &str) -> bool {
    let mut letters = text.chars();
    word.chars().all(|wanted| letters.any(|letter| letter.eq_ignore_ascii_case(&wanted)))
}
