//! Accounts, repositories, the App and its installations.

use serde_json::{Value, json};

use super::object::{extend, urls};
use crate::clock::rfc3339;
use crate::state::{
    Account, AccountKind, App, AppInstallation, ForgeRepository, MergeMethod, Permission, Selection,
};

pub(crate) fn simple_user(account: &Account, web: &str) -> Value {
    let api = format!("{web}/users/{}", account.login.replace(['[', ']'], ""));
    let html = match account.kind {
        AccountKind::Bot => format!("{web}/apps/{}", account.login.trim_end_matches("[bot]")),
        _ => format!("{web}/{}", account.login),
    };
    let kind = match account.kind {
        AccountKind::User => "User",
        AccountKind::Organization => "Organization",
        AccountKind::Bot => "Bot",
    };
    let links = urls(
        &api,
        &[
            ("url", ""),
            ("followers_url", "/followers"),
            ("following_url", "/following{/other_user}"),
            ("gists_url", "/gists{/gist_id}"),
            ("starred_url", "/starred{/owner}{/repo}"),
            ("subscriptions_url", "/subscriptions"),
            ("organizations_url", "/orgs"),
            ("repos_url", "/repos"),
            ("events_url", "/events{/privacy}"),
            ("received_events_url", "/received_events"),
        ],
    );
    let user = json!({
        "login": account.login,
        "id": account.id,
        "node_id": format!("U_{}", account.id),
        "avatar_url": format!("{web}/avatars/{}", account.id),
        "gravatar_id": "",
        "html_url": html,
        "type": kind,
        "site_admin": false,
    });
    extend(user, Value::Object(links))
}

/// The repository as pull requests and installations carry it.
pub(crate) fn repository(repository: &ForgeRepository) -> Value {
    let links = urls(
        &repository.api(),
        &[
            ("url", ""),
            ("archive_url", "/{archive_format}{/ref}"),
            ("assignees_url", "/assignees{/user}"),
            ("blobs_url", "/git/blobs{/sha}"),
            ("branches_url", "/branches{/branch}"),
            ("collaborators_url", "/collaborators{/collaborator}"),
            ("comments_url", "/comments{/number}"),
            ("commits_url", "/commits{/sha}"),
            ("compare_url", "/compare/{base}...{head}"),
            ("contents_url", "/contents/{+path}"),
            ("contributors_url", "/contributors"),
            ("deployments_url", "/deployments"),
            ("downloads_url", "/downloads"),
            ("events_url", "/events"),
            ("forks_url", "/forks"),
            ("git_commits_url", "/git/commits{/sha}"),
            ("git_refs_url", "/git/refs{/sha}"),
            ("git_tags_url", "/git/tags{/sha}"),
            ("issue_comment_url", "/issues/comments{/number}"),
            ("issue_events_url", "/issues/events{/number}"),
            ("issues_url", "/issues{/number}"),
            ("keys_url", "/keys{/key_id}"),
            ("labels_url", "/labels{/name}"),
            ("languages_url", "/languages"),
            ("merges_url", "/merges"),
            ("milestones_url", "/milestones{/number}"),
            ("notifications_url", "/notifications{?since,all,participating}"),
            ("pulls_url", "/pulls{/number}"),
            ("releases_url", "/releases{/id}"),
            ("stargazers_url", "/stargazers"),
            ("statuses_url", "/statuses/{sha}"),
            ("subscribers_url", "/subscribers"),
            ("subscription_url", "/subscription"),
            ("tags_url", "/tags"),
            ("teams_url", "/teams"),
            ("trees_url", "/git/trees{/sha}"),
            ("hooks_url", "/hooks"),
        ],
    );
    let html = repository.html();
    let open = repository.issues.values().filter(|issue| issue.open).count();
    let own = json!({
        "id": repository.id,
        "node_id": format!("R_{}", repository.id),
        "name": repository.name,
        "full_name": repository.full_name(),
        "private": repository.private,
        "owner": simple_user(&repository.owner, &repository.web),
        "html_url": html,
        "description": null,
        "fork": repository.fork_of.is_some(),
        "clone_url": format!("{html}.git"),
        "git_url": format!("git:{}.git", html.trim_start_matches("http:")),
        "ssh_url": format!("git@forge.invalid:{}.git", repository.full_name()),
        "svn_url": html,
        "mirror_url": null,
        "homepage": null,
        "language": null,
        "license": null,
        "forks": 0,
        "forks_count": 0,
        "stargazers_count": 0,
        "watchers": 0,
        "watchers_count": 0,
        "size": 0,
        "default_branch": repository.default_branch,
        "open_issues": open,
        "open_issues_count": open,
        "is_template": false,
        "topics": [],
        "has_issues": repository.has_issues,
        "has_projects": false,
        "has_wiki": false,
        "has_pages": false,
        "has_downloads": false,
        "has_discussions": false,
        "archived": repository.archived,
        "disabled": false,
        "allow_forking": true,
        "web_commit_signoff_required": false,
        "visibility": if repository.private { "private" } else { "public" },
        "pushed_at": rfc3339(repository.pushed_at),
        "created_at": rfc3339(repository.created_at),
        "updated_at": rfc3339(repository.pushed_at),
    });
    extend(own, Value::Object(links))
}

