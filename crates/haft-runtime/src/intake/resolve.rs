//! Which tool a name means, in words for the model where it means none.

use crate::{
    catalogue::{Offer, Resolved, Snapshot},
    seal::{NAME_MAX_BYTES, shortened},
};
use std::{borrow::Cow, fmt::Write};

/// What a name leads to, and how it was understood.
pub(crate) enum Resolution {
    /// A tool that is still offered.
    Tool(Offer, &'static str),
    /// None; the text says what to call instead.
    None(String),
}

/// Looks a name up in the request's snapshot.
pub(crate) fn resolve(snapshot: &Snapshot, name: &str) -> Resolution {
    match snapshot.resolve(name) {
        Resolved::Tool(offer, how) if offer.is_live() => Resolution::Tool(offer.clone(), how),
        Resolved::Tool(offer, _) => Resolution::None(no_longer(name, &offer.owner)),
        Resolved::Gone(owner) => Resolution::None(no_longer(name, &owner)),
        Resolved::Unknown(nearest) => {
            let mut text = format!("Unknown tool: {}", shown(name));
            if let Some(why) = snapshot.missing(name) {
                let _ = write!(text, ". {why}");
            } else if nearest.is_empty() {
                text.push_str(". Call one of the tools that were offered, by its exact name.");
            } else {
                let names: Vec<&str> = nearest.iter().map(AsRef::as_ref).collect();
                let _ = write!(text, ". The nearest names are: {}", names.join(", "));
            }
            Resolution::None(text)
        }
    }
}

fn no_longer(name: &str, owner: &str) -> String {
    let name = shown(name);
    format!("The tool \"{name}\" is no longer offered: its source ({owner}) took it away. Go on without it.")
}

/// A name as it is repeated: no tool has one that long.
fn shown(name: &str) -> Cow<'_, str> {
    shortened(name, NAME_MAX_BYTES).map_or(Cow::Borrowed(name), Cow::Owned)
}
