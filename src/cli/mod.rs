//! Arguments and the subcommands.
