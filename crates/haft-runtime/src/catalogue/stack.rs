//! What is registered under one name, in layers; what shows is settled from the bottom up.

use super::{
    Offer, Problem, RegisterError,
    wrap::{Opens, Tightened},
};
use haft_core::AnyTool;
use std::sync::Arc;

/// The layers of one name, the last one on top.
#[derive(Default)]
pub(super) struct Stack {
    pub(super) layers: Vec<Layer>,
    pub(super) shown: Option<Offer>,
}

/// One registration.
pub(super) struct Layer {
    pub(super) id: u64,
    pub(super) kind: Kind,
}

/// What a layer does.
pub(super) enum Kind {
    /// Shows a tool.
    Tool(Offer),
    /// Hides what is below.
    Hide,
    /// Shows what is below, wrapped.
    Wrap(Wrapper),
}

/// A way to wrap whatever tool is below.
pub(super) struct Wrapper {
    pub(super) by: String,
    pub(super) opens: Opens,
    pub(super) make: Arc<Make>,
}

/// Makes a wrapper around a tool.
pub(super) type Make = dyn Fn(Arc<dyn AnyTool>) -> Arc<dyn AnyTool> + Send + Sync;

impl Wrapper {
    /// The wrapped offer, of the owner and the life of what it wraps.
    pub(super) fn around(&self, below: &Offer) -> Result<Offer, RegisterError> {
        let outer = (self.make)(Arc::clone(&below.tool));
        let asks_more = outer.spec().permission() > below.spec().permission();
        let tightened = Tightened::new(Arc::clone(&below.tool), outer, self.opens)?;
        let mut offer = Offer::new(Arc::new(tightened), &below.owner, below.hash.clone())?;
        if offer.name != below.name {
            let why = "changes the name".to_owned();
            return Err(RegisterError::Loosens { tool: below.name.to_string(), why });
        }
        offer.live = Arc::clone(&below.live);
        offer.asked_by = if asks_more { Some(self.by.as_str().into()) } else { below.asked_by.clone() };
        Ok(offer)
    }
}

impl Stack {
    /// Puts a tool at the bottom, or in the place of its owner's earlier one.
    pub(super) fn put(&mut self, id: u64, mut offer: Offer) -> Result<(), RegisterError> {
        let own = self
            .layers
            .iter_mut()
            .find(|layer| matches!(&layer.kind, Kind::Tool(old) if old.owner == offer.owner));
        if let Some(layer) = own {
            // A call bound to an earlier snapshot keeps the tool it was judged with, as long as the owner offers
            // the name at all: old and new share one life.
            if let Kind::Tool(old) = &layer.kind {
                offer.live = Arc::clone(&old.live);
            }
            *layer = Layer { id, kind: Kind::Tool(offer) };
            return Ok(());
        }
        if let Some(other) = self.top_tool() {
            return Err(RegisterError::Taken {
                tool: other.name.to_string(),
                owner: other.owner.to_string(),
            });
        }
        self.layers.insert(0, Layer { id, kind: Kind::Tool(offer) });
        Ok(())
    }

    /// The topmost tool, also one that is hidden.
    pub(super) fn top_tool(&self) -> Option<&Offer> {
        self.layers
            .iter()
            .rev()
            .find_map(|layer| if let Kind::Tool(offer) = &layer.kind { Some(offer) } else { None })
    }

    /// Takes a layer out.
    pub(super) fn take(&mut self, id: u64) -> Option<Layer> {
        let index = self.layers.iter().position(|layer| layer.id == id)?;
        Some(self.layers.remove(index))
    }

    /// Settles what shows. A wrapper that can't be put around what is below it now takes the tool with it, and
    /// is named.
    pub(super) fn settle(&mut self) -> Vec<(String, Problem)> {
        let mut problems = Vec::new();
        let mut shown: Option<Offer> = None;
        for layer in &self.layers {
            shown = match &layer.kind {
                Kind::Tool(offer) => Some(offer.clone()),
                Kind::Hide => None,
                Kind::Wrap(wrapper) => shown.and_then(|below| {
                    wrapper
                        .around(&below)
                        .map_err(|error| problems.push((wrapper.by.clone(), fault(wrapper, &error))))
                        .ok()
                }),
            };
        }
        self.shown = shown;
        problems
    }
}

fn fault(wrapper: &Wrapper, error: &RegisterError) -> Problem {
    Problem {
        source: wrapper.by.clone(),
        path: None,
        line: None,
        text: error.to_string(),
        fix: "declare at least what the wrapped tool declares, or dispose the wrapper".to_owned(),
    }
}
