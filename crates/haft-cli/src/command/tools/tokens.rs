//! What the definitions cost a model. The tokeniser's table takes a while to load, so only this command does.

use crate::{
    app::{App, Tools},
    print,
    status::Status,
};
use haft_runtime::{
    Offer,
    find::{Deferring, LISTED_MAX_TOKENS, TOOL_SEARCH},
};
use serde_json::json;

/// Tokens of all definitions that are sent with each request, without what lists the others.
const DIRECT_MAX_TOKENS: usize = 1_500;
/// Tokens of one built-in tool's definition.
const TOOL_MAX_TOKENS: usize = 250;
/// Tokens of all built-in tools together.
const BUILT_IN_MAX_TOKENS: usize = 5_000;

struct Cost {
    name: String,
    owner: String,
    sent: bool,
    tokens: usize,
}

/// Counts and prints.
///
/// # Errors
/// The tokeniser's table can't be read.
pub(super) fn tokens(app: &App, tools: &Tools, json: bool) -> anyhow::Result<Status> {
    let encoder = tiktoken_rs::o200k_base()?;
    let snapshot = app.snapshot(tools);
    // As the agent and the MCP server do.
    let deferral = Deferring { deferral: app.deferral(), window_tokens: None };
    let policy = app.policy();
    let denies = |offer: &Offer| policy.denies_tool_whole(offer.spec(), &offer.name);
    let costs: Vec<Cost> = snapshot
        .offers()
        .map(|offer| {
            let spec = offer.spec();
            let definition = json!({
                "name": offer.name,
                "description": spec.prompt(),
                "input_schema": spec.input_schema,
            });
            Cost {
                name: offer.name.to_string(),
                owner: offer.owner.to_string(),
                sent: deferral.sends(offer, &snapshot) && !denies(offer),
                tokens: encoder.encode_ordinary(&definition.to_string()).len(),
            }
        })
        .collect();
    let sum =
        |of: fn(&Cost) -> bool| costs.iter().filter(|cost| of(cost)).map(|cost| cost.tokens).sum::<usize>();
    let is_listed =
        snapshot.get(TOOL_SEARCH).is_some_and(|offer| offer.is_core() && deferral.sends(offer, &snapshot));
    let listing = if is_listed { deferral.listed(&snapshot, &denies) } else { String::new() };
    let listed = encoder.encode_ordinary(&listing).len();
    let (direct, built_in, all) = (sum(|cost| cost.sent), sum(|cost| cost.owner == "core"), sum(|_| true));
    if json {
        let rows: Vec<_> = costs
            .iter()
            .map(|cost| json!({"name": cost.name, "owner": cost.owner, "sent": cost.sent, "tokens": cost.tokens}))
            .collect();
        print::json(&json!({
            "encoding": "o200k_base",
            "tools": rows,
            "direct": direct,
            "listed": listed,
            "builtIn": built_in,
            "all": all,
            "limits": {
                "direct": DIRECT_MAX_TOKENS,
                "listed": LISTED_MAX_TOKENS,
                "tool": TOOL_MAX_TOKENS,
                "builtIn": BUILT_IN_MAX_TOKENS,
            },
        }))?;
        return Ok(Status::Completed);
    }
    let mut rows = vec![["TOOL", "OWNER", "SENT", "TOKENS"].map(str::to_owned).to_vec()];
    rows.extend(costs.iter().map(|cost| {
        let is_over = cost.owner == "core" && cost.tokens > TOOL_MAX_TOKENS;
        let mark = if is_over { format!(" (over {TOOL_MAX_TOKENS})") } else { String::new() };
        let sent = if cost.sent { "yes" } else { "no" };
        vec![cost.name.clone(), cost.owner.clone(), sent.to_owned(), format!("{:>6}{mark}", cost.tokens)]
    }));
    rows.push(vec![String::new()]);
    rows.push(total("sent with each request", direct, Some(DIRECT_MAX_TOKENS)));
    rows.push(total("the list of the others", listed, Some(LISTED_MAX_TOKENS)));
    rows.push(total("built in", built_in, Some(BUILT_IN_MAX_TOKENS)));
    rows.push(total("all", all, None));
    print::line(&print::table(&rows));
    print::line(&format!(
        "limit for one built-in tool: {TOOL_MAX_TOKENS}; tokens of {{name, description, input_schema}} in o200k"
    ));
    Ok(Status::Completed)
}

fn total(what: &str, tokens: usize, limit: Option<usize>) -> Vec<String> {
    let limit = match limit {
        Some(limit) if tokens > limit => format!(" (over the limit of {limit})"),
        Some(limit) => format!(" (limit {limit})"),
        None => String::new(),
    };
    vec![what.to_owned(), String::new(), String::new(), format!("{tokens:>6}{limit}")]
}
