//! Questions answered beforehand by `--yes`. What a server wants filled in still goes to the client: nobody else knows it.

use haft_core::{Answer, Approver, BoxFuture, Filled, Form, Question};
use haft_mcp::ClientApprover;
use std::sync::Arc;

/// Answers questions by itself, and has the client fill in forms.
pub(super) struct Answered {
    pub(super) questions: Arc<dyn Approver>,
    pub(super) forms: ClientApprover,
}

impl Approver for Answered {
    fn is_present(&self) -> bool {
        self.questions.is_present()
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        self.questions.ask(question)
    }

    fn fill(&self, form: Form) -> BoxFuture<'_, Filled> {
        self.forms.fill(form)
    }
}
