//! `checks` of a service: [CEL](https://cel.dev) expressions over its live objects, evaluated within bounds.
//!
//! | variable | |
//! |---|---|
//! | `objects` | the service's live objects, as the API has them, without `metadata.managedFields`, annotations and what Secrets hold |
//! | `cluster` | the live `Cluster` |
//! | `kubernetesVersion` | the version that the cluster's API server reports: `v1.36.3` |
//!
//! *Bounds*: the language has no loop but over what is there. So what an expression may cost at most is counted before it
//! is evaluated, from its own size and from the largest list among the facts; beyond the bound it is refused. So is what
//! may hold too much text: by `+`, which may double it each time, or by copies that functions make.
//!
//! *Caveat*: within these bounds a debug build takes up to 11 MiB of stack, which threads of the reconciler have.
//!
//! *Guarantee*: a message about an expression that cannot be evaluated contains no value of an object.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr};
use cel::{Context, ExecutionError, IdedExpr, Program, Value as Cel};
use serde_json::Value;

use capstan_model::version::KubernetesVersion;

use crate::settings::{Service, ServiceCheck};

/// Operators that nest without brackets, level by level. Fields, `&&` and `||` take so little room that the longest
/// check allowed may be full of them.
const OPERATORS: [char; 10] = ['-', '*', '/', '%', '=', '<', '>', '!', '?', '['];
/// How deep brackets may be nested: the parser is recursive.
const DEEPEST: usize = 16;
/// How many characters of operators there may be: the parser and the evaluation are recursive in these, too.
const MOST_OPERATORS: usize = 200;
/// How often `+` may occur.
const MOST_ADDITIONS: usize = 8;
/// Steps that an evaluation may take.
const MOST_STEPS: u64 = 2_000_000;
/// Bytes of text that an evaluation may make.
const MOST_BYTES: u64 = 256 << 20;
/// Functions that hand on no text of their own making.
const MAKE_NO_TEXT: [&str; 7] = ["size", "contains", "startsWith", "endsWith", "matches", "has", "int"];
/// Values that the facts may hold.
const MOST_VALUES: usize = 200_000;

/// The longest text of an expression, or of what is said of one, in characters.
const LONGEST: usize = 512;
/// The longest check that is evaluated before there is a cluster: planning threads have less stack.
const LONGEST_BEFORE: usize = 512;

/// What checks are evaluated over.
#[derive(Debug, Clone, Copy)]
pub struct CheckFacts<'a> {
    /// The service's live objects.
    pub objects: &'a [&'a Value],
    /// The live `Cluster`.
    pub cluster: &'a Value,
    /// `v1.36.3`
    pub kubernetes_version: &'a str,
}

/// A check that is not true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFailed {
    /// Its place in the list.
    pub check: usize,
    /// Whether it is false, or cannot be evaluated.
    pub how: CheckFailure,
    /// What was found, in a sentence without values of objects.
    pub words: String,
}

/// How a check is not true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckFailure {
    False,
    /// It cannot be evaluated.
    Invalid,
}

/// The checks that are not true, in their order.
pub fn evaluate_checks(checks: &[ServiceCheck], facts: CheckFacts<'_>) -> Vec<CheckFailed> {
    if checks.is_empty() {
        return Vec::new();
    }
    let mut size = FactsSize::default();
    let objects: Vec<Cel> =
        facts.objects.iter().map(|object| bound(&visible_to_checks(object), &mut size)).collect();
    size.largest = size.largest.max(objects.len());
    let cluster = bound(&visible_to_checks(facts.cluster), &mut size);
    let mut context = Context::default();
    context.add_variable_from_value("objects", Cel::List(Arc::new(objects)));
    context.add_variable_from_value("cluster", cluster);
    context.add_variable_from_value("kubernetesVersion", facts.kubernetes_version.to_owned());
    let one = |(check, text): (usize, &ServiceCheck)| {
        let text = text.as_str();
        let found = if size.values > MOST_VALUES {
            Err("the objects of the service are too large to search".to_owned())
        } else {
            // A fault of the library's is this check's own trouble.
            catch_unwind(AssertUnwindSafe(|| run(text, &context, &size)))
                .unwrap_or_else(|_| Err("it cannot be evaluated".to_owned()))
        };
        let said = shortened(text);
        match found {
            Ok(true) => None,
            Ok(false) => {
                let words = format!("the check `{said}` is false");
                Some(CheckFailed { check, how: CheckFailure::False, words })
            }
            Err(why) => {
                let words = format!("the check `{said}` cannot be evaluated: {why}");
                Some(CheckFailed { check, how: CheckFailure::Invalid, words })
            }
        }
    };
    checks.iter().enumerate().filter_map(one).collect()
}

