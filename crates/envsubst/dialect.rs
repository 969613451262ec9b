//! In what those who substitute differ: data, of which the rest of the package asks.

use std::cell::Cell;

/// How one of them reads and computes expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// White space round a name.
    pub blanks: Blanks,
    /// What a shell reads otherwise than the tools.
    pub strange: Strange,
    /// A variable without a value, where no default is written.
    pub unset: Unset,
    /// How much a text may ask for.
    pub bounds: TextBounds,
}

/// What becomes of white space in `${ V }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blanks {
    /// It makes the text no expression.
    Refused,
    /// It goes from an expression.
    Go,
    /// It goes from what is escaped, too: `$${ V }` comes to `${V}`.
    GoEverywhere,
}

/// What becomes of expressions that mean other things to a shell: `${V:+d}`, `${V:?d}`, `${V,^}`, expressions in the
/// arguments of functions, classes and escapes in patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strange {
    /// They are computed as the tools do.
    Computed,
    /// They are read, and not computed.
    Refused,
}

/// The text of a variable without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unset {
    /// For nothing.
    Empty,
    /// Its expression has no value.
    Refused,
}

/// How much a text may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextBounds {
    /// Expressions in expressions.
    pub depth: usize,
    /// Bytes of one text with values in it.
    pub text: usize,
    /// Bytes of all texts that share a [`TextBudget`].
    pub texts: usize,
    /// Bytes of a value of which an end is cut off: every place in it is tried.
    pub trimmed: usize,
    /// Steps that the fitting of patterns takes in all texts that share a [`TextBudget`].
    pub steps: usize,
}

/// Bytes of a text with values in it. A few expressions in a few others could ask for gigabytes, and an API server
/// takes no object that is longer.
const TEXT: usize = 1 << 20;

impl Dialect {
    /// Whole files, as clusterctl evaluates them.
    pub const CLUSTERCTL: Self = Self {
        blanks: Blanks::GoEverywhere,
        strange: Strange::Computed,
        unset: Unset::Empty,
        bounds: TextBounds { depth: 32, text: 32 << 20, texts: 32 << 20, trimmed: 1_024, steps: 1 << 26 },
    };

    /// Scalars with an unknown reader: what a shell reads otherwise is not guessed, and an expression without
    /// a value stays.
    pub const SCALARS: Self = Self {
        blanks: Blanks::Go,
        strange: Strange::Refused,
        unset: Unset::Refused,
        bounds: TextBounds { depth: 16, text: TEXT, ..Self::CLUSTERCTL.bounds },
    };

    /// Scalars that Flux substitutes in.
    pub const FLUX: Self = Self { blanks: Blanks::Refused, ..Self::SCALARS };
}

/// What is left of the bounds that hold for several texts together.
#[derive(Debug)]
pub struct TextBudget {
    bytes: Cell<usize>,
    steps: Cell<usize>,
}

impl TextBudget {
    /// All of it.
    pub const fn of(dialect: &Dialect) -> Self {
        Self { bytes: Cell::new(dialect.bounds.texts), steps: Cell::new(dialect.bounds.steps) }
    }

    /// Takes the bytes of a text; whether there are as many.
    pub fn takes_bytes(&self, count: usize) -> bool {
        take(&self.bytes, count)
    }

    /// Takes steps; whether there are as many.
    pub(crate) fn takes_steps(&self, count: usize) -> bool {
        take(&self.steps, count)
    }
}

/// What is not there is not taken, so that something smaller may still fit.
fn take(left: &Cell<usize>, count: usize) -> bool {
    let rest = left.get().checked_sub(count);
    rest.is_some_and(|rest| {
        left.set(rest);
        true
    })
}
