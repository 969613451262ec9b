//! Issues, as far as Capstan reads and writes them.

/// An issue as GitHub shows it now; never a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Number in its repository.
    pub number: u64,
    /// Open or closed.
    pub state: IssueState,
    pub title: String,
    /// Body; empty where there is none.
    pub body: String,
    /// Who opened it.
    pub author: String,
    /// GraphQL id.
    pub node_id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IssueState {
    Open,
    /// Closed, for whatever reason.
    Closed,
}

/// An issue to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIssue {
    /// Title, at most 256 characters.
    pub title: String,
    /// Body, at most 65,536 characters.
    pub body: String,
    /// Names of labels; those that the repository has not are made.
    pub labels: Vec<String>,
}

/// What to change of an issue; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueEdit {
    /// New title.
    pub title: Option<String>,
    /// New body.
    pub body: Option<String>,
    /// New state.
    pub state: Option<IssueState>,
}

/// An issue's body with who changed it, in one read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueText {
    /// Body as it is now.
    pub body: String,
    /// Its changes, newest first: as many as GitHub tells in one read.
    pub edits: Vec<TextEdit>,
}

/// A change of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// Whose: a login as REST writes it (`capstan[bot]`); `None` where GitHub does not tell.
    pub by: Option<String>,
    /// Whether that is an App or another bot.
    pub by_bot: bool,
    /// When.
    pub at: jiff::Timestamp,
}