/// A service that does not allow a version of Kubernetes.
#[derive(Debug, Clone, Copy)]
pub struct NotAllowed<'s> {
    /// Its place in the list of services.
    pub service: usize,
    pub name: &'s str,
    /// The place of the check.
    pub check: usize,
    /// The check that this version makes false.
    pub text: &'s ServiceCheck,
}

/// The enabled services that do not allow a version of Kubernetes: one of their checks names `kubernetesVersion` and
/// nothing of the cluster, and is false. The other checks are evaluated once there is a cluster.
pub fn not_allowing<'s>(services: &'s [Service], version: &KubernetesVersion) -> Vec<NotAllowed<'s>> {
    // As an API server reports it.
    let version = format!("v{}", version.as_str().trim_start_matches('v'));
    let facts = CheckFacts { objects: &[], cluster: &Value::Null, kubernetes_version: &version };
    let on = services.iter().enumerate().filter(|(_, service)| service.enabled);
    let all = on.flat_map(|(at, service)| {
        let checks = service.checks.iter().enumerate();
        checks.map(move |(check, text)| NotAllowed { service: at, name: service.name.as_str(), check, text })
    });
    let is_refused = |one: &NotAllowed<'_>| {
        let failed = || evaluate_checks(std::slice::from_ref(one.text), facts);
        is_of_version(one.text.as_str()) && failed().iter().any(|found| found.how == CheckFailure::False)
    };
    all.filter(is_refused).collect()
}

/// Whether an expression is about the version of Kubernetes and nothing else.
fn is_of_version(text: &str) -> bool {
    text.len() <= LONGEST_BEFORE
        && is_bounded(text).is_ok()
        && Program::compile(text).is_ok_and(|program| {
            let references = program.references();
            let names = |name: &str| references.has_variable(name);
            names("kubernetesVersion") && !names("objects") && !names("cluster")
        })
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// Why a text is not so much as parsed.
fn is_bounded(text: &str) -> Result<(), String> {
    let depth = text.chars().scan(0_usize, |depth, letter| {
        match letter {
            '(' | '[' | '{' => *depth += 1,
            ')' | ']' | '}' => *depth = depth.saturating_sub(1),
            _ => {}
        }
        Some(*depth)
    });
    if depth.max().unwrap_or(0) > DEEPEST {
        return Err(format!("brackets are nested more than {DEEPEST} deep"));
    }
    if text.matches(OPERATORS).count() > MOST_OPERATORS {
        return Err(format!("it has more than {MOST_OPERATORS} characters of operators"));
    }
    if text.matches('+').count() > MOST_ADDITIONS {
        return Err(format!("it has more than {MOST_ADDITIONS} `+`"));
    }
    Ok(())
}

fn run(text: &str, context: &Context<'_, '_>, size: &FactsSize) -> Result<bool, String> {
    is_bounded(text)?;
    let additions = text.matches('+').count();
    let program = Program::compile(text).map_err(|errors| first_line(&errors.to_string()))?;
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let steps = steps(program.expression(), count(size.largest.max(text.len())));
    if steps > MOST_STEPS {
        return Err(format!(
            "it searches nested lists, and would take more than {MOST_STEPS} steps over {} items",
            size.largest
        ));
    }
    let longest = count(size.longest.max(text.len()));
    if (additions > 0 || makes_text(&program)) && steps.saturating_mul(longest << additions) > MOST_BYTES {
        return Err(format!(
            "it may make more than {} MiB of text, because the longest object has {longest} bytes. Leave out `+` and conversions, or select fewer objects",
            MOST_BYTES >> 20
        ));
    }
    match program.execute(context) {
        Ok(Cel::Bool(is_so)) => Ok(is_so),
        Ok(other) => Err(format!("it returns a {}, not true or false", other.type_of())),
        Err(error) => Err(reason(&error)),
    }
}

/// Whether an expression calls a function that may hand on a text of its own making. Operators, which are called by names
/// that nobody can write, make none but by `+`.
fn makes_text(program: &Program) -> bool {
    let references = program.references();
    let is_plain = |name: &str| name.contains(['_', '@', '!']) || MAKE_NO_TEXT.contains(&name);
    references.functions().iter().any(|name| !is_plain(name))
}

/// What went wrong, without values.
fn reason(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => {
            format!("no such key: `{}`. Test for it first with `has(…)`", shortened(key))
        }
        ExecutionError::UndeclaredReference(name) => {
            format!("there is no `{name}`: use `objects`, `cluster` or `kubernetesVersion`")
        }
        ExecutionError::NoSuchOverload(error) => {
            format!("`{}` takes no {}", error.function(), error.argument_types().join(" and "))
        }
        ExecutionError::InvalidArgumentCount { expected, actual } => {
            format!("a function takes {expected} arguments, but has {actual}")
        }
        ExecutionError::IndexOutOfBounds(_) => "a list has no item of that index".to_owned(),
        ExecutionError::UnexpectedType { got, want } => format!("a value is a {got}, not a {want}"),
        _ => "its values do not fit its operators".to_owned(),
    }
}

