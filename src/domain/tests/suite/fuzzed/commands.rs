//! Slash-commands: any text is a comment.

use capstan_domain::command::{MAX_COMMANDS, help, parse};
use capstan_domain::settings::CommandPrefix;

/// The first byte chooses the prefix, the rest is the comment.
pub(crate) fn check(data: &[u8]) {
    let Some((first, comment)) = data.split_first() else { return };
    let prefixes = ["/capstan", "/c", "/up-grade", "/A_1"];
    let Ok(prefix) = CommandPrefix::parse(prefixes[usize::from(*first) % prefixes.len()]) else { return };
    let comment = String::from_utf8_lossy(comment);
    let found = parse(&prefix, &comment);
    assert!(found.len() <= MAX_COMMANDS + 1, "{} commands", found.len());
    for command in &found {
        match command {
            // Nothing is found that is not asked for.
            Ok(command) => assert!(comment.contains(command.word()) && comment.contains(prefix.as_str())),
            Err(error) => assert!(!error.answer(&prefix).is_empty()),
        }
    }
    if comment.len() < 64 {
        assert!(help(&prefix).contains(prefix.as_str()));
    }
    // Quoted, it asks for nothing.
    let quoted: String = comment.lines().map(|line| format!("> {line}\n")).collect();
    if !comment.contains(['\r', '`', '~', '<']) {
        assert!(parse(&prefix, &quoted).is_empty(), "{quoted:?}");
    }
}
