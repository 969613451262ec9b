//! What a template may not do, found when it is read: computing with captured text (T5), names that are not
//! literal, filters that there are not.

use std::collections::BTreeSet;

use capstan_model::spelling::suggestion;
use minijinja::machinery::{Span, ast, parse};

use super::known::{FILTERS, TESTS};
use crate::engine::{REFUSED_FILTERS, syntax};

/// An expression whose value is emitted.
#[derive(Debug, Clone)]
pub(super) struct Emission {
    /// Where the engine says that it is: of a filter, its name.
    pub(super) start: usize,
    /// Where it begins.
    pub(super) begin: usize,
    /// The width of an `indent` that is its last filter.
    pub(super) indent: Option<usize>,
    /// A text that it may come to whatever the values are, and that means something in YAML: `, `.
    pub(super) literal: Option<String>,
}

/// A template that another one names.
#[derive(Debug)]
pub(super) struct TemplateReference {
    pub(super) name: String,
    pub(super) offset: usize,
    /// `ignore missing`
    pub(super) may_miss: bool,
}

/// What was found in a template.
#[derive(Debug, Default)]
pub(super) struct TemplateFindings {
    pub(super) findings: Vec<(usize, String)>,
    pub(super) emissions: Vec<Emission>,
    pub(super) names: Vec<TemplateReference>,
}

/// How often a template is read to find the names with captured text: each pass, it may reach a name that
/// comes before.
const PASSES: usize = 50;

/// Judges a template that the engine could read.
pub(super) fn judge(name: &str, text: &str) -> TemplateFindings {
    let parsed = syntax().and_then(|syntax| parse(text, name, syntax));
    let Ok(ast::Stmt::Template(template)) = parsed else { return TemplateFindings::default() };
    let mut walker = Walker::default();
    // What is bound to captured text may be bound to another name before that in the text: until nothing is added.
    for pass in 0.. {
        let before = (walker.texts.len(), walker.callables.len());
        walker.bind(&template.children);
        if before == (walker.texts.len(), walker.callables.len()) {
            break;
        }
        if pass == PASSES {
            let message = format!(
                "text of a macro or of a `{{% set %}}` block passes backwards through more than {PASSES} names: define a name before it is used"
            );
            walker.wrong(0, message);
            break;
        }
    }
    walker.body(&template.children);
    walker.judged.emissions.sort_by_key(|emission| emission.start);
    walker.judged.findings.sort();
    walker.judged.findings.dedup();
    walker.judged
}

#[derive(Default)]
struct Walker<'t> {
    /// Variables that hold captured text with values in it.
    texts: BTreeSet<&'t str>,
    /// What gives such text when it is called: macros, imported names.
    callables: BTreeSet<&'t str>,
    /// Names that modules of macros go by.
    modules: BTreeSet<&'t str>,
    judged: TemplateFindings,
}

fn start(span: Span) -> usize {
    span.start_offset as usize
}

/// Every statement directly inside of one, in all of its branches.
fn branches<'s, 't>(statement: &'s ast::Stmt<'t>) -> Vec<&'s [ast::Stmt<'t>]> {
    match statement {
        ast::Stmt::Template(inner) => vec![&inner.children],
        ast::Stmt::ForLoop(inner) => vec![&inner.body, &inner.else_body],
        ast::Stmt::IfCond(inner) => vec![&inner.true_body, &inner.false_body],
        ast::Stmt::WithBlock(inner) => vec![&inner.body],
        ast::Stmt::SetBlock(inner) => vec![&inner.body],
        ast::Stmt::AutoEscape(inner) => vec![&inner.body],
        ast::Stmt::FilterBlock(inner) => vec![&inner.body],
        ast::Stmt::Block(inner) => vec![&inner.body],
        ast::Stmt::Macro(inner) => vec![&inner.body],
        ast::Stmt::CallBlock(inner) => vec![&inner.macro_decl.body],
        _ => Vec::new(),
    }
}

