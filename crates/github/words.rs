//! What GitHub's sentences mean, where neither a status nor a code says it: the one place that reads them.
//!
//! Each of these answers has the status 422 or 403 in common with others that mean something else. Should GitHub
//! say it in other words one day, the answer counts as an error, and nothing is taken for done.

/// A branch of that name is there already: `Reference already exists`.
pub(super) fn reference_exists(message: &str) -> bool {
    message.contains("Reference already exists")
}

/// A ruleset of the repository forbids it: `Repository rule violations found …`.
pub(super) fn breaks_a_rule(message: &str) -> bool {
    message.to_ascii_lowercase().contains("rule violation")
}

/// The repository's plan has no drafts: `Draft pull requests are not supported in this repository.`
pub(super) fn takes_no_drafts(message: &str) -> bool {
    message.to_ascii_lowercase().contains("draft pull requests are not supported")
}

/// The branch has an open pull request: `A pull request already exists for acme:work.`
pub(super) fn pull_request_exists(message: &str) -> bool {
    message.contains("A pull request already exists")
}

/// The branch has nothing that its base lacks: `No commits between main and work`.
pub(super) fn nothing_between(message: &str) -> bool {
    message.contains("No commits between")
}

/// A token was asked for a repository that the App is not installed in: `There is at least one repository that does not
/// exist or is not accessible to the parent installation.`
pub(super) fn repository_out_of_reach(message: &str) -> bool {
    message.contains("not accessible to the parent installation")
}

/// A token was asked for more than the installation's owner has granted: `The permissions requested are not granted to
/// this installation.`
pub(super) fn rights_not_granted(message: &str) -> bool {
    message.contains("permissions requested are not granted")
}

/// A limit besides the counted one: `You have exceeded a secondary rate limit. …`, or as it was called before,
/// `You have triggered an abuse detection mechanism. …`.
pub(super) fn is_secondary_limit(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("secondary rate limit") || message.contains("abuse detection")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sentence of GitHub's is read by the one function that it is meant for, and by no other.
    #[test]
    fn each_sentence_has_one_meaning() {
        type Reads = fn(&str) -> bool;
        let meanings: [(Reads, &[&str]); 8] = [
            (reference_exists, &["Reference already exists"]),
            (
                breaks_a_rule,
                &[
                    "Repository rule violations found\n\nCannot create ref due to creations being restricted.\n\n",
                ],
            ),
            (
                takes_no_drafts,
                &["Validation Failed: Draft pull requests are not supported in this repository."],
            ),
            (pull_request_exists, &["Validation Failed: A pull request already exists for acme:work."]),
            (nothing_between, &["Validation Failed: No commits between main and work"]),
            (
                repository_out_of_reach,
                &[
                    "There is at least one repository that does not exist or is not accessible to the parent installation.",
                ],
            ),
            (rights_not_granted, &["The permissions requested are not granted to this installation."]),
            (
                is_secondary_limit,
                &[
                    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
                    "You have triggered an abuse detection mechanism. Please wait a few minutes before you try again.",
                ],
            ),
        ];
        for (at, (_, sentences)) in meanings.iter().enumerate() {
            for sentence in *sentences {
                let read: Vec<usize> =
                    (0..meanings.len()).filter(|other| meanings[*other].0(sentence)).collect();
                assert_eq!(read, [at], "{sentence}");
            }
        }
        for other in ["", "Validation Failed: head invalid", "Reference cannot be updated", "Bad credentials"]
        {
            assert!(!meanings.iter().any(|(reads, _)| reads(other)), "{other}");
        }
    }
}
