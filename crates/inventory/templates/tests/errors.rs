//! What is wrong with a template is said with its place and that of the values read there.

use super::{HEAD, rendered};

fn wrong(templates: &[(&str, &str)], values: &str) -> Vec<String> {
    rendered(templates, values).unwrap_err()
}

#[test]
fn errors_name_the_template_and_the_values_that_were_read() {
    for (template, values, expected) in [
        (
            "d: {{ a.b }}\n",
            "{a: {c: 1}}",
            "template-error aws/v1.0.0/templates/a.yaml:4:7 `a.b` is undefined: set it in a level, give it a default in the schema, or write `| default(…)`. Read there: `/a` (i/0.yaml:4:38)",
        ),
        (
            "d: {{ a + b }}\n",
            "{a: 1, b: {}}",
            "template-error aws/v1.0.0/templates/a.yaml:4:7 tried to use + operator on unsupported types number and map. Read there: `/a` (i/0.yaml:4:38) and `/b` (i/0.yaml:4:44)",
        ),
        (
            "{% for x in a %}\nd: {{ x }}\n{% endfor %}\n",
            "{a: 1}",
            "template-error aws/v1.0.0/templates/a.yaml:4:13 number is not iterable. Read there: `/a` (i/0.yaml:4:38)",
        ),
        (
            "d: [{{ a }}\n",
            "{a: 1}",
            "template-error aws/v1.0.0/templates/a.yaml:4:4 the output is not YAML: ",
        ),
        (
            "d:\n  k: v\n  {{ a | tojson | indent(2) }}\n",
            "{a: {x: y}}",
            "template-error aws/v1.0.0/templates/a.yaml:6:",
        ),
        ("d: 1\nd: 2\n", "{}", "template-error aws/v1.0.0/templates/a.yaml:5:1 the key `d` occurs twice"),
        (
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ a }}}\n",
            "{a: one}",
            "template-error aws/v1.0.0/templates/a.yaml:5:1 ConfigMap one is rendered twice: also in aws/v1.0.0/templates/a.yaml:1:1",
        ),
        (
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ a }}\n",
            "{a: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn}",
            "template-error aws/v1.0.0/templates/a.yaml:8:12 the name `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` of this ConfigMap has 66 characters, but at most 63 are allowed, because it becomes a label. Read there: `/a` (i/0.yaml:4:38)",
        ),
        (
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ a }}\n",
            "{a: 'peu01-A b: c'}",
            "template-error aws/v1.0.0/templates/a.yaml:8:12 `peu01-A b: c` of ConfigMap peu01-A b: c is not a name that Kubernetes accepts: use only lowercase letters, digits, `-` and `.`, a letter or digit at both ends, at most 253 characters. Read there: `/a` (i/0.yaml:4:38)",
        ),
        (
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: ok, team: {{ a }}}}\n",
            "{a: A b}",
            "template-error aws/v1.0.0/templates/a.yaml:7:46 `A b` of ConfigMap a is not a label's value that Kubernetes accepts: use only letters, digits, `-`, `_` and `.`, a letter or digit at both ends, at most 63 characters. Read there: `/a` (i/0.yaml:4:38)",
        ),
        (
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: My_Org}\n",
            "{a: b}",
            "template-error aws/v1.0.0/templates/a.yaml:7:32 `My_Org` of ConfigMap My_Org/a is not a namespace that Kubernetes accepts: ",
        ),
        (
            "d:\n  on: {{ a }}\n",
            "{a: b}",
            "template-error aws/v1.0.0/templates/a.yaml:5:3 the key `on` has no quotes, so Kubernetes reads it as `true`: write \"on\"",
        ),
        (
            "---\nkind: {{ a }}\n",
            "{a: x}",
            "template-error aws/v1.0.0/templates/a.yaml:5:1 an object without `apiVersion`",
        ),
    ] {
        let found = wrong(&[("a.yaml", &format!("{HEAD}{template}"))], values);
        assert!(found[0].starts_with(expected), "{template}: {found:#?}");
    }
}