/// Whether something in it may come from values.
fn emits(body: &[ast::Stmt<'_>]) -> bool {
    body.iter().any(|statement| match statement {
        ast::Stmt::EmitExpr(emit) => emit.expr.as_const().is_none(),
        ast::Stmt::Include(_) => true,
        other => branches(other).into_iter().any(emits),
    })
}

impl<'t> Walker<'t> {
    fn bind(&mut self, body: &[ast::Stmt<'t>]) {
        for statement in body {
            match statement {
                ast::Stmt::SetBlock(set) if emits(&set.body) => self.bind_text(&set.target),
                ast::Stmt::Set(set) if self.is_captured(&set.expr) => self.bind_text(&set.target),
                ast::Stmt::WithBlock(with) => {
                    for (target, value) in &with.assignments {
                        if self.is_captured(value) {
                            self.bind_text(target);
                        }
                    }
                }
                ast::Stmt::Macro(one) if emits(&one.body) => {
                    self.callables.insert(one.name);
                }
                ast::Stmt::Import(import) => {
                    if let ast::Expr::Var(name) = &import.name {
                        self.modules.insert(name.id);
                    }
                }
                ast::Stmt::FromImport(import) => {
                    for (name, alias) in &import.names {
                        if let ast::Expr::Var(name) = alias.as_ref().unwrap_or(name) {
                            self.callables.insert(name.id);
                        }
                    }
                }
                _ => {}
            }
            for branch in branches(statement) {
                self.bind(branch);
            }
        }
    }

    fn bind_text(&mut self, target: &ast::Expr<'t>) {
        match target {
            ast::Expr::Var(name) => {
                self.texts.insert(name.id);
            }
            // Of a namespace, every attribute of that name.
            ast::Expr::GetAttr(attribute) => {
                self.texts.insert(attribute.name);
            }
            _ => {}
        }
    }

    /// Whether an expression is captured text, or may be.
    fn is_captured(&self, expression: &ast::Expr<'t>) -> bool {
        match expression {
            ast::Expr::Var(name) => self.texts.contains(name.id),
            ast::Expr::GetAttr(attribute) => match &attribute.expr {
                ast::Expr::Var(namespace) => {
                    !self.modules.contains(namespace.id)
                        && self.texts.contains(attribute.name)
                        && namespace.id != "loop"
                }
                _ => false,
            },
            ast::Expr::Call(call) => match &call.expr {
                ast::Expr::Var(name) => {
                    self.callables.contains(name.id) || matches!(name.id, "caller" | "loop" | "super")
                }
                ast::Expr::GetAttr(attribute) => {
                    matches!(&attribute.expr, ast::Expr::Var(module) if self.modules.contains(module.id))
                }
                _ => false,
            },
            ast::Expr::IfExpr(either) => {
                self.is_captured(&either.true_expr)
                    || either.false_expr.as_ref().is_some_and(|other| self.is_captured(other))
            }
            _ => false,
        }
    }

    fn wrong(&mut self, at: usize, message: impl Into<String>) {
        self.judged.findings.push((at, message.into()));
    }

    /// An expression that is emitted or bound to a name: captured text may stand there.
    fn passed(&mut self, expression: &ast::Expr<'t>) {
        match expression {
            ast::Expr::IfExpr(either) => {
                self.computed(&either.test_expr, "in a condition");
                self.passed(&either.true_expr);
                if let Some(other) = &either.false_expr {
                    self.passed(other);
                }
            }
            captured if self.is_captured(captured) => self.inside(captured),
            other => self.inside(other),
        }
    }

    /// An expression that is computed with.
    fn computed(&mut self, expression: &ast::Expr<'t>, how: &str) {
        if self.is_captured(expression) {
            self.wrong(
                begin(expression),
                format!(
                    "text of a macro or of a `{{% set %}}` block is used {how}: values are inserted at the end, so it can only be emitted. Compute with the values themselves"
                ),
            );
        }
        self.inside(expression);
    }

    /// What an expression is made of.
    fn inside(&mut self, expression: &ast::Expr<'t>) {
        match expression {
            ast::Expr::Var(_) | ast::Expr::Const(_) => {}
            ast::Expr::Slice(slice) => {
                self.computed(&slice.expr, "in a slice");
                for part in [&slice.start, &slice.stop, &slice.step].into_iter().flatten() {
                    self.computed(part, "in a slice");
                }
            }
            ast::Expr::UnaryOp(operation) => self.computed(&operation.expr, "in a computation"),
            ast::Expr::BinOp(operation) => {
                let product = matches!(operation.op, ast::BinOpKind::Mul);
                if product && [&operation.left, &operation.right].into_iter().any(is_literal_of_values) {
                    let message = "a list is not repeated: loop over `range` instead";
                    self.wrong(begin(&operation.left), message);
                }
                use ast::BinOpKind::{Eq, Gt, Gte, In, Lt, Lte, Ne};
                let how = match operation.op {
                    Eq | Ne | Lt | Lte | Gt | Gte | In => "in a comparison",
                    _ => "in a computation",
                };
                self.computed(&operation.left, how);
                self.computed(&operation.right, how);
            }
            ast::Expr::Compare(compare) => {
                self.computed(&compare.expr, "in a comparison");
                for part in &compare.ops {
                    self.computed(&part.expr, "in a comparison");
                }
            }
            ast::Expr::IfExpr(either) => {
                self.computed(&either.test_expr, "in a condition");
                self.computed(&either.true_expr, "in a computation");
                if let Some(other) = &either.false_expr {
                    self.computed(other, "in a computation");
                }
            }
            ast::Expr::Filter(filter) => {
                self.filter(filter.name, start(filter.span()));
                let how = format!("in the filter `{}`", filter.name);
                if let Some(inner) = &filter.expr {
                    self.computed(inner, &how);
                }
                self.arguments(&filter.args, &how);
            }
            ast::Expr::Test(test) => {
                if !TESTS.contains(&test.name) {
                    let at = start(test.span());
                    self.wrong(
                        at,
                        format!(
                            "there is no test `{}`{}",
                            test.name,
                            suggestion(test.name, TESTS.iter().copied())
                        ),
                    );
                }
                let how = format!("in the test `{}`", test.name);
                self.computed(&test.expr, &how);
                self.arguments(&test.args, &how);
            }
            ast::Expr::GetAttr(attribute) => self.computed(&attribute.expr, "for an attribute"),
            ast::Expr::GetItem(item) => {
                self.computed(&item.expr, "for an item");
                self.computed(&item.subscript_expr, "for an item");
            }
            ast::Expr::Call(call) => self.call(call),
            ast::Expr::List(list) if list.items.iter().any(holds_product) => {
                let message = "a list that holds a product is refused: give the product a name first, `{% set n = … %}`";
                self.wrong(start(list.span()), message);
            }
            ast::Expr::List(list) => list.items.iter().for_each(|item| self.computed(item, "in a list")),
            ast::Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.computed(item, "in a list")),
            ast::Expr::Map(map) => {
                for part in map.keys.iter().chain(&map.values) {
                    self.computed(part, "in a mapping");
                }
            }
        }
    }

    fn call(&mut self, call: &ast::Call<'t>) {
        match &call.expr {
            ast::Expr::Var(_) => {}
            ast::Expr::GetAttr(attribute) => self.computed(&attribute.expr, "for a method"),
            other => self.computed(other, "in a call"),
        }
        self.arguments(&call.args, "as an argument");
    }

    fn arguments(&mut self, arguments: &[ast::CallArg<'t>], how: &str) {
        for argument in arguments {
            let (ast::CallArg::Pos(value)
            | ast::CallArg::Kwarg(_, value)
            | ast::CallArg::PosSplat(value)
            | ast::CallArg::KwargSplat(value)) = argument;
            self.computed(value, how);
        }
    }

    fn filter(&mut self, name: &str, at: usize) {
        if let Some((_, why)) = REFUSED_FILTERS.iter().find(|(refused, _)| *refused == name) {
            self.wrong(at, format!("the filter `{name}` is refused: {why}"));
        } else if !FILTERS.contains(&name) {
            self.wrong(
                at,
                format!("there is no filter `{name}`{}", suggestion(name, FILTERS.iter().copied())),
            );
        }
    }

    fn name(&mut self, expression: &ast::Expr<'t>, tag: &str, may_miss: bool) {
        let offset = begin(expression);
        let literal = expression.as_const();
        match literal.as_ref().and_then(minijinja::Value::as_str) {
            Some(name) => self.judged.names.push(TemplateReference { name: name.to_owned(), offset, may_miss }),
            None => self.wrong(
                offset,
                format!("`{{% {tag} %}}` must name its template in quotes, so that the files of a release are known"),
            ),
        }
    }

    fn body(&mut self, body: &[ast::Stmt<'t>]) {
        for statement in body {
            self.statement(statement);
            for branch in branches(statement) {
                self.body(branch);
            }
        }
    }

    fn statement(&mut self, statement: &ast::Stmt<'t>) {
        match statement {
            ast::Stmt::EmitExpr(emit) => {
                self.judged.emissions.push(Emission {
                    start: start(emit.expr.span()),
                    begin: begin(&emit.expr),
                    indent: last_indent(&emit.expr),
                    literal: structural_literal(&emit.expr),
                });
                self.passed(&emit.expr);
            }
            ast::Stmt::ForLoop(each) => {
                if each.recursive {
                    let message =
                        "a recursive loop is refused, because its depth is unknown: write the levels out";
                    self.wrong(begin(&each.iter), message);
                }
                self.computed(&each.iter, "in a loop");
                if let Some(filter) = &each.filter_expr {
                    self.computed(filter, "in a condition");
                }
            }
            ast::Stmt::IfCond(condition) => self.computed(&condition.expr, "in a condition"),
            ast::Stmt::WithBlock(with) => with.assignments.iter().for_each(|(_, value)| self.passed(value)),
            ast::Stmt::Set(set) => self.passed(&set.expr),
            ast::Stmt::SetBlock(set) => {
                if let Some(filter) = &set.filter {
                    self.block_filter(filter, &set.body);
                }
            }
            ast::Stmt::FilterBlock(block) => self.block_filter(&block.filter, &block.body),
            ast::Stmt::AutoEscape(block) => self.wrong(
                start(block.enabled.span()),
                "`{% autoescape %}` is refused: values become scalars and never need it",
            ),
            ast::Stmt::Import(import) => self.name(&import.expr, "import", false),
            ast::Stmt::FromImport(import) => self.name(&import.expr, "from", false),
            ast::Stmt::Extends(extends) => self.name(&extends.name, "extends", false),
            ast::Stmt::Include(include) => self.name(&include.name, "include", include.ignore_missing),
            ast::Stmt::Macro(one) => {
                one.defaults.iter().for_each(|default| self.computed(default, "as an argument"));
            }
            ast::Stmt::CallBlock(block) => self.call(&block.call),
            ast::Stmt::Do(block) => self.call(&block.call),
            _ => {}
        }
    }

    /// `{% filter upper %}…`: the text is computed with.
    fn block_filter(&mut self, filter: &ast::Expr<'t>, body: &[ast::Stmt<'t>]) {
        if emits(body) {
            self.wrong(
                start(filter.span()),
                "a filter over a block with values in it: values are inserted at the end. Filter the values themselves",
            );
        }
        self.inside(filter);
    }
}

/// The beginning of an expression; its own span begins at a filter's name, or before a condition.
fn begin(expression: &ast::Expr<'_>) -> usize {
    match expression {
        ast::Expr::Filter(filter) => filter.expr.as_ref().map_or(start(filter.span()), begin),
        ast::Expr::Test(test) => begin(&test.expr),
        ast::Expr::Compare(compare) => begin(&compare.expr),
        ast::Expr::IfExpr(either) => begin(&either.true_expr),
        other => start(other.span()),
    }
}

/// A list, tuple or mapping that is written out.
fn is_literal_of_values(expression: &ast::Expr<'_>) -> bool {
    matches!(expression, ast::Expr::List(_) | ast::Expr::Tuple(_) | ast::Expr::Map(_))
}

/// A product of a value that is certainly not a number.
fn holds_product(expression: &ast::Expr<'_>) -> bool {
    match expression {
        ast::Expr::BinOp(operation) => {
            let number = |part: &ast::Expr<'_>| part.as_const().is_some_and(|value| value.is_number());
            let unknown = matches!(operation.op, ast::BinOpKind::Mul)
                && !(number(&operation.left) && number(&operation.right));
            unknown || holds_product(&operation.left) || holds_product(&operation.right)
        }
        ast::Expr::List(list) => list.items.iter().any(holds_product),
        ast::Expr::Tuple(tuple) => tuple.items.iter().any(holds_product),
        ast::Expr::IfExpr(either) => {
            holds_product(&either.true_expr) || either.false_expr.as_ref().is_some_and(holds_product)
        }
        _ => false,
    }
}

/// A literal among an expression's possible values that has a meaning in YAML without quotes.
fn structural_literal(expression: &ast::Expr<'_>) -> Option<String> {
    if let ast::Expr::IfExpr(either) = expression {
        let other = || structural_literal(either.false_expr.as_ref()?);
        return structural_literal(&either.true_expr).or_else(other);
    }
    let value = expression.as_const()?;
    let text = value.as_str()?;
    let means = text.contains([',', '[', ']', '{', '}', '\n'])
        || text.contains(": ")
        || text.contains(" #")
        || text.ends_with(':')
        || text.starts_with(['#', '&', '*', '!', '|', '>', '"', '\''])
        || text == "-"
        || text.starts_with("- ");
    means.then(|| text.to_owned())
}

fn last_indent(expression: &ast::Expr<'_>) -> Option<usize> {
    const JINJAS: usize = 4;
    let ast::Expr::Filter(filter) = expression else { return None };
    if filter.name != "indent" {
        return None;
    }
    let width = filter.args.iter().find_map(|argument| match argument {
        ast::CallArg::Pos(width) => Some(width),
        ast::CallArg::Kwarg("width", width) => Some(width),
        _ => None,
    });
    width.map_or(Some(JINJAS), |width| width.as_const()?.as_usize())
}
