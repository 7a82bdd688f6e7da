//! Extensions: modules whose `activate` registers tools, hooks, changes and commands, and that live on between calls.
//!
//! What an extension registers is learnt in a closed child that lends it nothing and is gone afterwards; the child that
//! answers calls starts with the first of them. Leaves to the catalogue whether what is registered may be, and to the
//! binary what is kept for it. Keeps the invariant "one bad extension never takes others down".

mod activate;
mod child;
mod command;
mod wrap;

pub use activate::{Activated, DeclaredChange, DeclaredCommand, DeclaredHook, activate_once};
pub use child::{Extension, ExtensionAbout, ExtensionStore};
pub use command::{COMMAND_TIMEOUT, Say};
pub use wrap::tightened;
