//! A template being run: text, `if`, `range`, `with`.

use capstan_yaml::{Value, YamlFile};

use super::expression::{DEEPEST, TemplateScope, expression, known};
use super::pieces::{TemplatePiece, pieces};
use super::tokens::word;
use super::uncomputed::{Computed, Uncomputed};
use super::values::{is_true, printed};

/// Longer templates are not computed.
const LONGEST: usize = 16 << 10;
/// Nor are what they come to, beyond this.
const LONGEST_RESULT: usize = 256 << 10;
/// How many pieces of a template are run, rounds of `range` counted one by one.
const MOST_STEPS: usize = 20_000;

/// The value that a template comes to: the YAML that it writes.
pub(in crate::rollout::class) fn evaluate(template: &str, data: &Value) -> Computed<Value> {
    let text = render(template, data)?;
    let file = YamlFile::read(&text).map_err(|_| Uncomputed)?;
    match file.documents() {
        [] => Ok(Value::Null),
        [only] => Ok(only.root.value()),
        _ => Err(Uncomputed),
    }
}

fn render(template: &str, data: &Value) -> Computed<String> {
    if template.len() > LONGEST {
        return Err(Uncomputed);
    }
    let pieces = pieces(template)?;
    let mut out = String::new();
    let mut run = GoTemplateRun { pieces: &pieces, at: 0, steps: 0 };
    match run.block(&mut Some(&mut out), TemplateScope { root: data, dot: data }, 0)? {
        BlockEnd::Text => Ok(out),
        _ => Err(Uncomputed),
    }
}

/// What ends a block.
#[derive(Debug, PartialEq, Eq)]
enum BlockEnd<'t> {
    /// The template's own end.
    Text,
    End,
    /// `else`, with a condition after `else if`.
    Else(Option<&'t str>),
}

/// A template being run.
struct GoTemplateRun<'r, 't> {
    pieces: &'r [TemplatePiece<'t>],
    at: usize,
    steps: usize,
}

impl<'t> GoTemplateRun<'_, 't> {
    /// Runs to the end of a block; without `out` it is only passed over.
    fn block(
        &mut self,
        out: &mut Option<&mut String>,
        scope: TemplateScope<'_>,
        depth: usize,
    ) -> Computed<BlockEnd<'t>> {
        if depth > DEEPEST {
            return Err(Uncomputed);
        }
        while let Some(piece) = self.pieces.get(self.at) {
            self.at += 1;
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(Uncomputed);
            }
            let action = match piece {
                TemplatePiece::Text(text) => {
                    write(out, text)?;
                    continue;
                }
                TemplatePiece::Action(action) => *action,
            };
            match keyword(action) {
                ("if", condition) => self.conditional(condition, out, scope, depth)?,
                ("range", list) => self.range(list, out, scope, depth)?,
                ("with", value) => self.with(value, out, scope, depth)?,
                ("end", "") => return Ok(BlockEnd::End),
                ("else", "") => return Ok(BlockEnd::Else(None)),
                ("else", rest) => match keyword(rest) {
                    ("if", condition) => return Ok(BlockEnd::Else(Some(condition))),
                    _ => return Err(Uncomputed),
                },
                ("define" | "block" | "template" | "break" | "continue", _) => return Err(Uncomputed),
                _ if action.starts_with("/*") => {}
                _ if out.is_some() => write(out, &printed(&expression(action, scope)?)?)?,
                _ => {}
            }
        }
        Ok(BlockEnd::Text)
    }

    fn conditional(
        &mut self,
        condition: &str,
        out: &mut Option<&mut String>,
        scope: TemplateScope<'_>,
        depth: usize,
    ) -> Computed<()> {
        let mut condition = Some(condition);
        let mut done = out.is_none();
        loop {
            let holds = !done
                && match condition {
                    Some(condition) => is_true(&known(expression(condition, scope)?)?),
                    None => true,
                };
            let mut nowhere = None;
            let ending = self.block(if holds { out } else { &mut nowhere }, scope, depth + 1)?;
            done |= holds;
            match ending {
                BlockEnd::End => return Ok(()),
                BlockEnd::Else(next) if condition.is_some() => condition = next,
                _ => return Err(Uncomputed),
            }
        }
    }

    /// `{{ range .list }}…{{ else }}…{{ end }}`: the items of a list, or of a map by its keys' order.
    fn range(
        &mut self,
        list: &str,
        out: &mut Option<&mut String>,
        scope: TemplateScope<'_>,
        depth: usize,
    ) -> Computed<()> {
        let items = match out {
            Some(_) => items(known(expression(list, scope)?)?)?,
            None => Vec::new(),
        };
        let begin = self.at;
        let mut ending = None;
        for item in &items {
            self.at = begin;
            ending = Some(self.block(out, TemplateScope { dot: item, ..scope }, depth + 1)?);
        }
        let mut nowhere = None;
        let ending = match ending {
            Some(ending) => ending,
            None => self.block(&mut nowhere, scope, depth + 1)?,
        };
        self.otherwise(ending, if items.is_empty() { out } else { &mut nowhere }, scope, depth)
    }

    /// `{{ with .value }}…{{ else }}…{{ end }}`
    fn with(
        &mut self,
        value: &str,
        out: &mut Option<&mut String>,
        scope: TemplateScope<'_>,
        depth: usize,
    ) -> Computed<()> {
        let value = match out {
            Some(_) => known(expression(value, scope)?)?,
            None => Value::Null,
        };
        let holds = is_true(&value);
        let mut nowhere = None;
        let inside = TemplateScope { dot: &value, ..scope };
        let ending = self.block(if holds { out } else { &mut nowhere }, inside, depth + 1)?;
        self.otherwise(ending, if holds { &mut nowhere } else { out }, scope, depth)
    }

    /// What follows the body of `range` or `with`: its end, or a plain `else` and its end.
    fn otherwise(
        &mut self,
        ending: BlockEnd<'t>,
        out: &mut Option<&mut String>,
        scope: TemplateScope<'_>,
        depth: usize,
    ) -> Computed<()> {
        let ending = match ending {
            BlockEnd::Else(None) => self.block(out, scope, depth + 1)?,
            ending => ending,
        };
        if ending == BlockEnd::End { Ok(()) } else { Err(Uncomputed) }
    }
}

/// What `range` goes through. Nothing and an empty list have no items; numbers and texts, which newer versions of Go
/// go through too, are not computed.
fn items(value: Value) -> Computed<Vec<Value>> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => Ok(items),
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            Ok(entries.into_iter().map(|(_, value)| value).collect())
        }
        _ => Err(Uncomputed),
    }
}

fn write(out: &mut Option<&mut String>, text: &str) -> Computed<()> {
    let Some(out) = out else { return Ok(()) };
    if out.len() + text.len() > LONGEST_RESULT {
        return Err(Uncomputed);
    }
    out.push_str(text);
    Ok(())
}

/// The first word, and what follows.
fn keyword(action: &str) -> (&str, &str) {
    let (first, rest) = action.split_at(word(action));
    (first, rest.trim())
}
