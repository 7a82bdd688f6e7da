//! Code mode: a script in place of many calls, whose loops and joins the model never sees.

mod report;
mod run;
mod saved;
mod search;
mod settings;
mod signature;
mod tool;

pub use saved::{SavedScript, saved_script};
pub(crate) use search::{called, described, found};
pub use settings::CodeSettings;
pub use tool::{CODE_TOOL, SCRIPT_NAME, code_tool};
