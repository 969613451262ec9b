use super::*;
use crate::proposal::{Closer, PullState, RolledBack};
use capstan_model::ids::ReleaseName;
use capstan_model::tree::{CommitId, RepoPath};

const V22: &str = "aws/v22.0.0";
const V23: &str = "aws/v23.0.0";

fn id(target: &str) -> ProposalId {
    ProposalId::of_release(Target::parse(target).unwrap())
}

fn source(release: &str) -> SourceState {
    SourceState::parse(&format!("{release}@{}", "a".repeat(40))).unwrap()
}

fn offer(release: &str, draft: Draft) -> ProposalPlan {
    ProposalPlan::Offer(Offer {
        source: source(release),
        plan: PlanDigest::of(&[]),
        draft,
        brought_by: SourceKind::RELEASE,
        writes: Writes::Objects,
    })
}

fn hold() -> OnHold {
    OnHold { by: "ada".to_owned(), reason: None, until: None }
}

/// A member with one file.
struct One {
    proposal: ProposalId,
    wanted: ProposalPlan,
    files: Vec<FileChange>,
    hold: Option<OnHold>,
    skipped: Option<Skipped>,
    command: ProposalCommand,
    earlier: Option<Pull>,
    waits: Option<String>,
    open_pull: OpenPullState,
    room: usize,
}

fn one(target: &str, wanted: ProposalPlan) -> One {
    let path = RepoPath::parse(&format!("{target}/base/a.yaml")).unwrap();
    let files = vec![FileChange { path, before: None, after: Some(target.to_owned()) }];
    let proposal = id(target);
    let command = ProposalCommand::None;
    let stands = OpenPullState::Elsewhere;
    One {
        proposal,
        wanted,
        files,
        hold: None,
        skipped: None,
        command,
        earlier: None,
        waits: None,
        open_pull: stands,
        room: 40,
    }
}

fn gathered(all: &[One], offered: Option<&SourceState>) -> GroupContent {
    let members: Vec<GroupMember<'_>> = all
        .iter()
        .map(|one| GroupMember {
            proposal: &one.proposal,
            wanted: &one.wanted,
            files: &one.files,
            hold: one.hold.as_ref(),
            skipped: one.skipped.as_ref(),
            command: one.command,
            earlier: one.earlier.as_ref(),
            waits: one.waits.as_deref(),
            open_pull: one.open_pull,
            room: one.room,
        })
        .collect();
    gather(&members, offered)
}

/// Who is carried, and what is offered to them.
fn carried(all: &[One], offered: Option<&SourceState>) -> (Vec<String>, Option<String>) {
    let gathered = gathered(all, offered);
    let source = match &gathered.wanted {
        ProposalPlan::Offer(offer) => Some(offer.source.source().to_string()),
        _ => None,
    };
    (gathered.carried.iter().map(ToString::to_string).collect(), source)
}

#[test]
fn a_cluster_has_its_groups_pull_request_unless_somebody_asked_for_a_release_by_name() {
    let by = GroupPattern::parse("*/").unwrap();
    let asked = Decisions { release: ReleaseName::parse("aws/v22.0.0"), ..Decisions::default() };
    let back = RolledBack { leaves: "aws/v22.0.0".to_owned(), by: "ada".to_owned() };
    let back = Decisions { rollback: Some(back), ..Decisions::default() };
    let held = Decisions { hold: Some(hold()), ..Decisions::default() };
    let values = ProposalId { kind: SourceKind::parse("values").unwrap(), ..id("gauss/peu01") };
    let none = Decisions::default();
    assert_eq!(carrier_of(&values, Some(&by), (&none, Draft::Ready)), values, "each has its own values");
    let draft = carrier_of(&id("gauss/peu01"), Some(&by), (&none, Draft::Draft));
    assert_eq!(draft, id("gauss/peu01"), "a draft holds nobody up");
    for (target, by, decisions, expected) in [
        ("gauss/peu01", Some(&by), &Decisions::default(), "group://gauss"),
        ("gauss/peu01", Some(&by), &held, "group://gauss"),
        ("gauss/peu01", Some(&by), &asked, "gauss/peu01"),
        ("gauss/peu01", Some(&by), &back, "gauss/peu01"),
        ("gauss/peu01", None, &Decisions::default(), "gauss/peu01"),
        ("peu01", Some(&by), &Decisions::default(), "peu01"),
    ] {
        let carrier = carrier_of(&id(target), by, (decisions, Draft::Ready));
        assert_eq!(carrier.to_string(), expected, "{target} {decisions:?}");
    }
}

