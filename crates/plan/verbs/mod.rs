//! The verbs of slash-commands: one declaration of what there is, what follows each, and who may by default.
//!
//! Help, settings, rights and buttons read this table: a row that lacks something does not compile. The type of the argument
//! knows the grammar, and which cluster or commit is named.
//! Deliberately absent: how comments are read and whose count ([`command`](crate::command)), and what a verb does.

mod argument;
mod campaign;
mod clusters;
mod written;

pub use argument::{
    HoldArguments, MAX_REASON, OfCluster, OfCommit, OfConflict, Overruled, ReasonArgument, Rule, To,
};
pub use campaign::{Order, OrderWhat};
pub use clusters::{Back, ClusterFrom, DestroyArguments};

use std::fmt::{self, Display};

use argument::Argument;
use capstan_model::ids::ClusterId;
use capstan_model::spelling::hint;
use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};

/// Who may use a verb where the settings say nothing else. Administrators of the repository may use all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NeededRight {
    /// Write permission in the repository.
    Write,
    /// To be an owner of the cluster's folder (`CODEOWNERS`); where nobody owns it, write permission.
    Owner,
    /// Administration: it concerns the whole repository.
    Admin,
}

/// Whether a verb makes Capstan write to a branch of the repository, or may have it do so. When one cluster of a group
/// is held, Capstan writes the others' branch without it; what is approved or overridden may merge by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VerbEffect {
    /// It answers, or notes something.
    Notes,
    /// It may have a proposal's branch written, where nobody else has worked on it.
    Rewrites,
    /// It may write a proposal's branch again, whatever is on it.
    Overwrites,
    /// It may bring a proposal to its base branch.
    Merges,
}

/// What a verb is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Concerns {
    /// Clusters, each by itself: the named one, or those of the pull request.
    Clusters,
    /// A pull request as a whole, whichever clusters share it.
    PullRequest,
    /// The repository, or neither.
    Repository,
}

/// A button of a check that does what a verb does. Nothing follows a button, so such a verb needs no argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Button {
    /// Its text: at most 20 characters.
    pub label: &'static str,
    /// What it does: at most 40 characters.
    pub description: &'static str,
}

/// As a person writes it, without the prefix.
impl Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let argument = self.argument().map_or_else(String::new, ToString::to_string);
        f.write_str(format!("{} {argument}", self.verb().word()).trim_end())
    }
}

