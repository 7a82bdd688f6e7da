//! Asks whether a model that goes round in circles may go on.

use super::{TerminalApprover, clean, style::ASKS};
use haft_agent::{LoopAnswer, LoopJudge};
use haft_core::BoxFuture;

/// Asks the person who answers questions; where nobody is there, the step ends.
#[derive(Clone)]
pub(crate) struct TerminalJudge(pub(crate) TerminalApprover);

impl LoopJudge for TerminalJudge {
    fn ask(&self, what: String) -> BoxFuture<'_, LoopAnswer> {
        Box::pin(async move {
            let what = clean(&what);
            let text = format!(
                "\n{ASKS}?{ASKS:#} The model goes round in circles: {what}\n  Let it go on? [y/N] > "
            );
            let line = self.0.ask_line(&text).await.unwrap_or_default();
            match line.trim().to_lowercase().as_str() {
                "y" | "yes" => LoopAnswer::GoOn,
                _ => LoopAnswer::Stop,
            }
        })
    }
}