#[test]
fn who_blocks_waits_is_held_or_skipped_stays_out_and_stops_nobody() {
    let pull = |number, state| Pull {
        number,
        state,
        head: CommitId::parse(&"c".repeat(40)).unwrap(),
        source: Some(source(V22)),
        leaves: None,
    };
    let none = |rest| ProposalPlan::Nothing { why: "It has it.".to_owned(), rest };
    let mut all = vec![
        one("c/a", offer(V22, Draft::Ready)),
        one("c/b", ProposalPlan::Blocked { why: vec!["It blocks.".to_owned()] }),
        one("c/c", ProposalPlan::Unplannable { why: "a.yaml:1: no".to_owned() }),
        one("c/d", none(Rest::Current)),
        One { hold: Some(hold()), ..one("c/e", offer(V22, Draft::Ready)) },
        One {
            skipped: Some(Skipped { source: V22.to_owned(), by: "ada".to_owned() }),
            ..one("c/f", offer(V22, Draft::Ready))
        },
        One { waits: Some("It rolls.".to_owned()), ..one("c/g", offer(V22, Draft::Ready)) },
        One {
            earlier: Some(pull(7, PullState::Closed(Closer::Person))),
            ..one("c/h", offer(V22, Draft::Ready))
        },
        One { earlier: Some(pull(8, PullState::Merged)), ..one("c/i", offer(V22, Draft::Ready)) },
        one("c/j", offer(V22, Draft::Ready)),
    ];
    let found = gathered(&all, None);
    assert_eq!(found.carried, [id("c/a"), id("c/j")]);
    let stands = |standing| WhyLeftOut::LeftAlone(standing);
    let expected = [
        ("c/b", stands(LeaveReason::Blocked { pull: None, why: vec!["It blocks.".to_owned()] })),
        ("c/c", stands(LeaveReason::Unplannable { pull: None, why: "a.yaml:1: no".to_owned() })),
        ("c/d", stands(LeaveReason::NothingOffered { why: "It has it.".to_owned(), rest: Rest::Current })),
        ("c/e", stands(LeaveReason::Held { pull: None, hold: hold() })),
        ("c/f", stands(LeaveReason::Skipped { by: "ada".to_owned() })),
        ("c/g", WhyLeftOut::Waits("It rolls.".to_owned())),
        ("c/h", stands(LeaveReason::Declined { pull: 7 })),
        ("c/i", stands(LeaveReason::Merged { pull: 8 })),
    ];
    assert_eq!(found.left_out, expected.map(|(target, why)| LeftOut { proposal: id(target), why }));
    let files = |all: &[One]| -> Vec<FileChange> { all.iter().flat_map(|one| one.files.clone()).collect() };
    let both = [one("c/a", none(Rest::Current)), one("c/j", none(Rest::Current))];
    let whole = Offer {
        source: source(V22),
        plan: PlanDigest::of(&files(&both)),
        draft: Draft::Ready,
        brought_by: SourceKind::RELEASE,
        writes: Writes::Objects,
    };
    assert_eq!((found.wanted, found.hold), (ProposalPlan::Offer(whole), None));

    // Members that somebody asks for come in.
    for one in &mut all {
        one.command = ProposalCommand::Offer;
    }
    let carried = gathered(&all, None).carried;
    assert_eq!(carried, ["c/a", "c/f", "c/h", "c/i", "c/j"].map(id));
}

#[test]
fn who_must_not_be_merged_has_to_leave_and_who_cannot_be_read_stays_where_it_is() {
    let blocked = || ProposalPlan::Blocked { why: vec!["It blocks.".to_owned()] };
    let held = One { hold: Some(hold()), ..one("c/b", offer(V22, Draft::Ready)) };
    let there = |one: One| One { open_pull: OpenPullState::There, ..one };
    for (second, expected) in [
        (one("c/b", offer(V22, Draft::Ready)), Leaving::Nobody),
        (one("c/b", blocked()), Leaving::Nobody),
        (there(one("c/b", blocked())), Leaving::Somebody),
        (there(held), Leaving::Somebody),
        (there(one("c/b", ProposalPlan::Unplannable { why: "a.yaml:1: no".to_owned() })), Leaving::Nobody),
        (there(one("c/b", offer(V23, Draft::Ready))), Leaving::Nobody),
    ] {
        let all = [there(one("c/a", offer(V22, Draft::Ready))), second];
        assert_eq!(gathered(&all, None).leaving, expected, "{:?}", all[1].wanted);
    }
}

