//! A call that names no manager: the folder tells it, and the same call is made with it.

use super::{
    ground,
    input::{Action, PackagesInput},
    manager::Manager,
};
use haft_core::{Cx, Ended, Failure, FailureKind, Output, Request};
use serde_json::{Value, json};

/// The tool's own name, under which it calls itself.
const NAME: &str = "packages";

/// Which manager the folder has.
///
/// # Errors
/// Not found where none is known by its files; a conflict where several are.
pub(super) async fn look(input: &PackagesInput, cx: &Cx) -> Result<Output, Failure> {
    let folder = cx.path(&input.folder())?;
    let manager = Manager::of_folder(&ground::names(cx, &folder).await?)?;
    let files = manager.files().join(", ");
    let text = format!("{}, which keeps {files}", manager.name());
    Ok(Output { structured: Some(json!({"manager": manager.name()})), ..Output::text(text) })
}

/// Finds the manager and makes the call with it. Both are calls of their own: the first only looks, the second is
/// judged by its line.
///
/// # Errors
/// As the two calls end.
pub(super) async fn delegate(input: PackagesInput, cx: &Cx) -> Result<Output, Failure> {
    let asked = json!({"action": "manager", "cwd": input.folder().0});
    let found = ended(cx.nested.call(Request::new(NAME, asked.to_string())).await)?;
    let manager = found.structured.as_ref().and_then(|found| found.get("manager")).cloned();
    let manager: Option<Manager> = manager.and_then(|manager: Value| serde_json::from_value(manager).ok());
    let Some(manager) = manager else {
        return Err(Failure::internal("the manager couldn't be told; name it as manager"));
    };
    let whole = PackagesInput { manager: Some(manager), ..input };
    let whole = serde_json::to_string(&whole)
        .map_err(|error| Failure::internal("the call has no JSON form").diagnose(error.to_string()))?;
    ended(cx.nested.call(Request::new(NAME, whole)).await)
}

/// Whether a call has to find its manager first.
pub(super) fn is_open(input: &PackagesInput) -> bool {
    input.manager.is_none() && input.action != Action::Manager
}

fn ended(ended: Ended) -> Result<Output, Failure> {
    if ended.outcome.is_completed() {
        return Ok(ended.output);
    }
    let text = ended.output.joined_text();
    Err(ended.failure.unwrap_or_else(|| Failure::new(FailureKind::Permission, text)))
}
