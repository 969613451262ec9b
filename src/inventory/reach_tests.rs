//! What one edit does to whom.

use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

use super::*;
use crate::survey::Elsewhere;
use crate::testing::lines;

const SCHEMA: &str = "type: object\nproperties: {version: {type: string}, unused: {type: string}}\n";
const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ cluster.name }}}\ndata: {version: {{ version }}, site: {{ levels.site.name }}}\n";

fn object(kind: &str, name: &str, spec: &str) -> String {
    format!("apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n---\n")
}

fn survey(objects: &str) -> Survey {
    let files = [
        ("inventory/all.yaml", objects),
        ("os/v1.0.0/schema.yaml", SCHEMA),
        ("os/v1.0.0/templates/all.yaml", TEMPLATE),
        ("os/v1.1.0/schema.yaml", SCHEMA),
        ("os/v1.1.0/templates/all.yaml", TEMPLATE),
    ];
    Survey::read(&Files::new(&files), &RepoPath::parse("inventory").unwrap(), Elsewhere::default())
}

fn inventory() -> String {
    [
        object("Environment", "prod", "{release: os/v1.0.0, values: {version: v1, unused: a}}"),
        object("Environment", "dev", "{release: os/v1.0.0, values: {version: v1}}"),
        object("Site", "fra1", "{in: {environment: prod}}"),
        object("Site", "ber1", "{in: {environment: dev}}"),
        object("ClusterDefinition", "a", "{in: {site: fra1}, folder: c/a}"),
        object("ClusterDefinition", "b", "{in: {site: fra1}, folder: c/b, values: {version: v2}}"),
        object("ClusterDefinition", "c", "{in: {site: ber1}, folder: c/c}"),
    ]
    .concat()
}

fn told(from: &str, to: &str) -> Vec<String> {
    let (before, after) = (survey(from), survey(to));
    let all = reach(&before, &after);
    let counts =
        by_level(&after.inventory.settings.levels, &all, |cluster| (cluster.name == "a").then_some(3));
    let one = |cluster: &Reached| match &cluster.fate {
        Fate::Unchanged => format!("{} stays", cluster.id),
        Fate::Changed(course) => {
            let from = course.from.as_ref().map_or("nothing", |from| &from.rendered.files[0].text);
            let from = from.lines().last().unwrap_or_default();
            format!("{} changes from {from}", cluster.id)
        }
        Fate::Created => format!("{} is new", cluster.id),
        Fate::Retired => format!("{} retires", cluster.id),
        Fate::Refused(findings) => format!("{} is refused: {}", cluster.id, lines(findings).join("; ")),
    };
    let level = |count: LevelReach| {
        let LevelReach { level, name, clusters, changed, rolling, machines } = count;
        format!("{} {name}: {changed} of {clusters}, {rolling} roll {machines}", level.kind())
    };
    all.iter().map(one).chain(counts.into_iter().map(level)).collect()
}

#[test]
fn an_edit_reaches_those_whose_render_changes() {
    let all = inventory();
    for (edited, expected) in [
        (all.clone(), vec!["c/a stays", "c/b stays", "c/c stays"]),
        // An override hides the change from `b`; what no template reads changes nothing.
        (
            all.replace(
                "{release: os/v1.0.0, values: {version: v1, unused: a}}",
                "{release: os/v1.0.0, values: {version: v9, unused: b}}",
            ),
            vec![
                "c/a changes from data: {version: v1, site: fra1}",
                "c/b stays",
                "c/c stays",
                "Environment prod: 1 of 2, 1 roll 3",
                "Site fra1: 1 of 2, 1 roll 3",
            ],
        ),
        (all.replace("unused: a", "unused: b"), vec!["c/a stays", "c/b stays", "c/c stays"]),
        // Another site is another `levels.site.name`, in the same folder.
        (
            all.replace("{in: {site: ber1}, folder: c/c}", "{in: {site: fra1}, folder: c/c}"),
            vec![
                "c/a stays",
                "c/b stays",
                "c/c changes from data: {version: v1, site: ber1}",
                "Environment prod: 1 of 3, 0 roll 0",
                "Site fra1: 1 of 3, 0 roll 0",
            ],
        ),
        // A release of the same content is another one.
        (
            all.replace(
                "{release: os/v1.0.0, values: {version: v1}}",
                "{release: os/v1.1.0, values: {version: v1}}",
            ),
            vec![
                "c/a stays",
                "c/b stays",
                "c/c changes from data: {version: v1, site: ber1}",
                "Environment dev: 1 of 1, 0 roll 0",
                "Site ber1: 1 of 1, 0 roll 0",
            ],
        ),
        (
            all.replace("folder: c/c}", "folder: c/c, retire: true}")
                + &object("ClusterDefinition", "d", "{in: {site: ber1}, folder: c/d}"),
            vec!["c/a stays", "c/b stays", "c/c retires", "c/d is new"],
        ),
        // What is refused harms no other.
        (
            all.replace("{in: {site: ber1}, folder: c/c}", "{in: {site: brr1}, folder: c/c}"),
            vec![
                "c is refused: inventory-reference inventory/all.yaml:34:19 there is no Site `brr1`; did you mean `ber1`?",
                "c/a stays",
                "c/b stays",
            ],
        ),
        (
            all.replace("{in: {environment: dev}}", "{in: {environment: dev}, values: {version: [1]}}"),
            vec![
                "c/a stays",
                "c/b stays",
                "c/c is refused: inventory-type inventory/all.yaml:19:50 `/version` is a list here and a scalar in Environment dev, inventory/all.yaml:9:46: a lower level may change a value, not what kind of value it is",
            ],
        ),
        // A definition that is gone takes nothing down.
        (
            all.replace(&object("ClusterDefinition", "c", "{in: {site: ber1}, folder: c/c}"), ""),
            vec![
                "c/a stays",
                "c/b stays",
                "c/c is refused: definition-removed inventory/all.yaml:31:1 ClusterDefinition c stood here and is gone: nothing becomes of its cluster. To take it down, say `retire: true` in it first",
            ],
        ),
    ] {
        assert_eq!(told(&all, &edited), expected);
    }
    // One that could not be rendered before changes from nothing that anybody knows.
    let broken = all.replace("{in: {environment: dev}}", "{in: {environment: dvv}}");
    assert_eq!(told(&broken, &all)[2], "c/c changes from nothing");
}
