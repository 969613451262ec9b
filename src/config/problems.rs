//! What is wrong with the settings, collected so that one start names all of it.

use std::fmt;

/// All that is wrong with the settings.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// One sentence or two each: which setting, from where, what was found, what to do.
    pub problems: Vec<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [one] => f.write_str(one),
            many => {
                write!(f, "{} settings are wrong or missing:", many.len())?;
                many.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
            }
        }
    }
}

/// Reads the environment: the value of a variable, where it is set.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Collects problems, so that all are reported at once.
pub(super) struct ConfigCheck<'a> {
    pub(super) problems: &'a mut Vec<String>,
}

impl ConfigCheck<'_> {
    pub(super) fn take<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|problem| self.problems.push(problem)).ok()
    }
}
