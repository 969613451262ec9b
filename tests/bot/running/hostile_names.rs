//! Folders with hostile names: in titles, bodies, checks, commits, branches and settings they are names, and nothing
//! else.

use std::collections::BTreeSet;

use capstan_forge::{Edit, MergeMethod};
use capstan_ports::Permission;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::memory::{Death, World};
use super::town::{REPOSITORY, Town};

/// Parts of paths as Git has them.
const NAMES: [&str; 22] = [
    "@acme",
    "fixes #1",
    "GH-12",
    "a|b",
    "`c` @acme",
    "``` @acme",
    "<img src=x onerror=forged>",
    "[forged](evil.example)",
    "![forged](evil.example)",
    "\n\n# forged\n\n@acme",
    "\r\n- [x] forged",
    "a\u{202e}b",
    "a\u{202d}b",
    "a\u{200b}b",
    "a\u{1b}[31mb",
    "a\u{9b}31m\u{7f}b",
    "--> @acme",
    "<!-- capstan {\"do\":\"pause\"} -->",
    "<\u{2f}details> @acme",
    "..x",
    "x.lock",
    "%2E%2E",
];

fn is_hidden(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t'))
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a text mentions a user, or refers to an issue.
fn refers(text: &str) -> bool {
    let after = |mark: char, wanted: fn(char) -> bool| {
        text.match_indices(mark).any(|(at, _)| text[at + 1..].starts_with(wanted))
    };
    after('@', char::is_alphanumeric) || after('#', |letter| letter.is_ascii_digit()) || text.contains("GH-1")
}

/// What a body of Capstan's is read as: nothing in it is anything but text because of a name.
fn is_plain(body: &str) {
    assert!(!body.contains(is_hidden), "{body:?}");
    let (mut in_code, mut in_link) = (false, false);
    for event in Parser::new_ext(body, Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Html(html) | Event::InlineHtml(html) => {
                let comment = html.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
                let is_comment = comment.is_some_and(|within| !within.contains("--"));
                // A name may be in the text of Capstan's own tags, but must not add a tag.
                let tags = ["<details>", "<summary>", "</summary>", "</details>"];
                let plain = tags.iter().fold(html.to_string(), |plain, tag| plain.replace(tag, ""));
                assert!(is_comment || !html.contains("forged") || !plain.contains('<'), "{html}: {body}");
                assert!(!html.contains("<img"), "{html}: {body}");
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                assert!(!dest_url.contains("evil"), "{dest_url}: {body}");
                in_link = true;
            }
            Event::End(TagEnd::Link | TagEnd::Image) => in_link = false,
            // What Capstan refers to it links to.
            Event::Text(text) if !in_code && !in_link => {
                assert!(!refers(&text), "{text}: {body}");
                assert!(!text.starts_with("forged"), "{text}: {body}");
            }
            Event::TaskListMarker(ticked) => assert!(!ticked, "{body}"),
            _ => {}
        }
    }
}

fn is_plain_line(line: &str) {
    assert!(!line.contains(is_hidden) && !line.contains('\n') && !refers(line), "{line:?}");
}

#[tokio::test]
async fn names_of_clusters_are_names_and_nothing_else() {
    are_names("open: 50, perHour: 50").await;
}

#[tokio::test]
async fn names_of_groups_are_names_and_nothing_else() {
    are_names("open: 50, perHour: 50, group: {by: 'c/*/'}").await;
}

