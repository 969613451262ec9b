//! A file that a kustomization's `openapi` names: definitions of types, in the form of an OpenAPI
//! description of Kubernetes.

use serde_json::Value;

use super::list_merge::ListMerge;

/// The definitions of such a file.
#[derive(Debug)]
pub(super) struct CustomSchema(Value);

/// One type of it.
pub(super) type TypeDefinition<'a> = &'a Value;

impl CustomSchema {
    pub(super) const fn new(document: Value) -> Self {
        Self(document)
    }

    fn definitions(&self) -> impl Iterator<Item = &Value> {
        self.0.get("definitions").and_then(Value::as_object).into_iter().flat_map(|fields| fields.values())
    }

    /// The definition of a kind.
    pub(super) fn of(&self, api_version: &str, kind: &str) -> Option<TypeDefinition<'_>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let text =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        self.definitions().find(|definition| {
            let kinds = definition.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
            kinds.into_iter().flatten().any(|gvk| {
                text(gvk, "group") == group && text(gvk, "version") == version && text(gvk, "kind") == kind
            })
        })
    }

    /// Whether the file says of any kind if it has a namespace.
    pub(super) fn names_scopes(&self) -> bool {
        self.0.get("paths").and_then(Value::as_object).is_some_and(|paths| !paths.is_empty())
    }

    /// The type of a field (of a list, that of its items), and how its list is merged.
    pub(super) fn field<'a>(
        &'a self,
        definition: TypeDefinition<'a>,
        name: &str,
    ) -> (Option<TypeDefinition<'a>>, Option<ListMerge>) {
        let property = definition.get("properties").and_then(|properties| properties.get(name));
        let any = definition.get("additionalProperties").filter(|schema| schema.is_object());
        let Some(field) = property.or(any).and_then(|schema| self.resolved(schema)) else {
            return (None, None);
        };
        let inner = match field.get("items") {
            Some(items) if field.get("type").and_then(Value::as_str) == Some("array") => self.resolved(items),
            Some(_) => None,
            None => Some(field),
        };
        (inner, list_merge(field))
    }

    fn resolved<'a>(&'a self, schema: TypeDefinition<'a>) -> Option<TypeDefinition<'a>> {
        let mut schema = schema;
        // As many steps as there could be definitions: references may go in a circle.
        for _ in 0..64 {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return Some(schema) };
            let pointer = reference.strip_prefix('#')?;
            schema = self.0.pointer(pointer)?;
        }
        None
    }
}

fn list_merge(field: TypeDefinition<'_>) -> Option<ListMerge> {
    let strategy = field.get("x-kubernetes-patch-strategy")?.as_str()?;
    if !strategy.split(',').any(|word| word == "merge") {
        return None;
    }
    let texts = |value: &Value| value.as_str().map(str::to_owned);
    let list: Option<Vec<String>> = field
        .get("x-kubernetes-list-map-keys")
        .and_then(Value::as_array)
        .map(|keys| keys.iter().filter_map(texts).collect());
    let single = || field.get("x-kubernetes-patch-merge-key").and_then(texts).map(|key| vec![key]);
    Some(match list.or_else(single) {
        Some(keys) if !keys.is_empty() => ListMerge::ByKey(keys),
        _ => ListMerge::Union,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_found_through_references_and_maps() {
        let schema = CustomSchema::new(json!({"definitions": {
            "acme.Foo": {
                "x-kubernetes-group-version-kind": [{"group": "acme.io", "version": "v1", "kind": "Foo"}],
                "properties": {"spec": {"$ref": "#/definitions/acme.Spec"}}
            },
            "acme.Spec": {"properties": {
                "parts": {
                    "type": "array", "items": {"$ref": "#/definitions/acme.Part"},
                    "x-kubernetes-patch-merge-key": "id", "x-kubernetes-patch-strategy": "merge"
                },
                "byName": {"additionalProperties": {"$ref": "#/definitions/acme.Part"}}
            }},
            "acme.Part": {"properties": {"tags": {
                "type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"
            }}}
        }}));
        assert!(schema.of("acme.io/v2", "Foo").is_none());
        let foo = schema.of("acme.io/v1", "Foo").unwrap();
        let (spec, none) = schema.field(foo, "spec");
        assert_eq!(none, None);
        let (part, keys) = schema.field(spec.unwrap(), "parts");
        assert_eq!(keys, Some(ListMerge::ByKey(vec!["id".to_owned()])));
        assert_eq!(schema.field(part.unwrap(), "tags").1, Some(ListMerge::Union));
        let (by_name, _) = schema.field(spec.unwrap(), "byName");
        let (part, _) = schema.field(by_name.unwrap(), "any");
        assert_eq!(schema.field(part.unwrap(), "tags").1, Some(ListMerge::Union));
    }
}
