//! Lists that come page by page, to their end and no further.

use super::{
    greet::Greeting,
    wire::{Ask, CallError, Wire},
};
use crate::era::Era;
use haft_core::Cancel;
use serde_json::{Map, Value};
use std::{collections::BTreeSet, time::Duration};

/// How many pages of a list are asked for.
const PAGES_MAX: usize = 200;
/// How many entries a list may have.
pub(crate) const ENTRIES_MAX: usize = 5_000;

/// How much of what is no list is shown.
const SHOWN_MAX_CHARS: usize = 60;

/// What to list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing {
    /// The method.
    pub(crate) method: &'static str,
    /// Where the entries stand in a page.
    pub(crate) key: &'static str,
    /// What tells entries apart.
    pub(crate) name: &'static str,
}

pub(crate) const TOOLS: Listing = Listing { method: "tools/list", key: "tools", name: "name" };
pub(crate) const PROMPTS: Listing = Listing { method: "prompts/list", key: "prompts", name: "name" };
pub(crate) const RESOURCES: Listing = Listing { method: "resources/list", key: "resources", name: "uri" };
pub(crate) const TEMPLATES: Listing =
    Listing { method: "resources/templates/list", key: "resourceTemplates", name: "uriTemplate" };

/// A list, and what was wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) entries: Vec<Value>,
    pub(crate) warnings: Vec<String>,
}

/// Lists all of it. Stops where the server goes in circles or doesn't come to an end, and says so.
///
/// # Errors
/// The server's error, or the end of the connection.
pub(crate) async fn list(
    wire: &Wire,
    greeting: &Greeting,
    listing: Listing,
    (idle, cancel): (Duration, &Cancel),
) -> Result<Listed, CallError> {
    let mut listed = Listed::default();
    let (mut cursors, mut names) = (BTreeSet::new(), BTreeSet::new());
    let mut cursor: Option<String> = None;
    let mut doubled = 0_usize;
    for _ in 0..PAGES_MAX {
        let mut params = Map::new();
        if let Some(cursor) = &cursor {
            params.insert("cursor".to_owned(), Value::String(cursor.clone()));
        }
        let mut ask = Ask::new(listing.method, params, cancel);
        ask.is_modern = greeting.era == Era::Modern;
        ask.idle = Some(idle);
        let mut page = wire.ask(ask).await?;
        let entries = match page.get_mut(listing.key).map(Value::take) {
            Some(Value::Array(entries)) => entries,
            found => {
                let found = found.map_or_else(|| "nothing".to_owned(), |found| short(&found));
                listed.warnings.push(format!(
                    "its answer to {} has {found} where its list of {} should be: none of them is known",
                    listing.method, listing.key
                ));
                return Ok(listed);
            }
        };
        let (mut new, is_empty) = (0_usize, entries.is_empty());
        for entry in entries {
            let name = entry.get(listing.name).and_then(Value::as_str).unwrap_or_default().to_owned();
            if !name.is_empty() && !names.insert(name) {
                doubled += 1;
                continue;
            }
            new += 1;
            listed.entries.push(entry);
        }
        let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        let Some(next) = next else {
            if doubled > 0 {
                let text = format!("{doubled} of its {} came twice: the first of each counts", listing.key);
                listed.warnings.push(text);
            }
            return Ok(listed);
        };
        if listed.entries.len() > ENTRIES_MAX {
            listed.entries.truncate(ENTRIES_MAX);
            listed.warnings.push(format!(
                "its list of {} has more than {ENTRIES_MAX} entries: the rest is left out",
                listing.key
            ));
            return Ok(listed);
        }
        if !cursors.insert(next.clone()) || new == 0 && !is_empty {
            listed
                .warnings
                .push(format!("its list of {} repeats itself without end: it was left there", listing.key));
            return Ok(listed);
        }
        cursor = Some(next);
    }
    listed.warnings.push(format!(
        "its list of {} doesn't end after {PAGES_MAX} pages: the rest is left out",
        listing.key
    ));
    Ok(listed)
}

/// The beginning of a value, for people.
fn short(value: &Value) -> String {
    let text = value.to_string();
    let kept: String = text.chars().take(SHOWN_MAX_CHARS).collect();
    if kept.len() < text.len() { format!("{kept}…") } else { kept }
}
