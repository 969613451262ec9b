use super::*;
use crate::block::BlockPlace;
use crate::body::tests::upgrade;
use capstan_plan::proposal::{ProposalId, trailer_value};
use capstan_plan::upgrade::Upgrade;

/// One cluster's upgrade, which makes a part.
struct One {
    upgrade: Upgrade,
    source: SourceState,
    plan: PlanDigest,
    decisions: Decisions,
    sidebar: SidebarStanding,
}

fn one(target: &str) -> One {
    One {
        upgrade: Upgrade { target: Target::parse(target).unwrap(), ..upgrade() },
        source: SourceState::parse("aws/v22.0.0@-").unwrap(),
        plan: PlanDigest::of(&[]),
        decisions: Decisions::default(),
        sidebar: SidebarStanding::default(),
    }
}

fn part(one: &One) -> Proposal<'_> {
    Proposal {
        upgrade: &one.upgrade,
        source: &one.source,
        plan: &one.plan,
        origin: None,
        command_prefix: "/capstan",
        retarget: Retarget::Refused,
        decisions: &one.decisions,
        drafted: Drafted::No,
        reporter: None,
        sidebar: &one.sidebar,
        previous: &[],
    }
}

fn with_group<T>(
    all: &[One],
    left_out: &[(Target, String)],
    use_it: impl FnOnce(&GroupProposal<'_>) -> T,
) -> T {
    with_group_called("gauss", all, left_out, use_it)
}

fn with_group_called<T>(
    name: &str,
    all: &[One],
    left_out: &[(Target, String)],
    use_it: impl FnOnce(&GroupProposal<'_>) -> T,
) -> T {
    let parts: Vec<Proposal<'_>> = all.iter().map(part).collect();
    let target = Target::parse(&format!("group://{name}")).unwrap();
    let noted: Vec<BlockPart> = all
        .iter()
        .map(|one| BlockPart {
            target: one.upgrade.target.clone(),
            place: BlockPlace::Carried,
            retarget: Retarget::Refused,
            decisions: Decisions::default(),
        })
        .collect();
    let (source, plan) = (SourceState::parse("aws/v22.0.0@-").unwrap(), PlanDigest::of(&[]));
    let (decisions, sidebar) = (Decisions::default(), SidebarStanding::default());
    use_it(&GroupProposal {
        target: &target,
        group: target.group().unwrap(),
        parts: &parts,
        left_out,
        source: &source,
        plan: &plan,
        origin: None,
        command_prefix: "/capstan",
        decisions: &decisions,
        noted: &noted,
        drafted: Drafted::No,
        sidebar: &sidebar,
        after: None,
        previous: &[],
    })
}

fn key() -> BlockKey {
    BlockKey::derive(b"secret")
}

fn id() -> ProposalId {
    ProposalId::of_release(Target::parse("group://gauss").unwrap())
}

fn body_of(group: &GroupProposal<'_>) -> String {
    group_body(group, 7, Some(12), &TitleDigest::of("x"), &key())
}

#[test]
fn each_cluster_has_a_row_and_a_folded_part_and_the_left_out_have_a_reason() {
    let left_out = [(Target::parse("gauss/peu03").unwrap(), "It <blocks>.".to_owned())];
    let body = with_group(&[one("gauss/peu01"), one("gauss/peu02")], &left_out, body_of);
    assert!(body.starts_with(
            "Kubernetes v1.16.8 → v1.21.4 · 10 machines are replaced\n\nUpgrades 2 clusters of `gauss` to `aws/v22.0.0`.\n"
        ), "{body}");
    assert!(
        body.contains("\n| `gauss/peu02` | `aws/v21.0.0` | 1 edit in 1 file | 1 | 1 error | 5 machines |\n"),
        "{body}"
    );
    assert!(body.contains("\n- `gauss/peu03`: It &lt;blocks&gt;.\n"), "{body}");
    let folds = body.matches("<details><summary>gauss/peu0").count();
    assert_eq!((folds, body.matches("</details>").count()), (2, 3), "and Capstan's record");
    assert!(body.contains("`/capstan … for CLUSTER` applies to one"), "{body}");
    let block = Block::read(&body, &key(), 7, 12, &id()).unwrap();
    assert_eq!(block.parts.len(), 2);
    assert_eq!(block.plan, PlanDigest::of(&[]));
}

#[test]
fn a_body_of_many_clusters_keeps_githubs_limit_and_whole_folds() {
    let long = "ö".repeat(60);
    let mut all: Vec<One> = (0..100).map(|at| one(&format!("gauss/{long}{at:03}"))).collect();
    let change = all[0].upgrade.changes[0].clone();
    for one in &mut all {
        one.upgrade.changes = vec![change.clone(); 300];
    }
    let left_out: Vec<(Target, String)> =
        (0..100).map(|at| (Target::parse(&format!("gauss/out{at}")).unwrap(), "No. ".repeat(300))).collect();
    let body = with_group(&all, &left_out, body_of);
    assert!(body.chars().count() <= 65_536, "{}", body.chars().count());
    assert_eq!(body.matches("<details>").count(), body.matches("</details>").count());
    assert!(body.contains("lists the commands."), "what to do next is always told");
    assert!(body.contains(" more clusters: `capstan plan "), "{body}");
    assert_eq!(Block::read(&body, &key(), 7, 12, &id()).unwrap().parts.len(), 100);
    let few = with_group(&all[..3], &[], body_of);
    assert!(few.chars().count() <= 65_536);
    assert_eq!(few.matches("<details><summary>gauss/").count(), 3);
    assert!(few.contains("more edits; `capstan plan "), "each says what it left out");
}

#[test]
fn a_title_names_the_group_and_what_its_clusters_have_in_common() {
    let mut other = one("gauss/peu02");
    other.upgrade.from = SourceId::parse("aws/v20.0.0");
    let all = [one("gauss/peu01"), other];
    let title = |template: Option<&str>| {
        let template = template.map(|template| TitleTemplate::parse(template).unwrap());
        with_group(&all, &[], |group| group_title(template.as_ref(), group.group, group.parts, group.source))
    };
    assert_eq!(title(None), "Upgrade gauss (2 clusters) to aws/v22.0.0");
    assert_eq!(
        title(Some("{cluster}: {previousRelease} {release} {releaseVersion} {provider} {kubernetesVersion}")),
        "gauss: several aws/v22.0.0 v22.0.0 aws v1.22.5"
    );
}

#[test]
fn the_commit_tells_each_cluster_and_has_the_trailers_of_all_of_them() {
    let message = with_group(&[one("gauss/peu01"), one("gauss/fixes #1")], &[], |group| {
        group_commit_message(group, None, "Upgrade gauss (2 clusters) to aws/v22.0.0")
    });
    let expected = format!(
        "Upgrade gauss (2 clusters) to aws/v22.0.0\n\n\
         gauss/peu01 from aws/v21.0.0: 1 edit in 1 file.\n\
         gauss/fixes #\u{200b}1 from aws/v21.0.0: 1 edit in 1 file.\n\n\
         Capstan-Source: aws/v22.0.0@-\nCapstan-Plan: {}\n",
        PlanDigest::of(&[])
    );
    assert_eq!(message, expected);
}

/// Group names that an attacker could choose: each is shown as a name and nothing else.
#[test]
fn a_groups_name_is_a_name_and_nothing_else() {
    let template = TitleTemplate::parse("{cluster}: {release}").unwrap();
    let long = "ö".repeat(300);
    // The name, as a title shows it, and as a body does.
    for (name, title, shown) in [
        ("a\u{1b}[31mb", "a\u{fffd}[31mb", "`a\u{fffd}[31mb`"),
        ("a\u{202e}b", "a\u{fffd}b", "`a\u{fffd}b`"),
        ("a\u{2028}b", "a\u{fffd}b", "`a\u{fffd}b`"),
        ("a\r\n\r\n# b", "a\u{fffd}⏎\u{fffd}⏎#\u{200b} b", "`a\u{fffd}⏎\u{fffd}⏎# b`"),
        ("..a", "..a", "`..a`"),
        ("@{-1}", "@\u{200b}{-1}", "`@{-1}`"),
        ("--all", "--all", "`--all`"),
        ("a.lock", "a.lock", "`a.lock`"),
        ("@acme/team", "@\u{200b}acme/team", "`@acme/team`"),
        ("fixes #1 GH-2", "fixes #\u{200b}1 GH\u{200b}-2", "`fixes #1 GH-2`"),
        ("<img src=x>", "<img src=x>", "`<img src=x>`"),
        ("</details>", "</details>", "`</details>`"),
        ("--> b", "--> b", "`--> b`"),
        ("`b` @acme", "`b` @\u{200b}acme", "`` `b` @acme ``"),
        ("[a](b.example)", "[a](b.example)", "`[a](b.example)`"),
        ("{release}", "{release}", "`{release}`"),
        (
            "a\n\nCapstan-Source: b/v1@-\nCapstan-Plan: forged",
            "a⏎⏎Capstan-Source: b/v1@\u{200b}-⏎Capstan-Plan: forged",
            "`a⏎⏎Capstan-Source: b/v1@-⏎Capstan-Plan: forged`",
        ),
        (long.as_str(), format!("{}…", "ö".repeat(90)).as_str(), format!("`{}…`", "ö".repeat(200)).as_str()),
    ] {
        let clusters = [one(&format!("{name}/a")), one(&format!("{name}/b"))];
        with_group_called(name, &clusters, &[(Target::parse(name).unwrap(), name.to_owned())], |group| {
            let titles = [None, Some(&template)]
                .map(|template| group_title(template, group.group, group.parts, group.source));
            let expected =
                [format!("Upgrade {title} (2 clusters) to aws/v22.0.0"), format!("{title}: aws/v22.0.0")];
            assert_eq!(titles, expected);
            for title in &titles {
                let message = group_commit_message(group, None, title);
                assert_eq!(trailer_value(&message, TRAILER_SOURCE), Some("aws/v22.0.0@-"), "{message:?}");
                assert_eq!(trailer_value(&message, TRAILER_PLAN), Some(group.plan.as_str()), "{message:?}");
                let lines = message.lines().count();
                assert_eq!(lines, 7, "no line is a name's: {message:?}");
                assert!(!message.contains("@acme") && !message.contains("#1"), "{message:?}");
            }
            let body = group_body(group, 7, Some(12), &TitleDigest::of("x"), &key());
            let begin = format!("\n\nUpgrades 2 clusters of {shown} to `aws/v22.0.0`.\n");
            assert!(body.contains(&begin), "{name:?}: {body}");
            for summary in body.lines().filter_map(|line| line.strip_prefix("<details><summary>")) {
                let end = summary.strip_suffix("</summary>");
                assert!(end.is_some_and(|within| !within.contains(['<', '>'])), "{summary}");
            }
            let id = ProposalId::of_release(group.target.clone());
            assert_eq!(Block::read(&body, &key(), 7, 12, &id).unwrap().parts.len(), 2, "{name:?}");
        });
    }
}
