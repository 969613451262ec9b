//! `capstan demo`: the whole bot on an embedded forge with sample data.

use capstan::cli::{Demo, Failure};

pub(super) async fn run(_options: &Demo) -> Result<(), Failure> {
    Err(Failure::Failed("not yet".to_owned()))
}
