//! Who may what: every verb, every role, every origin of the pull request.

use super::*;
use crate::settings::RepositorySettings;
use capstan_model::tree::RepoPath;

const OWNERS: &str = "/gauss/ @olga @acme/gauss\n/euler/ @else\n/open/\n";

fn settings(text: &str) -> CommandSettings {
    let file = RepoPath::parse(".capstan.yaml").unwrap();
    RepositorySettings::read(&file, text, &crate::settings::RuleIds::of_catalogue()).unwrap().commands
}

fn judged(
    (login, right): (&str, Right),
    verb: Verb,
    clusters: &[&str],
    fork_author: Option<&str>,
    settings: &CommandSettings,
    teams: &[(&str, bool)],
) -> RightsVerdict {
    let team = |slug: &str| Team { organisation: "acme".to_owned(), slug: slug.to_owned() };
    let teams: BTreeMap<Team, bool> = teams.iter().map(|(slug, belongs)| (team(slug), *belongs)).collect();
    let clusters: Vec<String> = clusters.iter().map(|cluster| (*cluster).to_owned()).collect();
    let asker = Asker { login, right, teams: &teams };
    let place = CommandPlace { clusters: &clusters, fork_author };
    judge(verb, asker, place, settings, &CodeOwners::read(OWNERS))
}

/// If the owners cannot be read, nobody counts as one: only an administrator may.
#[test]
fn owners_that_cannot_be_read_own_nothing() {
    let settings = settings("mode: propose\n");
    let clusters = ["gauss/peu01".to_owned()];
    let place = CommandPlace { clusters: &clusters, fork_author: None };
    let judged = |login, right| {
        let teams = BTreeMap::new();
        judge(Verb::Merge, Asker { login, right, teams: &teams }, place, &settings, &CodeOwners::unreadable())
    };
    assert!(matches!(judged("olga", Right::Write), RightsVerdict::Denied(Denied::NotOneOf { .. })));
    assert_eq!(judged("anna", Right::Admin), RightsVerdict::Allowed);
}

/// Each verb with six roles (who may see nothing, who may read, who may write, one of a team that owns the folder, an
/// owner by name, an administrator), each at three places: an issue or a pull request of a branch of the repository, a
/// pull request of somebody else's fork, one of their own fork.
#[test]
fn who_may_what_where() {
    let roles = [
        ("nora", Right::None, false),
        ("rita", Right::Read, false),
        ("walt", Right::Write, false),
        ("tina", Right::Write, true),
        ("olga", Right::Write, false),
        ("anna", Right::Admin, false),
    ];
    let table = [
        ("help", "--- --- +++ +++ +++ +++"),
        ("plan", "--- --- +++ +++ +++ +++"),
        ("status", "--- --- +++ +++ +++ +++"),
        ("explain", "--- --- +++ +++ +++ +++"),
        ("replan", "--- --- ++- ++- ++- ++-"),
        ("upgrade", "--- --- --- ++- ++- ++-"),
        ("rollback", "--- --- --- ++- ++- ++-"),
        ("create", "--- --- --- ++- ++- ++-"),
        ("destroy", "--- --- --- ++- ++- ++-"),
        ("retarget", "--- --- --- ++- ++- ++-"),
        ("render", "--- --- ++- ++- ++- ++-"),
        ("keep", "--- --- --- ++- ++- ++-"),
        ("take", "--- --- --- ++- ++- ++-"),
        ("override", "--- --- --- ++- ++- ++-"),
        ("approve", "--- --- --- ++- ++- ++-"),
        ("unapprove", "--- --- --- +++ +++ +++"),
        ("merge", "--- --- --- ++- ++- ++-"),
        ("hold", "--- --- --- ++- ++- ++-"),
        ("unhold", "--- --- --- ++- ++- ++-"),
        ("skip", "--- --- --- ++- ++- ++-"),
        ("pause", "--- --- --- --- --- +++"),
        ("resume", "--- --- --- --- --- ++-"),
        ("unskip", "--- --- --- ++- ++- ++-"),
        ("preflight", "--- --- --- +++ +++ +++"),
        ("campaign", "--- --- --- --- --- ++-"),
        ("retry", "--- --- --- ++- ++- ++-"),
    ];
    assert_eq!(table.len(), Verb::ALL.len());
    for (word, expected) in table {
        let verb = Verb::named(word).unwrap();
        let mut found = Vec::new();
        for (login, right, is_of_team) in roles {
            let mark = |fork_author| {
                let (role, teams) = ((login, right), [("gauss", is_of_team)]);
                match judged(role, verb, &["gauss/peu01"], fork_author, &CommandSettings::default(), &teams) {
                    RightsVerdict::Allowed => '+',
                    RightsVerdict::Denied(_) => '-',
                    RightsVerdict::Ask(_) => '?',
                }
            };
            found.push(String::from_iter([None, Some("mallory"), Some(login)].map(mark)));
        }
        assert_eq!(found.join(" "), expected, "{word}");
    }
}

