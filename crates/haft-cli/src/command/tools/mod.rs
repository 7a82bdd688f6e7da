//! `haft tools`: the catalogue, as people and models see it.

mod search;
mod show;
mod tokens;

pub(super) use show::show;

use crate::{
    app::{App, Tools},
    print,
    status::Status,
};
use haft_core::{Exposure, Permission};
use haft_runtime::Offer;
use serde_json::{Value, json};

/// How much of a description stands in a list.
const DESCRIPTION_MAX_CHARS: usize = 80;

/// `haft tools`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
    /// What is wrong with tools, folders and settings
    #[arg(long, conflicts_with = "tokens")]
    pub(crate) problems: bool,
    /// What the definitions cost a model, in tokens (o200k)
    #[arg(long)]
    pub(crate) tokens: bool,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What of the catalogue.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum ToolsCommand {
    /// All tools
    List,
    /// One tool: schema, flags, examples
    Show {
        /// Its name
        name: String,
    },
    /// The tools that fit some words, best first, as they are ranked for a model
    Search {
        /// What the tool should do, or names; +word must occur, source:NAME, select:NAME,NAME
        #[arg(required = true)]
        words: Vec<String>,
        /// At most this many
        #[arg(long, default_value_t = 10)]
        limit: usize,
    },
}

/// Lists, shows or searches.
///
/// # Errors
/// There is no such tool, or the built-in tools can't be registered.
pub(super) fn tools(app: &App, args: &ToolsArgs) -> anyhow::Result<Status> {
    let tools = app.tools()?;
    tools.look_up()?;
    if args.problems {
        return problems(&tools, args.json);
    }
    if args.tokens {
        return tokens::tokens(app, &tools, args.json);
    }
    match &args.command {
        None | Some(ToolsCommand::List) => list(app, &tools, args.json),
        Some(ToolsCommand::Show { name }) => show(app, &tools, name, args.json),
        Some(ToolsCommand::Search { words, limit }) => {
            search::search(app, &tools, &words.join(" "), *limit, args.json)
        }
    }
}

fn list(app: &App, tools: &Tools, json: bool) -> anyhow::Result<Status> {
    let snapshot = app.snapshot(tools);
    let offers: Vec<&Offer> = snapshot.offers().collect();
    print_offers(app, &offers, json)?;
    let problems = tools.catalogue.problems().len();
    if problems > 0 && !json {
        print::note(&format!("{problems} problem(s); see them with: haft tools --problems"));
    }
    Ok(Status::Completed)
}

fn print_offers(app: &App, offers: &[&Offer], json: bool) -> anyhow::Result<Status> {
    if json {
        let rows: Vec<Value> = offers.iter().map(|offer| object(app, offer)).collect();
        print::json(&rows)?;
        return Ok(Status::Completed);
    }
    if offers.is_empty() {
        print::line("no tools");
        return Ok(Status::Completed);
    }
    let mut rows =
        vec![["NAME", "OWNER", "EXPOSURE", "PERMISSION", "DESCRIPTION"].map(str::to_owned).to_vec()];
    rows.extend(offers.iter().map(|offer| {
        let spec = offer.spec();
        vec![
            offer.name.to_string(),
            offer.owner.to_string(),
            exposure(spec.exposure).to_owned(),
            permission(app, offer).to_owned(),
            print::one_line(&spec.description, DESCRIPTION_MAX_CHARS),
        ]
    }));
    print::line(&print::table(&rows));
    Ok(Status::Completed)
}

fn object(app: &App, offer: &Offer) -> Value {
    let spec = offer.spec();
    json!({
        "name": offer.name,
        "owner": offer.owner,
        "exposure": spec.exposure,
        "permission": permission(app, offer),
        "readOnly": spec.read_only,
        "risk": spec.risk(),
        "category": spec.category,
        "description": spec.description,
    })
}

fn problems(tools: &Tools, json: bool) -> anyhow::Result<Status> {
    tools.catalogue.try_model();
    let problems = tools.catalogue.problems();
    if json {
        print::json(&problems)?;
    } else if problems.is_empty() {
        print::line("no problems");
    } else {
        let shown: Vec<String> =
            problems.iter().map(|problem| crate::terminal::clean(&problem.to_string())).collect();
        print::line(&shown.join("\n"));
    }
    Ok(Status::Completed)
}

fn exposure(exposure: Exposure) -> &'static str {
    match exposure {
        Exposure::Direct => "direct",
        Exposure::Auto => "auto",
        Exposure::Deferred => "deferred",
        Exposure::Code => "code",
        Exposure::Hidden => "hidden",
    }
}

/// What the tool declares, unless a rule denies it whole.
fn permission(app: &App, offer: &Offer) -> &'static str {
    if app.policy().denies_tool_whole(offer.spec(), &offer.name) {
        return "deny";
    }
    match offer.spec().permission() {
        Permission::Auto => "auto",
        Permission::Confirm => "confirm",
        Permission::Deny => "deny",
    }
}
