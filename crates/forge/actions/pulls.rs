//! Pull requests: opened, opened again, reviewed, made a draft.

use serde_json::json;

use super::limits::check_length;
use crate::clock::now;
use crate::error::ApiError;
use crate::state::{Account, ForgeIssue, Mergeability, Pull, PullSize, Review, ReviewState, State};
use crate::views;

/// A pull request to open.
#[derive(Clone, Debug, Default)]
pub struct NewPull {
    pub title: String,
    pub body: String,
    /// The branch with the change; `owner:branch` for a branch of a fork.
    pub head: String,
    /// The branch it is for.
    pub base: String,
    /// Whether it opens as a draft.
    pub draft: bool,
}

/// In seconds.
const YEAR: i64 = 365 * 24 * 3_600;

impl State {
    /// Opens a pull request and says so.
    pub(crate) fn open_pull(
        &mut self,
        full_name: &str,
        author: &Account,
        new: NewPull,
        maintainer_can_modify: bool,
    ) -> Result<u64, ApiError> {
        check_length(&new.body)?;
        let here = self.repository(full_name)?;
        let (owner, branch) = match new.head.split_once(':') {
            Some((owner, branch)) => (owner, branch.to_owned()),
            None => (here.owner.login.as_str(), new.head.clone()),
        };
        let source = if owner.eq_ignore_ascii_case(&here.owner.login) {
            here
        } else {
            self.repositories
                .values()
                .find(|other| {
                    other.owner.login.eq_ignore_ascii_case(owner)
                        && other.fork_of.as_deref() == Some(full_name)
                })
                .ok_or_else(|| ApiError::invalid("PullRequest", "head", "invalid"))?
        };
        let head =
            source.branch(&branch).ok_or_else(|| ApiError::invalid("PullRequest", "head", "invalid"))?;
        let base =
            here.branch(&new.base).ok_or_else(|| ApiError::invalid("PullRequest", "base", "invalid"))?;
        let head_repository = source.full_name();
        let already = here.issues.values().filter(|issue| issue.open).filter_map(|issue| issue.pull.as_ref());
        for pull in already {
            if pull.head_repository == head_repository
                && pull.head_branch == branch
                && pull.base_branch == new.base
            {
                let label = format!("{}:{branch}", source.owner.login);
                let message = format!("A pull request already exists for {label}.");
                return Err(ApiError::custom("PullRequest", &message));
            }
        }
        if head_repository == full_name && here.store.is_ancestor(head, base)? {
            let message = format!("No commits between {} and {branch}", new.base);
            return Err(ApiError::custom("PullRequest", &message));
        }
        let number = here.next_number();
        let (issue_id, pull_id) = (self.fresh_id(), self.fresh_id());
        let pull = Pull {
            id: pull_id,
            head_repository,
            head_branch: branch,
            head,
            base_branch: new.base,
            base,
            draft: new.draft,
            maintainer_can_modify,
            mergeability: Mergeability::Unknown { reads_left: self.mergeability_reads },
            merged: None,
            auto_merge: None,
            queued: None,
            reviews: Vec::new(),
            requested_reviewers: Vec::new(),
            requested_teams: Vec::new(),
            size: PullSize::default(),
        };
        let body = (!new.body.is_empty()).then_some(new.body);
        let issue = ForgeIssue {
            id: issue_id,
            number,
            title: new.title,
            body,
            user: author.clone(),
            open: true,
            locked: false,
            labels: Vec::new(),
            assignees: Vec::new(),
            created_at: now(),
            updated_at: now(),
            closed_at: None,
            closed_by: None,
            reactions: Vec::new(),
            edits: Vec::new(),
            pull: Some(pull),
        };
        self.repository_mut(full_name)?.issues.insert(number, issue);
        self.take_head(full_name, number, head)?;
        self.emit_pull(full_name, number, author, "opened", json!({"number": number}))?;
        Ok(number)
    }

