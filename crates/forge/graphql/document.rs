//! Reads GraphQL documents: operations, fields with arguments and aliases, fragments and variables.
//!
//! Only the executable part of the language; nothing is checked against a schema here.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// A selected field, or a fragment whose fields are selected.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GraphQlSelection {
    Field(SelectedField),
    /// An inline fragment with its type condition.
    Inline(Option<String>, Vec<GraphQlSelection>),
    /// The name of a fragment.
    Spread(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SelectedField {
    pub(crate) alias: Option<String>,
    pub(crate) name: String,
    /// Arguments with variables put in.
    pub(crate) arguments: Map<String, Value>,
    pub(crate) selections: Vec<GraphQlSelection>,
}

impl SelectedField {
    pub(crate) fn key(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.name)
    }
}

/// A document's first operation and its fragments.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) is_mutation: bool,
    pub(crate) selections: Vec<GraphQlSelection>,
    /// Fragments by name: type condition and fields.
    pub(crate) fragments: BTreeMap<String, (String, Vec<GraphQlSelection>)>,
}

/// Reads a document, with variables put in.
pub(crate) fn parse(text: &str, variables: &Value) -> Result<Document, String> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, variables: variables.clone() };
    let mut document = Document { is_mutation: false, selections: Vec::new(), fragments: BTreeMap::new() };
    while let Some(token) = parser.peek().cloned() {
        match token {
            GraphQlToken::Name(word) if word == "fragment" => {
                parser.next();
                let name = parser.name()?;
                parser.name()?;
                let condition = parser.name()?;
                let selections = parser.selections()?;
                document.fragments.insert(name, (condition, selections));
            }
            GraphQlToken::Name(word) => {
                parser.next();
                document.is_mutation = word == "mutation";
                if matches!(parser.peek(), Some(GraphQlToken::Name(_))) {
                    parser.next();
                }
                parser.variable_definitions()?;
                document.selections = parser.selections()?;
            }
            _ => document.selections = parser.selections()?,
        }
    }
    Ok(document)
}

#[derive(Clone, Debug, PartialEq)]
enum GraphQlToken {
    Name(String),
    Text(String),
    Number(String),
    Sign(char),
    Spread,
}

fn tokens(text: &str) -> Result<Vec<GraphQlToken>, String> {
    let mut found = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() || c == ',' || c == '\u{feff}' => {}
            '#' => while chars.next_if(|c| *c != '\n').is_some() {},
            '.' => {
                chars.next();
                chars.next();
                found.push(GraphQlToken::Spread);
            }
            '"' => found.push(GraphQlToken::Text(string(&mut chars)?)),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                found.push(GraphQlToken::Name(word));
            }
            c if c.is_ascii_digit() || c == '-' => {
                let mut digits = String::from(c);
                while let Some(c) = chars.next_if(|c| c.is_ascii_digit() || ".eE+-".contains(*c)) {
                    digits.push(c);
                }
                found.push(GraphQlToken::Number(digits));
            }
            c if "{}()[]:$!=@|&".contains(c) => found.push(GraphQlToken::Sign(c)),
            other => return Err(format!("Expected a token, found {other:?}")),
        }
    }
    Ok(found)
}

fn string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<String, String> {
    let mut raw = String::from("\"");
    if chars.next_if_eq(&'"').is_some() {
        if chars.next_if_eq(&'"').is_none() {
            return Ok(String::new());
        }
        let mut block = String::new();
        while !block.ends_with("\"\"\"") {
            block.push(chars.next().ok_or("Unterminated block string")?);
        }
        return Ok(block.trim_end_matches('"').trim().to_owned());
    }
    loop {
        let c = chars.next().ok_or("Unterminated string")?;
        raw.push(c);
        match c {
            '\\' => raw.extend(chars.next()),
            '"' => break,
            _ => {}
        }
    }
    // GraphQL's escapes are JSON's.
    serde_json::from_str(&raw).map_err(|error| format!("Bad string: {error}"))
}

struct Parser {
    tokens: Vec<GraphQlToken>,
    at: usize,
    variables: Value,
}

