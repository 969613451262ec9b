//! T3, T4 and T8: places of values, and comments.

use capstan_test_support::random::{Random, seed};

use super::{HEAD, meaning, rendered, text};

#[test]
fn a_value_is_placed_in_the_scalar_around_it() {
    const VALUES: &str = "{s: 'a: #b', i: 3, f: 1.5, b: yes, z: '3', m: {k: v, l: [1, {x: q}]}, l: [a, b], e: {}, cert: \"-----\\nline: 2\\n-----\\n\"}";
    for (template, expected) in [
        // Alone in a plain scalar it keeps its type.
        ("d: {{ s }}\n", "d: \"a: #b\"\n"),
        ("d: {{ i }}\n", "d: 3\n"),
        ("d: {{ f }}\n", "d: 1.5\n"),
        ("d: {{ b }}\n", "d: true\n"),
        ("d: {{ z }}\n", "d: \"3\"\n"),
        ("d: {{ m }}\n", "d:\n  k: v\n  l:\n  - 1\n  - x: q\n"),
        ("d: {{ l }}\n", "d:\n- a\n- b\n"),
        ("d: {{ e }}\n", "d: {}\n"),
        ("d: {{ none }}\n", "d: null\n"),
        ("d:\n    {{ m }}\n", "d:\n    k: v\n    l:\n    - 1\n    - x: q\n"),
        ("d:\n- {{ m }}\n- {{ i }}\n", "d:\n- k: v\n  l:\n  - 1\n  - x: q\n- 3\n"),
        ("d: [{{ s }}, {{ m }}]\n", "d: [\"a: #b\", {k: v, l: [1, {x: q}]}]\n"),
        ("d: {a: {{ l }}}\n", "d: {a: [a, b]}\n"),
        (
            "d:\n  e: {{ m }} # why\n  f: 1\n",
            "d:\n  e:\n    k: v\n    l:\n    - 1\n    - x: q # why\n  f: 1\n",
        ),
        // In quotes, or beside other text, it is text.
        ("d: \"{{ i }}\"\n", "d: \"3\"\n"),
        ("d: '{{ b }}'\n", "d: \"true\"\n"),
        ("d: x-{{ i }}\n", "d: x-3\n"),
        ("d: {{ i }}{{ i }}\n", "d: \"33\"\n"),
        ("d: x{{ none }}y\n", "d: xy\n"),
        ("d: x{{ m }}\n", "d: x{\"k\":\"v\",\"l\":[1,{\"x\":\"q\"}]}\n"),
        // As a key it is text.
        ("d: { {{ s }}: 1}\n", "d: { \"a: #b\": 1}\n"),
        ("d:\n  {{ i }}: 1\n", "d:\n  \"3\": 1\n"),
        // In a block scalar its lines are the scalar's lines.
        (
            "d:\n  k: |\n    {{ cert }}\n    end\n",
            "d:\n  k: |\n    -----\n    line: 2\n    -----\n\n    end\n",
        ),
        (
            "d:\n  k: |\n    {{ cert | trim | indent(4) }}\n    end\n",
            "d:\n  k: |\n    -----\n    line: 2\n    -----\n    end\n",
        ),
        ("d:\n  k: |-\n    {{ cert }}\n", "d:\n  k: |-\n    -----\n    line: 2\n    -----\n"),
        ("d: {{ cert }}\n", "d: |\n  -----\n  line: 2\n  -----\n"),
        ("d:\n- {{ cert }}\n", "d:\n- |\n  -----\n  line: 2\n  -----\n"),
        // In a comment it is nothing.
        ("# for {{ s }}\nd: 1 # {{ cert }}!\n", "# for \nd: 1 # !\n"),
        // Filters place what they are given.
        ("d: {{ m | to_nice_yaml | indent(2) }}\n", "d:\n  k: v\n  l:\n  - 1\n  - x: q\n"),
        ("d:\n  {{ m | to_yaml | indent(2) }}\n", "d:\n  k: v\n  l:\n  - 1\n  - x: q\n"),
        ("d: {{ m | tojson }}\n", "d:\n  k: v\n  l:\n  - 1\n  - x: q\n"),
        ("d: '{{ m | tojson }}'\n", "d: '{\"k\": \"v\", \"l\": [1, {\"x\": \"q\"}]}'\n"),
        (
            "d: |\n  a:\n    {{ m | to_nice_yaml | indent(4) }}\n",
            "d: |\n  a:\n    k: v\n    l:\n    - 1\n    - x: q\n",
        ),
        ("d: {{ s | indent(2) }}\n", "d: \"a: #b\"\n"),
        ("d: {{ cluster.name }}-{{ cluster.folder }}-{{ levels.site.name }}\n", "d: c-acme/c-fra1\n"),
    ] {
        assert_eq!(text(template, VALUES), Ok(expected.to_owned()), "{template}");
    }
}

#[test]
fn comments_and_order_of_the_template_stay() {
    let template = "# what it is for\nz: 1 # last first\n{# nobody sees this #}\n{% for p in l %}\n# one\n{{ p }}: {{ loop.index }}\n{% endfor %}\na: 2\n";
    let expected = "# what it is for\nz: 1 # last first\n# one\nv: 1\n# one\nw: 2\na: 2\n";
    assert_eq!(text(template, "{l: [v, w]}"), Ok(expected.to_owned()));
}

