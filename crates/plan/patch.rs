//! Unified diffs of file changes, in the form that `git apply` accepts.

use std::fmt::Write;

use similar::TextDiff;

use capstan_model::file_change::FileChange;
use capstan_model::tree::RepoPath;

/// One unified diff of all changes, in their order; empty where nothing changes.
///
/// Every file gets a `diff --git` head with three lines of context; files that come or go name
/// `/dev/null`; a missing final newline is marked; paths are quoted as Git quotes them.
pub fn unified(changes: &[FileChange]) -> String {
    changes.iter().map(one_file).collect()
}

fn one_file(change: &FileChange) -> String {
    let before = change.before.as_deref().unwrap_or_default();
    let after = change.after.as_deref().unwrap_or_default();
    if change.before.is_some() == change.after.is_some() && before == after {
        return String::new();
    }
    let (old, new) = (quoted("a/", &change.path), quoted("b/", &change.path));
    let mut text = format!("diff --git {old} {new}\n");
    if change.before.is_none() {
        text.push_str("new file mode 100644\n");
    }
    if change.after.is_none() {
        text.push_str("deleted file mode 100644\n");
    }
    let old = if change.before.is_some() { old } else { "/dev/null".to_owned() };
    let new = if change.after.is_some() { new } else { "/dev/null".to_owned() };
    // Split after `\n` alone, as Git does: a lone `\r` is a byte like any other.
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let diff = TextDiff::from_slices(&before, &after);
    for (index, hunk) in diff.unified_diff().context_radius(3).iter_hunks().enumerate() {
        if index == 0 {
            let _ = write!(text, "--- {old}\n+++ {new}\n");
        }
        let _ = writeln!(text, "{}", hunk.header());
        for line in hunk.iter_changes() {
            text.push_str(match line.tag() {
                similar::ChangeTag::Equal => " ",
                similar::ChangeTag::Delete => "-",
                similar::ChangeTag::Insert => "+",
            });
            text.push_str(line.value());
            if !line.value().ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

/// A path as Git writes it in a diff: in double quotes with octal escapes where it holds quotes,
/// backslashes, control characters or bytes beyond ASCII.
fn quoted(prefix: &str, path: &RepoPath) -> String {
    let plain = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
    if path.as_str().bytes().all(plain) {
        return format!("{prefix}{path}");
    }
    let mut text = format!("\"{prefix}");
    for byte in path.as_str().bytes() {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            byte if plain(byte) => text.push(char::from(byte)),
            byte => {
                let _ = write!(text, "\\{byte:03o}");
            }
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
        FileChange {
            path: RepoPath::parse(path).unwrap(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        }
    }

    #[test]
    fn a_changed_line_appears_with_its_context() {
        let before = "a\nb\nc\nd\ne\nf\n";
        let after = "a\nb\nc\nd\nE\nf\n";
        assert_eq!(
            unified(&[change("x/base/a.yaml", Some(before), Some(after))]),
            "diff --git a/x/base/a.yaml b/x/base/a.yaml\n--- a/x/base/a.yaml\n+++ b/x/base/a.yaml\n\
             @@ -2,5 +2,5 @@\n b\n c\n d\n-e\n+E\n f\n"
        );
    }

    #[test]
    fn a_missing_final_newline_is_marked_on_its_own_side() {
        assert_eq!(
            unified(&[change("a", Some("x"), Some("x\n"))]),
            "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n"
        );
    }

    #[test]
    fn files_that_come_and_go_name_dev_null() {
        assert_eq!(
            unified(&[change("n", None, Some("x\n")), change("o", Some("y\n"), None)]),
            "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\
             diff --git a/o b/o\ndeleted file mode 100644\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n"
        );
    }

    #[test]
    fn unchanged_files_give_nothing_and_odd_paths_are_quoted() {
        assert_eq!(unified(&[change("a", Some("x\n"), Some("x\n"))]), "");
        assert!(
            unified(&[change("ä\"b", None, Some("x\n"))]).starts_with("diff --git \"a/\\303\\244\\\"b\" ")
        );
    }

    #[test]
    fn carriage_returns_stay_in_their_lines() {
        let text = unified(&[change("a", Some("x\r\ny\r\n"), Some("x\r\nz\r\n"))]);
        assert!(text.ends_with("@@ -1,2 +1,2 @@\n x\r\n-y\r\n+z\r\n"), "{text:?}");
    }
}
