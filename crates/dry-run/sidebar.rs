//! The sidebar of a pull request: labels, people, teams.

use async_trait::async_trait;
use capstan_plan::proposal::Sidebar;

use super::{DryRun, HostResult, tell};
use capstan_ports::{PullRequest, Repository, SidebarPart, Sidebars};

#[async_trait]
impl Sidebars for DryRun {
    async fn add_to_sidebar(
        &self,
        repository: &Repository,
        number: u64,
        part: SidebarPart,
        names: &[String],
    ) -> HostResult<Vec<String>> {
        tell(repository, "sidebar", &format!("#{number}"), 0);
        let names = listed(repository, part, names);
        let add = |pull: &PullRequest| {
            let mut pull = pull.clone();
            let list = sidebar_list(&mut pull.sidebar, part);
            for name in names {
                if !list.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                    list.push(name);
                }
            }
            pull
        };
        self.edited(repository, number, add).await?;
        Ok(Vec::new())
    }

    async fn remove_from_sidebar(
        &self,
        repository: &Repository,
        number: u64,
        part: SidebarPart,
        names: &[String],
    ) -> HostResult<()> {
        tell(repository, "sidebar", &format!("#{number}"), 0);
        let names = listed(repository, part, names);
        let remove = |pull: &PullRequest| {
            let mut pull = pull.clone();
            let goes = |known: &String| names.iter().any(|name| known.eq_ignore_ascii_case(name));
            sidebar_list(&mut pull.sidebar, part).retain(|known| !goes(known));
            pull
        };
        self.edited(repository, number, remove).await.map(drop)
    }
}

fn sidebar_list(sidebar: &mut Sidebar, part: SidebarPart) -> &mut Vec<String> {
    match part {
        SidebarPart::Labels => &mut sidebar.labels,
        SidebarPart::Assignees => &mut sidebar.assignees,
        SidebarPart::Reviewers | SidebarPart::TeamReviewers => &mut sidebar.reviewers,
    }
}

/// Names as a pull request lists them: a team with its organisation.
fn listed(repository: &Repository, part: SidebarPart, names: &[String]) -> Vec<String> {
    let name = |name: &String| match part {
        SidebarPart::TeamReviewers => format!("{}/{name}", repository.name.owner()),
        SidebarPart::Labels | SidebarPart::Assignees | SidebarPart::Reviewers => name.clone(),
    };
    names.iter().map(name).collect()
}