/// The repository as `GET /repos/{owner}/{repo}` shows it to somebody with a permission.
pub(crate) fn full_repository(repository: &ForgeRepository, permission: Permission) -> Value {
    let more = json!({
        "subscribers_count": 0,
        "network_count": 0,
        "allow_rebase_merge": repository.merge_methods.contains(&MergeMethod::Rebase),
        "allow_squash_merge": repository.merge_methods.contains(&MergeMethod::Squash),
        "allow_merge_commit": repository.merge_methods.contains(&MergeMethod::Merge),
        "allow_auto_merge": repository.auto_merge_allowed,
        "permissions": {
            "admin": permission >= Permission::Admin,
            "maintain": permission >= Permission::Maintain,
            "push": permission >= Permission::Write,
            "triage": permission >= Permission::Triage,
            "pull": permission >= Permission::Read,
        },
    });
    extend(self::repository(repository), more)
}

/// The repository as `push` events carry it, where two times are numbers.
pub(crate) fn push_repository(repository: &ForgeRepository) -> Value {
    let more = json!({
        "created_at": repository.created_at,
        "pushed_at": repository.pushed_at,
        "stargazers": 0,
        "master_branch": repository.default_branch,
    });
    extend(self::repository(repository), more)
}

pub(crate) fn app(app: &App, web: &str) -> Value {
    json!({
        "id": app.id,
        "client_id": app.client_id(),
        "slug": app.slug,
        "node_id": format!("A_{}", app.id),
        "owner": simple_user(&app.owner, web),
        "name": app.slug,
        "description": null,
        "external_url": format!("{web}/apps/{}", app.slug),
        "html_url": format!("{web}/apps/{}", app.slug),
        "created_at": rfc3339(app.created_at),
        "updated_at": rfc3339(app.created_at),
        "permissions": app.permissions,
        "events": app.events,
    })
}

pub(crate) fn installation(installation: &AppInstallation, app: &App, web: &str) -> Value {
    let id = installation.id;
    let target = match installation.account.kind {
        AccountKind::Organization => "Organization",
        _ => "User",
    };
    json!({
        "id": id,
        "account": simple_user(&installation.account, web),
        "repository_selection": match installation.selection {
            Selection::All => "all",
            Selection::Selected(_) => "selected",
        },
        "access_tokens_url": format!("{web}/app/installations/{id}/access_tokens"),
        "repositories_url": format!("{web}/installation/repositories"),
        "html_url": format!("{web}/settings/installations/{id}"),
        "app_id": app.id,
        "app_slug": app.slug,
        "target_id": installation.account.id,
        "target_type": target,
        "permissions": app.permissions,
        "events": app.events,
        "created_at": rfc3339(installation.created_at),
        "updated_at": rfc3339(installation.created_at),
        "single_file_name": null,
        "has_multiple_single_files": false,
        "single_file_paths": [],
        "suspended_by": null,
        "suspended_at": if installation.suspended {
            Value::String(rfc3339(installation.created_at))
        } else {
            Value::Null
        },
    })
}

/// A repository as `installation` events list it.
pub(crate) fn installation_repository(repository: &ForgeRepository) -> Value {
    json!({
        "id": repository.id,
        "node_id": format!("R_{}", repository.id),
        "name": repository.name,
        "full_name": repository.full_name(),
        "private": repository.private,
    })
}
