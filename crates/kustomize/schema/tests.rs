//! Definitions as people write them, well and badly.

use super::*;

fn schemas(files: &[(&str, &str)]) -> Schemas {
    Schemas::read(files.iter().map(|(path, text)| SchemaFile {
        path: RepoPath::parse(path).unwrap(),
        bytes: Ok(text.as_bytes().into()),
    }))
}

fn problems(schemas: &Schemas) -> Vec<String> {
    schemas.problems().iter().map(ToString::to_string).collect()
}

fn walk<'s>(cursor: Cursor<'s>, path: &str) -> Cursor<'s> {
    path.split('.').fold(cursor, |cursor, part| {
        let field = part.trim_end_matches("[]");
        (0..(part.len() - field.len()) / 2).fold(cursor.field(field), |cursor, _| cursor.item())
    })
}

const MACHINES: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: racks.example.org}
spec:
  group: example.org
  names: {kind: Rack, plural: racks}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              slots:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [row, side]
                items:
                  type: object
                  properties:
                    row: {type: integer}
                    side: {type: string, default: front}
                    power:
                      anyOf: [{type: integer}, {type: string}]
                      pattern: ^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$
                      x-kubernetes-int-or-string: true
              labels:
                type: object
                additionalProperties: {type: string}
              settings:
                type: object
                x-kubernetes-preserve-unknown-fields: true
                properties:
                  known: {type: object, properties: {a: {type: string}}}
              template:
                type: object
                x-kubernetes-embedded-resource: true
                x-kubernetes-preserve-unknown-fields: true
              bootTimeout: {type: string}
              interval: {type: string, pattern: '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$'}
              period: {type: string, enum: [daily, hourly]}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              merged:
                type: array
                x-kubernetes-patch-merge-key: id
                x-kubernetes-patch-strategy: merge
                items: {type: object, properties: {id: {type: string}}}
  - name: v2
    schema:
      openAPIV3Schema: {type: object, properties: {spec: {type: object}}}
";

#[test]
fn a_definition_is_read_version_by_version() {
    let schemas = schemas(&[("crds/racks.yaml", MACHINES)]);
    assert_eq!(problems(&schemas), Vec::<String>::new());
    let root = schemas.object("Rack", ["example.org/v1"]);
    let list = |path| walk(root, path).list();
    let origin = SchemaOrigin::Repository(Place::line_of(RepoPath::parse("crds/racks.yaml").unwrap(), 1));
    let side = MapKey { name: "side".into(), default: Some("front".into()) };
    let keys = ListType::Map([MapKey { name: "row".into(), default: None }, side].into());
    assert_eq!(list("spec.slots"), Some((&keys, &origin)));
    assert_eq!(list("spec.tags"), Some((&ListType::Set, &origin)));
    let id = ListType::Map([MapKey { name: "id".into(), default: None }].into());
    assert_eq!(list("spec.merged"), Some((&id, &origin)));
    assert_eq!(list("metadata.finalizers"), Some((&ListType::Set, &origin)));
    let value = |path| walk(root, path).value().map(|(kind, _)| kind);
    assert_eq!(value("spec.slots[].power"), Some(ValueKind::Quantity));
    assert_eq!(value("spec.bootTimeout"), Some(ValueKind::Duration));
    assert_eq!(value("spec.interval"), Some(ValueKind::Duration));
    assert_eq!(value("spec.period"), None);
    let (schema, _) = schemas.definitions("Rack", "example.org/v1").next().unwrap();
    let spec = schema.field("spec").unwrap();
    let at = |path: &str| path.split('.').try_fold(spec, Schema::field).unwrap();
    assert_eq!(at("labels.anything").kind, SchemaType::String);
    assert_eq!(at("settings").unlisted, Unlisted::Kept);
    assert_eq!(at("settings.known").unlisted, Unlisted::Pruned, "pruning starts again below");
    assert_eq!(at("template.metadata.name").kind, SchemaType::String);
    assert_eq!(at("slots").item().unwrap().field("power").unwrap().kind, SchemaType::IntOrString);
    // The other version knows nothing of slots, a version that is not there nothing at all.
    let lists =
        |versions: &[&str]| walk(schemas.object("Rack", versions.iter().copied()), "spec.slots").list();
    assert_eq!(lists(&["example.org/v2"]), None);
    assert_eq!(lists(&["example.org/v3"]), None);
    assert_eq!(lists(&["example.org/v2", "example.org/v1"]).map(|(list, _)| list), Some(&keys));
    assert_eq!(lists(&["other.org/v1"]), None);
}

