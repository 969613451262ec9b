//! Templates that need all time and memory block their own release, and nothing else.

use capstan_forge::Edit;

use super::inventory::{branch, brought, environment, heads, level, line, made};

const HEAD: &str =
    "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: {{ cluster.name }}}\n";

/// What each template asks for once the values are merged.
const HOSTILE: [(&str, &str); 4] = [
    ("repeated", "d: {{ 'a' * 100000000 }}\n"),
    (
        "doubled",
        "{% set n = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(64) %}{% set n.x = n.x ~ n.x %}{% endfor %}d: {{ n.x }}\n",
    ),
    ("indented", "d: {{ ('a\\n' * 1000000) | indent(100000) }}\n"),
    ("formatted", "d: {{ '%1000000000d' | format(1) }}\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_template_fails_its_release_alone_and_the_bot_continues() {
    let town = made().await;
    let mut files = vec![environment("prod", "openstack/v1.4.0", 5)];
    for (name, template) in HOSTILE {
        files.push(Edit::write(format!("{name}/v1.0.0/schema.yaml"), "type: object\n"));
        files.push(Edit::write(format!("{name}/v1.0.0/templates/all.yaml"), format!("{HEAD}{template}")));
        let spec = format!("  folder: hostile/{name}\n  release: {name}/v1.0.0\n");
        files.push(level("ClusterDefinition", name, &spec));
    }
    // The same in a value, which is trouble of the cluster that has it.
    files.push(Edit::write("plain/v1.0.0/schema.yaml", "type: object\nproperties: {d: {type: string}}\n"));
    files.push(Edit::write("plain/v1.0.0/templates/all.yaml", format!("{HEAD}d: {{{{ d }}}}\n")));
    let value =
        "  folder: hostile/value\n  release: plain/v1.0.0\n  values: {d: \"{{ 'a' * 100000000 }}\"}\n";
    files.push(level("ClusterDefinition", "value", value));
    town.push("main", &files);
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01")], "whoever has another release is served");
    for (name, _) in HOSTILE {
        let (state, why) = brought(&town, &format!("hostile/{name}")).await;
        assert_eq!(state, "unplannable", "{name}: {why}");
        assert!(why.contains(&format!("{name}/v1.0.0/templates/all.yaml:")), "{name}: {why}");
        assert!(why.contains("[template-limit]"), "{name}: {why}");
    }
    let (state, why) = brought(&town, "hostile/value").await;
    assert_eq!(state, "unplannable", "{why}");
    assert!(
        why.contains("inventory/clusterdefinition-value.yaml:7:15") && why.contains("[template-limit]"),
        "{why}"
    );
    // Nothing of it is remembered in a way that would stop what comes next.
    town.push("main", &[environment("prod", "openstack/v1.4.0", 6)]);
    town.settle().await;
    let workers = town.file(&branch("inventory", "peu01"), "acme/peu01/base/workers.yaml");
    assert!(line(&workers, "replicas: 6"), "{workers}");
    town.done();
}
