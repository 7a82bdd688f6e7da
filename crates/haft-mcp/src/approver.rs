//! Puts haft's questions, and forms of servers behind it, to the client that made the call.
//!
//! Keeps "nobody answers for another": a client that can't show forms is nobody, and then a question is a denial that says
//! how the operator allows it.

use crate::{Fronts, exchange::elicits, form, question};
use haft_core::{Answer, Approver, BoxFuture, CallId, Filled, Form, Question};
use serde_json::Map;

/// Asks clients.
#[derive(Clone, Default)]
pub struct ClientApprover {
    fronts: Fronts,
}

impl ClientApprover {
    /// Asks those who make the calls, who are [expected](Fronts::expect_clients) from now on; `fronts` is the server's.
    pub fn new(fronts: Fronts) -> Self {
        fronts.expect_clients();
        Self { fronts }
    }
}

impl Approver for ClientApprover {
    fn is_present_for(&self, call: &CallId) -> bool {
        self.fronts.of_call(call).is_some_and(|front| elicits(&front.capabilities(), "form"))
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let Some(front) = self.fronts.of_call(&question.call) else { return Answer::Dismissed };
            match front.ask_person(question::request(&question)).await {
                Ok(result) => question::answer(&question, &result),
                Err(_) => Answer::Dismissed,
            }
        })
    }

    fn fill(&self, form: Form) -> BoxFuture<'_, Filled> {
        Box::pin(async move {
            let front = self.fronts.of_call(&form.call);
            let able = front.filter(|front| elicits(&front.capabilities(), form::mode(&form)));
            let Some(front) = able else { return Filled::Declined };
            let requests = Map::from_iter([("form".to_owned(), form::request(&form))]);
            match front.ask(requests).await {
                Ok(answers) => answers.get("form").map_or(Filled::Dismissed, form::filled),
                Err(_) => Filled::Dismissed,
            }
        })
    }
}
