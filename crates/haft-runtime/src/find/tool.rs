//! `tool_search`: finds tools whose definitions aren't sent, and has them sent from the next request on.
//!
//! It lives here and not with the built-in tools, since it needs the catalogue.

use super::{Document, Found, Query, Ranking, ToolIndex, deferred::load};
use crate::{Catalogue, Offer, Snapshot};
use haft_core::{
    AnyTool, Cx, Effects, Exposure, Failure, Output, Risk, SessionView, Spec, Tool, Touch, erase,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{
    fmt::Write,
    sync::{Arc, Mutex, PoisonError},
};

/// The name of the tool that finds the others.
pub const TOOL_SEARCH: &str = "tool_search";
/// How many tools are loaded where nothing else is said.
const LIMIT: usize = 5;
/// Most tools that one search loads.
const LIMIT_MAX: usize = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchInput {
    /// What the tool should do, or names. +word: must occur; source:name; select:name,name takes these
    query: String,
    /// At most this many (5)
    limit: Option<usize>,
}

/// The tool for one catalogue.
pub fn tool_search(catalogue: &Catalogue) -> Arc<dyn AnyTool> {
    erase(ToolSearch { catalogue: catalogue.clone(), known: Arc::default() })
}

struct ToolSearch {
    catalogue: Catalogue,
    known: Arc<Mutex<Option<Known>>>,
}

/// The index of a snapshot, kept until the catalogue changes.
#[derive(Clone)]
struct Known {
    snapshot: Arc<Snapshot>,
    index: Arc<ToolIndex>,
}

impl ToolSearch {
    fn known(&self) -> Known {
        let snapshot = self.catalogue.snapshot();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| Arc::ptr_eq(&known.snapshot, &snapshot)) {
            return known.clone();
        }
        let made = Known { index: Arc::new(snapshot.index()), snapshot };
        *known = Some(made.clone());
        made
    }
}

impl Snapshot {
    /// An index of the tools that a model may find. Reads the catalogue's model of embeddings where that wasn't read yet.
    pub fn index(&self) -> ToolIndex {
        self.index_of(is_found)
    }

    /// An index of the tools that a script may find, made once.
    pub(crate) fn index_of_scripts(&self) -> &ToolIndex {
        let make = || {
            Arc::new(self.index_of(|offer| {
                let spec = offer.spec();
                spec.code_mode && (is_found(offer) || spec.exposure == Exposure::Code)
            }))
        };
        self.of_scripts.get_or_init(make)
    }

    fn index_of(&self, is_in: impl Fn(&Offer) -> bool) -> ToolIndex {
        // Without a model that can be read words alone count; the catalogue names the problem.
        let model = self.model().and_then(|source| source.model().ok());
        let offers = self.offers().filter(|offer| is_in(offer));
        ToolIndex::ranked(Ranking { model, ..Ranking::default() }, offers.map(Document::of))
    }
}

fn is_found(offer: &Offer) -> bool {
    let is_this = offer.is_core() && offer.name.as_ref() == TOOL_SEARCH;
    !is_this && matches!(offer.spec().exposure, Exposure::Direct | Exposure::Auto | Exposure::Deferred)
}

impl Tool for ToolSearch {
    type Input = SearchInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new(
            TOOL_SEARCH,
            "Finds more tools, by name or by what they do; those found can be called from then on.",
        )
        .read_only()
        .with_risk(Risk::Safe)
        .concurrency_safe()
        .with_capabilities(&["tool.meta"])
        .with_category("meta")
        .with_display("?", "Searching tools")
    }

    fn effects(&self, _: &SearchInput, _: &dyn SessionView) -> Effects {
        Effects::Only(vec![Touch::Session(super::LOADED.into())])
    }

    async fn run(&self, input: SearchInput, cx: &Cx) -> Result<Output, Failure> {
        let query = Query::parse(&input.query);
        if query.is_empty() {
            return Err(Failure::invalid(
                "the query says nothing to look for: give words of what the tool should do, a name, source:NAME, or \
                 select:NAME,NAME",
            ));
        }
        let known = self.known();
        let limit = input.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
        let mut found = known.index.search(&query, limit, |name| cx.session.shows(name));
        found.more += found.hits.len().saturating_sub(LIMIT_MAX);
        found.hits.truncate(LIMIT_MAX);
        let mut output = Output::text(describe(&found, &known.snapshot));
        for hit in &found.hits {
            let is_direct =
                known.snapshot.get(&hit.name).is_some_and(|offer| offer.spec().exposure == Exposure::Direct);
            if !is_direct {
                load(&mut output, &hit.name);
            }
        }
        Ok(output)
    }
}

/// What was found, each with its schema.
fn describe(found: &Found, snapshot: &Snapshot) -> String {
    let mut text = String::new();
    if found.hits.is_empty() {
        text.push_str("No tool fits. Use other words for what it should do, or fewer.\n");
    }
    for hit in &found.hits {
        let Some(offer) = snapshot.get(&hit.name) else { continue };
        let spec = offer.spec();
        let _ = writeln!(text, "{} (by {}): {}", offer.name, offer.owner, spec.prompt().trim());
        let _ = writeln!(text, "input schema: {}\n", spec.input_schema);
    }
    if !found.unknown.is_empty() {
        let _ = writeln!(text, "There is no tool named {}.", found.unknown.join(", "));
    }
    if found.more > 0 {
        let _ = writeln!(text, "{} more fit less well; say more, or raise limit.", found.more);
    }
    text.truncate(text.trim_end().len());
    text
}
