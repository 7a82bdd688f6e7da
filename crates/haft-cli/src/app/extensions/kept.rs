//! One extension that was read, and what is registered of it.

use super::standing::Standing;
use haft_core::{BoxFuture, Failure, Files, RealPath};
use haft_runtime::{
    Catalogue, Handle,
    hooks::{Handler, Hook, HookEvent, HookHandler, Matcher},
    source::{
        Registered,
        command::{CommandFolders, CommandRoot},
    },
};
use haft_script::{Activated, DeclaredChange, DeclaredHook, Extension};
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc};

/// One extension, and what is registered of it. What it changes of others goes when this is dropped.
pub(super) struct Kept {
    /// Its folder.
    pub(super) folder: RealPath,
    /// Of all its files, as they were tried last; none where they couldn't be used.
    pub(super) hash: Option<Arc<str>>,
    /// The last that could be used.
    pub(super) extension: Option<Arc<Extension>>,
    /// How far the word of that one goes.
    pub(super) standing: Standing,
    /// Whether it can't be used as it is now.
    pub(super) is_broken: bool,
    /// How many tools it declares, also those that can't be used.
    pub(super) declared: usize,
    /// What its manifest asks for.
    pub(super) permissions: BTreeSet<String>,
    pub(super) hooks: Vec<DeclaredHook>,
    /// What it wants to change of others' tools.
    pub(super) wanted: Vec<DeclaredChange>,
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
            standing: Standing::Unseen,
            is_broken: false,
            declared: 0,
            permissions: BTreeSet::new(),
            hooks: Vec::new(),
            wanted: Vec::new(),
            hears,
            folders: Vec::new(),
            registered: Registered::default(),
            changes: Vec::new(),
        }
    }

    /// Takes in what it registers, beside its tools.
    pub(super) fn take_in(&mut self, activated: Activated, standing: Standing) {
        let Activated { hooks, changes, .. } = activated;
        (self.hooks, self.wanted) = (hooks, changes);
        (self.standing, self.is_broken) = (standing, false);
    }

    /// What it brings, as people are told of it; none where it never could be used.
    pub(super) fn brought(&self, owner: &str) -> Option<Brought> {
        let is_known = self.extension.is_some() || !self.is_broken;
        let hook = |hook: &DeclaredHook| match hook.matcher.trim() {
            "" => format!("{} for every tool", hook.event),
            matcher => format!("{} for {matcher}", hook.event),
        };
        let change = |change: &DeclaredChange| {
            let verb = if change.removes { "hides" } else { "changes" };
            format!("{verb} {}", change.name)
        };
        is_known.then(|| Brought {
            owner: owner.to_owned(),
            folder: self.folder.clone(),
            hash: self.extension.as_ref().map(|extension| Arc::clone(&extension.module().hash)),
            standing: self.standing,
            is_broken: self.is_broken,
            declared: self.declared,
            permissions: self.permissions.iter().cloned().collect(),
            hooks: self.hooks.iter().map(hook).collect(),
            changes: self.wanted.iter().map(change).collect(),
            roots: self.folders.iter().map(|folder| folder.root().clone()).collect(),
        })
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
        let event = HookEvent::parse(&declared.event)?;
        let source = extension.module().shown.clone();
        // One that can't be read may be a guard: it stays, and never works.
        let (matcher, handler) = match Matcher::parse(&declared.matcher) {
            Ok(matcher) => {
                (matcher, Handler::Rust(Arc::new(OfExtension { extension, number: declared.number })))
            }
            Err(why) => (Matcher::all(), Handler::Broken(why)),
        };
        Some(Hook {
            name: format!("{} of {source}", declared.event),
            tightens_only: self.standing == Standing::Unseen,
            matcher,
            source: Some(source),
            ..Hook::new(event, handler)
        })
    }
}

/// What an extension brings, as people are told of it.
#[derive(Debug, Clone)]
pub(crate) struct Brought {
    /// Who owns what it registers.
    pub(crate) owner: String,
    /// Its folder.
    pub(crate) folder: RealPath,
    /// Of all its files, where code of it runs in haft's own engine.
    pub(crate) hash: Option<Arc<str>>,
    /// How far its word goes.
    pub(crate) standing: Standing,
    /// Whether it can't be used as it is now.
    pub(crate) is_broken: bool,
    /// How many tools it declares, also those that can't be used.
    pub(crate) declared: usize,
    /// What its manifest asks for.
    pub(crate) permissions: Vec<String>,
    /// Its hooks, each with what it is about.
    pub(crate) hooks: Vec<String>,
    /// What it changes of others' tools.
    pub(crate) changes: Vec<String>,
    /// Its folders of command tools.
    pub(crate) roots: Vec<CommandRoot>,
}

impl Brought {
    /// Whether a tool's owner is this extension, or one of its folders of command tools.
    pub(crate) fn owns(&self, owner: &str) -> bool {
        self.owner == owner || self.roots.iter().any(|root| root.owner == owner)
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
