//! What one render may cost: a repository's files are anybody's input, and a few lines of them can ask for
//! gigabytes ([`limits`](capstan_yaml::limits) bounds what one text holds when it is read).
//!
//! Every step that makes values charges for them in advance: so nothing is counted twice, and an excess ends
//! the render of one folder instead of the program. Amounts only grow: a value that is replaced or removed
//! was paid for too.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use regex::{Regex, RegexBuilder};

use super::error::RenderError;
use super::go_expression;
use super::placed::{PlacedContent, PlacedValue, Scalar, SourceOffset};
use capstan_model::finding::Place;
use capstan_model::tree::RepoPath;
use capstan_yaml::limits;

/// Nesting of mappings and lists in an object, as in a text that is read: whatever walks over a value calls
/// itself for each level.
pub(super) const DEPTH: usize = limits::DEPTH;

/// Values that a render makes. The largest bundles known, of CRDs, have about 60,000.
pub(super) const VALUES: usize = 1_000_000;

/// Bytes of text that a render makes, keys included.
pub(super) const BYTES: usize = 64 << 20;

/// Objects that a render reads and generates. Clusters have dozens, whole platforms some hundreds.
pub(super) const OBJECTS: usize = 10_000;

/// Kustomizations that a render builds, each as often as it is included.
pub(super) const BUILDS: usize = 1_000;

/// Steps of searches and copies, some nanoseconds each: where every patch looks at every object, the values made
/// say nothing of the time it takes.
pub(super) const STEPS: usize = 1_000_000_000;

/// Steps of looking at one object's identities.
pub(super) const LOOK: usize = 64;

/// Steps of copying one value.
const COPY: usize = 16;

/// Bytes that one compiled expression may take, and what is tried before: most are small, but a few characters
/// (`\w{999}`) ask for megabytes, and a kustomization may have thousands of them.
const EXPRESSION_BYTES: [usize; 4] = [32 << 10, 256 << 10, 1 << 20, 4 << 20];

/// Steps of compiling a byte of an expression.
const COMPILING: usize = 4;

/// Bytes that an expression may take for what it has seen.
const SEEN_BYTES: usize = 256 << 10;

/// Bytes of a compiled expression that one step of matching a name pays for.
const FITTING: usize = 1_024;

/// A regular expression of a kustomization.
#[derive(Debug, Clone)]
pub(super) struct BudgetedRegex {
    pub(super) regex: Regex,
    /// Steps of asking whether a name fits.
    pub(super) steps: usize,
}

/// How much there is of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ValueSize {
    /// Values: the value itself, and all in it.
    pub(super) values: usize,
    /// Bytes of its texts and keys.
    pub(super) bytes: usize,
    /// Levels of mappings and lists, itself included; none for a single value.
    pub(super) height: usize,
}

impl ValueSize {
    pub(super) fn of(value: &PlacedValue) -> Self {
        match &value.content {
            PlacedContent::Scalar(scalar) => Self { values: 1, bytes: Scalar::bytes(scalar), height: 0 },
            PlacedContent::Mapping(entries) => entries.iter().fold(Self::BLANK, |mut all, (key, value)| {
                all.bytes += key.len();
                all.with(Self::of(value))
            }),
            PlacedContent::Sequence(items) => {
                items.iter().fold(Self::BLANK, |all, item| all.with(Self::of(item)))
            }
        }
    }

    pub(super) fn of_all(values: &[PlacedValue]) -> Self {
        values.iter().map(Self::of).fold(Self::default(), |all, one| Self {
            values: all.values + one.values,
            bytes: all.bytes + one.bytes,
            height: all.height.max(one.height),
        })
    }

    /// A mapping or list with nothing in it.
    const BLANK: Self = Self { values: 1, bytes: 0, height: 1 };

    fn with(self, inner: Self) -> Self {
        Self {
            values: self.values + inner.values,
            bytes: self.bytes + inner.bytes,
            height: self.height.max(inner.height + 1),
        }
    }
}

