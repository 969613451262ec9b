//! Templates that want all time and memory: each ends as the finding `template-limit`.
//!
//! How long and how much is not measured here: the fuel bounds both, and of what would run out of it nothing is made.
//! A case that is not bounded does not end.

use super::*;

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
        (
            "compared in a loop",
            "{% set a = [range(40000) | list] %}{% set b = [range(40000) | list] %}{% for i in range(10000) %}{% if a == b %}{% endif %}{% endfor %}",
        ),
        (
            "long texts, compared in a loop",
            "{% set a = 'a' * 1000000 %}{% set b = 'a' * 1000000 %}{% for i in range(10000) %}{% if a == b or a in [b] %}{% endif %}{% endfor %}",
        ),
        (
            "stripped of many characters",
            "{% set b = 'b' * 100000 %}{% if ('a' * 100000).strip(b ~ 'a') %}{% endif %}",
        ),
        (
            "captured text, emitted often",
            "d: '{% set x %}{{ 'a' * 100000 }}{% endset %}{% for i in range(50000) %}{{ x }}{% endfor %}'\n",
        ),
        (
            "names bound backwards",
            &format!(
                "{}{{% set a300 %}}{{{{ cluster.name }}}}{{% endset %}}",
                (0..300)
                    .map(|at| format!("{{% set a{at} = a{} if false else 1 %}}", at + 1))
                    .collect::<String>()
            ),
        ),
        ("branches", &format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(50_000))),
        ("attributes", &format!("d: {{{{ a{} }}}}\n", ".b".repeat(100_000))),
        ("sums", &format!("d: {{{{ 1{} }}}}\n", " + 1".repeat(100_000))),
        ("filters", &format!("d: {{{{ 1{} }}}}\n", " | abs".repeat(100_000))),
        ("conditions", &format!("d: {{{{ {}1 }}}}\n", "1 if 0 else ".repeat(100_000))),
        ("negations", &format!("d: {{{{ {}1 }}}}\n", "not ".repeat(100_000))),
        ("parentheses", &format!("d: {{{{ {deep} }}}}\n")),
        ("brackets", &format!("d: {{{{ {lists} }}}}\n")),
        ("itself", "{% include 'a.yaml' %}"),
        ("power", "d: {{ 10 ** 100000000 }}\n"),
        ("sorted", "d: {{ ([1] * 100000000) | sort | length }}\n"),
        ("unique", "d: {{ ([1] * 100000000) | unique | length }}\n"),
        ("parted", "d: {{ (',' * 60000000) | split(',') | length }}\n"),
        ("parted, as a method", "d: {{ (',' * 60000000).split(',') | length }}\n"),
        ("lines", "d: {{ ('\\n' * 60000000) | lines | length }}\n"),
        ("lines, as a method", "d: {{ ('\\n' * 60000000).splitlines() | length }}\n"),
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

