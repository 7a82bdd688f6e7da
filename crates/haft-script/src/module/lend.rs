//! What one call of a module's tool is lent, by its capabilities and by the effects it states.
//!
//! A tool that states its effects was judged by them, and reaches just these through its own lease. One that doesn't
//! reaches everything by calls of its own inside its call, each judged by itself.

use super::lent_tools::{FETCH, READ, fetch, read_text};
use crate::{
    code::{CODE_TOOL, called, described, found},
    wire::Refused,
};
use futures::FutureExt as _;
use haft_core::{
    BoxFuture, Cx, Ended, Failure, FailureKind, FileChange, PathArg, Request, Spec, WriteMode, content_hash,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

/// How deep tools of modules may call each other.
const DEPTH_MAX: usize = 8;
/// A longer file isn't written over.
const CHANGED_MAX_BYTES: usize = 64 << 20;
/// Lets a tool call all others.
const META: &str = "tool.meta";

/// What a call is lent.
pub(crate) struct Lent {
    cx: Cx,
    /// The tool's own name, which it doesn't call.
    own: Arc<str>,
    capabilities: BTreeSet<String>,
    /// Whether it states its effects.
    is_stated: bool,
    tools: Vec<(Arc<str>, Arc<Spec>)>,
    /// Files that it changed by its own lease.
    changed: Arc<Mutex<Vec<FileChange>>>,
}

type Answer = BoxFuture<'static, Result<Value, Refused>>;

impl Lent {
    pub(crate) fn new(cx: &Cx, spec: &Spec) -> Self {
        Self {
            cx: cx.clone(),
            own: spec.model_name(),
            capabilities: spec.capabilities.clone(),
            is_stated: spec.effects.is_some(),
            tools: cx.session.tools(),
            changed: Arc::default(),
        }
    }

    /// The call that it is for.
    pub(crate) fn cx(&self) -> &Cx {
        &self.cx
    }

    /// What `ctx` is made of.
    pub(crate) fn told(&self, checks_first: bool) -> Value {
        let has = |name: &str| self.capabilities.contains(name);
        let mut grants = Vec::new();
        if !self.is_stated && !self.capabilities.is_empty() {
            grants.push("tools");
        }
        for (grant, capability) in [("read", "fs.read"), ("write", "fs.write"), ("fetch", "net.outbound")] {
            if has(capability) {
                grants.push(grant);
            }
        }
        json!({
            "grants": grants,
            "callId": self.cx.call,
            "sessionId": self.cx.session.id(),
            "workspace": self.cx.world.files.workspace().absolute(),
            "isExtension": true,
            "checksFirst": checks_first,
        })
    }

    /// Files that were changed.
    pub(crate) fn changed(&self) -> Vec<FileChange> {
        std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets about what a module asks for.
    pub(crate) fn give(&self, what: &str, name: &[String], input: &Value) -> Answer {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let answer = match what {
            "tool" => self.tool(name, input),
            "readFile" => self.read_file(text("path")),
            "writeFile" => self.write_file(text("path"), text("content")),
            "fetch" => self.fetch(input),
            "hasRead" => Ok(self.has_read(&text("path"))),
            "secret" => Ok(ready(Value::Null)),
            "search" | "describe" => self.told_of(what, input),
            other => Err(Failure::invalid(format!("a tool of a module isn't lent {other}"))),
        };
        answer.unwrap_or_else(|failure| {
            let error = Refused::of_failure(&failure);
            Box::pin(std::future::ready(Err(error)))
        })
    }

    fn tool(&self, name: &[String], input: &Value) -> Result<Answer, Failure> {
        let name = called(&self.tools, name);
        let found = self.tools.iter().find(|(known, _)| **known == *name);
        self.require_calls()?;
        if *name == *self.own || name == CODE_TOOL || found.is_some_and(|(_, spec)| !spec.code_mode) {
            return Err(denied(format!("{name} can't be called from inside this tool")));
        }
        if let Some((_, spec)) = found.filter(|_| !self.capabilities.contains(META)) {
            let missing: Vec<&str> =
                spec.capabilities.difference(&self.capabilities).map(String::as_str).collect();
            if !missing.is_empty() {
                let text = format!(
                    "{name} needs capabilities that this tool doesn't have: {}; declare them, or {META}",
                    missing.join(", ")
                );
                return Err(denied(text));
            }
        }
        Ok(self.call(Request::new(name, input.to_string())))
    }

    /// Whether it may make calls of its own.
    fn require_calls(&self) -> Result<(), Failure> {
        if self.is_stated {
            return Err(denied(
                "a tool that states its effects calls no others; leave out \"effects\", and each call is judged by itself"
                    .to_owned(),
            ));
        }
        if self.cx.call.0.len() > DEPTH_MAX {
            return Err(denied("tools call each other too deep here".to_owned()));
        }
        Ok(())
    }

    fn require(&self, capability: &str) -> Result<(), Failure> {
        if self.capabilities.contains(capability) {
            return Ok(());
        }
        Err(denied(format!("this tool doesn't have the capability {capability}; declare it")))
    }

    fn read_file(&self, path: String) -> Result<Answer, Failure> {
        // Who may call all tools may call the one that reads, which is judged like any other.
        if self.is_stated || !self.capabilities.contains(META) {
            self.require("fs.read")?;
        }
        if !self.is_stated {
            self.require_calls()?;
            return Ok(self.call(Request::new(READ, json!({"path": path}).to_string())));
        }
        let cx = self.cx.clone();
        Ok(Box::pin(async move {
            let files = Arc::clone(&cx.world.files);
            let read = cx.blocking(move || {
                let at = files.resolve(&PathArg(path))?;
                let (text, modified) = read_text(files.as_ref(), &at)?;
                Ok(json!({"text": text, "modified": modified}))
            });
            read.await.map_err(|failure| Refused::of_failure(&failure))
        }))
    }

    fn write_file(&self, path: String, content: String) -> Result<Answer, Failure> {
        self.require("fs.write")?;
        if !self.is_stated {
            self.require_calls()?;
            return Ok(
                self.call(Request::new("write", json!({"path": path, "content": content}).to_string()))
            );
        }
        let (cx, changed) = (self.cx.clone(), Arc::clone(&self.changed));
        Ok(Box::pin(async move {
            let files = Arc::clone(&cx.world.files);
            let written = cx.blocking(move || {
                let at = files.resolve(&PathArg(path))?;
                let mode = match files.read(&at, 0, CHANGED_MAX_BYTES) {
                    Ok(before) => WriteMode::Over { before: content_hash(&before) },
                    Err(failure) if failure.kind == FailureKind::NotFound => WriteMode::New,
                    Err(failure) => return Err(failure),
                };
                let change = files.write(&at, content.as_bytes(), &mode)?;
                Ok((at, change))
            });
            let (at, change) = written.await.map_err(|failure| Refused::of_failure(&failure))?;
            cx.file_changed(&at);
            changed.lock().unwrap_or_else(PoisonError::into_inner).push(change);
            Ok(Value::Null)
        }))
    }

    fn fetch(&self, input: &Value) -> Result<Answer, Failure> {
        self.require("net.outbound")?;
        let word = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        let has_headers = input.get("headers").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        if !word("method").eq_ignore_ascii_case("GET")
            || input.get("body").is_some_and(|body| !body.is_null())
        {
            return Err(denied("only GET without a body goes through the guard".to_owned()));
        }
        if has_headers {
            let text =
                "a tool sets no headers; the user sets them for a host, under [tools.fetch] in the settings";
            return Err(denied(text.to_owned()));
        }
        let url = word("url").to_owned();
        if !self.is_stated {
            self.require_calls()?;
            return Ok(self.call(Request::new(FETCH, json!({"url": url}).to_string())));
        }
        let cx = self.cx.clone();
        Ok(Box::pin(async move { fetch(&cx, &url).await.map_err(|failure| Refused::of_failure(&failure)) }))
    }

    fn has_read(&self, path: &str) -> Answer {
        let at = self.cx.world.files.resolve(&PathArg(path.to_owned()));
        ready(Value::from(at.is_ok_and(|at| self.cx.session.seen(&at).is_some())))
    }

    fn told_of(&self, what: &str, input: &Value) -> Result<Answer, Failure> {
        self.require_calls()?;
        let query = input.as_str().unwrap_or_default();
        let found = match what {
            "search" => found(self.cx.session.as_ref(), &self.tools, query),
            _ => described(&self.tools, query),
        };
        Ok(ready(found))
    }

    fn call(&self, request: Request) -> Answer {
        self.cx.nested.call(request).map(given).boxed()
    }
}

/// What a call gives its module.
fn given(ended: Ended) -> Result<Value, Refused> {
    if !ended.outcome.is_completed() {
        return Err(Refused::of_ended(&ended));
    }
    let text = ended.output.joined_text();
    Ok(ended.output.structured.unwrap_or_else(|| Value::from(text)))
}

fn ready(value: Value) -> Answer {
    Box::pin(std::future::ready(Ok(value)))
}

fn denied(text: String) -> Failure {
    Failure::new(FailureKind::Permission, text)
}
