//! One binary for all integration tests: compiling and linking once is what keeps them quick.

mod agents;
mod bot;
mod canary;
mod cli;
mod components;
mod conversions;
mod database;
mod dependencies;
mod deploy;
mod docs;
mod forge;
mod git;
mod github;
mod house;
mod identity;
mod installing;
mod k8s;
mod live;
mod openstack;
mod operator;
mod page;
mod plane;
mod planes;
mod real_cases;
mod reconcile;
mod server;