/// What a cluster's own values hold is as much as a file may hold: looking at all of it costs as much.
#[test]
fn values_are_not_walked_through_for_one_step() {
    let list: String = (0..20_000).map(|at| format!("{at}, ")).collect();
    let keys: String = (0..20_000).map(|at| format!("k{at}: {at}, ")).collect();
    let values = format!("{{a: {{l: [{list}]}}, b: {{l: [{list}]}}, m: {{{keys}}}}}");
    let deep = format!("{{d: {}{list}{}}}", "[".repeat(90), "]".repeat(90));
    let (many, few) = ("{% for i in range(10000) %}", "{% for i in range(20) %}");
    for (template, values, is_limit) in [
        (format!("{many}{{% if a == b %}}{{% endif %}}{{% endfor %}}"), &values, true),
        (format!("{many}{{% if a.l in [b.l] %}}{{% endif %}}{{% endfor %}}"), &values, true),
        (format!("{few}{{% if a == b %}}{{% endif %}}{{% endfor %}}"), &values, false),
        (format!("{many}{{% if a is eq(b) or a is ne(b) %}}{{% endif %}}{{% endfor %}}"), &values, true),
        (format!("{many}{{% if a.l is in([b.l]) %}}{{% endif %}}{{% endfor %}}"), &values, true),
        (format!("{many}{{% if [a] | select('==', b) | list %}}{{% endif %}}{{% endfor %}}"), &values, true),
        (
            format!("{many}{{% if [a] | selectattr('l', 'le', b.l) | list %}}{{% endif %}}{{% endfor %}}"),
            &values,
            true,
        ),
        (format!("{many}{{% if [a, b] | sort %}}{{% endif %}}{{% endfor %}}"), &values, true),
        (format!("{many}{{% if [a, b] | unique %}}{{% endif %}}{{% endfor %}}"), &values, true),
        (format!("{many}{{% if [a, b] | min == [a, b] | max %}}{{% endif %}}{{% endfor %}}"), &values, true),
        (format!("{many}{{% if [a, b] | groupby('l') %}}{{% endif %}}{{% endfor %}}"), &values, true),
        (
            format!("{many}{{% if {{'a': a, 'b': b}} | dictsort(by='value') %}}{{% endif %}}{{% endfor %}}"),
            &values,
            true,
        ),
        (format!("{many}{{% if [[a, b]] | map('sort') | list %}}{{% endif %}}{{% endfor %}}"), &values, true),
        ("d: {{ (a.l | sort)[0] + (a.l | unique | length) }}\n".to_owned(), &values, false),
        (
            format!("{many}{{% if m and m.k19999 and m | length %}}{{% endif %}}{{% endfor %}}"),
            &values,
            false,
        ),
        ("d: {{ a.l | sum }}\n".to_owned(), &values, false),
        ("d: {{ m }}\n".to_owned(), &values, false),
        (format!("d: '{few}{{{{ d | tojson(indent=16) }}}}{{% endfor %}}'\n"), &deep, true),
    ] {
        println!("{template}");
        let found = rendered(&[("a.yaml", &format!("{HEAD}{template}"))], values).err();
        assert_eq!(found.is_some(), is_limit, "{template}: {found:#?}");
        assert!(found.iter().flatten().all(|found| found.starts_with("template-limit ")), "{found:#?}");
    }
}

/// Each template is within its limit, and all of them together are not.
#[test]
fn templates_are_bounded_together() {
    let busy = format!("{HEAD}{{% for i in range(90000) %}}{{% set x = i + 1 %}}{{% endfor %}}\n");
    let named: Vec<(String, String)> = (0..30)
        .map(|at| (format!("t{at:02}.yaml"), busy.replace("name: one", &format!("name: n{at}"))))
        .collect();
    let files = |count: usize| -> Vec<(&str, &str)> {
        named[..count].iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
    };
    assert_eq!(rendered(&files(2), "{}").unwrap().files.len(), 2);
    let found = rendered(&files(30), "{}").unwrap_err();
    let [only] = found.as_slice() else { panic!("{found:#?}") };
    assert!(
        only.starts_with("template-limit aws/v1.0.0/templates/t")
            && only.contains("the templates of this release take more than 4 million steps for one cluster"),
        "{only}"
    );
    // Those that fail are charged, too.
    let failing: Vec<(String, String)> =
        (0..1_200).map(|at| (format!("t{at:04}.yaml"), format!("{HEAD}d: {{{{ nowhere }}}}\n"))).collect();
    let failing: Vec<(&str, &str)> =
        failing.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let found = rendered(&failing, "{}").unwrap_err();
    assert!(found.last().unwrap().contains("take more than 4 million steps"), "{:?}", found.last());
    assert!(found.len() > 900, "{}", found.len());
}

/// Layers of templates that each name the next one several times.
#[test]
fn templates_that_name_one_another_often_are_followed_once() {
    let layers: Vec<(String, String)> = (0..14)
        .map(|at| {
            let next = format!("{{% include '_{}.yaml' %}}", at + 1).repeat(5);
            (format!("_{at}.yaml"), if at < 13 { next } else { String::new() })
        })
        .collect();
    let head = format!("{HEAD}{{% if false %}}{{% include '_0.yaml' %}}{{% endif %}}d: e\n");
    let mut files: Vec<(&str, &str)> =
        layers.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    files.push(("a.yaml", &head));
    assert!(rendered(&files, "{}").is_ok());
    let found = {
        let deeper: Vec<(String, String)> = (0..20)
            .map(|at| {
                (format!("_{at:02}.yaml"), format!("{{% include '_{:02}.yaml' ignore missing %}}", at + 1))
            })
            .collect();
        let files: Vec<(&str, &str)> =
            deeper.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        rendered(&files, "{}").unwrap_err()
    };
    assert!(found[0].contains("read one another more than 16 deep"), "{found:#?}");
}

