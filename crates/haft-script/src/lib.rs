//! The JavaScript engine: code mode, in which a model calls tools from a script, and tools written in TypeScript.
//!
//! Scripts run in a child process of their own with everything closed: no files, no network, no other programs, bounded
//! memory, ended from outside. [`Engine`] starts the children, [`child_main`] is what they do, [`code_tool`] is the tool
//! that models call, [`ScriptTool`] one that a file exports or an [`Extension`] registers. Leaves the permission of what a script does to the one call path: each call it makes is a call of
//! its own there. Keeps the invariants "every call passes the executor" and "one bad tool never takes others down".

mod child;
mod code;
mod endings;
mod engine;
mod guest;
mod module;
mod wire;

pub use child::{ChildWorld, child_main};
pub use code::{CODE_TOOL, CodeSettings, SCRIPT_NAME, SavedScript, code_tool, saved_script};
pub use endings::SOURCE_ENDINGS;
pub use engine::{Engine, MEMORY_BYTES};
pub use module::{
    Activated, COMMAND_TIMEOUT, Declared, DeclaredChange, DeclaredCommand, DeclaredHook, Discovered,
    Extension, ExtensionAbout, ExtensionStore, ModuleFault, ModuleTool, Say, ScriptModule, ScriptTool,
    activate_once, declare_all, discover, lent_tools, load_main, load_module, tightened,
};