/// Declares every verb once.
macro_rules! verbs {
    ($(
        $(#[$doc:meta])* $variant:ident $(($name:ident: $argument:ty))?
            = $word:literal, $needs:ident, $concerns:ident, $effect:ident
            $(, button($label:literal, $description:literal))?: $does:literal;
    )*) => {
        /// A word that asks for something.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Verb {
            $($(#[$doc])* $variant,)*
        }

        /// What people can ask for in a comment: a verb with what follows it.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Command {
            $($(#[$doc])* $variant $(($argument))?,)*
        }

        impl Verb {
            /// Every verb, as the help lists them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// What it does, for the help.
            pub const fn does(self) -> &'static str {
                match self {
                    $(Self::$variant => $does,)*
                }
            }

            /// Who may use it by default.
            pub const fn needs(self) -> NeededRight {
                match self {
                    $(Self::$variant => NeededRight::$needs,)*
                }
            }

            /// What it is about.
            pub const fn concerns(self) -> Concerns {
                match self {
                    $(Self::$variant => Concerns::$concerns,)*
                }
            }

            /// What it does to branches.
            pub const fn effect(self) -> VerbEffect {
                match self {
                    $(Self::$variant => VerbEffect::$effect,)*
                }
            }

            /// Its button on a check, where it has one.
            pub const fn button(self) -> Option<Button> {
                match self {
                    $(Self::$variant => [
                        $(Some(Button { label: $label, description: $description }),)? None
                    ][0],)*
                }
            }

            /// What follows it, as the help shows it: `[REASON] [until DATE]`; empty where nothing does.
            pub fn syntax(self) -> &'static str {
                match self {
                    $(Self::$variant => [$(<$argument as Argument>::SYNTAX,)? ""][0],)*
                }
            }

            /// The verb with what was written after it.
            ///
            /// # Errors
            /// What was expected instead, as the rest of a sentence.
            pub fn with(self, given: &str) -> Result<Command, String> {
                if self.syntax().is_empty() && !given.is_empty() {
                    return Err("takes no arguments".to_owned());
                }
                match self {
                    $(Self::$variant => Ok(Command::$variant $((<$argument as Argument>::read(given)?))?),)*
                }
            }
        }

        impl Command {
            pub const fn verb(&self) -> Verb {
                match self {
                    $(Self::$variant { .. } => Verb::$variant,)*
                }
            }

            /// What follows its verb.
            fn argument(&self) -> Option<&dyn Display> {
                match self {
                    $(Self::$variant $(($name))? => [$(Some($name as &dyn Display),)? None][0],)*
                }
            }

            /// The cluster that it names, where it names one.
            pub fn cluster(&self) -> Option<&ClusterId> {
                match self {
                    $(Self::$variant $(($name))? => [$($name.cluster(),)? None][0],)*
                }
            }

            /// The commit that it is about, where it is about one: nobody means by it what came after they said it.
            pub fn commit(&self) -> Option<&OfCommit> {
                match self {
                    $(Self::$variant $(($name))? => [$($name.commit(),)? None][0],)*
                }
            }
        }
    };
}

verbs! {
    /// Lists the verbs.
    Help = "help", Write, Repository, Notes: "lists the commands";
    /// Plans again and answers with the result; writes nothing to the branch.
    Plan(of: OfCluster) = "plan", Write, Clusters, Notes: "plans the upgrade of this pull request's clusters and answers with its changes; the branch does not change";
    /// Tells how the clusters of the pull request stand.
    Status(of: OfCluster) = "status", Write, Clusters, Notes: "shows the state of this pull request's clusters: release, offer, decisions by command, what they wait for";
    /// Explains a rule.
    Explain(rule: Rule) = "explain", Write, Repository, Notes: "explains a rule: what it finds, why, and what to do";
    /// Rebuilds the proposal, over edits by people; offers a closed one again.
    Replan = "replan", Write, PullRequest, Overwrites, button("Replan", "Rebuilds it over people's commits"): "rebuilds this proposal from the current base and release: it overwrites people's commits on the branch, and offers a closed proposal again";
    /// Offers a cluster that release, whatever would be offered otherwise.
    Upgrade(to: To) = "upgrade", Owner, Clusters, Rewrites: "offers this release to the cluster (without a name: to that of this proposal), even one that Capstan would not offer, until it is merged, closed or replaced by another command. Without a release: offers the next upgrade now, without waiting for its turn";
    /// Offers the release before the last merged upgrade, with versions as they are.
    Rollback(back: Back) = "rollback", Owner, Clusters, Rewrites: "offers the release before this merged upgrade (with a cluster's name: before its last one) as a proposal. Versions and images do not change. After the merge, Capstan does not offer the later release again";
    /// Opens a pull request with a new cluster.
    Create(from: ClusterFrom) = "create", Owner, Clusters, Rewrites: "opens a pull request with a new cluster, made from this release with these values of its variables";
    /// Opens a pull request with the tombstone of a cluster.
    Destroy(gone: DestroyArguments) = "destroy", Owner, Clusters, Rewrites: "opens a pull request to delete this cluster with all its machines. The reconciler deletes it after the merge, not before";
    /// Lets the upgrade edit the names of rotated templates in the overlay.
    Retarget(of: OfCluster) = "retarget", Owner, Clusters, Overwrites: "allows the upgrade to edit the names of renamed templates in this cluster's overlay, and nothing else there";
    /// Puts what a change of the inventory comes to on the branch of the pull request that makes it.
    Render = "render", Write, PullRequest, Overwrites: "on a pull request that changes the inventory: commits the resulting changes of the clusters' folders to its branch, within `inventory.inline`. Capstan never writes to a fork's branch";
    /// Settles a conflict: the cluster's value stays.
    Keep(conflict: OfConflict) = "keep", Owner, Clusters, Rewrites: "settles a conflict of this proposal, or `all` of them: the cluster's value stays. Capstan forgets this when one of the three values changes";
    /// Settles a conflict: the release's value is taken.
    Take(conflict: OfConflict) = "take", Owner, Clusters, Rewrites: "settles a conflict of this proposal, or `all` of them: the new value wins. Capstan forgets this when one of the three values changes";
    /// Lets a rule's errors pass for this proposal.
    Override(overruled: Overruled) = "override", Owner, Clusters, Merges: "accepts errors of this rule in this proposal's check, as long as it offers the same release; rules that are always errors cannot be overridden";
    /// Approves the proposal as it is.
    Approve(commit: OfCommit) = "approve", Owner, PullRequest, Merges, button("Approve", "Approves this proposal's changes"): "approves the changes of this proposal, at its head or at the named commit; a push with other changes dismisses the approval";
    /// Takes the own approval back.
    Unapprove = "unapprove", Owner, PullRequest, Notes: "withdraws your own `approve`";
    /// Merges the proposal.
    Merge(commit: OfCommit) = "merge", Owner, PullRequest, Merges, button("Merge", "Merges it, or has GitHub merge it"): "merges this proposal at its head, or at the named commit, when the check, approvals and branch rules allow it. If it must wait, it uses GitHub's merge queue or auto-merge";
    /// Leaves the cluster as it is for a while.
    Hold(held: HoldArguments) = "hold", Owner, Clusters, Rewrites: "leaves this cluster alone: its proposal becomes a draft and is not updated until that day, or until somebody comments `unhold`";
    /// Takes a hold back.
    Unhold(of: OfCluster) = "unhold", Owner, Clusters, Rewrites, button("Unhold", "Undoes the hold"): "undoes `hold`";
    /// Closes the proposal; that release is not offered to the cluster again.
    Skip(of: OfCluster) = "skip", Owner, Clusters, Rewrites: "closes this proposal: Capstan does not offer its release to this cluster again, only a newer one. If several clusters share the pull request, only this one leaves it";
    /// Asks the live clusters what they would say to a merge.
    Preflight = "preflight", Owner, PullRequest, Notes: "asks the reconcilers of this pull request's clusters again whether the live clusters accept a merge; the check shows the answers";
    /// Opens, writes and merges nothing in this repository any more.
    Pause(reason: ReasonArgument) = "pause", Admin, Repository, Notes: "pauses Capstan in this repository: it opens, writes and merges no proposal until somebody comments `resume`; checks and answers continue";
    /// Takes a pause back.
    Resume = "resume", Admin, Repository, Rewrites: "undoes `pause`";
    /// Stops campaigns, has them go on, or has one go on without a cluster.
    Campaign(order: Order) = "campaign", Admin, Repository, Rewrites: "`stop`: campaigns open no pull request until `resume`; running rollouts continue. `resume`: they continue, and failures so far no longer count. `skip`: the campaign continues without this cluster. `of` selects one of several campaigns";
    /// Tries again what GitHub refused.
    Retry = "retry", Owner, PullRequest, Rewrites, button("Retry", "Tries again what GitHub refused"): "retries at once what GitHub refused for this pull request: its branch, its description, its check";
    /// Offers a skipped or closed proposal's release again.
    Unskip(of: OfCluster) = "unskip", Owner, Clusters, Rewrites: "offers the release of this closed proposal again, unless its branch has people's commits (`replan` overwrites them)";
}

impl Verb {
    /// The verb of that word, in any case.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|verb| verb.word().eq_ignore_ascii_case(word))
    }
}

/// As settings name it.
impl Serialize for Verb {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Verb {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known: Vec<&str> = Self::ALL.iter().map(|verb| verb.word()).collect();
        Self::named(&word)
            .ok_or_else(|| de::Error::custom(format!("there is no command `{word}`{}", hint(&word, &known))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// <https://docs.github.com/en/rest/checks/runs#create-a-check-run>
    #[test]
    fn buttons_are_as_short_as_github_wants_them_and_need_nothing_else() {
        let mut buttons = 0;
        for verb in Verb::ALL {
            let Some(Button { label, description }) = verb.button() else { continue };
            buttons += 1;
            assert!(label.len() <= 20 && description.len() <= 40 && verb.word().len() <= 20, "{label}");
            assert_eq!(verb.with("").map(|command| command.verb()), Ok(*verb));
        }
        assert_eq!(buttons, 5);
    }
}
