//! What people may do in the repository, as GitHub says it now.

use std::collections::BTreeMap;

use capstan_bot_core::requests::right_of;
use capstan_plan::command::{Right, Team};

use super::SyncError;
use capstan_ports::{Permission, PermissionLookup, Repository};

/// Asks about people. Each question is asked once.
pub(super) struct People<'a> {
    host: &'a dyn PermissionLookup,
    repository: &'a Repository,
    permissions: BTreeMap<String, Permission>,
    teams: BTreeMap<String, BTreeMap<Team, bool>>,
}

impl<'a> People<'a> {
    pub(super) const fn of(host: &'a dyn PermissionLookup, repository: &'a Repository) -> Self {
        Self { host, repository, permissions: BTreeMap::new(), teams: BTreeMap::new() }
    }

    /// A person's permission.
    pub(super) async fn permission(&mut self, login: &str) -> Result<Permission, SyncError> {
        if let Some(permission) = self.permissions.get(login) {
            return Ok(*permission);
        }
        let found = self.host.permission(self.repository, login).await?;
        self.permissions.insert(login.to_owned(), found);
        Ok(found)
    }

    /// The same; none where GitHub refuses to say.
    pub(super) async fn permission_or_none(&mut self, login: &str) -> Result<Permission, SyncError> {
        match self.permission(login).await {
            Err(SyncError::Host(error)) if error.is_refusal() => Ok(Permission::None),
            permission => permission,
        }
    }

    /// A person's right; none where GitHub refuses to say.
    pub(super) async fn right(&mut self, login: &str) -> Result<Right, SyncError> {
        Ok(right_of(self.permission_or_none(login).await?))
    }

    /// The teams that were asked about for a person, and whether the person is a member.
    pub(super) fn teams_of(&mut self, login: &str) -> &BTreeMap<Team, bool> {
        self.teams.entry(login.to_owned()).or_default()
    }

    /// Asks whether a person is a member of a team.
    pub(super) async fn ask_team(&mut self, login: &str, team: Team) -> Result<(), SyncError> {
        let belongs = match self.host.belongs_to_team(self.repository, &team, login).await {
            // Without the permission to read members nobody counts as one: the answer names the team.
            Err(error) if error.is_refusal() => {
                tracing::warn!(repository = %self.repository.name, organisation = team.organisation, team = team.slug, error = %error, "the members of a team are unknown: no user counts as one");
                false
            }
            belongs => belongs?,
        };
        self.teams.entry(login.to_owned()).or_default().insert(team, belongs);
        Ok(())
    }
}
