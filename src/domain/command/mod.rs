//! The grammar of slash-commands.
