//! Expressions in values: what they come to, and what is wrong with them.

use std::sync::Arc;

use capstan_model::object::FieldPath;

use crate::braces::segments;
use crate::context::{ContextShape, ValueContext};
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
        // A whole scalar may be replaced by a mapping or list.
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
            "inventory-cycle i/1.yaml:4:20 an expression needs its own value: `/a` (i/1.yaml:4:20), which needs `/b` (i/1.yaml:4:34), which needs `/c` (i/0.yaml:4:35), which needs `/a` (i/1.yaml:4:20). Remove one of these links",
        ),
        (
            "{a: {b: \"{{ a.b }}\"}}".to_owned(),
            "{}",
            "inventory-cycle i/1.yaml:4:24 an expression needs its own value: `/a/b` (i/1.yaml:4:24), which needs `/a/b` (i/1.yaml:4:24). Remove one of these links",
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
            "inventory-type i/1.yaml:4:23 `/a`: only templates of releases may have `{% %}`: a value has expressions in `{{ }}`. For the characters themselves write `{{ '{%' }}`",
        ),
        (
            "{a: \"{{ b | nofilter }}\", b: 1}".to_owned(),
            "{}",
            "inventory-type i/1.yaml:4:20 `/a` has no value: filter nofilter is unknown",
        ),
        (
            "{a: \"{{ 'x' * 100000000 }}\"}".to_owned(),
            "{}",
            "template-limit i/1.yaml:4:20 `/a` exceeds the limits of an expression",
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
fn a_cycle_is_reported_once() {
    assert_eq!(values("{a: \"{{ b }}\", b: \"{{ a }}\"}", "{}").unwrap_err().len(), 1);
}

/// Through containers, too: an expression that reads a whole mapping or list reads the expressions in it.
#[test]
fn a_circle_through_mappings_and_lists_is_found_and_does_not_recurse() {
    let cycle = |site: &str, own: &str| {
        let found = values(site, own).unwrap_err();
        assert_eq!(found.len(), 1, "{found:#?}");
        let links = found[0].split("its own value: ").nth(1).unwrap_or_else(|| panic!("{found:#?}"));
        assert!(found[0].starts_with("inventory-cycle i/"), "{found:#?}");
        let paths = links.split('`').skip(1).step_by(2).collect::<Vec<_>>();
        paths.join(" -> ")
    };
    for (site, own, expected) in [
        ("{a: \"{{ m }}\", m: {k: \"{{ a }}\"}}", "{}", "/a -> /m/k -> /a"),
        ("{m: {k: \"{{ m }}\"}}", "{}", "/m/k -> /m/k"),
        ("{l: [\"{{ l }}\"]}", "{}", "/l/0 -> /l/0"),
        ("{l: [\"{{ k }}\"], k: [\"{{ l }}\"]}", "{}", "/k/0 -> /l/0 -> /k/0"),
        ("{a: {b: \"{{ m }}\"}, m: \"{{ a }}\"}", "{}", "/a/b -> /m -> /a/b"),
        ("{a: \"{{ m }}\", m: {k: \"{{ a }}\"}, t: \"{{ a ~ 1 }}\"}", "{}", "/a -> /m/k -> /a"),
        ("{a: \"{{ m }}\", m: {k: 1}}", "{m: {k: \"{{ a }}\"}}", "/a -> /m/k -> /a"),
        ("{a: \"{{ [b] }}\", b: \"{{ {'k': a} | default(1) }}\"}", "{}", "/a -> /b -> /a"),
    ] {
        assert_eq!(cycle(site, own), expected, "{site} <- {own}");
    }
    // It may read a part of its own container, and its length.
    assert_eq!(
        values("{m: {k: \"{{ m.x }}-{{ m | length }}\", x: 1}, l: \"{{ m }}\"}", "{}"),
        Ok(r#"{"m":{"k":"1-2","x":1},"l":{"k":"1-2","x":1}}"#.to_owned())
    );
}

#[test]
fn a_long_chain_is_reported_in_either_reading_order() {
    let row = |names: &mut dyn Iterator<Item = usize>, last: usize| -> String {
        let links: String = names.map(|at| format!("v{at:05}: \"{{{{ v{:05} }}}}\", ", at + 1)).collect();
        format!("{{{links}v{last:05}: 1}}")
    };
    for (length, is_long) in [(32, false), (33, true), (10_000, true)] {
        for site in [row(&mut (0..length), length), row(&mut (0..length).rev(), length)] {
            match values(&site, "{}") {
                Ok(_) => assert!(!is_long, "{length}"),
                Err(found) => {
                    assert!(is_long, "{length}: {found:#?}");
                    let [only] = found.as_slice() else { panic!("{found:#?}") };
                    assert!(
                        only.contains("more than 32 expressions need each other in a row: `/v"),
                        "{only}"
                    );
                    assert_eq!(only.matches(", which needs `/v").count(), 32, "{only}");
                }
            }
        }
    }
}

#[test]
fn what_expressions_come_to_is_bounded_for_each_and_for_all() {
    let doubling: String =
        (0..30).map(|at| format!("v{at}: [\"{{{{ v{0} }}}}\", \"{{{{ v{0} }}}}\"], ", at + 1)).collect();
    let deep: String = (0..30)
        .map(|at| format!("v{at}: {}\"{{{{ v{} }}}}\"{}, ", "[".repeat(50), at + 1, "]".repeat(50)))
        .collect();
    let texts: String = (0..40).map(|at| format!("t{at}: \"{{{{ t }}}}\", ")).collect();
    let loops = "{{ range(20000) | map('abs') | list | length }}";
    let steps: String = (0..100).map(|at| format!("s{at}: \"{loops}\", ")).collect();
    for (site, expected) in [
        (format!("{{{doubling}v30: [1]}}"), "template-limit i/1.yaml:4:"),
        (format!("{{{deep}v30: [1]}}"), "template-limit i/1.yaml:4:"),
        (format!("{{{texts}t: {}}}", "a".repeat(1 << 20)), "template-limit i/1.yaml:4:"),
        (format!("{{{steps}t: 1}}"), "template-limit i/1.yaml:4:"),
    ] {
        let found = values(&site, "{}").unwrap_err();
        assert!(found.iter().all(|found| found.starts_with(expected)), "{found:#?}");
    }
    let found = values(&format!("{{{steps}t: 1}}"), "{}").unwrap_err();
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("of this cluster take more than 4 million steps"), "{found:#?}");
}

#[test]
fn an_expression_is_computed_at_each_bound_and_refused_beyond() {
    let lists = |levels: usize, inner: &str| format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels));
    // The mapping around, the lists around, and those of the value itself.
    let levels = |levels: usize| {
        let around = lists(levels - 151, "\"{{ v }}\"");
        format!("{{a: {around}, v: {}}}", lists(150, "1"))
    };
    assert_eq!(values(&levels(200), "{}").map(drop), Ok(()));
    let found = values(&levels(201), "{}").unwrap_err();
    assert!(found[0].starts_with("template-limit i/1.yaml:4:"), "{found:#?}");
    assert!(found[0].contains("exceeds the limits of an expression"), "{found:#?}");
}

