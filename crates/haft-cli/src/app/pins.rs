//! Lets a foreign tool run before anybody has called it, for places where nobody can answer its first question.

use super::App;
use crate::{command::block_on, print, status::Status, terminal::TerminalApprover, trouble::Trouble};
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
    if !app.common.yes {
        confirm(name)?;
    }
    pins.keep(offer)?;
    Ok(format!("{name} is pinned: rules and mode still hold, and any change to it asks again"))
}

fn confirm(name: &str) -> anyhow::Result<()> {
    let prompt = "  Let it run as it is? [y/N] > ";
    let answer = block_on(async { Ok(TerminalApprover::new().ask_line(prompt).await) })?;
    match answer.as_deref().map(str::trim) {
        Some("y" | "Y" | "yes") => Ok(()),
        Some(_) => {
            let what = format!("{name} was not pinned");
            Err(Trouble { what, fix: None, status: Status::Denied }.into())
        }
        None => {
            let what = format!("{name} was not pinned: nobody is here to confirm it");
            Err(Trouble::usage(what, "look at what is listed, then add --yes").into())
        }
    }
}

/// What would be let run.
fn shown(offer: &Offer, found: &Pin) -> String {
    let mut lines = vec![format!("{} by {}", offer.name, exact(&offer.owner))];
    if let Pin::Changed(what) = found {
        let what = what.replace('\n', "\n    ");
        lines.push(format!("  changed since it was last let run:\n    {what}"));
    }
    for (name, text) in offer.tool.parts() {
        let cut: String = text.chars().take(PART_SHOWN_CHARS).collect();
        let further = text.chars().count().saturating_sub(PART_SHOWN_CHARS);
        let rest = if further > 0 { format!("… {further} more characters") } else { String::new() };
        lines.push(format!("  {}: {}{rest}", exact(&name), exact(&cut)));
    }
    lines.join("\n")
}

/// On one line, with what hides in it.
fn exact(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => shown.push(c),
            c => shown.extend(c.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn what_hides_in_a_part_is_shown() {
        assert_eq!(exact("echo \"é\"\n\u{202e}x\u{1b}[2K"), "echo \"é\"\\n\\u{202e}x\\u{1b}[2K");
    }
}
