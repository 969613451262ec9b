//! The bot and all that it is made of: its loop on the forge, agents, pages, database, GitHub's adapter. A program of its
//! own, so that an edit in the bot links nothing else.

mod agents;
mod canary;
mod database;
mod deployed;
mod forge;
mod github;
mod page;
mod running;
mod server;
mod tutorial;