/// GitHub takes no reference of more than 255 bytes.
#[tokio::test]
async fn a_cluster_with_too_long_a_path_has_a_branch_that_is_found_again() {
    let settings =
        "mode: propose\ndashboard: {enabled: false}\nupgrade: {proposals: {group: {by: 'c/*/'}}}\n";
    let cluster = format!("c/{}/{}", "g".repeat(230), "p".repeat(20));
    let file = format!("{cluster}/base/v");
    let files = [
        (".capstan.yaml", settings),
        ("releases/v1/base/v", "one\n"),
        ("releases/v2/base/v", "two\n"),
        (file.as_str(), "one\n"),
    ];
    let open = |world: &World| {
        let pulls = world.open_pulls();
        assert!(pulls.len() <= 1, "{pulls:#?}");
        pulls.into_iter().next()
    };
    // With its database and without it.
    let forgets: [fn(&World); 2] = [|_| {}, World::lose_database];
    for forget in forgets {
        let world = World::new(&files);
        world.state().permissions.insert("ada".to_owned(), Permission::Write);
        world.sync().await;
        let first = open(&world).unwrap();
        let branch = first.head_branch.as_str();
        assert!(branch.starts_with("capstan/upgrade/%long/") && branch.len() <= 244, "{branch}");
        assert_eq!(world.file(branch, &file).unwrap(), "two\n");
        let writes = world.state().writes.len();
        forget(&world);
        world.sync().await;
        assert_eq!(world.writes_since(writes), Vec::<&str>::new(), "it is known");

        // A newer release takes the place of the older one, and a command there is about the cluster.
        world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
        world.comment(first.number, "ada", "/capstan hold");
        forget(&world);
        world.sync().await;
        assert_eq!(world.file(branch, &file).unwrap(), "two\n", "it is held");
        world.comment(first.number, "ada", "/capstan unhold");
        world.sync().await;
        assert_eq!(world.file(branch, &file).unwrap(), "three\n");
        assert_eq!(open(&world).map(|pull| pull.number), Some(first.number));

        // The folder is removed, so that only the head has its name.
        world.push("main", &[(&file, None)]);
        forget(&world);
        world.sync().await;
        assert!(open(&world).is_none(), "there is nothing to upgrade any more");
    }
    // A run ended between the branch and its pull request.
    let world = World::new(&files);
    // After tree and commit came the branch.
    world.state().death = Some(Death::After(2));
    world.try_sync().await.unwrap_err();
    world.state().death = None;
    world.lose_database();
    let writes = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(writes), ["pull request", "check"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_forge_a_path_that_is_too_long_for_a_branch_is_upgraded_too() {
    let cluster = format!("{}/gauss", "customer-".repeat(25));
    let town = Town::new("mode: propose\n", &[cluster.as_str()]).await;
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 1, "{:?}", town.standing(&cluster).await);
    let (number, branch) = (pulls[0].number, pulls[0].head_branch.clone());
    assert!(branch.starts_with("capstan/upgrade/%long/"), "{branch}");
    town.release("v22.1.0", "v1.22.9");
    town.settle().await;
    let record = town.file(&branch, &format!("{cluster}/capstan.yaml"));
    assert!(record.starts_with("release: aws/v22.1.0\n"), "{record}");
    town.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    assert_eq!(town.standing(&cluster).await.0, "current");
    town.done();
}

/// Each name is that of a folder with a cluster of that name in it, or of the group of that cluster.
async fn are_names(proposals: &str) {
    let settings = format!("mode: propose\nupgrade: {{proposals: {{{proposals}}}}}\n");
    let world = World::new(&[
        (".capstan.yaml", settings.as_str()),
        ("releases/v1/base/v", "one\n"),
        ("releases/v2/base/v", "two\n"),
    ]);
    let long = "ö".repeat(120);
    let names: Vec<&str> = NAMES.into_iter().chain([long.as_str()]).collect();
    let files: Vec<String> = names.iter().map(|name| format!("c/{name}/{name}/base/v")).collect();
    for (number, file) in files.iter().enumerate() {
        // Some have a line of their own.
        let text = if number % 3 == 2 { "one\nmine\n" } else { "one\n" };
        world.push("main", &[(file, Some(text))]);
    }
    let mark = names.len();
    for _ in 0..4 {
        world.sync().await;
        world.state().now += 3_700;
    }
    let pulls = world.open_pulls();
    let branches: BTreeSet<&str> = pulls.iter().map(|pull| pull.head_branch.as_str()).collect();
    assert_eq!(branches.len(), mark, "each has a branch of its own: {branches:#?}");
    for pull in &pulls {
        assert!(
            pull.head_branch.bytes().all(|byte| byte.is_ascii_graphic()),
            "{:?} is a good reference",
            pull.head_branch
        );
        is_plain_line(&pull.title);
        assert!(pull.title.chars().count() <= 256);
        is_plain(&pull.body);
        let check = world.check_on(pull.number).unwrap();
        is_plain_line(&check.title);
        is_plain(&check.summary);
        assert_eq!(check.name, "capstan");
        let message = {
            let state = world.state();
            state.commits[pull.head.as_str()].message.clone()
        };
        assert!(
            !message.contains(is_hidden) && !refers(message.split("\nCapstan-").next().unwrap()),
            "{message:?}"
        );
    }
    // What changed in each is its own file alone.
    for (name, file) in names.iter().zip(&files) {
        let brought: Vec<&str> = branches
            .iter()
            .filter(|branch| world.file(branch, file).is_some_and(|text| text.starts_with("two\n")))
            .copied()
            .collect();
        assert_eq!(brought.len(), 1, "{name:?}: {brought:?}");
    }
    let dashboard = world.state().issues[0].0.body.clone();
    is_plain(&dashboard);

    // Nobody is another where nothing is remembered.
    let writes = world.state().writes.len();
    world.lose_database();
    world.sync().await;
    assert_eq!(world.writes_since(writes), Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_of_first_contact_find_what_was_found_whatever_it_is_called() {
    let names = [
        "one",
        "*",
        "[a]",
        "{a,b}",
        "!x",
        "a\u{202e}b",
        "a\"b: {",
        "\u{9b}31m\u{7f}",
        "@acme #1",
        "# forged",
    ];
    let cluster = |name: &str, spec: &str| {
        let text = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: one\n";
        Edit::write(format!("fleet/{name}/cluster.yaml"), format!("{text}spec: {spec}\n"))
    };
    let mut files: Vec<Edit> = names.map(|name| cluster(name, "{}")).into();
    // A folder that no pattern may take.
    files.push(Edit::write("fleet/other/notes.md", "nothing\n"));
    files.push(Edit::write("fleet/ab/kustomization.yaml", "resources: []\n"));
    let town = Town::with(&files, None).await;
    let pull = town.pull(1);
    is_plain_line(&pull.title);
    is_plain(&pull.body);
    assert!(pull.body.contains("10 clusters"), "{}", pull.body);
    let settings = town.file("capstan/onboarding", ".capstan.yaml");
    assert!(!settings.contains(is_hidden), "{settings}");
    // What was proposed is merged, and finds them.
    town.forge.merge_pull(REPOSITORY, 1, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    assert_eq!(town.file("main", ".capstan.yaml"), settings);
    // They are in force as they were proposed: these are clusters, and no others.
    let mut touched: Vec<Edit> = names.map(|name| cluster(name, "{paused: true}")).into();
    touched.push(Edit::write("fleet/other/notes.md", "something\n"));
    touched.push(Edit::write("fleet/ab/kustomization.yaml", "resources: []\nnamePrefix: a-\n"));
    let mine = town.open("ada", "mine", &touched);
    town.settle().await;
    let check = town.check(mine);
    assert!(check.title.contains(" in 10 clusters"), "{check:?}");
    assert_eq!(town.open_pulls().len(), 1, "it observes, as was proposed");
    town.done();
}
