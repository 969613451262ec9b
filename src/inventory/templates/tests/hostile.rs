//! Templates that want all time and memory: each ends as the finding `template-limit`.
//!
//! How long and how much is not measured here: the fuel bounds both, and of what would run out of it nothing is made.
//! A case that is not bounded does not end.

use super::{HEAD, rendered};

#[test]
fn hostile_templates_end_at_their_limit() {
    let deep = format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000));
    let lists = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let doubling = "{% set n = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(64) %}{% set n.x = n.x ~ n.x %}{% endfor %}";
    for (name, template) in [
        ("repeated text", "d: {{ 'a' * 100000000 }}\n"),
        ("repeated text, joined", "d: {{ ('a' * 100000000) ~ ('b' * 100000000) }}\n"),
        ("repeated list", "d: {{ [1] * 100000000 }}\n"),
        ("repeated list, joined", "d: {{ ([1] * 100000000) | join }}\n"),
        ("repeated list, measured", "d: {{ ([1] * 100000000) | list | length }}\n"),
        ("doubling", doubling),
        ("doubling by plus", &doubling.replace('~', "+")),
        (
            "doubling of lists",
            "{% set n = namespace(x=[1]) %}{% for i in range(64) %}{% set n.x = n.x + n.x %}{% endfor %}d: {{ n.x | length }}",
        ),
        ("doubling of lists, line by line", &"{% set x = x | default([1]) %}{% set x = x + x %}".repeat(64)),
        (
            "nested lists",
            "{% set n = namespace(x=[1]) %}{% for i in range(64) %}{% set n.x = [n.x, n.x] %}{% endfor %}d: {{ n.x }}",
        ),
        (
            "nested lists, as JSON",
            "{% set n = namespace(x=[1]) %}{% for i in range(40) %}{% set n.x = [n.x, n.x] %}{% endfor %}d: {{ n.x | tojson }}",
        ),
        (
            "nested lists, compared",
            "{% set n = namespace(x=[1], y=[1]) %}{% for i in range(40) %}{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}{% if n.x == n.y %}{% endif %}",
        ),
        (
            "nested lists, as text",
            "{% set n = namespace(x=[1]) %}{% for i in range(40) %}{% set n.x = [n.x, n.x] %}{% endfor %}d: {{ n.x ~ '' }}",
        ),
        (
            "nested mappings",
            "{% set n = namespace(x={'a': 1}) %}{% for i in range(40) %}{% set n.x = {'a': n.x, 'b': n.x} %}{% endfor %}d: {{ n.x ~ '' }}",
        ),
        (
            "nested by arguments",
            "{% macro m(x, n) %}{% if n > 0 %}{{ m([x, x], n - 1) }}{% else %}{{ x == [x] }}{% endif %}{% endmacro %}{{ m([1], 40) }}",
        ),
        (
            "nested by with",
            &format!(
                "{}d: {{{{ x ~ '' }}}}{}",
                "{% with x = [x | default(1), x | default(1)] %}".repeat(30),
                "{% endwith %}".repeat(30)
            ),
        ),
        (
            "nested by loops",
            &format!(
                "{}d: {{{{ x ~ '' }}}}{}",
                "{% for x in [[x | default(1), x | default(1)]] %}".repeat(30),
                "{% endfor %}".repeat(30)
            ),
        ),
        ("nested by recursion", "{% for x in [[1]] recursive %}{{ loop([[x, x]]) }}{% endfor %}"),
        (
            "repeated lists of repeated lists",
            "{% if [[1] * 100000] * 100000 == [[1] * 100000] * 100000 %}{% endif %}",
        ),
        (
            "repeated lists, in a list",
            "{% set x = range(90000) | list %}{% if [x * 100000] == [x * 100000] %}{% endif %}",
        ),
        ("sum of lists", "d: {{ ([[1] * 100000] * 100000) | sum(start=[]) | length }}\n"),
        (
            "captured text that doubles",
            "{% set n = namespace(x='aaaaaaaa') %}{% for i in range(64) %}{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}{% endfor %}",
        ),
        ("indent", "d: {{ ('a\\n' * 1000000) | indent(100000) }}\n"),
        ("indent alone", "d: {{ 'a\\nb' | indent(1000000000) }}\n"),
        ("format", "d: {{ '%1000000000d' | format(1) }}\n"),
        ("format, by a star", "d: {{ '%*d' | format(1000000000, 1) }}\n"),
        ("format, as a method", "d: {{ '{:>1000000000}'.format(1) }}\n"),
        ("replace", "d: {{ ('a' * 100000) | replace('a', 'b' * 100000) }}\n"),
        ("replace, as a method", "d: {{ ('a' * 100000).replace('a', 'b' * 100000) }}\n"),
        ("join", "d: {{ range(100000) | join('b' * 100000) }}\n"),
        ("join, as a method", "d: {{ ('b' * 100000).join(['a'] * 100000) }}\n"),
        ("batch", "d: {{ [1] | batch(1000000000, 'x') | list | length }}\n"),
        ("slice", "d: {{ [1] | slice(1000000000) | list | length }}\n"),
        ("range", "d: {{ range(100000000) | length }}\n"),
        (
            "loops",
            "{% for a in range(10000) %}{% for b in range(10000) %}{% for c in range(10000) %}x{% endfor %}{% endfor %}{% endfor %}",
        ),
        (
            "much text",
            &format!("{{% for a in range(100000) %}}{}{{% endfor %}}", "# 0123456789\n".repeat(1_000)),
        ),
        (
            "many objects",
            "{% for a in range(10001) %}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s{{ a }}}\n{% endfor %}",
        ),
        ("a macro that calls itself", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
        (
            "two macros in a circle",
            "{% macro a() %}{{ b() }}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{{ a() }}{% endmacro %}{{ a() }}",
        ),
        ("parentheses", &format!("d: {{{{ {deep} }}}}\n")),
        ("brackets", &format!("d: {{{{ {lists} }}}}\n")),
        ("itself", "{% include 'a.yaml' %}"),
        ("power", "d: {{ 10 ** 100000000 }}\n"),
        ("sorted", "d: {{ ([1] * 100000000) | sort | length }}\n"),
        ("unique", "d: {{ ([1] * 100000000) | unique | length }}\n"),
    ] {
        println!("{name}");
        let found = match rendered(&[("a.yaml", &format!("{HEAD}{template}"))], "{}") {
            Ok(_) => panic!("{name}: rendered"),
            Err(found) => found,
        };
        let limit = found[0].starts_with("template-limit aws/v1.0.0/templates/a.yaml");
        let refused = found[0].starts_with("template-error aws/v1.0.0/templates/a.yaml");
        assert!(limit || refused, "{name}: {found:#?}");
        println!("  {}", found[0]);
    }
}
