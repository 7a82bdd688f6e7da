//! Keeps a running session in step with the trust file: what is saved, refused, revoked or trusted by another process
//! holds from the next call on. So does the masking of what is stored meanwhile.

use super::{App, Environment, masker::Masking};
use crate::cli::Common;
use haft_policy::{Action, Policy, Rule, secrets::Masker};
use haft_runtime::{
    Renewal,
    settings::{Place, TrustFile},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The trust file as a session knows it.
pub(super) struct TrustRenewal {
    trust: TrustFile,
    place: Place,
    environment: Environment,
    common: Common,
    /// The file's bytes at the last look.
    read: Mutex<Option<Arc<[u8]>>>,
    /// What the settings last gave.
    base: Mutex<Policy>,
    /// What is masked; none where nothing is.
    masking: Option<Masking>,
}

impl TrustRenewal {
    /// `read` is what the trust file held before `base` was made of it.
    pub(super) fn new(app: &App, read: Option<Arc<[u8]>>, base: Policy) -> Self {
        Self {
            trust: app.trust.clone(),
            place: app.place.clone(),
            environment: app.environment.clone(),
            common: app.common.clone(),
            read: Mutex::new(read),
            base: Mutex::new(base),
            masking: None,
        }
    }

    /// The same, which follows what is stored as well.
    pub(super) fn masking(mut self, masking: Option<Masking>) -> Self {
        self.masking = masking;
        self
    }

    /// Whether a rule came from the trust file.
    fn is_saved(&self, rule: &Rule) -> bool {
        let path = self.trust.path();
        rule.source.as_ref().is_some_and(|source| source.starts_with(&path))
    }

    /// The settings count otherwise now: what they gave gives way to what they give. What a host has added stays, and
    /// so does a mode that a person has chosen.
    fn read_settings(&self, policy: &mut Policy) {
        // Where they can't be read any more, what held goes on to hold.
        let Ok(app) = App::load(self.environment.clone(), self.common.clone()) else { return };
        let fresh = app.policy();
        let mut base = lock(&self.base);
        let is_known = |rule: &Rule| {
            base.rules
                .iter()
                .any(|own| own.action == rule.action && own.text == rule.text && own.source == rule.source)
        };
        policy.rules.retain(|rule| self.is_saved(rule) || !is_known(rule));
        policy.rules.extend(fresh.rules.iter().filter(|rule| !self.is_saved(rule)).cloned());
        policy.roots.retain(|root| !base.roots.contains(root) || fresh.roots.contains(root));
        for root in &fresh.roots {
            if !policy.roots.contains(root) {
                policy.roots.push(root.clone());
            }
        }
        if policy.mode == base.mode {
            policy.mode = fresh.mode;
        }
        policy.dangerous.clone_from(&fresh.dangerous);
        policy.protected_branches.clone_from(&fresh.protected_branches);
        policy.private.clone_from(&fresh.private);
        policy.untrusted.clone_from(&fresh.untrusted);
        policy.taint = fresh.taint;
        *base = fresh;
    }
}

impl Renewal for TrustRenewal {
    fn is_due(&self) -> bool {
        let now = self.trust.bytes();
        let mut read = lock(&self.read);
        if *read == now {
            return false;
        }
        *read = now;
        true
    }

    fn renew(&self, policy: &mut Policy) {
        let said = self.trust.load();
        // Of a damaged file, the refusals that are known go on to hold.
        let is_damaged = !said.problems.is_empty();
        policy.grants.retain(|grant| !self.is_saved(&grant.rule));
        policy.rules.retain(|rule| !self.is_saved(rule) || is_damaged && rule.action == Action::Deny);
        if said.trusted != policy.trusted {
            self.read_settings(policy);
            policy.trusted = said.trusted;
        }
        let place = Place { trusted: said.trusted, ..self.place.clone() };
        policy.grants.extend(said.grants(&place).0);
        policy.rules.extend(said.denials(&place).0);
    }

    fn masker(&self) -> Option<Arc<Masker>> {
        self.masking.as_ref()?.changed()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
