//! The immutable catalogue that one model request is made with.

use super::{Offer, ToolSet, missing::AllMissing};
use crate::find::{ModelSource, ToolIndex};
use haft_core::Exposure;
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
};

/// Tools by name, in a stable order so that prompts cache.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    offers: BTreeMap<Arc<str>, Offer>,
    gone: BTreeMap<Arc<str>, Arc<str>>,
    /// What sources are for.
    about: Arc<BTreeMap<String, String>>,
    model: Option<ModelSource>,
    missing: AllMissing,
    tokens: usize,
    /// The index of what scripts may find, made for the first that looks.
    pub(crate) of_scripts: OnceLock<Arc<ToolIndex>>,
}

/// What a name leads to.
#[derive(Debug)]
pub enum Resolved<'a> {
    /// A tool, and how the name was understood.
    Tool(&'a Offer, &'static str),
    /// It was there once.
    Gone(Arc<str>),
    /// Nothing; with the nearest names.
    Unknown(Vec<Arc<str>>),
}

/// How many near names a model is shown.
const NEAREST: usize = 3;
/// What is longer is near to no name, and would take long to compare.
const COMPARED_MAX_BYTES: usize = 256;

impl Snapshot {
    pub(super) fn new(
        offers: impl Iterator<Item = Offer>,
        gone: BTreeMap<Arc<str>, Arc<str>>,
        (about, model, missing): (Arc<BTreeMap<String, String>>, Option<ModelSource>, AllMissing),
    ) -> Self {
        let offers: BTreeMap<_, _> = offers.map(|offer| (Arc::clone(&offer.name), offer)).collect();
        let is_sent = |offer: &&Offer| matches!(offer.spec().exposure, Exposure::Direct | Exposure::Auto);
        let tokens = offers.values().filter(is_sent).map(|offer| offer.tokens).sum();
        Self { offers, gone, about, model, missing, tokens, of_scripts: OnceLock::new() }
    }

    /// About how many tokens it costs to send all definitions that may be sent unasked.
    pub(crate) fn tokens(&self) -> usize {
        self.tokens
    }

    /// What tells how near words are to each other, where there is something.
    pub(crate) fn model(&self) -> Option<&ModelSource> {
        self.model.as_ref()
    }

    /// What the tools of an owner are for, in its own words.
    pub fn about(&self, owner: &str) -> Option<&str> {
        self.about.get(owner).map(String::as_str)
    }

    /// Why a tool of that name isn't there, where its source says so.
    pub fn missing(&self, name: &str) -> Option<String> {
        self.missing.why(name)
    }

    /// The tools in order of name.
    pub fn offers(&self) -> impl Iterator<Item = &Offer> {
        self.offers.values()
    }

    /// The tool with exactly that name.
    pub fn get(&self, name: &str) -> Option<&Offer> {
        self.offers.get(name)
    }

    /// Whether a tool of that name was offered and is gone.
    #[cfg(test)]
    pub(crate) fn was_offered(&self, name: &str) -> bool {
        self.gone.contains_key(name)
    }

    /// The part of it that a tool set shows, of the tools that are enabled now.
    #[must_use]
    pub fn select(&self, set: &ToolSet) -> Self {
        let offers = self.selected(set).cloned();
        let beside = (Arc::clone(&self.about), self.model.clone(), self.missing.clone());
        Self::new(offers, self.gone.clone(), beside)
    }

    /// Whether the tools of a set are now those of another snapshot.
    pub(crate) fn selects(&self, set: &ToolSet, other: &Self) -> bool {
        self.selected(set).map(|offer| offer.id).eq(other.offers().map(|offer| offer.id))
    }

    /// Whether it has just the tools of another snapshot.
    pub(crate) fn has_same_offers(&self, other: &Self) -> bool {
        self.offers().map(|offer| offer.id).eq(other.offers().map(|offer| offer.id))
    }

    fn selected(&self, set: &ToolSet) -> impl Iterator<Item = &Offer> {
        let is_enabled =
            |offer: &Offer| catch_unwind(AssertUnwindSafe(|| offer.tool.enabled())).unwrap_or(false);
        let is_in = move |offer: &&Offer| set.contains(&offer.name, offer.spec()) && is_enabled(offer);
        self.offers.values().filter(is_in)
    }

    /// Finds a tool: exact name, then alias, then the only match ignoring case.
    pub fn resolve(&self, name: &str) -> Resolved<'_> {
        if let Some(offer) = self.offers.get(name) {
            return Resolved::Tool(offer, "exact name");
        }
        let has_alias = |offer: &&Offer| offer.spec().aliases.iter().any(|alias| alias.as_ref() == name);
        if let Some(offer) = self.offers.values().find(has_alias) {
            return Resolved::Tool(offer, "alias");
        }
        if let Some(owner) = self.gone.get(name) {
            return Resolved::Gone(Arc::clone(owner));
        }
        let mut folded = self.offers.values().filter(|offer| offer.name.eq_ignore_ascii_case(name));
        if let (Some(offer), None) = (folded.next(), folded.next()) {
            return Resolved::Tool(offer, "the only name that differs in case");
        }
        Resolved::Unknown(self.nearest(name))
    }

    fn nearest(&self, name: &str) -> Vec<Arc<str>> {
        if name.len() > COMPARED_MAX_BYTES {
            return Vec::new();
        }
        let mut scored: Vec<_> =
            self.offers.keys().map(|known| (strsim::jaro_winkler(known, name), known)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        scored.into_iter().take(NEAREST).map(|(_, known)| Arc::clone(known)).collect()
    }
}
