//! What else is wrong in a settings file beside its first error: each with its own place.
//!
//! The reader stops at the first error. So that field is taken out, or gets a right value where it must not be absent, and
//! the file is read again. Where neither helps, what holds the field is taken out. It ends where nothing helps.
//!
//! Places and indices are those of the file as it is written, whatever was taken out.

use capstan_model::finding::{FileError, Place};

use super::mends::MendedText;

/// How many mistakes of one file are reported beside the first.
const MOST: usize = 100;

/// The most bytes that are read again for one file: a large file with many mistakes takes no longer than a small one.
const READ_AGAIN: usize = 4 << 20;

/// The first error, with what else `read` finds wrong.
pub(super) fn with_others(
    text: &str,
    mut first: FileError,
    read: impl Fn(&str) -> Result<(), FileError>,
) -> FileError {
    let mut reads = READ_AGAIN / text.len().max(1);
    let mut rest = MendedText::new(text);
    let mut last = first.clone();
    loop {
        let mut next = None;
        for mend in rest.mends(&last) {
            if reads == 0 {
                break;
            }
            reads -= 1;
            let Some(mended) = rest.with(&mend) else { continue };
            let error = read(mended.text()).err();
            if error.as_ref().is_none_or(|error| is_another(error, &mended, (&last, &rest))) {
                next = error.map(|error| (error, mended));
                break;
            }
        }
        if reads == 0 || first.others.len() >= MOST && next.is_some() {
            let message = first.others.last_mut().map_or(&mut first.message, |last| &mut last.message);
            message.push_str("; more may be wrong in this file: correct these mistakes first");
            return first;
        }
        let Some((error, mended)) = next else { return first };
        first.others.push(as_written(&error, &mended));
        (last, rest) = (error, mended);
    }
}

