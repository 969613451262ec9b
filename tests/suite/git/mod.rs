//! The git adapter against real repositories, made with the `git` program.

mod checkout;
mod file_writer;
mod repository;
