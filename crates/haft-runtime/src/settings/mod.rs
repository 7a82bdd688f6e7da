//! Settings: what people, workspaces and administrators wrote, read with file and line, and put together.
//!
//! Pure: texts come in as data. Leaves to the host where the files are, and to haft-policy what a rule means.
//! Keeps the invariant "an untrusted workspace can only tighten": what a workspace brings counts whole only
//! once its user said `haft trust`, which [`TrustFile`] remembers.

mod code;
mod edit;
mod examples;
mod hook;
mod import;
mod known;
mod load;
mod mcp;
mod merge;
mod model;
mod origin;
mod pins;
mod profile;
mod sandbox;
mod section;
mod source;
mod taint;
mod tool;
mod trust;

pub use code::CodeSetting;
pub use edit::{Added, Additions, EditError, HookEntry, HookTarget};
pub use examples::{Expected, RuleExample, RuleFile};
pub use hook::{WrittenHooks, unread_hooks, written_hooks};
pub use import::{HookFate, ImportError, ImportNote, Imported, ImportedHook, ImportedRule};
pub(crate) use known::{instead, slip};
pub use mcp::{
    ForeignServers, McpChange, McpEntry, McpLaunch, McpLogin, McpSandbox, McpSetting, McpToolSetting,
    ServerListForm, Template, is_secret_header, server_keys, server_list, switched_off,
};
pub use merge::Settings;
pub use model::ModelSetting;
pub use origin::{Origin, Scope, Setting};
pub use pins::{PinnedPart, SavedPin, TrustPins};
pub use profile::ToolSandbox;
pub use sandbox::{SandboxMode, SandboxSetting};
pub use source::{Place, Placed, SettingsSource};
pub use taint::TaintSetting;
pub use tool::{HeaderSetting, ToolSetting};
pub use trust::{SavedGrant, Trust, TrustFile};
