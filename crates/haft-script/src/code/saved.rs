//! A script that ran, as the text of a tool.

use super::SCRIPT_NAME;
use crate::{
    engine::Engine,
    module::{answered, apart},
    wire::{Order, SourceFile},
};
use haft_core::Failure;
use serde_json::Value;
use std::time::Duration;

const TEMPLATE: &str = include_str!("saved.ts");
/// Where the script goes.
const PLACE: &str = "SCRIPT;";
/// How long reading one script may take.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// What becomes a tool.
#[derive(Debug, Clone, Copy)]
pub struct SavedScript<'a> {
    /// The script, as `code` was given it.
    pub script: &'a str,
    /// The tool's name.
    pub name: &'a str,
    /// What a model reads about it.
    pub description: &'a str,
    /// Where it came from, for the first line.
    pub origin: &'a str,
}

/// The text of a module whose tool does what the script did. Blocking; also where there is no runtime.
///
/// # Errors
/// The script can't be read.
pub fn saved_script(engine: &Engine, saved: SavedScript<'_>) -> Result<String, Failure> {
    let script = apart(READ_TIMEOUT, || returning(engine, saved.script)).flatten()?;
    let quoted = |text: &str| Value::from(text).to_string();
    let (before, after) = TEMPLATE.split_once(PLACE).unwrap_or((TEMPLATE, ""));
    let before = before
        .replace("ORIGIN", &saved.origin.replace(['\n', '\r'], " "))
        .replace("\"NAME\"", &quoted(saved.name))
        .replace("\"DESCRIPTION\"", &quoted(saved.description));
    Ok(format!("{before}{script}{after}"))
}

/// The script with `return` before its last expression.
async fn returning(engine: &Engine, script: &str) -> Result<String, Failure> {
    let mut guest = engine.fresh().await?;
    guest.tell(&Order::Save { file: SourceFile { path: SCRIPT_NAME.to_owned(), text: script.to_owned() } });
    let read = answered(&mut guest, 0).await;
    guest.end().await?;
    Ok(read?.as_str().unwrap_or_default().to_owned())
}