fn first_line(text: &str) -> String {
    shortened(text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it is not CEL"))
}

/// The most steps that an expression can take where no list is longer than `each`.
fn steps(expression: &IdedExpr, each: u64) -> u64 {
    let sum = |parts: &mut dyn Iterator<Item = &IdedExpr>| {
        parts.fold(1_u64, |sum, part| sum.saturating_add(steps(part, each)))
    };
    match &expression.expr {
        Expr::Call(call) => sum(&mut call.target.as_deref().into_iter().chain(&call.args)),
        Expr::Comprehension(over) => {
            let round = steps(&over.loop_cond, each).saturating_add(steps(&over.loop_step, each));
            sum(&mut [&over.iter_range, &over.accu_init, &over.result].into_iter())
                .saturating_add(round.saturating_mul(each))
        }
        Expr::List(list) => sum(&mut list.elements.iter()),
        Expr::Select(select) => sum(&mut std::iter::once(&*select.operand)),
        Expr::Map(map) => entries(map.entries.iter().map(|entry| &entry.expr), each),
        Expr::Struct(object) => entries(object.entries.iter().map(|entry| &entry.expr), each),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => 1,
    }
}

fn entries<'e>(all: impl Iterator<Item = &'e EntryExpr>, each: u64) -> u64 {
    all.fold(1, |sum, entry| {
        let of = match entry {
            EntryExpr::MapEntry(entry) => steps(&entry.key, each).saturating_add(steps(&entry.value, each)),
            EntryExpr::StructField(field) => steps(&field.value, each),
        };
        sum.saturating_add(of)
    })
}

/// The part of an object that checks see.
fn visible_to_checks(object: &Value) -> Value {
    let mut told = object.clone();
    let is_secret = told.get("kind").and_then(Value::as_str) == Some("Secret");
    if let Some(fields) = told.as_object_mut() {
        if is_secret {
            fields.shift_remove("data");
            fields.shift_remove("stringData");
        }
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("managedFields");
            metadata.shift_remove("annotations");
        }
    }
    told
}

/// How large the facts are.
#[derive(Default)]
struct FactsSize {
    values: usize,
    /// The most items of a list, or entries of a map.
    largest: usize,
    /// The most bytes of a text.
    longest: usize,
}

/// A value of JSON as CEL has it: whole numbers are `int`, so that they compare with those that are written down.
fn bound(value: &Value, size: &mut FactsSize) -> Cel {
    size.values = size.values.saturating_add(1);
    if size.values > MOST_VALUES {
        return Cel::Null;
    }
    match value {
        Value::Null => Cel::Null,
        Value::Bool(is_so) => Cel::Bool(*is_so),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Cel::Int(whole),
            (None, Some(real)) => Cel::Float(real),
            (None, None) => Cel::Null,
        },
        Value::String(text) => {
            size.longest = size.longest.max(text.len());
            Cel::String(Arc::new(text.clone()))
        }
        Value::Array(items) => {
            size.largest = size.largest.max(items.len());
            Cel::List(Arc::new(items.iter().map(|item| bound(item, size)).collect()))
        }
        Value::Object(fields) => {
            size.largest = size.largest.max(fields.len());
            let fields: HashMap<String, Cel> =
                fields.iter().map(|(key, value)| (key.clone(), bound(value, size))).collect();
            Cel::from(fields)
        }
    }
}
