//! Substitution from outside: the dialects beside one another, and any text with any values. One binary, so that it
//! links once.

mod dialects;
mod fuzzed;
mod texts;
