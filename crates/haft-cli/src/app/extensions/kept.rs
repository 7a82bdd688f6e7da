//! One extension that was read, and what is registered of it.

use super::{command::ExtensionCommand, standing::Standing};
use haft_core::{BoxFuture, Failure, Files, RealPath};
use haft_runtime::{
    Catalogue, Handle,
    hooks::{Handler, Hook, HookEvent, HookHandler, Matcher},
    source::{
        Registered, Skill,
        command::{CommandFolders, CommandRoot},
    },
};
use haft_script::{Activated, DeclaredChange, DeclaredCommand, DeclaredHook, Extension};
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc};

/// What an extension says without its code being run, and how far that counts.
pub(super) struct Written {
    /// Hooks, as settings have them.
    pub(super) hooks: Vec<Hook>,
    /// Skills of models.
    pub(super) skills: Vec<Skill>,
    /// What trust remembers the extension by; none where it has nothing to be trusted, or can't be known again.
    pub(super) approval: Option<Arc<str>>,
    /// How far the word of its files goes as they are now.
    pub(super) standing: Standing,
}

impl Default for Written {
    fn default() -> Self {
        Self { hooks: Vec::new(), skills: Vec::new(), approval: None, standing: Standing::Unseen }
    }
}

impl Written {
    /// What is left of it where the extension can't be used as it is now: its hooks, which may be guards.
    pub(super) fn left(&mut self, approval: Option<Arc<str>>, standing: Standing) -> Self {
        Self { hooks: std::mem::take(&mut self.hooks), skills: Vec::new(), approval, standing }
    }

    /// Its hooks. A line of one runs with the user's rights, and an endpoint of one hears of all: nothing of one that nobody
    /// saw is run, and what it guards goes by its `onError`.
    fn heard(&self) -> impl Iterator<Item = Hook> {
        let is_unseen = self.standing == Standing::Unseen;
        self.hooks
            .iter()
            .cloned()
            .map(move |hook| if is_unseen { Hook { tightens_only: true, ..hook.held() } } else { hook })
    }
}

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
    /// What its manifest and files say, which counts without its code.
    pub(super) written: Written,
    /// What people can have it do.
    pub(super) commands: Vec<DeclaredCommand>,
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
            written: Written::default(),
            commands: Vec::new(),
            wanted: Vec::new(),
            hears,
            folders: Vec::new(),
            registered: Registered::default(),
            changes: Vec::new(),
        }
    }

    /// Takes in what it registers, beside its tools.
    pub(super) fn take_in(&mut self, activated: Activated, standing: Standing) {
        let Activated { hooks, changes, commands, .. } = activated;
        (self.hooks, self.wanted, self.commands) = (hooks, changes, commands);
        (self.standing, self.is_broken) = (standing, false);
    }

    /// What it brings, as people are told of it; none where it never could be used.
    pub(super) fn brought(&self, owner: &str) -> Option<Brought> {
        let is_known = self.extension.is_some() || !self.is_broken || !self.written.hooks.is_empty();
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
            hash: self.written.approval.clone(),
            standing: self.standing,
            is_broken: self.is_broken,
            declared: self.declared,
            permissions: self.permissions.iter().cloned().collect(),
            hooks: self.hooks.iter().map(hook).collect(),
            written_hooks: self.written.hooks.clone(),
            skills: self.written.skills.iter().map(|skill| skill.name.clone()).collect(),
            commands: self.commands.iter().map(|command| command.name.clone()).collect(),
            changes: self.wanted.iter().map(change).collect(),
            roots: self.folders.iter().map(|folder| folder.root().clone()).collect(),
        })
    }

    /// Whether it tightens something, or may deny it.
    pub(super) fn tightens(&self) -> bool {
        !self.changes.is_empty() || !self.hooks.is_empty() || !self.written.hooks.is_empty()
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
        let registered = self.hooks.iter().filter_map(|hook| self.hook(hook));
        registered.chain(self.written.heard()).filter(|_| self.hears)
    }

    /// The skills that models are told of: what nobody saw says nothing to them.
    pub(super) fn skills(&self) -> &[Skill] {
        if self.written.standing == Standing::Unseen { &[] } else { &self.written.skills }
    }

    /// The commands that can be run.
    pub(super) fn commands<'k>(&'k self, id: &'k str) -> impl Iterator<Item = ExtensionCommand> + 'k {
        let extension = self.extension.as_ref().filter(|_| !self.is_broken);
        extension.into_iter().flat_map(move |extension| {
            self.commands.iter().map(move |declared| ExtensionCommand::new(id, declared, extension))
        })
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
    /// What trust remembers it by, where there is something to be trusted.
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
    /// Hooks that its manifest declares.
    pub(crate) written_hooks: Vec<Hook>,
    /// Its skills, by name.
    pub(crate) skills: Vec<String>,
    /// Its commands, by name.
    pub(crate) commands: Vec<String>,
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
