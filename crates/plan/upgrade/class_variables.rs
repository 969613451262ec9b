//! Values that a variable of a ClusterClass may have, by its schema: what a patch does with one of each type is what it
//! does with all.

use capstan_yaml::Node;

/// Values of the type that a variable of a class has.
pub(super) fn samples(class: &Node, variable: &str) -> Option<Vec<Node>> {
    // `validateClusterClassVariableName` of Cluster API reserves this one name, not names that begin with it.
    if variable.split('.').next() == Some("builtin") {
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

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_yaml::YamlFile;

    fn read(text: &str) -> Node {
        YamlFile::read(text).unwrap().documents()[0].root.clone()
    }

    #[test]
    fn a_variable_has_a_sample_of_each_form_that_its_schema_lets_through() {
        let table: &[(&str, Option<&str>)] = &[
            ("{type: string}", Some("[text, 10m]")),
            ("{type: integer}", Some("[1]")),
            ("{type: number}", Some("[1]")),
            ("{type: boolean}", Some("[true]")),
            ("{type: array, items: {type: integer}}", Some("[[1]]")),
            (
                "{type: object, properties: {a: {type: string}, b: {type: boolean}}}",
                Some("[{a: text, b: true}]"),
            ),
            ("{type: object, properties: {a: {type: array, items: {type: boolean}}}}", Some("[{a: [true]}]")),
            // Nothing is known of the fields.
            ("{type: object, additionalProperties: {type: string}}", None),
            ("{type: array}", None),
            ("{x-kubernetes-preserve-unknown-fields: true}", None),
        ];
        for name in ["ours", "builtinImage"] {
            for (schema, expected) in table {
                let class = read(&format!(
                    "{{spec: {{variables: [{{name: {name}, schema: {{openAPIV3Schema: {schema}}}}}]}}}}"
                ));
                let found = samples(&class, name).map(|samples| Node::sequence(samples).value());
                assert_eq!(found, expected.map(|text| read(text).value()), "{name}: {schema}");
            }
        }
    }

    #[test]
    fn variables_of_cluster_api_itself_are_scalars_of_every_type() {
        let class = read("{spec: {}}");
        for (variable, expected) in [
            ("builtin.cluster.name", Some("[text, 10m, 1, true]")),
            ("builtin", Some("[text, 10m, 1, true]")),
            ("builtinImage", None),
        ] {
            let found = samples(&class, variable).map(|samples| Node::sequence(samples).value());
            assert_eq!(found, expected.map(|text| read(text).value()), "{variable}");
        }
    }
}
