//! What comes onto the default branch together with a pull request: the pull requests below it, where it aims at the
//! branch of another one.
//!
//! *Guarantee.* Where GitHub and the open pull requests disagree, the result is "unknown", never a guess.

/// So many pull requests GitHub takes in a stack.
const MOST: usize = 100;

/// An open pull request, as far as others may be based on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link<'a> {
    pub number: u64,
    /// Its branch, where that is in the repository itself.
    pub head: Option<&'a str>,
    /// The branch that it aims at.
    pub base: &'a str,
}

/// What GitHub says of the stack that a pull request is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The branch that the whole stack is for.
    pub base: String,
    /// Those below the pull request that are not merged, the lowest first; `None` where GitHub does not say it.
    pub below: Option<Vec<u64>>,
}

/// By which way what a pull request brings comes onto the default branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// It aims at it.
    Straight,
    /// With these below it, the lowest first: its own branch holds what they bring.
    Above(Vec<u64>),
    /// By none: it is for this branch, which is another one and no open pull request's.
    Aside(String),
    /// It is not known.
    Unknown(Unclear),
}

/// Why the way is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unclear {
    /// The branches aim at each other.
    Circle,
    /// There are more below it than GitHub takes in a stack.
    TooLong,
    /// Several open pull requests have the branch below, and aim at different ones.
    Several,
    /// GitHub's stack is not what the branches say.
    Disagree,
    /// GitHub says that it is in a stack, but not in which.
    Untold,
}

impl Unclear {
    /// One word for it, which stays the same from version to version.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Circle => "circle",
            Self::TooLong => "too-long",
            Self::Several => "several",
            Self::Disagree => "disagree",
            Self::Untold => "untold",
        }
    }
}

/// Finds the way of one among the open pull requests.
pub fn way_of(pull: Link<'_>, open: &[Link<'_>], default_branch: &str, stack: Option<&Stack>) -> Way {
    let chain = match chain_below(pull, open, default_branch) {
        Ok(chain) => chain,
        Err(unclear) => return Way::Unknown(unclear),
    };
    let Some(stack) = stack else {
        return match chain {
            Chain::ToDefault(below) if below.is_empty() => Way::Straight,
            Chain::ToDefault(below) => Way::Above(below),
            Chain::To(branch, _) => Way::Aside(branch.to_owned()),
        };
    };
    let Some(told) = &stack.below else { return Way::Unknown(Unclear::Untold) };
    match chain {
        Chain::ToDefault(below) if stack.base == default_branch && below == *told => {
            if below.is_empty() {
                Way::Straight
            } else {
                Way::Above(below)
            }
        }
        Chain::To(branch, below) if stack.base == branch && below == *told => Way::Aside(branch.to_owned()),
        _ => Way::Unknown(Unclear::Disagree),
    }
}

/// The pull requests below one by its branches, the lowest first, and where that ends.
enum Chain<'a> {
    ToDefault(Vec<u64>),
    To(&'a str, Vec<u64>),
}

fn chain_below<'a>(pull: Link<'a>, open: &[Link<'a>], default_branch: &str) -> Result<Chain<'a>, Unclear> {
    let (mut below, mut base) = (Vec::new(), pull.base);
    loop {
        if base == default_branch {
            below.reverse();
            return Ok(Chain::ToDefault(below));
        }
        let mut there = open.iter().filter(|other| other.head == Some(base) && other.number != pull.number);
        let Some(next) = there.next() else {
            if pull.head == Some(base) {
                return Err(Unclear::Circle);
            }
            below.reverse();
            return Ok(Chain::To(base, below));
        };
        if there.next().is_some() {
            return Err(Unclear::Several);
        }
        if below.contains(&next.number) {
            return Err(Unclear::Circle);
        }
        if below.len() + 1 >= MOST {
            return Err(Unclear::TooLong);
        }
        below.push(next.number);
        base = next.base;
    }
}

#[cfg(test)]
#[path = "stack_tests.rs"]
mod tests;