/// Where a step is written that costs something.
#[derive(Debug, Clone, Copy)]
pub(super) enum CostPlace<'a> {
    Written(&'a SourceOffset),
    Whole(&'a RepoPath),
}

impl<'a> From<&'a SourceOffset> for CostPlace<'a> {
    fn from(written: &'a SourceOffset) -> Self {
        Self::Written(written)
    }
}

impl<'a> From<&'a RepoPath> for CostPlace<'a> {
    fn from(path: &'a RepoPath) -> Self {
        Self::Whole(path)
    }
}

impl CostPlace<'_> {
    fn place(self) -> Place {
        match self {
            Self::Written(written) => Place::from(written),
            Self::Whole(path) => Place::whole(path.clone()),
        }
    }
}

/// What a render has cost so far. Each method charges, and fails where that is more than the limit.
#[derive(Debug, Default)]
pub(super) struct RenderBudget {
    values: Cell<usize>,
    bytes: Cell<usize>,
    objects: Cell<usize>,
    builds: Cell<usize>,
    steps: Cell<usize>,
    /// The expressions that were compiled: each costs once.
    expressions: RefCell<HashMap<String, Result<BudgetedRegex, String>>>,
}

impl RenderBudget {
    /// Values and their texts.
    pub(super) fn size<'a>(&self, size: ValueSize, at: impl Into<CostPlace<'a>>) -> Result<(), RenderError> {
        let at = at.into();
        let advice = "find what multiplies them and remove it";
        take(&self.values, size.values, VALUES, at, |limit| {
            format!("with this the render has more than {limit} values: {advice}")
        })?;
        self.text(size.bytes, at)
    }

    /// All of a value.
    pub(super) fn value<'a>(
        &self,
        value: &PlacedValue,
        at: impl Into<CostPlace<'a>>,
    ) -> Result<(), RenderError> {
        self.size(ValueSize::of(value), at)
    }

    /// Bytes of text.
    pub(super) fn text<'a>(&self, bytes: usize, at: impl Into<CostPlace<'a>>) -> Result<(), RenderError> {
        take(&self.bytes, bytes, BYTES, at.into(), |limit| {
            let limit = limit >> 20;
            format!(
                "with this the render has more than {limit} MiB of text: remove large files or include them once"
            )
        })
    }

    /// Objects that are read or generated.
    pub(super) fn objects<'a>(&self, count: usize, at: impl Into<CostPlace<'a>>) -> Result<(), RenderError> {
        take(&self.objects, count, OBJECTS, at.into(), |limit| {
            format!(
                "with this the render has more than {limit} objects: split the folder, or include repeated parts once"
            )
        })
    }

    /// One kustomization more.
    pub(super) fn build<'a>(&self, at: impl Into<CostPlace<'a>>) -> Result<(), RenderError> {
        take(&self.builds, 1, BUILDS, at.into(), |limit| {
            format!(
                "with this the render builds more than {limit} kustomizations: include repeated parts once"
            )
        })
    }

    /// Steps of a search.
    pub(super) fn steps<'a>(&self, count: usize, at: impl Into<CostPlace<'a>>) -> Result<(), RenderError> {
        take(&self.steps, count, STEPS, at.into(), |limit| {
            format!(
                "with this the render takes more than {} million steps: there are too many patches, fields or items for so many objects, so split them",
                limit / 1_000_000
            )
        })
    }

    /// Steps of each of some looking at each of others.
    pub(super) fn pairs<'a>(
        &self,
        some: usize,
        others: usize,
        at: impl Into<CostPlace<'a>>,
    ) -> Result<(), RenderError> {
        self.steps(some.saturating_mul(others), at)
    }

    /// A regular expression of Go's; the inner error says why the text is not one.
    pub(super) fn expression<'a>(
        &self,
        text: &str,
        at: impl Into<CostPlace<'a>>,
    ) -> Result<Result<BudgetedRegex, String>, RenderError> {
        if let Some(known) = self.expressions.borrow().get(text) {
            return Ok(known.clone());
        }
        let at = at.into();
        self.pairs(text.len(), COMPILING, at)?;
        let (mut compiled, spelled) = match go_expression::spelled(text) {
            Ok(spelled) => (Err(String::new()), spelled),
            Err(reason) => {
                self.expressions.borrow_mut().insert(text.to_owned(), Err(reason.clone()));
                return Ok(Err(reason));
            }
        };
        for bytes in EXPRESSION_BYTES {
            self.pairs(bytes, COMPILING, at)?;
            match RegexBuilder::new(&spelled).size_limit(bytes).dfa_size_limit(SEEN_BYTES).build() {
                Ok(regex) => {
                    compiled = Ok(BudgetedRegex { regex, steps: bytes / FITTING });
                    break;
                }
                Err(error) => {
                    let is_too_large = matches!(error, regex::Error::CompiledTooBig(_));
                    compiled = Err(error.to_string());
                    if !is_too_large {
                        break;
                    }
                }
            }
        }
        self.expressions.borrow_mut().insert(text.to_owned(), compiled.clone());
        Ok(compiled)
    }

    /// A copy that replaces what it was made of, so that nothing grows.
    pub(super) fn copy<'a>(
        &self,
        value: &PlacedValue,
        at: impl Into<CostPlace<'a>>,
    ) -> Result<(), RenderError> {
        self.pairs(ValueSize::of(value).values, COPY, at)
    }
}

