//! One extension that was read, and what is registered of it.

use haft_core::{BoxFuture, Failure, Files, RealPath};
use haft_runtime::{
    Catalogue, Handle,
    hooks::{Handler, Hook, HookEvent, HookHandler, Matcher},
    source::{Registered, command::CommandFolders},
};
use haft_script::{DeclaredHook, Extension};
use serde_json::Value;
use std::sync::Arc;

/// One extension, and what is registered of it. What it changes of others goes when this is dropped.
pub(super) struct Kept {
    /// Its folder.
    pub(super) folder: RealPath,
    /// Of all its files, as they were tried last; none where they couldn't be used.
    pub(super) hash: Option<Arc<str>>,
    /// The last that could be used.
    pub(super) extension: Option<Arc<Extension>>,
    pub(super) hooks: Vec<DeclaredHook>,
    /// Whether its hooks count.
    pub(super) hears: bool,
    pub(super) folders: Vec<CommandFolders>,
    pub(super) registered: Registered,
    pub(super) changes: Vec<Handle>,
}

impl Kept {
    /// Nothing is registered yet.
    pub(super) fn new(folder: RealPath, hears: bool) -> Self {
        Self {
            folder,
            hash: None,
            extension: None,
            hooks: Vec::new(),
            hears,
            folders: Vec::new(),
            registered: Registered::default(),
            changes: Vec::new(),
        }
    }

    /// Whether it tightens something, or may deny it.
    pub(super) fn tightens(&self) -> bool {
        !self.changes.is_empty() || !self.hooks.is_empty()
    }

    pub(super) fn sync_folders(&mut self, catalogue: &Catalogue, files: &dyn Files) {
        for folder in &mut self.folders {
            folder.sync(catalogue, files);
        }
    }

    /// Lets its code go.
    pub(super) fn retire(&self) {
        if let Some(extension) = &self.extension {
            extension.retire();
        }
    }

    /// The hooks that count.
    pub(super) fn heard(&self) -> impl Iterator<Item = Hook> {
        self.hooks.iter().filter(|_| self.hears).filter_map(|hook| self.hook(hook))
    }

    fn hook(&self, declared: &DeclaredHook) -> Option<Hook> {
        let extension = Arc::clone(self.extension.as_ref()?);
        let (event, matcher) = (HookEvent::parse(&declared.event)?, Matcher::parse(&declared.matcher).ok()?);
        let source = extension.module().shown.clone();
        let handler = Handler::Rust(Arc::new(OfExtension { extension, number: declared.number }));
        Some(Hook {
            name: format!("{} of {source}", declared.event),
            matcher,
            source: Some(source),
            ..Hook::new(event, handler)
        })
    }
}

/// A hook in an extension's child.
struct OfExtension {
    extension: Arc<Extension>,
    number: u64,
}

impl HookHandler for OfExtension {
    fn handle(&self, input: Value) -> BoxFuture<'_, Result<Value, Failure>> {
        Box::pin(async move { self.extension.hook(self.number, &input).await })
    }
}