impl Parser {
    fn peek(&self) -> Option<&GraphQlToken> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<GraphQlToken> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&GraphQlToken::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        if self.take(sign) { Ok(()) } else { Err(format!("Expected {sign:?}, found {:?}", self.peek())) }
    }

    fn name(&mut self) -> Result<String, String> {
        match self.next() {
            Some(GraphQlToken::Name(name)) => Ok(name),
            other => Err(format!("Expected NAME, actual: {other:?}")),
        }
    }

    /// Skips `($a: T = default)`, keeping the defaults.
    fn variable_definitions(&mut self) -> Result<(), String> {
        if !self.take('(') {
            return Ok(());
        }
        while !self.take(')') {
            self.expect('$')?;
            let name = self.name()?;
            self.expect(':')?;
            while matches!(self.peek(), Some(GraphQlToken::Name(_) | GraphQlToken::Sign('[' | ']' | '!'))) {
                self.next();
            }
            if self.take('=') {
                let default = self.value()?;
                if let Value::Object(variables) = &mut self.variables {
                    variables.entry(name).or_insert(default);
                }
            }
        }
        Ok(())
    }

    fn selections(&mut self) -> Result<Vec<GraphQlSelection>, String> {
        self.expect('{')?;
        let mut found = Vec::new();
        while !self.take('}') {
            found.push(self.selection()?);
        }
        Ok(found)
    }

    fn selection(&mut self) -> Result<GraphQlSelection, String> {
        if self.peek() == Some(&GraphQlToken::Spread) {
            self.next();
            return match self.peek().cloned() {
                Some(GraphQlToken::Name(word)) if word == "on" => {
                    self.next();
                    let condition = self.name()?;
                    Ok(GraphQlSelection::Inline(Some(condition), self.selections()?))
                }
                Some(GraphQlToken::Name(name)) => {
                    self.next();
                    Ok(GraphQlSelection::Spread(name))
                }
                _ => Ok(GraphQlSelection::Inline(None, self.selections()?)),
            };
        }
        let first = self.name()?;
        let (alias, name) = if self.take(':') { (Some(first), self.name()?) } else { (None, first) };
        let mut arguments = Map::new();
        if self.take('(') {
            while !self.take(')') {
                let argument = self.name()?;
                self.expect(':')?;
                arguments.insert(argument, self.value()?);
            }
        }
        let selections =
            if self.peek() == Some(&GraphQlToken::Sign('{')) { self.selections()? } else { Vec::new() };
        Ok(GraphQlSelection::Field(SelectedField { alias, name, arguments, selections }))
    }

    fn value(&mut self) -> Result<Value, String> {
        match self.next() {
            Some(GraphQlToken::Sign('$')) => {
                let name = self.name()?;
                Ok(self.variables.get(&name).cloned().unwrap_or(Value::Null))
            }
            Some(GraphQlToken::Sign('[')) => {
                let mut items = Vec::new();
                while !self.take(']') {
                    items.push(self.value()?);
                }
                Ok(Value::Array(items))
            }
            Some(GraphQlToken::Sign('{')) => {
                let mut fields = Map::new();
                while !self.take('}') {
                    let name = self.name()?;
                    self.expect(':')?;
                    fields.insert(name, self.value()?);
                }
                Ok(Value::Object(fields))
            }
            Some(GraphQlToken::Text(text)) => Ok(json!(text)),
            Some(GraphQlToken::Number(digits)) => {
                serde_json::from_str(&digits).map_err(|_| format!("{digits} is not a number"))
            }
            Some(GraphQlToken::Name(word)) => Ok(match word.as_str() {
                "true" => json!(true),
                "false" => json!(false),
                "null" => Value::Null,
                _ => json!(word),
            }),
            other => Err(format!("Expected a value, found {other:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GraphQlSelection, parse};
    use serde_json::json;

    #[test]
    fn variables_stand_where_the_arguments_are() {
        let text = r#"
            mutation Move($input: UpdateRefsInput!, $n: Int = 3) {
              moved: updateRefs(input: $input, n: $n, list: [A, "b\n"]) { clientMutationId ...More }
            }
            fragment More on UpdateRefsPayload { __typename }"#;
        let document = parse(text, &json!({"input": {"repositoryId": "R_1"}})).unwrap();
        assert!(document.is_mutation);
        assert_eq!(document.fragments["More"].0, "UpdateRefsPayload");
        let [GraphQlSelection::Field(field)] = document.selections.as_slice() else { panic!("{document:?}") };
        assert_eq!((field.key(), field.name.as_str()), ("moved", "updateRefs"));
        let arguments = json!({"input": {"repositoryId": "R_1"}, "n": 3, "list": ["A", "b\n"]});
        assert_eq!(json!(field.arguments), arguments);
        assert_eq!(field.selections.len(), 2);
    }
}
