//! What comes onto the default branch with a pull request.

use super::*;

fn link<'a>(number: u64, head: &'a str, base: &'a str) -> Link<'a> {
    Link { number, head: Some(head), base }
}

fn stack(base: &str, below: Option<&[u64]>) -> Option<Stack> {
    Some(Stack { base: base.to_owned(), below: below.map(<[u64]>::to_vec) })
}

#[test]
fn the_way_onto_the_default_branch_is_what_github_and_the_branches_both_say() {
    let open = [
        link(1, "one", "main"),
        link(2, "two", "one"),
        link(3, "three", "two"),
        link(4, "hither", "thither"),
        link(5, "thither", "hither"),
        link(6, "own", "own"),
        link(7, "aside", "release-1"),
        link(8, "on-aside", "aside"),
        link(9, "twice", "main"),
        link(10, "twice", "release-1"),
        link(11, "on-twice", "twice"),
        link(12, "on-hither", "hither"),
        // A fork's branch of that name is another branch.
        Link { number: 13, head: None, base: "main" },
        Link { number: 14, head: None, base: "two" },
    ];
    let aside = |branch: &str| Way::Aside(branch.to_owned());
    let rows: [(u64, Option<Stack>, Way); 21] = [
        (1, None, Way::Straight),
        (1, stack("main", Some(&[])), Way::Straight),
        (2, None, Way::Above(vec![1])),
        (3, None, Way::Above(vec![1, 2])),
        (3, stack("main", Some(&[1, 2])), Way::Above(vec![1, 2])),
        (14, None, Way::Above(vec![1, 2])),
        (7, None, aside("release-1")),
        (8, None, aside("release-1")),
        (8, stack("release-1", Some(&[7])), aside("release-1")),
        (4, None, Way::Unknown(Unclear::Circle)),
        (6, None, Way::Unknown(Unclear::Circle)),
        (12, None, Way::Unknown(Unclear::Circle)),
        (11, None, Way::Unknown(Unclear::Several)),
        // GitHub says something else than the branches do.
        (3, stack("main", Some(&[1])), Way::Unknown(Unclear::Disagree)),
        (3, stack("main", Some(&[2, 1])), Way::Unknown(Unclear::Disagree)),
        (3, stack("main", Some(&[])), Way::Unknown(Unclear::Disagree)),
        (3, stack("release-1", Some(&[1, 2])), Way::Unknown(Unclear::Disagree)),
        (1, stack("main", Some(&[7])), Way::Unknown(Unclear::Disagree)),
        (8, stack("main", Some(&[7])), Way::Unknown(Unclear::Disagree)),
        (1, stack("release-1", Some(&[])), Way::Unknown(Unclear::Disagree)),
        (3, stack("main", None), Way::Unknown(Unclear::Untold)),
    ];
    for (number, stack, expected) in rows {
        let pull = *open.iter().find(|one| one.number == number).unwrap();
        assert_eq!(way_of(pull, &open, "main", stack.as_ref()), expected, "#{number} {stack:?}");
    }
}

#[test]
fn a_chain_ends_where_a_stack_of_github_does() {
    let names: Vec<String> = (0..=110).map(|number| format!("b{number}")).collect();
    let mut open = vec![link(1, &names[1], "main")];
    open.extend(
        (2..=110)
            .map(|n| link(n, &names[usize::try_from(n).unwrap()], &names[usize::try_from(n).unwrap() - 1])),
    );
    let way = |at: usize| way_of(open[at], &open, "main", None);
    assert_eq!(way(99), Way::Above((1..=99).collect()), "a hundred are a stack");
    assert_eq!(way(100), Way::Unknown(Unclear::TooLong));
}
