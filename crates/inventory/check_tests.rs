//! Types, what must be there, what may be: each finding at its place, with what to write instead.

use capstan_model::tree::RepoPath;

use crate::schema::ReleaseSchema;
use crate::testing::{inventory, lines};
use crate::values::Member;

const SCHEMA: &str = "\
type: object
required: [must]
properties:
  must: {type: string, default: x}
  text: {type: string, description: What it is called.}
  flag: {type: boolean}
  size: {type: integer, minimum: 1, maximum: 9}
  zone: {type: string, enum: [zone-a, zone-b]}
  name: {type: string, pattern: '^[a-z]+$', maxLength: 4}
  token: {type: object, x-capstan-secret: true}
";

/// What is wrong with the values that a site and the cluster `c` in it say.
fn wrong(site: &str, own: &str) -> Vec<String> {
    let path = RepoPath::parse("aws/v1.0.0/schema.yaml").unwrap();
    let (schema, findings) = ReleaseSchema::read("aws/v1.0.0", &path, SCHEMA.as_bytes());
    assert_eq!(lines(&findings), [""; 0]);
    let objects =
        format!("ClusterDefinition c: {{in: {{site: s}}, values: {own}}}\nSite s: {{values: {site}}}\n");
    let inventory = inventory(&objects);
    assert_eq!(lines(&inventory.findings), [""; 0]);
    let member = Member::of(&inventory, inventory.cluster("c").unwrap()).unwrap();
    lines(&member.values(schema.as_ref()).findings)
}

#[test]
fn what_is_read_as_something_else_is_shown_as_it_must_be_written() {
    const TEXT: &str = " It is: What it is called (aws/v1.0.0/schema.yaml:5:9)";
    const FLAG: &str = " (aws/v1.0.0/schema.yaml:6:9)";
    const SIZE: &str = " (aws/v1.0.0/schema.yaml:7:9)";
    for (own, expected) in [
        (
            "{text: no}",
            format!(
                "`/text` must be a string, found `no`, which is false: in quotes it is text, `\"no\"`.{TEXT}"
            ),
        ),
        (
            "{text: 1.30}",
            format!(
                "`/text` must be a string, found `1.30`, which is the number 1.3: in quotes it is text, `\"1.30\"`.{TEXT}"
            ),
        ),
        (
            "{text: 0644}",
            format!(
                "`/text` must be a string, found `0644`, which is the number 420: in quotes it is text, `\"0644\"`.{TEXT}"
            ),
        ),
        (
            "{text: 7}",
            format!("`/text` must be a string, found the number 7: in quotes it is text, `\"7\"`.{TEXT}"),
        ),
        (
            "{flag: 'yes'}",
            format!(
                "`/flag` must be true or false, found the text `yes`: without quotes it is one, `yes`{FLAG}"
            ),
        ),
        (
            "{size: \"3\"}",
            format!(
                "`/size` must be a whole number, found the text `3`: without quotes it is one, `3`{SIZE}"
            ),
        ),
        ("{size: many}", format!("`/size` must be a whole number, found the text `many`{SIZE}")),
        ("{size: 2.5}", format!("`/size` must be a whole number, found the number 2.5{SIZE}")),
    ] {
        let found = wrong("{}", own);
        let [found] = found.as_slice() else { panic!("{own}: {found:?}") };
        assert!(found.starts_with("inventory-type i/0.yaml:4:"), "{found}");
        assert!(found.ends_with(&expected), "{found}\n{expected}");
    }
    for own in
        ["{text: 'no'}", "{text: \"1.30\"}", "{text: '0644'}", "{flag: yes}", "{size: 3}", "{text: v1.30}"]
    {
        assert_eq!(wrong("{}", own), [""; 0], "{own}");
    }
}

#[test]
fn required_and_allowed_values_are_reported_with_their_places() {
    for (site, own, expected) in [
        (
            "{must: y}",
            "{must: ~}",
            "inventory-required i/0.yaml:4:38 `/must` must be set, but ClusterDefinition c removes it with `null`, overriding Site s, i/1.yaml:4:23 (aws/v1.0.0/schema.yaml:4:9)",
        ),
        (
            "{}",
            "{zone: zone-c}",
            "inventory-type i/0.yaml:4:38 `/zone` has no value `zone-c`; did you mean `zone-a`? (aws/v1.0.0/schema.yaml:8:9)",
        ),
        (
            "{size: 0}",
            "{}",
            "inventory-type i/1.yaml:4:23 `/size` must be 1 or more, and is 0 (aws/v1.0.0/schema.yaml:7:9)",
        ),
        (
            "{size: 10}",
            "{}",
            "inventory-type i/1.yaml:4:23 `/size` must be 9 or less, and is 10 (aws/v1.0.0/schema.yaml:7:9)",
        ),
        (
            "{}",
            "{name: A1}",
            "inventory-type i/0.yaml:4:38 `/name` does not match the pattern `^[a-z]+$` (aws/v1.0.0/schema.yaml:9:9)",
        ),
        (
            "{}",
            "{name: abcde}",
            "inventory-type i/0.yaml:4:38 `/name` must have 4 characters or fewer, and has 5 (aws/v1.0.0/schema.yaml:9:9)",
        ),
        // A secret is never shown.
        (
            "{token: hunter2}",
            "{}",
            "inventory-type i/1.yaml:4:24 `/token` is secret: it may only be a reference to a store, like `{store: eu, mount: kv, path: acme/fra1, key: token}`. Remove the value from Git, and replace the secret where it is used",
        ),
    ] {
        assert_eq!(wrong(site, own), [expected], "{site} <- {own}");
    }
    assert_eq!(wrong("{token: {store: eu, path: acme/fra1, key: token}}", "{}"), [""; 0]);
}
