//! Expressions in values: what they come to, and what is wrong with them.

use std::sync::Arc;

use capstan_model::object::FieldPath;

use crate::braces::segments;
use crate::context::{Context, Shape};
use crate::testing::{inventory, lines};
use crate::values::Member;

/// The values of the cluster `c` of a site, or what is wrong.
fn values(site: &str, own: &str) -> Result<String, Vec<String>> {
    let objects =
        format!("ClusterDefinition c: {{in: {{site: s}}, values: {own}}}\nSite s: {{values: {site}}}\n");
    let inventory = inventory(&objects);
    assert_eq!(lines(&inventory.findings), [""; 0]);
    let values = Member::of(&inventory, inventory.cluster("c").unwrap()).unwrap().values(None);
    if values.findings.is_empty() { Ok(values.value().to_string()) } else { Err(lines(&values.findings)) }
}

#[test]
fn expressions_see_the_merged_values_and_keep_their_type_where_they_stand_alone() {
    for (site, own, expected) in [
        ("{a: \"{{ b }}\", b: 1}", "{b: 2}", r#"{"a":2,"b":2}"#),
        ("{a: \"x{{ b }}\", b: 1}", "{}", r#"{"a":"x1","b":1}"#),
        ("{a: \"{{ b + 1 }}\", b: 1}", "{}", r#"{"a":2,"b":1}"#),
        ("{a: \"{{ m }}\", m: {k: [1, yes]}}", "{}", r#"{"a":{"k":[1,true]},"m":{"k":[1,true]}}"#),
        ("{a: \"{{ b }}\", b: \"{{ c }}-\", c: x}", "{c: z}", r#"{"a":"z-","b":"z-","c":"z"}"#),
        (
            "{a: \"{{ l[0].name }}-{{ l | length }}\", l: [{name: q}]}",
            "{}",
            r#"{"a":"q-1","l":[{"name":"q"}]}"#,
        ),
        ("{a: \"{{ x | default('d') }}\"}", "{}", r#"{"a":"d"}"#),
        (
            "{a: \"{{ t }}|{{ f }}|{{ m }}\", t: yes, f: 1.5, m: {k: v}}",
            "{}",
            r#"{"a":"true|1.5|{\"k\":\"v\"}","t":true,"f":1.5,"m":{"k":"v"}}"#,
        ),
        ("{a: \"{{ '{{' }} x }}\"}", "{}", r#"{"a":"{{ x }}"}"#),
        ("{a: \"{{ b.upper() }}\", b: ab}", "{}", r#"{"a":"AB","b":"ab"}"#),
        // What stands alone may take the place of what it turns out to be.
        ("{m: {k: v}, o: {k: w}}", "{m: \"{{ o }}\"}", r#"{"m":{"k":"w"},"o":{"k":"w"}}"#),
    ] {
        assert_eq!(values(site, own), Ok(expected.to_owned()), "{site} <- {own}");
    }
}

#[test]
fn an_expression_without_a_value_is_found_with_every_link() {
    let long: String = (0..40).map(|at| format!("v{at}: \"{{{{ v{} }}}}\", ", at + 1)).collect();
    for (site, own, expected) in [
        (
            "{a: \"{{ b }}\", b: \"{{ c }}\"}".to_owned(),
            "{c: \"{{ a }}\"}",
            "inventory-cycle i/1.yaml:4:20 an expression needs its own value: `/a` (i/1.yaml:4:20), which needs `/b` (i/1.yaml:4:34), which needs `/c` (i/0.yaml:4:35), which needs `/a` (i/1.yaml:4:20). Take one of these links out",
        ),
        (
            "{a: {b: \"{{ a.b }}\"}}".to_owned(),
            "{}",
            "inventory-cycle i/1.yaml:4:24 an expression needs its own value: `/a/b` (i/1.yaml:4:24), which needs `/a/b` (i/1.yaml:4:24). Take one of these links out",
        ),
        (
            "{a: \"{{ b }}\", b: \"{{ nowhere }}\"}".to_owned(),
            "{}",
            "inventory-type i/1.yaml:4:34 `/b` has no value: `nowhere` is undefined",
        ),
        (
            "{a: \"{{ b + m }}\", b: 1, m: {}}".to_owned(),
            "{}",
            "inventory-type i/1.yaml:4:20 `/a` has no value: tried to use + operator on unsupported types number and map",
        ),
        (
            "{a: \"x {% if b %}\"}".to_owned(),
            "{}",
            "inventory-type i/1.yaml:4:23 `/a`: `{% %}` stands in templates of releases alone: a value holds expressions in `{{ }}`. For the characters themselves write `{{ '{%' }}`",
        ),
        (
            "{a: \"{{ b | nofilter }}\", b: 1}".to_owned(),
            "{}",
            "inventory-type i/1.yaml:4:20 `/a` has no value: filter nofilter is unknown",
        ),
        (
            "{a: \"{{ 'x' * 100000000 }}\"}".to_owned(),
            "{}",
            "template-limit i/1.yaml:4:20 `/a` takes more steps or memory than an expression may",
        ),
        (
            format!("{{{long}v40: 1}}"),
            "{}",
            "inventory-cycle i/1.yaml:4:21 more than 32 expressions need each other in a row: ",
        ),
    ] {
        let found = values(&site, own).unwrap_err();
        assert!(found[0].starts_with(expected), "{found:#?}\n{expected}");
    }
}

#[test]
fn a_circle_is_told_once() {
    assert_eq!(values("{a: \"{{ b }}\", b: \"{{ a }}\"}", "{}").unwrap_err().len(), 1);
}

/// A list that an expression hands on refers to the context that knows what the expression came to.
#[test]
fn values_that_expressions_hand_on_go_with_their_context() {
    let expression = |text: &str| Shape::Expression(segments(text).unwrap().unwrap());
    let list = Shape::List(vec![Shape::Scalar(serde_json::json!(1))]);
    let shape =
        Shape::Map(vec![("l", list), ("a", expression("{{ l }}")), ("b", expression("{{ [a, l] }}"))]);
    let context = Context::of(shape, super::engine());
    for (key, expected) in [("a", serde_json::json!([1])), ("b", serde_json::json!([[1], [1]]))] {
        assert_eq!(context.evaluate(&FieldPath::root().key(key)).unwrap().0, expected);
    }
    let left = Arc::downgrade(&context);
    drop(context);
    assert!(left.upgrade().is_none(), "the context outlives whoever made it");
}
