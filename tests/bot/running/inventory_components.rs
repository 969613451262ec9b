//! Components of levels in proposals: over the new render as they are, over the old one as they were. And records and
//! definitions that are not as they should be.

use capstan_forge::Edit;

use super::inventory::{LEVELS, annotated, branch, definition, heads, level, line, made, merge_all, town};
use super::town::Town;

fn component(name: &str, label: &str) -> Vec<Edit> {
    vec![
        Edit::write(
            format!("components/{name}/kustomization.yaml"),
            "apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [extra.yaml]
patches:
- target: {kind: Cluster}
  path: label.yaml
",
        ),
        Edit::write(
            format!("components/{name}/label.yaml"),
            format!("- {{op: add, path: /metadata/labels, value: {{audit: {label}}}}}\n"),
        ),
        Edit::write(
            format!("components/{name}/extra.yaml"),
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: org-acme}}\ndata: {{audit: {label}}}\n"
            ),
        ),
    ]
}

fn production(components: &str) -> Edit {
    let spec =
        format!("  release: openstack/v1.4.0\n  components: [{components}]\n  values: {{replicas: 3}}\n");
    level("Environment", "prod", &spec)
}

async fn audited() -> Town {
    let town = town().await;
    let mut files = component("audit", "all");
    files.push(production("components/audit"));
    town.push("main", &files);
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01"), branch("inventory", "peu02")]);
    town
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_of_a_level_is_in_the_bases_below_it_and_its_edits_are_merged_three_ways() {
    let town = audited().await;
    let head = branch("inventory", "peu01");
    let cluster = town.file(&head, "acme/peu01/base/cluster.yaml");
    assert!(line(&cluster, "# Made from the inventory.") && line(&cluster, "audit: all"), "{cluster}");
    assert!(line(&town.file(&head, "acme/peu01/base/audit.yaml"), "audit: all"));
    let record = town.file(&head, "acme/peu01/capstan-values.yaml");
    assert!(line(&record, "- path: components/audit"), "{record}");
    let other = town.file(&branch("inventory", "peu02"), "acme/peu02/base/cluster.yaml");
    assert!(!other.contains("audit"), "dev names no component: {other}");
    merge_all(&town).await;
    assert_eq!(heads(&town), Vec::<String>::new());

    // An edit of what the component brought stays, and new content of the component arrives.
    let mine =
        town.file("main", "acme/peu01/base/audit.yaml").replace("audit: all", "audit: all\n  ours: kept");
    town.push("main", &[Edit::write("acme/peu01/base/audit.yaml", mine)]);
    town.push("main", &component("audit", "writes"));
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01")]);
    let pull = town.open_pulls().remove(0);
    assert!(!pull.draft, "the old component was found in Git: {}", pull.body);
    let extra = town.file(&head, "acme/peu01/base/audit.yaml");
    assert!(line(&extra, "audit: writes") && line(&extra, "ours: kept"), "{extra}");
    assert!(line(&town.file(&head, "acme/peu01/base/cluster.yaml"), "audit: writes"));
    merge_all(&town).await;
    assert_eq!(heads(&town), Vec::<String>::new());

    // The component is removed from the level: what it brought is removed, except for a person's own edits.
    town.push("main", &[production("")]);
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01")]);
    assert!(!town.file(&head, "acme/peu01/base/cluster.yaml").contains("audit"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_somebody_deleted_is_written_again() {
    let town = made().await;
    let record = town.file("main", "acme/peu01/capstan-values.yaml");
    town.push("main", &[Edit::remove("acme/peu01/capstan-values.yaml")]);
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01")]);
    assert_eq!(town.file(&branch("inventory", "peu01"), "acme/peu01/capstan-values.yaml"), record);
    merge_all(&town).await;
    assert_eq!(heads(&town), Vec::<String>::new());
    town.done();
}

/// A typo in a new definition is reported, although the folder of its cluster is not known.
#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_has_no_folder_for_what_it_belongs_to_is_an_error_at_its_line() {
    let town = made().await;
    town.push(
        "main",
        &[Edit::write("inventory/inventory.yaml", LEVELS.replace("acme/{name}", "{site}/{name}"))],
    );
    let number = town.open("ada", "new", &[definition("peu03", "prod", "frr1")]);
    town.settle().await;
    let check = town.check(number);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{check:?}");
    let (path, line, message) = annotated(&check, "inventory-reference").unwrap();
    assert_eq!((path.as_str(), line), ("inventory/clusterdefinition-peu03.yaml", 5));
    assert!(message.contains("did you mean `fra1`?"), "{message}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_edit_names_the_clusters_it_reaches_and_a_missing_one_is_an_error_at_its_line() {
    let town = audited().await;
    merge_all(&town).await;
    let edited = town.open("ada", "edited", &component("audit", "writes"));
    let missing = town.open("ada", "missing", &[production("components/audits")]);
    let lost = town.open(
        "ada",
        "lost",
        &[Edit::write(
            "components/audit/label.yaml",
            "- {op: replace, path: /metadata/annotations/none, value: x}\n",
        )],
    );
    town.settle().await;
    let check = town.check(edited);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{check:?}");
    assert!(line(&check.summary, "1 of 2 clusters changes, no machine is replaced."), "{}", check.summary);
    let check = town.check(missing);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{check:?}");
    let found = annotated(&check, "inventory-reference").unwrap();
    assert_eq!((found.0.as_str(), found.1), ("inventory/environment-prod.yaml", 6), "{found:?}");
    let check = town.check(lost);
    assert!(check.summary.contains("Cannot be planned:\n\n- `acme/peu01`"), "{}", check.summary);

    // Merged none the less, it costs this cluster alone.
    town.push("main", &[production("components/audits"), definition("peu02", "dev", "ber1")]);
    town.settle().await;
    let own = |head: &String| head.starts_with("capstan/");
    assert_eq!(heads(&town).into_iter().filter(own).collect::<Vec<_>>(), [branch("inventory", "peu02")]);
    town.done();
}