#[test]
fn templates_are_rendered_at_each_bound_and_refused_beyond() {
    let comment = |bytes: usize| format!("{HEAD}#{}", "x".repeat(bytes - HEAD.len() - 1));
    let output = |bytes: usize| {
        format!(
            "{HEAD}#{{% for i in range(64) %}}{}{{% endfor %}}{}",
            "x".repeat(65_000),
            "x".repeat(bytes - HEAD.len() - 1 - 64 * 65_000)
        )
    };
    let objects = |count: usize| {
        format!(
            "{{% for i in range({count}) %}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: n{{{{ i }}}}}}\n{{% endfor %}}"
        )
    };
    let named = |values: usize| format!("{HEAD}{{% set x = range({}) | list %}}", values - 1);
    // Four, each of which counts some bytes more than it has.
    let inserted =
        |bytes: usize| format!("{HEAD}{{% set x = 'x' * {bytes} %}}d: [{}]\n", "{{ x }}, ".repeat(4));
    let calls = |deep: usize| {
        format!(
            "{{% macro m(n) %}}{{% if n %}}{{{{ m(n - 1) }}}}{{% endif %}}{{% endmacro %}}{HEAD}{{{{ m({}) }}}}",
            deep - 1
        )
    };
    for (what, at, beyond, told) in [
        (
            "bytes of templates",
            comment(4_194_304),
            comment(4_194_305),
            "the templates have 4194305 bytes, and 4194304 at most are read",
        ),
        (
            "bytes of output",
            output(4_194_304),
            output(4_194_305),
            "the output of this template exceeds 4 MiB",
        ),
        ("objects", objects(10_000), objects(10_001), "10000 objects"),
        ("values in a name", named(100_000), named(100_001), "steps"),
        ("calls", calls(33), calls(34), "depth"),
        ("values in it", inserted(1_048_500), inserted(1_048_576), "the inserted values exceed 4 MiB"),
    ] {
        let done = rendered(&[("a.yaml", &at)], "{}").err();
        assert!(done.is_none(), "{what}: {done:#?}");
        let found = rendered(&[("a.yaml", &beyond)], "{}").err().unwrap_or_default();
        assert!(
            found.first().is_some_and(|found| found.starts_with("template-limit ") && found.contains(told)),
            "{what}: {found:#?}"
        );
    }
}

/// What a template takes that makes so many bytes; `None` where that is too much.
fn taken(bytes: usize) -> Option<u64> {
    let folder = RepoPath::parse("aws/v1.0.0/templates").unwrap();
    let template = format!("{HEAD}d: {{{{ ('x' * {bytes}) | length }}}}\n");
    let read = Templates::read(&folder, &[file(&format!("{folder}/a.yaml"), &template)]).unwrap();
    let inventory = inventory("ClusterDefinition c: {in: {site: fra1}}\nSite fra1: {}\n");
    let member = Member::of(&inventory, inventory.cluster("c").unwrap()).unwrap();
    let folder = RepoPath::parse("acme/c").unwrap();
    let cluster = Cluster { name: "c", folder: &folder, levels: &member.levels, clusters: None };
    read.render(cluster, &member.values(None)).ok().map(|_| read.steps())
}

/// The most bytes, in thousands of 64, that take no more than so many steps.
fn bytes_for(steps: u64) -> usize {
    let (mut at, mut beyond) = (0, 4_000);
    while beyond - at > 1 {
        let middle = usize::midpoint(at, beyond);
        if taken(middle * 64_000).is_some_and(|taken| taken <= steps) { at = middle } else { beyond = middle }
    }
    at * 64_000
}