#[test]
fn a_group_brings_one_source_what_most_are_offered_and_what_is_open_where_that_is_even() {
    let of = |releases: &[&str]| -> Vec<One> {
        let member = |(at, release): (usize, &&str)| one(&format!("c/{at}"), offer(release, Draft::Ready));
        releases.iter().enumerate().map(member).collect()
    };
    let (v22, v23) = (source(V22), source(V23));
    for (releases, offered, expected, carries) in [
        (&[V22, V22] as &[&str], None, V22, &["c/0", "c/1"] as &[&str]),
        (&[V22, V23, V23], None, V23, &["c/1", "c/2"]),
        (&[V22, V23, V23], Some(&v22), V23, &["c/1", "c/2"]),
        (&[V23, V22], None, V23, &["c/0"]),
        (&[V23, V22], Some(&v22), V22, &["c/1"]),
        (&[V22, V23], Some(&v23), V23, &["c/1"]),
    ] {
        let found = carried(&of(releases), offered);
        let expected = (carries.iter().map(ToString::to_string).collect(), Some(expected.to_owned()));
        assert_eq!(found, expected, "{releases:?} {offered:?}");
    }
    let waiting = gathered(&of(&[V23, V22]), Some(&v22)).left_out;
    let why = "`aws/v23.0.0` is offered to it, but the pull request of its group brings `aws/v22.0.0` to others. It waits until that is merged or closed.";
    assert_eq!(waiting, [LeftOut { proposal: id("c/0"), why: WhyLeftOut::Waits(why.to_owned()) }]);
}

#[test]
fn more_than_fit_into_one_pull_request_wait() {
    let all: Vec<One> = (0..102).map(|at| one(&format!("c/{at:03}"), offer(V22, Draft::Ready))).collect();
    let found = gathered(&all, None);
    assert_eq!(found.carried.len(), 100);
    assert_eq!(found.left_out.len(), 2);
    assert_eq!(found.left_out[0].proposal, id("c/100"));

    // A member of the open pull request stays in it, even if others come before it.
    let mut all = all;
    all[101].open_pull = OpenPullState::There;
    let found = gathered(&all, None);
    assert_eq!((found.carried.len(), &found.carried[99]), (100, &id("c/101")));
    assert_eq!(found.left_out[0].proposal, id("c/099"));

    let large = |at: &str| One { room: 12 << 10, ..one(at, offer(V22, Draft::Ready)) };
    let found = gathered(&[large("c/a"), large("c/b"), one("c/d", offer(V22, Draft::Ready))], None);
    assert_eq!(found.carried, [id("c/a"), id("c/d")], "what was decided has to be noted in one body");
    let huge = One { room: 1 << 20, ..one("c/a", offer(V22, Draft::Ready)) };
    assert_eq!(gathered(&[huge], None).carried, [id("c/a")], "one alone is as one that has its own");
    let mut long = one("c/a", offer(V22, Draft::Ready));
    long.files[0].after = Some("a".repeat(8 << 20));
    assert_eq!(gathered(&[long, one("c/b", offer(V22, Draft::Ready))], None).carried, [id("c/a")]);
}

#[test]
fn without_anybody_it_stays_while_somebody_is_held_or_blocks_and_is_closed_else() {
    let nothing = || ProposalPlan::Nothing { why: "It is gone.".to_owned(), rest: Rest::Gone };
    let blocked = || ProposalPlan::Blocked { why: vec!["It blocks.".to_owned()] };
    let unplannable = || ProposalPlan::Unplannable { why: "a.yaml:1: no".to_owned() };
    let found = gathered(&[one("c/a", nothing()), one("c/b", blocked()), one("c/c", unplannable())], None);
    assert_eq!(found.wanted, ProposalPlan::Blocked { why: vec!["`c/b`: It blocks.".to_owned()] });
    let held = One { hold: Some(hold()), ..one("c/d", offer(V22, Draft::Ready)) };
    let found = gathered(&[one("c/b", blocked()), held], None);
    assert_eq!((found.wanted, found.hold), (offer(V22, Draft::Ready), Some(hold())));
    let found = gathered(&[one("c/a", nothing()), one("c/c", unplannable())], None);
    assert_eq!(found.wanted, ProposalPlan::Unplannable { why: "`c/c`: a.yaml:1: no".to_owned() });
    let found = gathered(&[one("c/a", nothing())], None);
    let ProposalPlan::Nothing { rest: Rest::Gone, .. } = found.wanted else { panic!("{:?}", found.wanted) };
    let ProposalPlan::Nothing { rest: Rest::Current, .. } = gathered(&[], None).wanted else {
        panic!("it stays")
    };
}