#[test]
fn what_a_template_may_not_do_is_refused_when_it_is_read() {
    let captured = "text of a macro or of a `{% set %}` block is used ";
    for (template, expected) in [
        ("d: {{ a | safe }}\n", "1:11 the filter `safe` is refused: values become scalars and never need it"),
        ("d: {{ a | uppr }}\n", "1:11 there is no filter `uppr`; did you mean `upper`?"),
        ("{% if a is definde %}{% endif %}\n", "1:12 there is no test `definde`; did you mean `defined`?"),
        // Neither clock, nor randomness, nor files.
        ("d: {{ now() }}\n", "1:7 there is no function `now`"),
        (
            "d: {{ [1, 2] | random }}\n",
            "1:16 the filter `random` is refused: the same values must give the same objects",
        ),
        ("d: {{ lipsum() }}\n", "1:7 there is no function `lipsum`"),
        ("d: {{ open('/etc/passwd') }}\n", "1:7 there is no function `open`"),
        ("{% import '/etc/passwd' as p %}\n", "1:11 there is no template `/etc/passwd`"),
        ("{% include a %}\n", "1:12 `{% include %}` must name its template in quotes"),
        (
            "{% include 'b.yaml' %}\n",
            "1:12 there is no template `b.yaml`: names are paths below `templates/` of this release; did you mean `a.yaml`?",
        ),
        ("{% include '../b.yaml' %}\n", "1:12 there is no template `../b.yaml`"),
        ("{% autoescape true %}{% endautoescape %}\n", "1:15 `{% autoescape %}` is refused"),
        ("d: {{ a \n", "1:"),
        ("d: \u{E0F0}\n", "1:4 this character is for private use"),
        // T5.
        (
            "{% set x %}{{ a }}{% endset %}\nd: {{ x | upper }}\n",
            &format!("2:7 {captured}in the filter `upper`"),
        ),
        (
            "{% set x %}{{ a }}{% endset %}\n{% set y = x %}\n{% if y == 'b' %}{% endif %}\n",
            &format!("3:7 {captured}in a comparison"),
        ),
        ("{% set x %}{{ a }}{% endset %}\nd: {{ x[1:] }}\n", &format!("2:7 {captured}in a slice")),
        ("{% set x %}{{ a }}{% endset %}\nd: {{ x ~ 'y' }}\n", &format!("2:7 {captured}in a computation")),
        ("{% set x %}{{ a }}{% endset %}\n{% if x %}{% endif %}\n", &format!("2:7 {captured}in a condition")),
        (
            "{% macro m(p) %}{{ p }}{% endmacro %}\nd: {{ m(a) | length }}\n",
            &format!("2:7 {captured}in the filter `length`"),
        ),
        (
            "{% macro m(p) %}{{ p }}{% endmacro %}\nd: {{ m(m(a)) }}\n",
            &format!("2:9 {captured}as an argument"),
        ),
        (
            "{% macro m() %}{{ caller() | upper }}{% endmacro %}\n",
            &format!("1:19 {captured}in the filter `upper`"),
        ),
        ("{% filter upper %}{{ a }}{% endfilter %}\n", "1:11 a filter over a block with values in it"),
        ("{% set x | upper %}{{ a }}{% endset %}\n", "1:12 a filter over a block with values in it"),
    ] {
        let found = wrong(&[("a.yaml", template)], "{a: 1}");
        let expected = format!("template-error aws/v1.0.0/templates/a.yaml:{expected}");
        assert!(found[0].starts_with(&expected), "{template}: {found:#?}");
    }
}

#[test]
fn captured_text_may_be_emitted_and_without_values_in_it_computed_with() {
    let template = format!(
        "{HEAD}{}",
        "{% macro m(p) %}x{{ p }}{% endmacro %}\n{% set y %}{{ m(a) }}z{% endset %}\n{% set plain %}abc{% endset %}\n{% macro w() %}[{{ caller() }}]{% endmacro %}\nd: {{ m(a) }}\ne: \"{{ y }}\"\nf: {{ plain | upper }}\ng: {{ m(a) if plain == 'abc' else y }}\nh: '{% call w() %}{{ a }}{% endcall %}'\n"
    );
    let rendered = rendered(&[("a.yaml", &template)], "{a: 'q: #'}").unwrap();
    let value = rendered.files[0].objects[0].node.value();
    assert_eq!(
        [&value["d"], &value["e"], &value["f"], &value["g"], &value["h"]],
        ["xq: #", "xq: #z", "ABC", "xq: #", "[q: #]"]
    );
}

#[test]
fn an_error_in_an_include_is_reported_in_the_included_file() {
    let including = format!("{HEAD}{{% include '_part.yaml' %}}\n");
    let found = wrong(&[("a.yaml", &including), ("_part.yaml", "x: 1\nd: {{ nowhere }}\n")], "{}");
    assert!(
        found[0].starts_with(
            "template-error aws/v1.0.0/templates/_part.yaml:2:7 `nowhere` is undefined: set it in a level"
        ),
        "{found:#?}"
    );
    let found = wrong(&[("a.yaml", &including), ("_part.yaml", "x: 1\nd: [\n")], "{}");
    assert!(found[0].starts_with("template-error aws/v1.0.0/templates/_part.yaml:"), "{found:#?}");
}