/// A template is tried with 4,000, 40,000 and 400,000 steps first, which count where they are not enough.
#[test]
fn steps_are_taken_up_to_their_bound() {
    let most = bytes_for(u64::MAX);
    let steps = taken(most).unwrap() - 444_000;
    assert!((1_990_000..=2_000_000).contains(&steps), "one template: {steps}");

    // An expression takes what it takes in a template.
    let is_computed = |bytes: usize| {
        let values = format!("{{a: \"{{{{ ('x' * {bytes}) | length }}}}\"}}");
        let objects =
            format!("ClusterDefinition c: {{in: {{site: fra1}}, values: {values}}}\nSite fra1: {{}}\n");
        let inventory = inventory(&objects);
        let member = Member::of(&inventory, inventory.cluster("c").unwrap()).unwrap();
        member.values(None).findings.is_empty()
    };
    assert!(is_computed(bytes_for(44_000 + 99_900)));
    assert!(!is_computed(bytes_for(44_000 + 100_100) + 2 * 64_000));

    // The largest of all beside one that leaves it just enough, and beside one that takes a little more.
    let together = |bytes: usize| {
        let [a, b] = [("a", bytes), ("b", most)].map(|(name, bytes)| {
            format!("{}d: {{{{ ('x' * {bytes}) | length }}}}\n", HEAD.replace("one", name))
        });
        rendered(&[("a.yaml", &a), ("b.yaml", &b)], "{}").map(|rendered| rendered.files.len())
    };
    let first = bytes_for(4_000_000 - taken(most).unwrap());
    let steps = taken(first).unwrap() + taken(most).unwrap();
    assert!((3_998_000..=4_000_000).contains(&steps), "all templates: {steps}");
    assert_eq!(together(first), Ok(2));
    let found = together(first + 64_000).unwrap_err();
    assert!(found[0].contains("take more than 4 million steps for one cluster"), "{found:#?}");
}

#[test]
fn includes_go_as_deep_as_they_may_and_no_deeper() {
    let chain = |deep: usize| {
        let named = |at: usize| if at == 0 { "a.yaml".to_owned() } else { format!("_{at}.yaml") };
        let text = |at: usize| match at {
            0 => format!("{HEAD}{{% include '_1.yaml' %}}"),
            at if at < deep => format!("{{% include '_{}.yaml' %}}", at + 1),
            _ => String::new(),
        };
        let files: Vec<(String, String)> = (0..=deep).map(|at| (named(at), text(at))).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        rendered(&files, "{}").map(|rendered| rendered.files.len())
    };
    assert_eq!(chain(16), Ok(1));
    let found = chain(17).unwrap_err();
    assert!(found[0].contains("read one another more than 16 deep"), "{found:#?}");
}

/// What `docs/limits.md` says of clusters as they are.
#[test]
fn a_cluster_as_it_is_takes_a_small_part_of_the_steps() {
    let pool = "{% for pool in pools %}\n---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\nmetadata:\n  name: {{ cluster.name }}-{{ pool.name }}\n  namespace: {{ levels.site.name }}\nspec:\n  clusterName: {{ cluster.name }}\n  replicas: {{ pool.replicas | default(3) }}\n  template:\n    spec:\n      version: {{ version }}\n      labels: {{ pool.labels | to_yaml }}\n{% if pool.zone is defined and pool.zone != 'none' %}\n      failureDomain: {{ pool.zone }}\n{% endif %}\n{% endfor %}\n";
    let pools: String = (0..8)
        .map(|at| format!("{{name: md-{at}, replicas: 3, zone: z{at}, labels: {{a: b, c: d}}}}, "))
        .collect();
    let values = format!("{{version: v1.33.4, pools: [{pools}]}}");
    let steps = |template: &str, values: &str| {
        let folder = RepoPath::parse("aws/v1.0.0/templates").unwrap();
        let read = Templates::read(&folder, &[file(&format!("{folder}/a.yaml"), template)]).unwrap();
        let inventory = inventory(&format!(
            "ClusterDefinition c: {{in: {{site: fra1}}, values: {values}}}\nSite fra1: {{}}\n"
        ));
        let member = Member::of(&inventory, inventory.cluster("c").unwrap()).unwrap();
        let folder = RepoPath::parse("acme/c").unwrap();
        let cluster = Cluster { name: "c", folder: &folder, levels: &member.levels, clusters: None };
        read.render(cluster, &member.values(None)).unwrap();
        read.steps()
    };
    let taken = steps(pool, &values);
    assert!((500..4_000).contains(&taken), "{taken}");
    let many = "{% for a in range(10000) %}\n{% if a is defined and a != 5 %}\n# {{ a }}\n{% endif %}\n{% endfor %}\n";
    let taken = steps(&format!("{HEAD}{many}"), "{}");
    assert!((100_000..600_000).contains(&taken), "{taken}");
}
