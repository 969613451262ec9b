//! Validated settings of the bot.