#[test]
fn a_field_knows_the_template_and_the_values_that_it_is_made_of() {
    let template = "d: {{ a.b }}-{{ c }}\ne:\n{% for p in l %}\n- {{ p.name }}\n- {{ p.name | upper }}{{ cluster.name }}\n{% endfor %}\nf: {{ m | tojson }}\n";
    let rendered = rendered(
        &[("a.yaml", &format!("{HEAD}{template}"))],
        "{a: {b: 1}, c: 2, l: [{name: x}], m: {k: v}, unused: {a: 1}}",
    )
    .unwrap();
    let placements: Vec<String> = rendered.files[0].objects[0]
        .placements
        .iter()
        .map(|placed| {
            let reads: Vec<String> = placed.reads.iter().map(ToString::to_string).collect();
            format!("{} {} {}", placed.path, placed.template, reads.join(" "))
        })
        .collect();
    assert_eq!(
        placements,
        [
            "/d aws/v1.0.0/templates/a.yaml:4:7 /a/b /c",
            "/e/0 aws/v1.0.0/templates/a.yaml:7:6 /l/0/name",
            "/e/1 aws/v1.0.0/templates/a.yaml:8:6 /l/0/name",
            "/f aws/v1.0.0/templates/a.yaml:10:7 /m/k",
        ]
    );
    let unused: Vec<String> = rendered.unused.iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(unused, ["/unused/a"]);
}

/// A template with a value in every kind of place.
const EVERYWHERE: &str = "\
# {{ v }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: first
  annotations: {a: {{ v }}, b: \"{{ v }}\", c: '{{ v }}', d: x{{ v }}y}
data:
  plain: {{ v }}
  double: \"{{ v }}\" # {{ v }}
  single: '{{ v }}'
  beside: a {{ v }} b
  twice: {{ v }}{{ v }}
  literal: |
    {{ v }}
    end
  folded: >
    {{ v }}

    end
  kept: |+
    {{ v }}
  {{ v }}-key: 1
  flow: [{{ v }}, {k: {{ v }}}]
  list:
  - {{ v }}
  - k: {{ v }}
    l: {{ v }}
  made: {{ [v, {'k': v}] | to_nice_yaml | indent(4) }}
  joined: \"{{ [v, v] | join(',') }}\"
  {% set captured %}q {{ v }} r{% endset %}
  captured: {{ captured }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second}
data: {k: {{ v }}}
";

#[test]
fn no_value_changes_the_structure_and_each_arrives() {
    const PIECES: &[&str] = &[
        ": ",
        "#",
        " #",
        "\n",
        "\n---\n",
        "...",
        "- ",
        "? ",
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "\"",
        "'",
        "\\",
        "&a",
        "*a",
        "!!int",
        "\u{E0F0}0\u{E0F1}",
        "\u{E0F0}",
        "\u{E0F1}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\t",
        "\r",
        "\u{0}",
        "\u{7f}",
        "[",
        "]",
        "{",
        "}",
        ",",
        "|",
        ">",
        "%",
        "@",
        "`",
        "yes",
        "null",
        "~",
        "0644",
        "1e3",
        "é",
        "🦀",
        " ",
        "  ",
        "a",
        "=",
        "<<",
    ];
    let seed = seed();
    println!("seed {seed} (CAPSTAN_SEED repeats it)");
    let mut random = Random::new(seed);
    for round in 0..3_000 {
        let count = random.below(6);
        let hostile: String = (0..count).map(|_| *random.pick(PIECES)).collect();
        // A value with braces is written as an expression, and comes to the same text.
        let written = crate::import::escaped(hostile.clone());
        let values = format!("{{v: {}}}", serde_json::Value::String(written));
        let values =
            values.replace('\u{7f}', "\\u007f").replace('\u{feff}', "\\ufeff").replace('\u{85}', "\\u0085");
        let values = values.replace('\u{2028}', "\\u2028");
        let rendered = match rendered(&[("a.yaml", EVERYWHERE)], &values) {
            Ok(rendered) => rendered,
            // No YAML holds some characters, and no key more than a line of a thousand.
            Err(lines) => panic!("round {round}, {hostile:?}: {lines:#?}"),
        };
        let objects = &rendered.files[0].objects;
        let names: Vec<&str> = objects.iter().map(|object| object.id.name.as_str()).collect();
        assert_eq!(names, ["first", "second"], "{hostile:?}");
        let value = objects[0].node.value();
        let data = &value["data"];
        let is = |found: &serde_json::Value, expected: &str| {
            assert_eq!(found, expected, "{hostile:?} in round {round}")
        };
        for key in ["plain", "double", "single"] {
            is(&data[key], &hostile);
        }
        is(&data["beside"], &format!("a {hostile} b"));
        is(&data["twice"], &format!("{hostile}{hostile}"));
        is(&data["literal"], &format!("{hostile}\nend\n"));
        is(&data["flow"][1]["k"], &hostile);
        is(&data["list"][1]["l"], &hostile);
        is(&data["made"][1]["k"], &hostile);
        is(&data["joined"], &format!("{hostile},{hostile}"));
        is(&data["captured"], &format!("q {hostile} r"));
        assert_eq!(data[format!("{hostile}-key")], 1, "{hostile:?}");
        is(&value["metadata"]["annotations"]["d"], &format!("x{hostile}y"));
        assert_eq!(data.as_object().unwrap().len(), 14, "{hostile:?}");
        is(&objects[1].node.value()["data"]["k"], &hostile);
    }
}

#[test]
fn a_key_that_a_value_makes_twice_is_refused() {
    let found = meaning("d:\n  {{ a }}: 1\n  {{ b }}: 2\n", "{a: x, b: x}").unwrap_err();
    assert!(found[0].contains("the key `x` would be there twice"), "{found:#?}");
}