/// Refuses parts of an object that are deeper than any value may be.
pub(super) fn refuse_deeper<'a>(depth: usize, at: impl Into<CostPlace<'a>>) -> Result<(), RenderError> {
    if depth <= DEPTH {
        return Ok(());
    }
    Err(RenderError::too_large(
        at.into().place(),
        format!("with this the object is nested deeper than {DEPTH} levels: split it"),
    ))
}

fn take(
    counter: &Cell<usize>,
    amount: usize,
    limit: usize,
    at: CostPlace<'_>,
    words: impl FnOnce(usize) -> String,
) -> Result<(), RenderError> {
    counter.set(counter.get().saturating_add(amount));
    if counter.get() > limit { Err(RenderError::too_large(at.place(), words(limit))) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_render_is_done_at_each_bound_and_refused_beyond() {
        let folder = RepoPath::parse("acme/c").unwrap();
        let size = |values: usize, bytes: usize| ValueSize { values, bytes, height: 1 };
        type Charge<'c> = &'c dyn Fn(&RenderBudget, usize) -> Result<(), RenderError>;
        let rows: [(&str, Charge<'_>, usize, &str); 6] = [
            ("values", &|budget, n| budget.size(size(n, 0), &folder), 1_000_000, "more than 1000000 values"),
            ("bytes", &|budget, n| budget.size(size(0, n), &folder), 67_108_864, "more than 64 MiB of text"),
            ("objects", &|budget, n| budget.objects(n, &folder), 10_000, "more than 10000 objects"),
            (
                "kustomizations",
                &|budget, n| (0..n).try_for_each(|_| budget.build(&folder)),
                1_000,
                "more than 1000 kustomizations",
            ),
            ("steps", &|budget, n| budget.steps(n, &folder), 1_000_000_000, "more than 1000 million steps"),
            ("levels", &|_, n| refuse_deeper(n, &folder), 200, "deeper than 200 levels"),
        ];
        for (what, charge, most, told) in rows {
            assert!(charge(&RenderBudget::default(), most).is_ok(), "{what}");
            let error = charge(&RenderBudget::default(), most + 1).unwrap_err().to_string();
            assert!(error.contains(told), "{what}: {error}");
        }
    }

    /// How large the engine makes an expression is its own affair.
    #[test]
    fn an_expression_is_compiled_up_to_its_bound() {
        let folder = RepoPath::parse("acme/c").unwrap();
        let compiled = |times: usize| {
            RenderBudget::default().expression(&format!(r"[\p{{L}}]{{{times}}}"), &folder).unwrap()
        };
        let (mut at, mut beyond) = (1, 999);
        while beyond - at > 1 {
            let middle = usize::midpoint(at, beyond);
            if compiled(middle).is_ok() { at = middle } else { beyond = middle }
        }
        let steps = compiled(at).unwrap().steps;
        assert_eq!(steps, 4_194_304 / FITTING, "{at} times take more than a quarter of what may be");
        let told = compiled(beyond).unwrap_err();
        assert!(told.contains("exceeds size limit of 4194304 bytes"), "{told}");
    }
}
