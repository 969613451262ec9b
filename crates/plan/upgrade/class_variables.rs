//! Values that a variable of a ClusterClass may have, by its schema: what a patch does with one of each type is what it
//! does with all.

use capstan_yaml::Node;

/// Values of the type that a variable of a class has.
pub(super) fn samples(class: &Node, variable: &str) -> Option<Vec<Node>> {
    if variable.starts_with("builtin") {
        return Some(scalars());
    }
    let is_it = |one: &&Node| one.text_at("name") == Some(variable);
    let schema = class.get("spec")?.get("variables")?.as_sequence()?.iter().find(is_it)?.get("schema")?;
    samples_of(schema.get("openAPIV3Schema")?)
}

/// Texts, one of them a duration; a number; a boolean.
pub(super) fn scalars() -> Vec<Node> {
    vec![
        Node::string("text"),
        Node::string("10m"),
        Node::from_value(&1.into()),
        Node::from_value(&true.into()),
    ]
}

/// Values of a schema: all fields, one item of each list.
fn samples_of(schema: &Node) -> Option<Vec<Node>> {
    let one = |schema: &Node| samples_of(schema)?.into_iter().next();
    Some(match schema.text_at("type")? {
        "string" => vec![Node::string("text"), Node::string("10m")],
        "integer" | "number" => vec![Node::from_value(&1.into())],
        "boolean" => vec![Node::from_value(&true.into())],
        "array" => vec![Node::sequence([one(schema.get("items")?)?])],
        "object" => {
            let entries = schema.get("properties")?.as_mapping()?.iter();
            let fields = entries.map(|entry| Some((entry.key.clone(), one(&entry.value)?)));
            vec![Node::mapping(fields.collect::<Option<Vec<_>>>()?)]
        }
        _ => return None,
    })
}
