//! `plan` of a cluster whose ClusterClass is in a folder of its own.

use capstan_test_parts::classes::{CLASS, TEMPLATES, cluster};

use capstan_test_parts::sandbox::Sandbox;

fn release(image: &str) -> String {
    format!("kind: Cluster\nspec:\n  topology:\n    variables: [{{name: image, value: {image}}}]\n")
}

#[test]
fn machines_are_counted_through_a_class_in_another_folder() {
    let sandbox = Sandbox::with(&[
        ("aws/v1.0.0/base/cluster.yaml", &release("node-1")),
        ("aws/v1.1.0/base/cluster.yaml", &release("node-2")),
        ("acme/a/base/cluster.yaml", &cluster("a", "node-1")),
        ("acme/a/capstan.yaml", "release: aws/v1.0.0\n"),
        ("clusterclasses/quick.yaml", CLASS),
        ("clusterclasses/templates.yaml", TEMPLATES),
    ]);
    let rollouts = || sandbox.capstan(&["plan", "acme/a", "-o", "json"]).json(0)[0]["rollouts"].clone();
    let told = rollouts();
    assert_eq!((&told[0]["machines"], &told[0]["certainty"]), (&4.into(), &"offline".into()), "{told}");
    assert_eq!(told[0]["because"], serde_json::json!(["/spec/topology/variables/0/value"]));
    // A second folder defines the class otherwise. Capstan cannot know which of them is applied.
    sandbox.write("old/quick.yaml", &CLASS.replace("names: [default]", "names: [other]"));
    let told = rollouts();
    assert_eq!((&told[0]["machines"], &told[0]["certainty"]), (&serde_json::Value::Null, &"unknown".into()));
    let text = sandbox.capstan(&["plan", "acme/a"]);
    let why = "ClusterClass `quick` is in clusterclasses/quick.yaml and old/quick.yaml, and they differ.";
    assert!(text.ended(0).out.contains(why), "{}", text.out);
}
