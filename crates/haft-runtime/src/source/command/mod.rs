//! Command folders: tools in any language, one folder each, described by `tool.json`.
//!
//! Leaves to the executor the time, to the gates the permission, and to the host the watching of folders: it
//! calls [`CommandFolders::sync`]. Keeps the invariant "one bad folder never takes another tool down".

mod command_line;
mod content;
mod declaration;
mod declared;
mod discover;
mod events;
#[cfg(test)]
mod fake;
mod fields;
mod folders;
mod hosted;
mod hosted_tools;
mod lines;
mod manifest;
mod run;
mod stderr;
mod template;
mod tool;

pub use command_line::CommandLine;
pub use content::folder_hash;
pub use declared::{declared, line_of};
pub use discover::{CommandRoot, Loaded, load, load_folder};
pub use folders::CommandFolders;
pub use hosted::{Hosted, JsRuntime};
pub use hosted_tools::HostedTools;
pub(super) use lines::{KeyLines, Repeated};
pub use manifest::{Manifest, ManifestText, OutputForm, parse};
pub use template::{
    Language, TemplateError, TemplateFile, check_name, extension_template, template, typescript_template,
};
pub use tool::CommandTool;
