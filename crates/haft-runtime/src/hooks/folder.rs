//! The folder of an extension that a hook starts in, and whether it is still what a person saw.
//!
//! Looked at before each run: a session lasts, and what a line runs may change meanwhile.

use crate::source::command::folder_hash;
use haft_core::{RealPath, World};
use std::sync::Arc;
use tokio::sync::oneshot;

/// The folder that an extension's hook starts in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFolder {
    /// Where it is.
    pub path: RealPath,
    /// What has to lie in it for the hook to be run; none where that is the user's own.
    pub seen: Option<SeenFolder>,
}

/// All that lay in a folder when a person saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFolder {
    /// The text of its manifest.
    pub manifest: Arc<str>,
    /// The [`folder_hash`] of that text and of all that lies there.
    pub hash: Arc<str>,
}

impl HookFolder {
    /// Whether nothing in it has changed. One that can't be read any more isn't what it was.
    pub(super) async fn is_as_seen(&self, world: &World) -> bool {
        let Some(SeenFolder { manifest, hash }) = self.seen.clone() else { return true };
        let (files, path) = (Arc::clone(&world.files), self.path.clone());
        let (sender, receiver) = oneshot::channel();
        world.pool.run(Box::new(move || {
            let now = folder_hash(files.as_ref(), &path, &manifest);
            // Nobody waits any more where the call was cancelled.
            let _ = sender.send(now.is_ok_and(|now| now == hash));
        }));
        receiver.await.unwrap_or(false)
    }
}
