//! A tool as an extension wants it: its declaration, tightened.

use haft_core::{
    AnyTool, Bound, BoxFuture, Cx, Effects, Failure, Flags, Output, OwnCheck, Permission, Preview, Risk,
    Secret, SessionView, Spec,
};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// What can be changed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct How {
    permission: Option<Permission>,
    #[serde(alias = "risk")]
    risk_tier: Option<Risk>,
    description: Option<String>,
}

/// The tool with what an extension says of it; the catalogue refuses what would loosen it.
pub fn tightened(tool: Arc<dyn AnyTool>, how: &Value) -> Arc<dyn AnyTool> {
    let how: How = serde_json::from_value(how.clone()).unwrap_or_default();
    let mut spec = Spec::clone(tool.spec());
    spec.declared_permission = how.permission.or(spec.declared_permission);
    spec.declared_risk = how.risk_tier.or(spec.declared_risk);
    if let Some(description) = &how.description {
        spec.usage_hint = Some(description.clone());
    }
    Arc::new(Tightened { tool, spec: Arc::new(spec), how })
}

struct Tightened {
    tool: Arc<dyn AnyTool>,
    spec: Arc<Spec>,
    how: How,
}

impl AnyTool for Tightened {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn enabled(&self) -> bool {
        self.tool.enabled()
    }

    fn starts_processes(&self) -> bool {
        self.tool.starts_processes()
    }

    fn prompt_beside(&self, sent: &dyn Fn() -> Vec<(Arc<str>, Arc<Spec>)>) -> Option<String> {
        self.tool.prompt_beside(sent).filter(|_| self.how.description.is_none())
    }

    fn parts(&self) -> Vec<(String, String)> {
        self.tool.parts()
    }

    fn consult(self: Arc<Self>, input: Arc<Value>) -> Option<BoxFuture<'static, ()>> {
        Arc::clone(&self.tool).consult(input)
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        let bound = Arc::clone(&self.tool).bind(input)?;
        Ok(Box::new(BoundTightened { bound, tool: self }))
    }

    fn cleanup(self: Arc<Self>, input: Arc<Value>, cx: Cx) -> BoxFuture<'static, ()> {
        Arc::clone(&self.tool).cleanup(input, cx)
    }
}

struct BoundTightened {
    bound: Box<dyn Bound>,
    tool: Arc<Tightened>,
}

impl Bound for BoundTightened {
    fn effects(&self, session: &dyn SessionView) -> Effects {
        self.bound.effects(session)
    }

    fn flags(&self) -> Flags {
        let (flags, how) = (self.bound.flags(), &self.tool.how);
        let declared = self.tool.tool.spec();
        let permission = how
            .permission
            .map(|least| flags.permission.unwrap_or(declared.permission()).max(least))
            .or(flags.permission);
        let risk = how.risk_tier.map(|least| flags.risk.unwrap_or(declared.risk()).max(least)).or(flags.risk);
        Flags { permission, risk, ..flags }
    }

    fn check(&self, session: &dyn SessionView) -> Option<OwnCheck> {
        self.bound.check(session)
    }

    fn preview<'a>(&'a self, cx: &'a Cx) -> BoxFuture<'a, Result<Preview, Failure>> {
        self.bound.preview(cx)
    }

    fn variables(&self) -> Result<Vec<(String, Secret)>, Failure> {
        self.bound.variables()
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        self.bound.run(cx)
    }
}
