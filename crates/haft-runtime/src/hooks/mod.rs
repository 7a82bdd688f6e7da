//! Hooks: programs, endpoints and Rust code that hear of calls, and may refuse or change them first.
//!
//! [`Hooks`] runs what matches and puts the answers together; `wire` is the JSON contract that existing hook
//! scripts are written for, pure. What a hook's word is worth is left to haft-policy: a deny or an ask is a
//! guard, an allow a settler. Keeps the invariants "one bad hook never takes others down", "each wait has a
//! deadline" and "a hook that was to guard and didn't work is never taken for one that agreed": each way in
//! which a hook can fail has a name of its own, and [`OnError`] decides what follows from it.

mod answer;
mod call;
mod command;
mod decision;
mod event;
mod folder;
mod hook;
mod http;
mod kept;
mod list;
mod matcher;
mod names;
mod place;
#[cfg(test)]
mod tests;
mod wire;

pub use answer::Notified;
pub(crate) use answer::Permitted;
pub(crate) use call::{HookCall, HookEnd};
pub use call::{HookSession, SessionEvent, ToolUse};
pub use decision::HookOutcome;
pub use event::HookEvent;
pub use folder::{HookFolder, SeenFolder};
pub use hook::{Endpoint, HOOK_TIMEOUT, HOOK_TIMEOUT_MAX, Handler, Hook, HookHandler, OnError};
pub use list::Hooks;
pub use matcher::Matcher;
pub use names::Names;
pub(crate) use names::other_names;
pub use place::Lookup;
