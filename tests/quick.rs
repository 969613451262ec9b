#[path = "suite/cli/mod.rs"]
mod cli;
#[path = "suite/real_cases/mod.rs"]
mod real_cases;
mod git {
    #![allow(clippy::unwrap_used, dead_code)]
    #[path = "../suite/git/repository.rs"]
    pub(crate) mod repository;
}
