//! A person's yes, before what strangers wrote may run.

use super::App;
use crate::{command::block_on, status::Status, terminal::TerminalApprover, trouble::Trouble};

impl App {
    /// Has the person at the terminal say yes, unless `--yes` did; `refused` says what didn't happen without it.
    ///
    /// # Errors
    /// They don't, or nobody is here.
    pub(crate) fn confirm(&self, question: &str, refused: &str) -> anyhow::Result<()> {
        if self.common.yes {
            return Ok(());
        }
        let prompt = format!("  {question} [y/N] > ");
        let answer = block_on(async { Ok(TerminalApprover::new().ask_line(&prompt).await) })?;
        match answer.as_deref().map(str::trim) {
            Some("y" | "Y" | "yes") => Ok(()),
            Some(_) => Err(Trouble { what: refused.to_owned(), fix: None, status: Status::Denied }.into()),
            None => {
                let what = format!("{refused}: nobody is here to confirm it");
                Err(Trouble::usage(what, "look at what is listed, then add --yes").into())
            }
        }
    }
}
