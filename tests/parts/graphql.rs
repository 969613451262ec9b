//! Holds GraphQL documents against GitHub's schema: every field, argument, type and required input must exist.

use std::collections::HashMap;
use std::sync::OnceLock;

use capstan_forge::Exchange;
use graphql_parser::query::{Definition, OperationDefinition, Selection, SelectionSet, Value as Literal};
use graphql_parser::schema::{Definition as SchemaDefinition, InputValue, Type, TypeDefinition};
use serde_json::Value;

use super::conformance::fetched;

type Schema = HashMap<String, TypeDefinition<'static, String>>;

fn schema() -> Option<&'static Schema> {
    static SCHEMA: OnceLock<Option<Schema>> = OnceLock::new();
    SCHEMA
        .get_or_init(|| {
            let text: &'static str = fetched("schema.graphql")?.leak();
            let document = graphql_parser::parse_schema::<String>(text).unwrap().into_static();
            let types = document.definitions.into_iter().filter_map(|definition| match definition {
                SchemaDefinition::TypeDefinition(definition) => {
                    Some((name(&definition).to_owned(), definition))
                }
                _ => None,
            });
            Some(types.collect())
        })
        .as_ref()
}

fn name<'a>(definition: &'a TypeDefinition<'static, String>) -> &'a str {
    match definition {
        TypeDefinition::Scalar(it) => &it.name,
        TypeDefinition::Object(it) => &it.name,
        TypeDefinition::Interface(it) => &it.name,
        TypeDefinition::Union(it) => &it.name,
        TypeDefinition::Enum(it) => &it.name,
        TypeDefinition::InputObject(it) => &it.name,
    }
}

/// Adds what is wrong with a GraphQL exchange.
pub(crate) fn check_exchange(exchange: &Exchange, found: &mut Vec<String>) {
    let Some(schema) = schema() else { return };
    let text = exchange.request["query"].as_str().unwrap_or_default();
    let document = match graphql_parser::parse_query::<String>(text) {
        Ok(document) => document.into_static(),
        Err(error) => return found.push(format!("graphql: {error} in {text}")),
    };
    let mut check = Check { schema, variables: &exchange.request["variables"], types: HashMap::new(), found };
    for definition in &document.definitions {
        let (on, variables, set) = match definition {
            Definition::Operation(OperationDefinition::SelectionSet(set)) => ("Query", None, set),
            Definition::Operation(OperationDefinition::Query(it)) => {
                ("Query", Some(&it.variable_definitions), &it.selection_set)
            }
            Definition::Operation(OperationDefinition::Mutation(it)) => {
                ("Mutation", Some(&it.variable_definitions), &it.selection_set)
            }
            Definition::Operation(OperationDefinition::Subscription(_)) => continue,
            Definition::Fragment(it) => {
                let graphql_parser::query::TypeCondition::On(on) = &it.type_condition;
                (on.as_str(), None, &it.selection_set)
            }
        };
        for variable in variables.into_iter().flatten() {
            check.types.insert(variable.name.clone(), variable.var_type.clone());
            check.given(&format!("${}", variable.name), &variable.var_type, &check.variables[&variable.name]);
        }
        check.selections(on, set);
    }
    if exchange.response.get("data").is_none() && exchange.response.get("errors").is_none() {
        found.push(format!("graphql: an answer with neither data nor errors to {text}"));
    }
}

struct Check<'a> {
    schema: &'a Schema,
    variables: &'a Value,
    types: HashMap<String, Type<'static, String>>,
    found: &'a mut Vec<String>,
}

fn inner<'a>(kind: &'a Type<'static, String>) -> &'a str {
    match kind {
        Type::NamedType(name) => name,
        Type::ListType(kind) | Type::NonNullType(kind) => inner(kind),
    }
}

