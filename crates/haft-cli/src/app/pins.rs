//! Lets a foreign tool run before anybody has called it, for places where nobody can answer its first question.

use super::App;
use crate::{print, terminal::exact_line, trouble::Trouble};
use haft_os::SystemClock;
use haft_policy::Pin;
use haft_runtime::{Offer, Pins, Resolved, settings::TrustPins};
use std::sync::Arc;

/// How much of one part is shown.
const PART_SHOWN_CHARS: usize = 400;

/// Shows a tool part by part and remembers it as it is, once a person at the terminal has said yes, or `--yes` did.
/// Gives what to tell them.
///
/// # Errors
/// There is no such tool, it is built in, nobody confirms it, or the trust file can't be written.
pub(crate) fn pin(app: &App, tool: &str) -> anyhow::Result<String> {
    let tools = app.tools()?;
    tools.look_up()?;
    let snapshot = tools.catalogue.snapshot();
    let Resolved::Tool(offer, _) = snapshot.resolve(tool) else {
        let fix = "run `haft tools` to see which there are, and `haft tools --problems` for those set aside";
        return Err(Trouble::usage(format!("there is no tool \"{tool}\""), fix).into());
    };
    let name = &offer.name;
    if offer.hash.is_none() {
        let what = format!("{name} is built in, so its first use doesn't ask");
        return Err(
            Trouble::usage(what, "name a tool that came from a folder; `haft tools` lists them").into()
        );
    }
    let pins = TrustPins::new(app.trust.clone(), Arc::new(SystemClock));
    let found = pins.look(offer);
    if found == Pin::Known {
        return Ok(format!("{name} is pinned already, just as it is"));
    }
    print::note(&shown(offer, &found));
    app.confirm("Let it run as it is?", &format!("{name} was not pinned"))?;
    pins.keep(offer)?;
    Ok(format!("{name} is pinned: rules and mode still hold, and any change to it asks again"))
}

/// What would be let run.
fn shown(offer: &Offer, found: &Pin) -> String {
    let mut lines = vec![format!("{} by {}", offer.name, exact_line(&offer.owner))];
    if let Pin::Changed(what) = found {
        let what = what.replace('\n', "\n    ");
        lines.push(format!("  changed since it was last let run:\n    {what}"));
    }
    for (name, text) in offer.tool.parts() {
        let cut: String = text.chars().take(PART_SHOWN_CHARS).collect();
        let further = text.chars().count().saturating_sub(PART_SHOWN_CHARS);
        let rest = if further > 0 { format!("… {further} more characters") } else { String::new() };
        lines.push(format!("  {}: {}{rest}", exact_line(&name), exact_line(&cut)));
    }
    lines.join("\n")
}
