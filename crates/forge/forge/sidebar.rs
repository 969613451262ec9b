//! What people do beside a pull request: labels, assignees, reviewers, and its title.

use super::error::ForgeError;
use super::people::author_of;
use super::running::Forge;
use crate::actions::SidebarEdit;

impl Forge {
    /// Puts a label on an issue or pull request.
    pub fn add_label(&self, full_name: &str, number: u64, label: &str, by: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(SidebarEdit { state, full_name, number, by: &by }.add_label(label)?)
        })
    }

    /// Takes a label off.
    pub fn remove_label(
        &self,
        full_name: &str,
        number: u64,
        label: &str,
        by: &str,
    ) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(SidebarEdit { state, full_name, number, by: &by }.remove_label(label)?)
        })
    }

    /// Assigns somebody.
    pub fn assign(&self, full_name: &str, number: u64, login: &str, by: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let (whom, by) = (author_of(state, login)?, author_of(state, by)?);
            Ok(SidebarEdit { state, full_name, number, by: &by }.assign(&whom)?)
        })
    }

    /// Takes an assignment back.
    pub fn unassign(&self, full_name: &str, number: u64, login: &str, by: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(SidebarEdit { state, full_name, number, by: &by }.unassign(login)?)
        })
    }

    /// Takes a request for a review back: a person's by login, a team's by its name in URLs.
    pub fn remove_reviewer(
        &self,
        full_name: &str,
        number: u64,
        reviewer: &str,
        by: &str,
    ) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(SidebarEdit { state, full_name, number, by: &by }.let_reviewer_go(reviewer)?)
        })
    }

    /// Changes the title of a pull request.
    pub fn edit_title(&self, full_name: &str, number: u64, by: &str, title: &str) -> Result<(), ForgeError> {
        self.act(|state| {
            let by = author_of(state, by)?;
            Ok(SidebarEdit { state, full_name, number, by: &by }.retitle(title)?)
        })
    }
}