impl Check<'_> {
    fn problem(&mut self, message: String) {
        self.found.push(format!("graphql: {message}"));
    }

    fn selections(&mut self, on: &str, set: &SelectionSet<'static, String>) {
        for selection in &set.items {
            match selection {
                Selection::InlineFragment(it) => {
                    let condition = it.type_condition.as_ref();
                    let on =
                        condition.map_or(on, |graphql_parser::query::TypeCondition::On(name)| name.as_str());
                    self.selections(on, &it.selection_set);
                }
                Selection::FragmentSpread(_) => {}
                Selection::Field(field) if field.name == "__typename" => {}
                Selection::Field(field) => {
                    let fields = match self.schema.get(on) {
                        Some(TypeDefinition::Object(it)) => &it.fields,
                        Some(TypeDefinition::Interface(it)) => &it.fields,
                        _ => return self.problem(format!("{on} is not a type with fields")),
                    };
                    let Some(described) = fields.iter().find(|known| known.name == field.name) else {
                        self.problem(format!("{on} has no field {}", field.name));
                        continue;
                    };
                    for argument in &described.arguments {
                        let given = field.arguments.iter().find(|(name, _)| *name == argument.name);
                        self.argument(
                            &format!("{on}.{}", field.name),
                            argument,
                            given.map(|(_, value)| value),
                        );
                    }
                    for (name, _) in &field.arguments {
                        if described.arguments.iter().all(|known| known.name != *name) {
                            self.problem(format!("{on}.{} has no argument {name}", field.name));
                        }
                    }
                    let next = inner(&described.field_type);
                    let is_leaf = matches!(
                        self.schema.get(next),
                        Some(TypeDefinition::Scalar(_) | TypeDefinition::Enum(_)) | None
                    );
                    if is_leaf != field.selection_set.items.is_empty() {
                        self.problem(format!("{on}.{} is {next}: its selection is wrong", field.name));
                    }
                    if !is_leaf {
                        self.selections(next, &field.selection_set);
                    }
                }
            }
        }
    }

    fn argument(
        &mut self,
        place: &str,
        argument: &InputValue<'static, String>,
        given: Option<&Literal<'static, String>>,
    ) {
        let place = format!("{place}({})", argument.name);
        match given {
            None | Some(Literal::Null) => {
                if matches!(argument.value_type, Type::NonNullType(_)) && argument.default_value.is_none() {
                    self.problem(format!("{place} is required"));
                }
            }
            Some(Literal::Variable(name)) => match self.types.get(name) {
                None => self.problem(format!("{place}: ${name} is not declared")),
                Some(declared) if inner(declared) != inner(&argument.value_type) => {
                    let (declared, wanted) = (declared.to_string(), argument.value_type.to_string());
                    self.problem(format!("{place}: ${name} is {declared}, not {wanted}"));
                }
                Some(_) => {}
            },
            Some(literal) => {
                if let Some(value) = self.literal(literal) {
                    self.given(&place, &argument.value_type, &value);
                }
            }
        }
    }

    /// A literal as JSON, with variables put in.
    fn literal(&self, literal: &Literal<'static, String>) -> Option<Value> {
        Some(match literal {
            Literal::Variable(name) => self.variables[name].clone(),
            Literal::Int(number) => Value::from(number.as_i64()?),
            Literal::Float(number) => Value::from(*number),
            Literal::String(text) | Literal::Enum(text) => Value::from(text.clone()),
            Literal::Boolean(it) => Value::from(*it),
            Literal::Null => Value::Null,
            Literal::List(items) => items.iter().filter_map(|item| self.literal(item)).collect(),
            Literal::Object(fields) => {
                let fields =
                    fields.iter().filter_map(|(name, value)| Some((name.clone(), self.literal(value)?)));
                Value::Object(fields.collect())
            }
        })
    }

    /// Holds a value against an input type.
    fn given(&mut self, place: &str, kind: &Type<'static, String>, value: &Value) {
        match (kind, value) {
            (Type::NonNullType(_), Value::Null) => self.problem(format!("{place} is required")),
            (_, Value::Null) => {}
            (Type::NonNullType(kind), _) => self.given(place, kind, value),
            (Type::ListType(kind), Value::Array(items)) => {
                for item in items {
                    self.given(place, kind, item);
                }
            }
            (Type::ListType(kind), single) => self.given(place, kind, single),
            (Type::NamedType(name), _) => self.named(place, name, value),
        }
    }

    fn named(&mut self, place: &str, name: &str, value: &Value) {
        match self.schema.get(name) {
            Some(TypeDefinition::InputObject(described)) => {
                let Some(fields) = value.as_object() else {
                    return self.problem(format!("{place} is {value}, not {name}"));
                };
                for field in &described.fields {
                    let given = fields.get(&field.name).unwrap_or(&Value::Null);
                    if !(given.is_null() && field.default_value.is_some()) {
                        self.given(&format!("{place}.{}", field.name), &field.value_type, given);
                    }
                }
                for field in fields.keys() {
                    if described.fields.iter().all(|known| known.name != *field) {
                        self.problem(format!("{place}: {name} has no field {field}"));
                    }
                }
            }
            Some(TypeDefinition::Enum(described)) => {
                if described.values.iter().all(|known| Some(known.name.as_str()) != value.as_str()) {
                    self.problem(format!("{place} is {value}, not one of {name}"));
                }
            }
            _ => {
                let fits = match name {
                    "Boolean" => value.is_boolean(),
                    "Int" => value.is_i64(),
                    "Float" => value.is_number(),
                    "GitObjectID" => value
                        .as_str()
                        .is_some_and(|id| id.len() == 40 && id.bytes().all(|b| b.is_ascii_hexdigit())),
                    _ => value.is_string(),
                };
                if !fits {
                    self.problem(format!("{place} is {value}, not {name}"));
                }
            }
        }
    }
}

#[test]
fn a_field_that_github_does_not_have_is_found() {
    if schema().is_none() {
        return;
    }
    let exchange = |query: &str, variables: Value| Exchange {
        method: "POST".to_owned(),
        path: "/graphql".to_owned(),
        query: String::new(),
        who: "installation 1".to_owned(),
        surface: capstan_forge::Surface::GraphQl,
        request: serde_json::json!({"query": query, "variables": variables}),
        status: 200,
        headers: Vec::new(),
        response: serde_json::json!({"data": {}}),
        faulted: false,
        began: std::time::Instant::now(),
        took: std::time::Duration::ZERO,
    };
    let mutation = "mutation($i: UpdateRefsInput!) { updateRefs(input: $i) { clientMutationId } }";
    let cases = [
        ("{ viewer { login nickname } }", serde_json::json!({}), "User has no field nickname"),
        ("{ repository(owner: \"a\") { id } }", serde_json::json!({}), "Query.repository(name) is required"),
        (mutation, serde_json::json!({"i": {"refUpdates": []}}), "$i.repositoryId is required"),
        (
            mutation,
            serde_json::json!({"i": {"repositoryId": "R", "refUpdates": [{"name": "x", "afterOid": "zz"}]}}),
            "not GitObjectID",
        ),
    ];
    for (query, variables, expected) in cases {
        let mut found = Vec::new();
        check_exchange(&exchange(query, variables), &mut found);
        assert!(found.iter().any(|line| line.contains(expected)), "{expected:?} is not in {found:?}");
    }
}
