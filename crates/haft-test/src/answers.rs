//! A person with a script.

use haft_core::{Answer, Approver, BoxFuture, Filled, Form, Question};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// Answers questions from a script; when it is used up, the last answer holds on. Keeps what was asked.
#[derive(Clone, Default)]
pub struct Answers {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    asked: Notify,
    released: Notify,
}

#[derive(Default)]
struct State {
    script: VecDeque<Answer>,
    asked: Vec<Question>,
    filled: VecDeque<Filled>,
    forms: Vec<Form>,
    silent: bool,
    withdrawn: usize,
}

impl Answers {
    /// Gives these answers, one a question.
    pub fn script(answers: impl IntoIterator<Item = Answer>) -> Self {
        let own = Self::default();
        own.lock().script = answers.into_iter().collect();
        own
    }

    /// Allows every call once.
    pub fn yes() -> Self {
        Self::script([Answer::Once])
    }

    /// Refuses every call without feedback.
    pub fn no() -> Self {
        Self::script([Answer::Deny { feedback: None }])
    }

    /// Lets every question wait until [`Answers::speak`].
    pub fn silent() -> Self {
        let own = Self::yes();
        own.lock().silent = true;
        own
    }

    /// Ends a silence: waiting questions and all later ones are answered from the script.
    pub fn speak(&self) {
        self.lock().silent = false;
        self.inner.released.notify_waiters();
    }

    /// Fills in forms like this too, one after another; without more of them forms are declined.
    #[must_use]
    pub fn filling(self, filled: impl IntoIterator<Item = Filled>) -> Self {
        self.lock().filled = filled.into_iter().collect();
        self
    }

    /// The forms so far.
    pub fn forms(&self) -> Vec<Form> {
        self.lock().forms.clone()
    }

    /// The questions so far.
    pub fn asked(&self) -> Vec<Question> {
        self.lock().asked.clone()
    }

    /// How many questions were withdrawn before they were answered.
    pub fn withdrawn(&self) -> usize {
        self.lock().withdrawn
    }

    /// Waits until so many questions were put.
    pub async fn wait_for(&self, count: usize) {
        loop {
            let asked = self.inner.asked.notified();
            if self.lock().asked.len() >= count {
                return;
            }
            asked.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a question that is dropped unanswered.
struct Open<'a>(&'a Answers, bool);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.lock().withdrawn += 1;
        }
    }
}

impl Approver for Answers {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let mut open = Open(self, false);
            self.lock().asked.push(question);
            self.inner.asked.notify_waiters();
            loop {
                let released = self.inner.released.notified();
                if !self.lock().silent {
                    break;
                }
                released.await;
            }
            open.1 = true;
            let mut state = self.lock();
            let answer =
                if state.script.len() > 1 { state.script.pop_front() } else { state.script.front().cloned() };
            answer.unwrap_or(Answer::Once)
        })
    }

    fn fill(&self, form: Form) -> BoxFuture<'_, Filled> {
        let mut state = self.lock();
        state.forms.push(form);
        let filled = state.filled.pop_front().unwrap_or(Filled::Declined);
        drop(state);
        Box::pin(std::future::ready(filled))
    }
}