#[test]
fn a_team_is_asked_for_where_it_decides() {
    let none = CommandSettings::default();
    let team = Team { organisation: "acme".to_owned(), slug: "gauss".to_owned() };
    let of = |role, clusters: &[&str], teams: &[(&str, bool)]| {
        judged(role, Verb::Retarget, clusters, None, &none, teams)
    };
    let walt = ("walt", Right::Write);
    assert_eq!(of(walt, &["gauss/peu01"], &[]), RightsVerdict::Ask(team.clone()));
    assert_eq!(of(walt, &["gauss/peu01"], &[("gauss", true)]), RightsVerdict::Allowed);
    assert_eq!(
        of(("Olga", Right::Write), &["gauss/peu01"], &[]),
        RightsVerdict::Allowed,
        "logins have no case"
    );
    // An owner counts only with write permission, as at GitHub.
    assert!(matches!(of(("olga", Right::Read), &["gauss/peu01"], &[]), RightsVerdict::Denied(_)));
    // It has no owner, so it is for those who may write.
    assert_eq!(of(walt, &["hertz/x"], &[]), RightsVerdict::Allowed);
    assert_eq!(of(walt, &["open/x"], &[]), RightsVerdict::Allowed);
    // All of several.
    assert!(matches!(of(walt, &["gauss/peu01", "euler/x"], &[("gauss", true)]), RightsVerdict::Denied(_)));
    let denied = Denied::NotOneOf {
        allowed: vec![
            "an owner of its folder in `CODEOWNERS` (`@else`)".to_owned(),
            "an administrator of this repository".to_owned(),
        ],
        cluster: Some("euler/x".to_owned()),
    };
    assert_eq!(of(walt, &["euler/x", "gauss/peu01"], &[]), RightsVerdict::Denied(denied));
}

#[test]
fn a_right_on_a_cluster_does_not_allow_pausing_the_repository() {
    let of_cluster =
        settings("commands: {permissions: [{match: \"gauss/*\", verbs: [pause], allow: [write]}]}\n");
    let of_all = settings("commands: {permissions: [{verbs: [pause], allow: [write]}]}\n");
    let walt = ("walt", Right::Write);
    for clusters in [&["gauss/peu01"][..], &[]] {
        let of = |settings| judged(walt, Verb::Pause, clusters, None, settings, &[]);
        assert!(matches!(of(&of_cluster), RightsVerdict::Denied(Denied::NotOneOf { cluster: None, .. })));
        assert_eq!(of(&of_all), RightsVerdict::Allowed);
    }
}

#[test]
fn settings_say_who_may_and_later_entries_win() {
    let settings = settings(
        "commands:\n  permissions:\n  - {verbs: [hold, unhold], allow: [write]}\n  - {match: \"gauss/*\", verbs: [hold], allow: [\"@rita\", \"@acme/night\"]}\n  - {match: \"euler/*\", verbs: [plan], allow: []}\n",
    );
    let of = |role, verb, cluster: &[&str], teams: &[(&str, bool)]| {
        judged(role, verb, cluster, None, &settings, teams)
    };
    let (rita, walt) = (("rita", Right::Read), ("walt", Right::Write));
    let night = Team { organisation: "acme".to_owned(), slug: "night".to_owned() };
    assert_eq!(of(rita, Verb::Hold, &["gauss/peu01"], &[]), RightsVerdict::Allowed);
    assert_eq!(of(walt, Verb::Hold, &["gauss/peu01"], &[]), RightsVerdict::Ask(night));
    assert!(matches!(of(walt, Verb::Hold, &["gauss/peu01"], &[("night", false)]), RightsVerdict::Denied(_)));
    assert_eq!(of(walt, Verb::Unhold, &["gauss/peu01"], &[]), RightsVerdict::Allowed);
    assert_eq!(of(walt, Verb::Hold, &["euler/x"], &[]), RightsVerdict::Allowed);
    assert!(matches!(of(rita, Verb::Unhold, &["gauss/peu01"], &[]), RightsVerdict::Denied(_)));
    assert!(matches!(of(walt, Verb::Plan, &["euler/x"], &[]), RightsVerdict::Denied(_)));
    assert_eq!(of(("anna", Right::Admin), Verb::Plan, &["euler/x"], &[]), RightsVerdict::Allowed);
    assert!(settings.admits_readers() && !CommandSettings::default().admits_readers());
}