#[test]
fn the_old_form_has_one_schema_for_all_versions_and_prunes_only_where_it_says_so() {
    let text = "\
apiVersion: v1
kind: List
items:
- apiVersion: apiextensions.k8s.io/v1beta1
  kind: CustomResourceDefinition
  spec:
    group: example.org
    names: {kind: Old}
    version: v1alpha1
    validation: {openAPIV3Schema: {properties: {spec: {properties: {size: {type: integer}}}}}}
- apiVersion: apiextensions.k8s.io/v1beta1
  kind: CustomResourceDefinition
  spec:
    group: example.org
    names: {kind: Pruned}
    preserveUnknownFields: false
    versions: [{name: v1}, {name: v2}]
    validation: {openAPIV3Schema: {properties: {spec: {properties: {size: {type: integer}}}}}}
";
    let schemas = schemas(&[("all.yaml", text)]);
    assert_eq!(problems(&schemas), Vec::<String>::new());
    let spec = |kind: &str, version: &str| {
        let (schema, _) = schemas.definitions(kind, version).next().unwrap();
        (schema.field("spec").unwrap().unlisted, schema.field("spec").unwrap().field("size").unwrap().kind)
    };
    assert_eq!(spec("Old", "example.org/v1alpha1"), (Unlisted::Kept, SchemaType::Integer));
    assert_eq!(spec("Pruned", "example.org/v1"), (Unlisted::Pruned, SchemaType::Integer));
    assert_eq!(spec("Pruned", "example.org/v2"), (Unlisted::Pruned, SchemaType::Integer));
}

#[test]
fn components_in_a_config_map_count_and_patches_of_definitions_do_not() {
    let indented: String = MACHINES.lines().map(|line| format!("    {line}\n")).collect();
    let config_map = format!("apiVersion: v1\nkind: ConfigMap\ndata:\n  components: |\n{indented}");
    let patch = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n\
                 spec: {conversion: {strategy: Webhook}}\n";
    let schemas = schemas(&[("components.yaml", &config_map), ("patch.yaml", patch)]);
    assert_eq!(problems(&schemas), Vec::<String>::new());
    let origin = SchemaOrigin::Repository(Place::line_of(RepoPath::parse("components.yaml").unwrap(), 5));
    let tags = walk(schemas.object("Rack", ["example.org/v1"]), "spec.tags").list();
    assert_eq!(tags, Some((&ListType::Set, &origin)));
}

#[test]
fn replicas_of_a_kind_that_can_be_scaled_have_the_limits_of_the_api_server() {
    let text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: g.org\n  \
                names: {kind: A}\n  versions:\n  \
                - name: v1\n    subresources: {scale: {specReplicasPath: .spec.pool.count}}\n    \
                schema: &schema\n      openAPIV3Schema:\n        properties:\n          \
                spec: {properties: {pool: {properties: {count: {type: integer, minimum: 3}, size: {type: integer}}}}}\n  \
                - name: v2\n    subresources: {scale: {specReplicasPath: .spec.elsewhere}}\n    schema: *schema\n";
    let schemas = schemas(&[("a.yaml", text)]);
    assert_eq!(problems(&schemas), Vec::<String>::new());
    let number = |version: &str, path: &str| {
        let mut schema = schemas.definitions("A", version).next().unwrap().0;
        for field in path.split('.') {
            schema = schema.field(field).unwrap();
        }
        schema.limits.as_ref().map(|limits| limits.number.to_string())
    };
    assert_eq!(number("g.org/v1", "spec.pool.count").unwrap(), "3 to 2147483647");
    assert_eq!(number("g.org/v1", "spec.pool.size"), None);
    assert_eq!(number("g.org/v2", "spec.pool.count").unwrap(), "at least 3");
}

