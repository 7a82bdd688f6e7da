//! Tools that TypeScript or JavaScript files export, on the same engine: each file is loaded in a child of its own,
//! asked for what it declares, and its tools run there, lent what their capabilities grant.

mod apart;
mod declare;
mod extension;
mod kept;
mod lend;
mod lent_tools;
mod live;
mod load;
mod result;
mod run;
mod source;
mod tool;

pub(crate) use apart::apart;
pub use declare::{Declared, ModuleFault, declare_all};
pub use extension::{
    Activated, COMMAND_TIMEOUT, DeclaredChange, DeclaredCommand, DeclaredHook, Extension, ExtensionAbout,
    ExtensionStore, Say, activate_once, tightened,
};
pub(crate) use lent_tools::READ;
pub use lent_tools::lent_tools;
pub(crate) use load::answered;
pub use source::{Discovered, ScriptModule, discover, load_main, load_module};
pub use tool::{ModuleTool, ScriptTool};