/// Each counts as at least 200 steps.
#[test]
fn expressions_are_computed_up_to_what_they_may_take_together() {
    let steps = |count: usize| format!("{{l: [{}]}}", "\"{{ 1 }}\", ".repeat(count));
    let bytes = |count: usize| {
        let texts: String = (0..count).map(|at| format!("t{at}: \"{{{{ t }}}}\", ")).collect();
        format!("{{{texts}t: {}}}", "a".repeat(1 << 20))
    };
    for (at, beyond, why) in
        [(steps(20_000), steps(20_001), "4 million steps"), (bytes(31), bytes(32), "32 MiB")]
    {
        assert!(values(&at, "{}").is_ok(), "{:.100}", at);
        let found = values(&beyond, "{}").unwrap_err();
        assert!(found[0].starts_with("template-limit i/1.yaml:4:") && found[0].contains(why), "{found:#?}");
    }
}

#[test]
fn operators_in_a_row_are_bounded() {
    for part in [" + 1", ".a", " | abs", "()", " ~ 1", " and 1", " if 1 else 1"] {
        let found =
            values(&format!("{{a: \"{{{{ b{} }}}}\", b: 1}}", part.repeat(100_000)), "{}").unwrap_err();
        assert!(
            found[0].starts_with("inventory-type i/1.yaml:4:")
                && found[0].contains("more than 250 operators are in a row here"),
            "{part}: {found:#?}"
        );
    }
}

/// A list of many values, a mapping of many keys, many expressions: nobody looks at all of them for each.
#[test]
fn many_values_take_no_longer_than_they_are_many() {
    let list: String = (0..30_000).map(|at| format!("{at}, ")).collect();
    let sum = values(&format!("{{l: [{list}], sum: \"{{{{ l | sum }}}}\"}}"), "{}").unwrap();
    assert!(sum.ends_with(r#""sum":449985000}"#));
    let keys: String = (0..10_000).map(|at| format!("k{at}: \"{{{{ m.k{at} }}}}\", ")).collect();
    let below: String = (0..10_000).map(|at| format!("k{at}: {at}, ")).collect();
    assert!(values(&format!("{{{keys}m: {{{below}}}}}"), "{}").unwrap().starts_with(r#"{"k0":0,"k1":1,"#));
}

/// A list that an expression hands on refers to the context that knows what the expression came to.
#[test]
fn values_that_expressions_hand_on_go_with_their_context() {
    let expression = |text: &str| ContextShape::Expression(segments(text).unwrap().unwrap());
    let list = ContextShape::List(vec![ContextShape::Scalar(serde_json::json!(1))]);
    let shape =
        ContextShape::Map(vec![("l", list), ("a", expression("{{ l }}")), ("b", expression("{{ [a, l] }}"))]);
    let context = ValueContext::of(shape, super::engine());
    for (key, expected) in [("a", serde_json::json!([1])), ("b", serde_json::json!([[1], [1]]))] {
        assert_eq!(context.evaluate(&FieldPath::root().key(key)).unwrap().0, expected);
    }
    let left = Arc::downgrade(&context);
    drop(context);
    assert!(left.upgrade().is_none(), "the context outlives whoever made it");
}
