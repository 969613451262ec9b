//! What is beside a pull request, as GitHub takes it: labels, assignees, people and teams whose review is requested.

use capstan_facts::SidebarPart;
use capstan_plan::proposal::Sidebar;

/// The parts in which GitHub takes what is beside a pull request of this owner's repository, and the teams of others, which
/// it does not take.
pub fn by_part(of: &Sidebar, owner: &str) -> ([(SidebarPart, Vec<String>); 4], Vec<String>) {
    let (mut people, mut teams, mut strangers) = (Vec::new(), Vec::new(), Vec::new());
    for reviewer in &of.reviewers {
        match reviewer.split_once('/') {
            None => people.push(reviewer.clone()),
            Some((organisation, team)) if organisation.eq_ignore_ascii_case(owner) => {
                teams.push(team.to_owned());
            }
            Some(_) => strangers.push(reviewer.clone()),
        }
    }
    let parts = [
        (SidebarPart::Labels, of.labels.clone()),
        (SidebarPart::Assignees, of.assignees.clone()),
        (SidebarPart::Reviewers, people),
        (SidebarPart::TeamReviewers, teams),
    ];
    (parts, strangers)
}

/// Puts names of one part back among the others.
pub fn put_back(of: &mut Sidebar, part: SidebarPart, names: Vec<String>, owner: &str) {
    match part {
        SidebarPart::Labels => of.labels.extend(names),
        SidebarPart::Assignees => of.assignees.extend(names),
        SidebarPart::Reviewers => of.reviewers.extend(names),
        SidebarPart::TeamReviewers => {
            of.reviewers.extend(names.into_iter().map(|team| format!("{owner}/{team}")));
        }
    }
}
