//! `[tools.NAME]` of the settings, put over a tool.

use super::Keys;
use haft_core::{
    AnyTool, Bound, BoxFuture, Credential, Cx, Effects, Failure, Flags, Output, OwnCheck, Permission,
    Preview, Secret, SessionView, Spec,
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
    given: Vec<(String, Credential)>,
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
    let given: Vec<(String, Credential)> =
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
        let bound = Arc::clone(&self.tool).bind(input)?;
        Ok(Box::new(BoundAdjusted { bound, tool: self }))
    }

    fn cleanup(self: Arc<Self>, input: Arc<Value>, cx: Cx) -> BoxFuture<'static, ()> {
        Arc::clone(&self.tool).cleanup(input, cx)
    }
}

/// One call of it.
struct BoundAdjusted {
    bound: Box<dyn Bound>,
    tool: Arc<Adjusted>,
}

impl Bound for BoundAdjusted {
    fn effects(&self, session: &dyn SessionView) -> Effects {
        self.bound.effects(session)
    }

    fn flags(&self) -> Flags {
        let flags = self.bound.flags();
        let Some(at_least) = self.tool.at_least else { return flags };
        let permission = flags.permission.unwrap_or(self.tool.tool.spec().permission()).max(at_least);
        Flags { permission: Some(permission), ..flags }
    }

    fn check(&self, session: &dyn SessionView) -> Option<OwnCheck> {
        self.bound.check(session)
    }

    fn preview<'a>(&'a self, cx: &'a Cx) -> BoxFuture<'a, Result<Preview, Failure>> {
        self.bound.preview(cx)
    }

    fn variables(&self) -> Result<Vec<(String, Secret)>, Failure> {
        let mut variables = self.bound.variables()?;
        for (name, credential) in &self.tool.given {
            variables.push((name.clone(), self.tool.keys.find(credential)?));
        }
        Ok(variables)
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        self.bound.run(cx)
    }
}
