//! Some of the objects that templates come to.

use super::*;

#[test]
fn a_part_of_a_file_keeps_its_text_and_comments() {
    let object = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    let all = format!(
        "# First.\n{}---\n# Of two.\n{}data:\n  marker: |\n    a\n    ---\n    b\n---\n# Of three.\n{}",
        object("one"),
        object("two"),
        object("three")
    );
    let render = || rendered(&[("a.yaml", &all), ("b.yaml", &object("four"))], "{}").unwrap();
    let told = |rendered: &RenderedTemplates| -> Vec<(String, Vec<(String, usize)>)> {
        let objects = |file: &RenderedFile| {
            file.objects.iter().map(|object| (object.id.name.clone(), object.document)).collect()
        };
        rendered.files.iter().map(|file| (file.text.clone(), objects(file))).collect()
    };
    let own = |name: &str, document: usize| (name.to_owned(), document);
    let two = format!("# Of two.\n{}data:\n  marker: |\n    a\n    ---\n    b\n", object("two"));
    for (wanted, expected) in [
        (vec!["one", "two", "three", "four"], told(&render())),
        (vec!["two"], vec![(two.clone(), vec![own("two", 0)]), (String::new(), Vec::new())]),
        (
            vec!["one", "three", "four"],
            vec![
                (
                    format!("# First.\n{}---\n# Of three.\n{}", object("one"), object("three")),
                    vec![own("one", 0), own("three", 1)],
                ),
                (object("four"), vec![own("four", 0)]),
            ],
        ),
    ] {
        let part = render().only(|object| wanted.contains(&object.id.name.as_str()));
        assert_eq!(told(&part), expected, "{wanted:?}");
    }
}
