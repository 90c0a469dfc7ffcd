//! Configuration: layers of files, variables and flags merged into one [`schema::Config`], with
//! the origin of every value, plus what follows from it (models, keys) and edits that keep
//! comments. Nothing here looks at the process: the environment and directories are passed in.

#[macro_use]
pub mod text;

pub mod agents;
pub mod backends;
pub mod budget;
pub mod check;
pub mod context;
pub mod de;
pub mod diagnose;
pub mod digest;
pub mod edit;
pub mod env;
pub mod files;
pub mod hooks;
pub mod items;
pub mod json_schema;
pub mod keys;
pub mod layers;
pub mod locale;
pub mod logins;
pub mod merge;
pub mod oauth;
pub mod paths;
pub mod plugins;
pub mod project;
pub mod providers;
pub mod read;
pub mod resolve;
pub mod rules;
pub mod schema;
pub mod server_names;
pub mod show;
pub mod three;
pub mod tree;
pub mod trust;
pub mod units;
pub mod values;
pub mod variables;

#[cfg(test)]
mod tests;