/// Whether an error was there before the mend, and is not the one that the mend was for.
fn is_another(
    error: &FileError,
    mended: &MendedText<'_>,
    (last, rest): (&FileError, &MendedText<'_>),
) -> bool {
    let Some(at) = error.place.position().and_then(|position| mended.offset_of(position)) else {
        return false;
    };
    let is_same = || {
        let subject = last.place.position().and_then(|position| rest.subject_at(position));
        let message = as_written(error, mended).message;
        let is_there = || subject.is_some_and(|subject| subject.contains(&mended.written_at(at)));
        // The file as a whole has no place that stays.
        message == as_written(last, rest).message && (message.starts_with("the file ") || is_there())
    };
    // A key is unknown whatever its mapping lost.
    let may_be_caused = !error.message.starts_with("unknown key");
    let is_caused = || mended.is_edited(at) || may_be_caused && mended.lacks_removed(at);
    !is_caused() && !is_same()
}

/// The error with the place and the indices of the file as it is written.
fn as_written(error: &FileError, mended: &MendedText<'_>) -> FileError {
    let mut error = error.clone();
    let Some(at) = error.place.position().and_then(|position| mended.offset_of(position)) else {
        return error;
    };
    error.place = Place::at(error.place.file().clone(), mended.written_position(at));
    for (here, written) in mended.indices(at) {
        error.message = error.message.replace(&here, &written);
    }
    error
}

#[cfg(test)]
mod tests {
    use crate::settings::{RepositorySettings, RuleIds};
    use capstan_model::tree::RepoPath;

    fn error_lines(text: &str) -> Vec<String> {
        let file = RepoPath::parse(".capstan.yaml").unwrap();
        RepositorySettings::read(&file, text, &RuleIds::of_catalogue()).unwrap_err().lines().collect()
    }

    fn assert_errors(text: &str, expected: &[&str]) {
        let told = error_lines(text);
        assert_eq!(told.len(), expected.len(), "{told:#?}");
        for (line, expected) in told.iter().zip(expected) {
            assert!(line.starts_with(expected), "{expected}: {told:#?}");
        }
    }

    #[test]
    fn every_mistake_is_reported_at_its_own_place() {
        let text = "\
mode: propos
upgrade:
  proposals: {open: many, perHour: 3, ordre: [a]}
polcy: {component-downgrade: warning}
policy:
  component-downgrad: warning
";
        let expected = [
            ".capstan.yaml:1:7: `mode` must be propose or observe",
            ".capstan.yaml:3:21: `upgrade.proposals.open` must be",
            ".capstan.yaml:3:39: unknown key `ordre` in `upgrade.proposals`; did you mean `order`?",
            ".capstan.yaml:4:1: unknown key `polcy`; did you mean `policy`?",
            ".capstan.yaml:6:3: `policy`: there is no rule `component-downgrad`",
        ];
        assert_errors(text, &expected);
    }

    #[test]
    fn what_is_wrong_alone_in_its_mapping_or_list_hides_nothing_after_it() {
        let text = "\
mode: proposee
releases:
  pathss: [\"aws/v*\"]
clusters:
  rules:
  - match: \"gauss/*\"
    track: minr
  - 5
upgrade:
  conflicts: kep
  proposals: {open: many}
policy: {no-such-rule: error}
";
        let expected = [
            ".capstan.yaml:1:7: `mode` must be propose or observe",
            ".capstan.yaml:3:3: unknown key `pathss`",
            ".capstan.yaml:7:12: `clusters.rules[0].track` must be",
            ".capstan.yaml:8:5: `clusters.rules",
            ".capstan.yaml:10:14: `upgrade.conflicts` must be",
            ".capstan.yaml:11:21: `upgrade.proposals.open` must be",
            ".capstan.yaml:12:10: `policy`: there is no rule `no-such-rule`",
        ];
        assert_errors(text, &expected);
    }

    #[test]
    fn what_must_not_be_absent_hides_nothing_beside_it_or_after_it() {
        let text = "\
managementClusters:
- {name: a, uid: 1, clusters: 5}
- {name: b, uid: 2}
clusters:
  rules:
  - {match: a, track: fo}
commands:
  permissions:
  - {verbs: [hld], allow: 7}
upgrade:
  fields:
  - {kind: MachineDeployment, path: replicas, owner: nobody}
mode: foo
";
        let expected = [
            ".capstan.yaml:2:18: `managementClusters[0].uid`",
            ".capstan.yaml:2:31: `managementClusters[0].clusters` must be a list",
            ".capstan.yaml:3:18: `managementClusters[1].uid`",
            ".capstan.yaml:6:23: `clusters.rules[0].track` must be",
            ".capstan.yaml:9:14: `commands.permissions[0].verbs[0]`",
            ".capstan.yaml:9:27: `commands.permissions[0].allow`",
            ".capstan.yaml:12:37: `upgrade.fields[0].path`",
            ".capstan.yaml:12:54: `upgrade.fields[0].owner` must be",
            ".capstan.yaml:13:7: `mode` must be propose or observe",
        ];
        assert_errors(text, &expected);
    }

    #[test]
    fn unknown_keys_of_one_mapping_are_all_reported() {
        let text = "clusters:\n  rules:\n  - foo: 1\n    bar: 2\n    match: a\n";
        let expected = [
            ".capstan.yaml:3:5: unknown key `foo` in `clusters.rules[0]`",
            ".capstan.yaml:4:5: unknown key `bar` in `clusters.rules[0]`",
        ];
        assert_errors(text, &expected);
    }

    #[test]
    fn a_mapping_where_a_word_belongs_hides_nothing() {
        let text = "\
policy:
  rules:
    x: error
campaigns:
- name: fleet
  timeZone: Nowhere
  waves:
  - {name: a, soak: 1d, match: {}}
mode: foo
";
        let expected = [
            ".capstan.yaml:2:3: `policy`: there is no rule `rules`",
            ".capstan.yaml:3:5: `policy.rules` must be error, warning or off, found a mapping",
            ".capstan.yaml:6:13: `campaigns[0].timeZone`",
            ".capstan.yaml:8:21: `campaigns[0].waves[0].soak`",
            ".capstan.yaml:9:7: `mode` must be",
        ];
        assert_errors(text, &expected);
    }

    #[test]
    fn a_key_that_occurs_twice_hides_nothing() {
        let text = "mode: observe\nmode: propose\nfoo: 1\nupgrade: {a: 1}\n";
        let expected = [
            ".capstan.yaml:2:1: the key `mode`",
            ".capstan.yaml:3:1: unknown key `foo`",
            ".capstan.yaml:4:11: unknown key `a` in `upgrade`",
        ];
        assert_errors(text, &expected);
    }

    #[test]
    fn indices_are_those_of_the_file_as_it_is_written() {
        let text = "\
campaigns:
- waves: [{name: a, match: {}}]
- name: b
  timeZone: Nowhere
  waves: [{match: {}}, {name: c, soak: 1d, match: {}}]
clusters:
  rules: [{track: none}, 5, {match: a, track: fo}]
upgrade:
  proposals: {order: ['[', 'a[']}
";
        let expected = [
            ".capstan.yaml:2:3: `campaigns[0]` lacks the key `name`",
            ".capstan.yaml:4:13: `campaigns[1].timeZone`",
            ".capstan.yaml:5:11: `campaigns[1].waves[0]` lacks the key `name`",
            ".capstan.yaml:5:40: `campaigns[1].waves[1].soak`",
            ".capstan.yaml:7:11: `clusters.rules[0]` lacks the key `match`",
            ".capstan.yaml:7:26: `clusters.rules[1]` must be",
            ".capstan.yaml:7:47: `clusters.rules[2].track` must be",
            ".capstan.yaml:9:23: `upgrade.proposals.order[0]`",
            ".capstan.yaml:9:28: `upgrade.proposals.order[1]`",
        ];
        assert_errors(text, &expected);
    }

    #[test]
    fn many_mistakes_are_all_reported() {
        let text: String = (0..60).map(|at| format!("unknown{at}: x\n")).collect();
        assert_eq!(error_lines(&text).len(), 60);
        let text: String = (0..150).map(|at| format!("unknown{at}: x\n")).collect();
        let told = error_lines(&text);
        assert_eq!(told.len(), 101, "the first and a hundred others");
        let more = "more may be wrong in this file: correct these mistakes first";
        assert!(told[100].ends_with(more), "{told:#?}");
    }

    #[test]
    fn one_error_is_shown_alone() {
        let file = RepoPath::parse(".capstan.yaml").unwrap();
        let read = |text: &str| RepositorySettings::read(&file, text, &RuleIds::of_catalogue()).unwrap_err();
        assert!(read("mode: propos\n").others.is_empty());
        let two = read("mode: propos\npolcy: {}\n").to_string();
        let more = " (and 1 other mistake in this file, which `capstan validate` lists)";
        assert!(two.starts_with(".capstan.yaml:1:7: ") && two.ends_with(more), "{two}");
    }
}