    /// Adds pull requests that were closed long ago and whose branches are gone; nobody hears of them.
    pub(crate) fn add_closed_pulls(
        &mut self,
        full_name: &str,
        author: &Account,
        count: u64,
    ) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        let base_branch = here.default_branch.clone();
        let tip =
            here.branch(&base_branch).ok_or_else(|| ApiError::invalid("PullRequest", "base", "invalid"))?;
        let first = here.next_number();
        let long_ago = now() - YEAR;
        for number in first..first + count {
            let (issue_id, pull_id) = (self.fresh_id(), self.fresh_id());
            let pull = Pull {
                id: pull_id,
                head_repository: full_name.to_owned(),
                head_branch: format!("old/{number}"),
                head: tip,
                base_branch: base_branch.clone(),
                base: tip,
                draft: false,
                maintainer_can_modify: false,
                mergeability: Mergeability::Unknown { reads_left: 0 },
                merged: None,
                auto_merge: None,
                queued: None,
                reviews: Vec::new(),
                requested_reviewers: Vec::new(),
                requested_teams: Vec::new(),
                size: PullSize::default(),
            };
            let issue = ForgeIssue {
                id: issue_id,
                number,
                title: format!("Old {number}"),
                body: None,
                user: author.clone(),
                open: false,
                locked: false,
                labels: Vec::new(),
                assignees: Vec::new(),
                created_at: long_ago,
                updated_at: long_ago,
                closed_at: Some(long_ago),
                closed_by: Some(author.clone()),
                reactions: Vec::new(),
                edits: Vec::new(),
                pull: Some(pull),
            };
            self.repository_mut(full_name)?.issues.insert(number, issue);
        }
        Ok(())
    }

    /// Opens a closed pull request again, if its branch is still there and it is not merged.
    pub(crate) fn reopen_pull(&mut self, full_name: &str, number: u64, by: &Account) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        let (issue, pull) = here.pull(number)?;
        if issue.open {
            return Ok(());
        }
        if pull.merged.is_some() {
            return Err(ApiError::custom(
                "PullRequest",
                "state cannot be changed. The pull request is merged.",
            ));
        }
        let tip = self.repository(&pull.head_repository)?.branch(&pull.head_branch);
        let Some(tip) = tip else {
            let message =
                format!("state cannot be changed. The {} branch has been deleted.", pull.head_branch);
            return Err(ApiError::custom("PullRequest", &message));
        };
        if !here.store.is_ancestor(pull.head, tip)? {
            let message = format!(
                "state cannot be changed. The {} branch was force-pushed or recreated.",
                pull.head_branch
            );
            return Err(ApiError::custom("PullRequest", &message));
        }
        let issue = self.repository_mut(full_name)?.issue_mut(number)?;
        issue.open = true;
        issue.closed_at = None;
        issue.closed_by = None;
        self.take_head(full_name, number, tip)?;
        self.emit_pull(full_name, number, by, "reopened", json!({}))
    }

    /// Adds a review and says so.
    pub(crate) fn review(
        &mut self,
        full_name: &str,
        number: u64,
        by: &Account,
        state: ReviewState,
        body: &str,
    ) -> Result<u64, ApiError> {
        let id = self.fresh_id();
        let issue = self.repository_mut(full_name)?.issue_mut(number)?;
        if issue.user.id == by.id && state == ReviewState::Approved {
            return Err(ApiError::unprocessable("Can not approve your own pull request"));
        }
        let pull = issue.pull.as_mut().ok_or_else(ApiError::not_found)?;
        let commit = pull.head;
        pull.requested_reviewers.retain(|reviewer| reviewer.id != by.id);
        pull.reviews.push(Review { id, user: by.clone(), state, body: body.to_owned(), commit, at: now() });
        self.emit_review(full_name, number, id, by, "submitted")?;
        Ok(id)
    }

    /// Dismisses a review and says so.
    pub(crate) fn dismiss_review(
        &mut self,
        full_name: &str,
        number: u64,
        id: u64,
        by: &Account,
    ) -> Result<(), ApiError> {
        let pull = self.repository_mut(full_name)?.pull_mut(number)?;
        let review =
            pull.reviews.iter_mut().find(|review| review.id == id).ok_or_else(ApiError::not_found)?;
        review.state = ReviewState::Dismissed;
        self.emit_review(full_name, number, id, by, "dismissed")
    }

    fn emit_review(
        &mut self,
        full_name: &str,
        number: u64,
        id: u64,
        by: &Account,
        action: &str,
    ) -> Result<(), ApiError> {
        let here = self.repository(full_name)?;
        let (issue, pull) = here.pull(number)?;
        let review = pull.reviews.iter().find(|review| review.id == id).ok_or_else(ApiError::not_found)?;
        let mut view = views::review(here, number, review);
        // Events write the state in small letters, the API in capitals.
        view["state"] = json!(review.state.name().to_lowercase());
        let payload = json!({"review": view, "pull_request": views::pull_simple(self, here, issue, pull)});
        self.emit(full_name, by, "pull_request_review", action, payload);
        Ok(())
    }

    /// Turns a draft into a pull request for review, or back.
    pub(crate) fn set_draft(
        &mut self,
        full_name: &str,
        number: u64,
        by: &Account,
        draft: bool,
    ) -> Result<(), ApiError> {
        let pull = self.repository_mut(full_name)?.pull_mut(number)?;
        if pull.draft == draft {
            return Ok(());
        }
        pull.draft = draft;
        let action = if draft { "converted_to_draft" } else { "ready_for_review" };
        self.emit_pull(full_name, number, by, action, json!({}))
    }
}
