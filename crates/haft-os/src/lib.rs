//! The operating system behind haft's traits: files beneath a root, walking and searching, atomic writes,
//! locks, the state folder, processes, HTTP.
//!
//! The only crate that touches the operating system. It decides nothing: what may be read, written or run
//! was judged before. Keeps the invariants "paths are opened beneath a root handle, so what was judged is
//! what is opened" ([`OsFiles`]) and "each child is owned and tracked" ([`OsProcesses`]).

mod apply;
mod child;
mod clock;
mod environment;
mod fault;
mod files;
mod grep;
mod hash;
pub mod host;
mod http;
mod journal;
mod listen;
mod lock;
mod loopback;
mod media;
pub mod memory;
mod pool;
mod process;
mod resolve;
mod root;
mod sandbox;
mod similar;
pub mod standard;
mod standing;
mod state;
mod state_folder;
mod undo;
mod vault;
mod walk;
mod watch;
mod web;
mod write;
mod xattr;

pub use child::serve_child;
pub use clock::SystemClock;
pub use environment::Environment;
pub use files::OsFiles;
pub use http::OsHttp;
pub use listen::Listener;
pub use loopback::Loopback;
pub use media::OsMedia;
pub use pool::TokioPool;
pub use process::{ControlGroups, Limits, OsProcesses};
pub use root::Beneath;
pub use sandbox::{Sandbox, close_off};
pub use state::{OsState, Spill};
pub use vault::{NewKey, OsVault, Passphrase, SealedWith, VaultStamp};
pub use watch::FolderWatch;
pub use web::{Network, OsWeb};

use std::sync::Arc;

/// The real world: these files and processes, HTTP by the system's certificates, the guarded web, the system's
/// clock, tokio's blocking threads.
pub fn world(files: OsFiles, processes: OsProcesses) -> haft_core::World {
    haft_core::World {
        files: Arc::new(files),
        processes: Arc::new(processes),
        http: Arc::new(OsHttp::default()),
        web: Arc::new(OsWeb::default()),
        clock: Arc::new(SystemClock),
        pool: Arc::new(TokioPool),
    }
}
