//! Whether the author of a comment may use its commands there: the facts, and the heart's verdict.

use capstan_bot_core::facts::Scopes;
use capstan_bot_core::requests::Request;
use capstan_model::target::Target;
use capstan_model::tree::RepoPath;
use capstan_plan::command::{
    Asker, CODE_OWNERS_FILES, CodeOwners, CommandPlace, Denied, Hearing, Right, RightsVerdict, judge,
};
use capstan_plan::settings::CommandSettings;
use capstan_plan::verbs::{NeededRight, Verb};

use super::SyncError;
use super::people::People;
use super::request_subjects::RequestSubjects;
use capstan_ports::PermissionLookup;

/// Rights in a repository: from the default branch, never from a pull request.
pub(super) struct RepositoryRights<'a> {
    settings: &'a CommandSettings,
    owners: CodeOwners,
    people: People<'a>,
    subjects: RequestSubjects<'a>,
}

impl<'a> RepositoryRights<'a> {
    pub(super) fn of(
        host: &'a dyn PermissionLookup,
        subjects: RequestSubjects<'a>,
        settings: &'a CommandSettings,
    ) -> Self {
        let (facts, people) = (subjects.facts, People::of(host, &subjects.facts.repository));
        let tree = &facts.base.tree;
        let file = CODE_OWNERS_FILES.iter().find_map(|file| tree.entry(&RepoPath::parse(file).ok()?));
        let owners = match file.map(|entry| (entry, tree.read(entry))) {
            None => CodeOwners::default(),
            Some((_, Ok(text))) => CodeOwners::read(&String::from_utf8_lossy(&text)),
            // Otherwise everybody with write access would own everything else.
            Some((entry, Err(error))) => {
                tracing::warn!(repository = %facts.repository.name, file = %entry.path, error = %error, "the owners cannot be read: no user counts as an owner");
                CodeOwners::unreadable()
            }
        };
        Self { settings, owners, people, subjects }
    }

    /// Notes which commands of a request its author may not use.
    pub(super) async fn judge(&mut self, request: &mut Request, scopes: &Scopes) -> Result<(), SyncError> {
        if request.hearing != Hearing::Obeyed {
            return Ok(());
        }
        let clusters = self.clusters_of(request, scopes).await?;
        let from_fork = request.pull.as_ref().filter(|pull| !pull.head_in_repository);
        let fork_author = from_fork.map(|pull| pull.author.as_str());
        let (login, right) = (request.by.clone(), request.right);
        for (at, command) in request.commands.iter().enumerate() {
            let Ok(command) = command else { continue };
            let named: Vec<String> = command.cluster().map(ToString::to_string).into_iter().collect();
            let place =
                CommandPlace { clusters: if named.is_empty() { &clusters } else { &named }, fork_author };
            if let Some(why) = self.denial((&login, right), command.verb(), place).await? {
                request.denied.insert(at, why);
            }
        }
        Ok(())
    }

    /// Why a person may not use a verb there; `None` where they may.
    async fn denial(
        &mut self,
        (login, right): (&str, Right),
        verb: Verb,
        place: CommandPlace<'_>,
    ) -> Result<Option<Denied>, SyncError> {
        loop {
            let asker = Asker { login, right, teams: self.people.teams_of(login) };
            match judge(verb, asker, place, self.settings, &self.owners) {
                RightsVerdict::Allowed => return Ok(None),
                RightsVerdict::Denied(why) => return Ok(Some(why)),
                RightsVerdict::Ask(team) => self.people.ask_team(login, team).await?,
            }
        }
    }

    /// Whether a person may approve a proposal's changes in each of these clusters now.
    pub(super) async fn may_approve(&mut self, login: &str, targets: &[Target]) -> Result<bool, SyncError> {
        let right = self.people.right(login).await?;
        let clusters: Vec<String> = targets.iter().map(|target| target.path().to_owned()).collect();
        let place = CommandPlace { clusters: &clusters, fork_author: None };
        Ok(self.denial((login, right), Verb::Approve, place).await?.is_none())
    }

    /// The clusters that a comment is about, where rights depend on them.
    async fn clusters_of(&self, request: &Request, scopes: &Scopes) -> Result<Vec<String>, SyncError> {
        let needs_owner =
            request.commands.iter().flatten().any(|command| command.verb().needs() == NeededRight::Owner);
        if !needs_owner && self.settings.permissions.is_empty() {
            return Ok(Vec::new());
        }
        // If they cannot be read, the rights for the repository decide.
        let concerned = self.subjects.of_request(request, scopes).await?.unwrap_or_default();
        Ok(concerned.into_iter().map(|proposal| proposal.target.path().to_owned()).collect())
    }
}
