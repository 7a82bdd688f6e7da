//! `haft tools search`: what a model's `tool_search` would find, among all tools that it may call.

use super::{object, print_offers};
use crate::{
    app::{App, Tools},
    print,
    status::Status,
    trouble::Trouble,
};
use haft_runtime::{Offer, find::Query};
use serde_json::json;

/// Finds and prints, best first; what is left out is counted.
///
/// # Errors
/// Nothing is asked for.
pub(super) fn search(
    app: &App,
    tools: &Tools,
    words: &str,
    limit: usize,
    json: bool,
) -> anyhow::Result<Status> {
    let query = Query::parse(words);
    if query.is_empty() {
        return Err(Trouble::usage(
            "there is nothing to look for",
            "give words of what the tool should do, or a name; see haft tools search --help",
        )
        .into());
    }
    let (snapshot, policy) = (app.snapshot(tools), app.policy());
    let shows = |name: &str| {
        snapshot.get(name).is_some_and(|offer| !policy.denies_tool_whole(offer.spec(), &offer.name))
    };
    let found = snapshot.index().search(&query, limit, shows);
    let offers: Vec<&Offer> = found.hits.iter().filter_map(|hit| snapshot.get(&hit.name)).collect();
    if json {
        let rows: Vec<_> = found
            .hits
            .iter()
            .zip(&offers)
            .map(|(hit, offer)| {
                let mut row = object(app, offer);
                if let Some(row) = row.as_object_mut() {
                    row.insert("named".to_owned(), hit.is_named.into());
                    row.insert("score".to_owned(), f64::from(hit.score).into());
                }
                row
            })
            .collect();
        print::json(&json!({"tools": rows, "more": found.more, "unknown": found.unknown}))?;
    } else {
        print_offers(app, &offers, false)?;
        if let Some(problem) = tools.catalogue.model_problem() {
            print::note(&problem.text);
        }
        if !found.unknown.is_empty() {
            print::note(&format!("there is no tool named {}", found.unknown.join(", ")));
        }
        if found.more > 0 {
            print::note(&format!("{} more fit less well; see them with --limit", found.more));
        }
    }
    Ok(Status::Completed)
}
