//! The command line through the built binary, in repositories of its own, to the letter of its contract.
