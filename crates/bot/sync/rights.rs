//! Whether the author of a comment may use its commands there: the facts, and the heart's verdict.

use std::collections::BTreeMap;

use capstan_bot_core::answers::{AuditedCommand, audited};
use capstan_bot_core::effects::Effect;
use capstan_bot_core::facts::Scopes;
use capstan_bot_core::requests::{Request, right_of};
use capstan_model::target::Target;
use capstan_model::tree::RepoPath;
use capstan_plan::command::{
    Asker, CODE_OWNERS_FILES, CodeOwners, Denied, Hearing, Judged, Place, Right, Team, judge,
};
use capstan_plan::settings::CommandSettings;
use capstan_plan::verbs::{Needs, Verb};
use capstan_report::Answer;

use super::{Run, SyncError};

/// Rights in a repository: from the default branch, never from a pull request.
pub(super) struct RepositoryRights<'a> {
    settings: &'a CommandSettings,
    owners: CodeOwners,
    /// Team memberships, as far as they were read.
    teams: BTreeMap<String, BTreeMap<Team, bool>>,
    /// Rights of people in the repository, as far as they were read.
    people: BTreeMap<String, Right>,
}

impl<'a> RepositoryRights<'a> {
    pub(super) fn of(run: Run<'_>, settings: &'a CommandSettings) -> Self {
        let tree = &run.facts.base.tree;
        let file = CODE_OWNERS_FILES.iter().find_map(|file| tree.entry(&RepoPath::parse(file).ok()?));
        let owners = match file.map(|entry| (entry, tree.read(entry))) {
            None => CodeOwners::default(),
            Some((_, Ok(text))) => CodeOwners::read(&String::from_utf8_lossy(&text)),
            // Otherwise everybody with write access would own everything else.
            Some((entry, Err(error))) => {
                tracing::warn!(repository = %run.repository.name, file = %entry.path, error = %error, "the owners cannot be read: no user counts as an owner");
                CodeOwners::unreadable()
            }
        };
        Self { settings, owners, teams: BTreeMap::new(), people: BTreeMap::new() }
    }
}

impl Run<'_> {
    /// A person's right in the repository now; none where GitHub refuses to say.
    pub(super) async fn right_now(self, login: &str) -> Result<Right, SyncError> {
        match self.ports.host.permission(self.repository, login).await {
            Ok(permission) => Ok(right_of(permission)),
            Err(error) if error.is_refusal() => Ok(Right::None),
            Err(error) => Err(error.into()),
        }
    }

    /// Notes which commands of a request its author may not use.
    pub(super) async fn judge_rights(
        self,
        request: &mut Request,
        rights: &mut RepositoryRights<'_>,
        scopes: &Scopes,
    ) -> Result<(), SyncError> {
        if request.hearing != Hearing::Obeyed {
            return Ok(());
        }
        let clusters = self.clusters_of(request, rights, scopes).await?;
        let from_fork = request.pull.as_ref().filter(|pull| !pull.head_in_repository);
        let fork_author = from_fork.map(|pull| pull.author.as_str());
        let (login, right) = (request.by.clone(), request.right);
        for (at, command) in request.commands.iter().enumerate() {
            let Ok(command) = command else { continue };
            let named: Vec<String> = command.cluster().map(ToString::to_string).into_iter().collect();
            let place = Place { clusters: if named.is_empty() { &clusters } else { &named }, fork_author };
            if let Some(why) = self.denial(rights, (&login, right), command.verb(), place).await? {
                request.denied.insert(at, why);
            }
        }
        Ok(())
    }

    /// Why a person may not use a verb there; `None` where they may.
    async fn denial(
        self,
        rights: &mut RepositoryRights<'_>,
        (login, right): (&str, Right),
        verb: Verb,
        place: Place<'_>,
    ) -> Result<Option<Denied>, SyncError> {
        loop {
            let teams = rights.teams.entry(login.to_owned()).or_default();
            let asker = Asker { login, right, teams };
            let team = match judge(verb, asker, place, rights.settings, &rights.owners) {
                Judged::Allowed => return Ok(None),
                Judged::Denied(why) => return Ok(Some(why)),
                Judged::Ask(team) => team,
            };
            let belongs = match self.ports.host.belongs_to_team(self.repository, &team, login).await {
                Ok(belongs) => belongs,
                // Without the permission to read members nobody counts as one: the answer names the team.
                Err(error) if error.is_refusal() => {
                    tracing::warn!(repository = %self.repository.name, organisation = team.organisation, team = team.slug, error = %error, "the members of a team are unknown: no user counts as one");
                    false
                }
                Err(error) => return Err(error.into()),
            };
            teams.insert(team, belongs);
        }
    }

    /// Whether a person may approve a proposal's changes in each of these clusters now.
    pub(super) async fn may_approve(
        self,
        rights: &mut RepositoryRights<'_>,
        login: &str,
        targets: &[Target],
    ) -> Result<bool, SyncError> {
        let right = match rights.people.get(login) {
            Some(known) => *known,
            None => {
                let right = self.right_now(login).await?;
                rights.people.insert(login.to_owned(), right);
                right
            }
        };
        let clusters: Vec<String> = targets.iter().map(|target| target.path().to_owned()).collect();
        let place = Place { clusters: &clusters, fork_author: None };
        Ok(self.denial(rights, (login, right), Verb::Approve, place).await?.is_none())
    }

    /// The clusters that a comment is about, where rights depend on them.
    async fn clusters_of(
        self,
        request: &Request,
        rights: &RepositoryRights<'_>,
        scopes: &Scopes,
    ) -> Result<Vec<String>, SyncError> {
        let needs_owner =
            request.commands.iter().flatten().any(|command| command.verb().needs() == Needs::Owner);
        if !needs_owner && rights.settings.permissions.is_empty() {
            return Ok(Vec::new());
        }
        // If they cannot be read, the rights for the repository decide.
        let concerned = self.concerned_by(request, scopes).await?.unwrap_or_default();
        Ok(concerned.into_iter().map(|proposal| proposal.target.path().to_owned()).collect())
    }

    /// Writes to the audit trail the result of each command of a comment, and its answer.
    pub(super) async fn audit_commands(
        self,
        request: &Request,
        answers: &[Answer],
        scopes: &Scopes,
    ) -> Result<(), SyncError> {
        for command in audited(self.facts, scopes, request, answers) {
            let AuditedCommand { word, action, place, head, entries } = command;
            tracing::info!(repository = %self.repository.name, place, actor = request.by, command = word, head, outcome = action, "command");
            self.performer.perform_all(entries.into_iter().map(Effect::Audit)).await?;
        }
        Ok(())
    }
}