fn with_list(list: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: g.org\n  names: {{kind: A}}\n  \
         versions:\n  - {{name: v1, schema: {{openAPIV3Schema: {{type: object, properties: {{l: {{type: array, \
         x-kubernetes-list-type: {list}}}}}}}}}}}\n"
    )
}

#[test]
fn the_repository_decides_before_the_folder_unless_it_disagrees_with_itself() {
    let (set, atomic) = (with_list("set"), with_list("atomic"));
    let decided = |files: &[(&str, &str)]| {
        let schemas = schemas(files);
        let (list, by) = schemas.object("A", ["g.org/v1"]).field("l").list().unwrap();
        let file = match by {
            SchemaOrigin::Repository(place) | SchemaOrigin::Capstan(place) => place.file().to_string(),
            SchemaOrigin::BuiltIn => "built in".to_owned(),
        };
        (list.clone(), file)
    };
    let own = ".capstan/crds/a.yaml";
    assert_eq!(decided(&[(own, &set), ("a.yaml", &atomic)]), (ListType::Atomic, "a.yaml".to_owned()));
    assert_eq!(
        decided(&[(own, &set), ("a.yaml", &atomic), ("b.yaml", &atomic)]),
        (ListType::Atomic, "a.yaml".to_owned())
    );
    assert_eq!(
        decided(&[(own, &set), ("a.yaml", &atomic), ("b.yaml", &set)]),
        (ListType::Set, own.to_owned())
    );
    assert_eq!(decided(&[("a.yaml", &atomic), ("b.yaml", &set)]), (ListType::Atomic, "a.yaml".to_owned()));
}

#[test]
fn a_bad_definition_is_reported_by_place_and_hides_nothing_else() {
    let good = with_list("set");
    let no_kind = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: g.org\n  \
                   versions: []\n";
    let two = format!("{no_kind}---\n{}", with_list("bag").replace("kind: A", "kind: B"));
    let schemas = schemas(&[
        (".capstan/crds/empty.yaml", "kind: ConfigMap\n"),
        ("broken.yaml", "kind: CustomResourceDefinition\nspec: [\n"),
        ("good.yaml", &good),
        ("two.yaml", &two),
        ("version.yaml", &good.replace("k8s.io/v1", "k8s.io/v3").replace("kind: A", "kind: C")),
    ]);
    let broken = schemas.problems()[1].to_string();
    assert!(broken.starts_with("broken.yaml:"), "{broken}");
    let said: Vec<String> = problems(&schemas).into_iter().filter(|said| *said != broken).collect();
    assert_eq!(
        said,
        [
            ".capstan/crds/empty.yaml: this is not a CustomResourceDefinition: .capstan/crds holds nothing else",
            "two.yaml:4:3: this definition has no `spec.names.kind`, so it defines nothing",
            "two.yaml:13:111: `x-kubernetes-list-type` is `atomic`, `set` or `map`",
            "version.yaml:1:13: a CustomResourceDefinition of `apiextensions.k8s.io/v3` is not known: use \
             apiextensions.k8s.io/v1",
        ]
    );
    let list = |kind| schemas.object(kind, ["g.org/v1"]).field("l").list().map(|(list, _)| list.clone());
    assert_eq!(list("A"), Some(ListType::Set));
    assert_eq!(list("B"), None);
    assert_eq!(schemas.definitions("B", "g.org/v1").count(), 1, "the rest of it counts");
}

#[test]
fn a_hostile_definition_is_cut_off_and_said_so() {
    let head = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: g.org\n  names: {kind: A}\n  \
                versions:\n  - name: v1\n    schema:\n      openAPIV3Schema: ";
    let deep = format!("{head}{}{{}}{}\n", "{properties: {a: ".repeat(90), "}}".repeat(90));
    let wide = format!(
        "{head}\n        properties:\n{}",
        (0..120_000).map(|at| format!("          f{at}: {{type: string}}\n")).collect::<String>()
    );
    for text in [deep, wide] {
        let schemas = schemas(&[("crd.yaml", &text)]);
        let said = problems(&schemas);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("larger than Capstan reads"), "{said:?}");
        // What is beyond counts as unknown, never as forbidden.
        assert_eq!(schemas.definitions("A", "g.org/v1").count(), 1);
    }
}
