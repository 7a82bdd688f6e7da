//! `[tools.NAME]` of the settings, put over a tool.

use super::{Keys, giving::Giving};
use haft_core::{
    AnyTool, Bound, BoxFuture, Credential, Cx, Effects, Failure, Flags, Output, OwnCheck, Permission,
    Preview, SessionView, Spec,
};
use haft_runtime::settings::ToolSetting;
use serde_json::Value;
use std::sync::Arc;

/// A tool as the settings want it. Permission only ever gets stricter, also where the tool declares another
/// one for an input.
struct Adjusted {
    tool: Arc<dyn AnyTool>,
    spec: Arc<Spec>,
    at_least: Option<Permission>,
    /// What its processes get, by variable.
    given: Arc<[(String, Credential)]>,
    keys: Keys,
}

/// The tool with these settings; what they refer to is looked up at each call.
pub(super) fn adjust(tool: Arc<dyn AnyTool>, setting: &ToolSetting, keys: &Keys) -> Arc<dyn AnyTool> {
    let at_least = setting.permission.as_ref().map(|set| set.value);
    let mut spec = Spec::clone(tool.spec());
    if at_least.is_some() {
        spec.declared_permission = Some(setting.tighten(spec.permission()));
    }
    if let Some(exposure) = &setting.exposure {
        spec.exposure = exposure.value;
    }
    if let Some(timeout) = &setting.timeout_ms {
        spec.timeout_ms = Some(timeout.value);
    }
    if let (Some(sandbox), Some(_)) = (&setting.sandbox, &spec.profile) {
        spec.profile = Some(sandbox.value.profile());
    }
    let given: Arc<[(String, Credential)]> =
        setting.env.iter().map(|(name, set)| (name.clone(), set.value.clone())).collect();
    if spec == **tool.spec() && given.is_empty() {
        return tool;
    }
    Arc::new(Adjusted { spec: Arc::new(spec), tool, at_least, given, keys: keys.clone() })
}

impl AnyTool for Adjusted {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn enabled(&self) -> bool {
        self.spec.enabled && self.tool.enabled()
    }

    fn starts_processes(&self) -> bool {
        self.tool.starts_processes()
    }

    fn prompt_beside(&self, sent: &dyn Fn() -> Vec<(Arc<str>, Arc<Spec>)>) -> Option<String> {
        self.tool.prompt_beside(sent)
    }

    fn parts(&self) -> Vec<(String, String)> {
        self.tool.parts()
    }

    fn consult(self: Arc<Self>, input: Arc<Value>) -> Option<BoxFuture<'static, ()>> {
        Arc::clone(&self.tool).consult(input)
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        let mut bound = Arc::clone(&self.tool).bind(input)?;
        if !self.given.is_empty() {
            bound = Box::new(Giving::new(bound, Arc::clone(&self.given), self.keys.clone()));
        }
        Ok(match self.at_least {
            Some(at_least) => {
                Box::new(Tightened { bound, declared: self.tool.spec().permission(), at_least })
            }
            None => bound,
        })
    }

    fn cleanup(self: Arc<Self>, input: Arc<Value>, cx: Cx) -> BoxFuture<'static, ()> {
        Arc::clone(&self.tool).cleanup(input, cx)
    }
}

struct Tightened {
    bound: Box<dyn Bound>,
    declared: Permission,
    at_least: Permission,
}

impl Bound for Tightened {
    fn effects(&self, session: &dyn SessionView) -> Effects {
        self.bound.effects(session)
    }

    fn flags(&self) -> Flags {
        let flags = self.bound.flags();
        let permission = flags.permission.unwrap_or(self.declared).max(self.at_least);
        Flags { permission: Some(permission), ..flags }
    }

    fn check(&self, session: &dyn SessionView) -> Option<OwnCheck> {
        self.bound.check(session)
    }

    fn preview<'a>(&'a self, cx: &'a Cx) -> BoxFuture<'a, Result<Preview, Failure>> {
        self.bound.preview(cx)
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        self.bound.run(cx)
    }
}
