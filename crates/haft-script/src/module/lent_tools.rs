//! The two tools behind `ctx.readFile` and `ctx.fetch` of a module that states no effects: what it touches then is
//! judged call by call, like everything else. They are called by name only and not advertised.

use haft_core::{
    AnyTool, Cx, Effects, Exposure, Failure, FailureKind, Output, PathArg, Permission, Risk, Seen,
    SessionView, Spec, Tool, Touch, WebRequest, WebUrl, content_hash, erase,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{sync::Arc, time::UNIX_EPOCH};

/// Reads a whole file for a script.
pub(crate) const READ: &str = "script_read";
/// Fetches for a script.
pub(super) const FETCH: &str = "script_fetch";
/// The longest file that a script is given.
pub(super) const FILE_MAX_BYTES: usize = 4 << 20;

/// The tools that modules reach files and hosts by; to be registered as haft's own.
pub fn lent_tools() -> Vec<Arc<dyn AnyTool>> {
    vec![erase(ScriptRead), erase(ScriptFetch)]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadInput {
    /// The file
    path: PathArg,
}

struct ScriptRead;

impl Tool for ScriptRead {
    type Input = ReadInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        let mut spec = Spec::new(READ, "Reads a whole file as text, for scripts; use read instead.")
            .read_only()
            .with_risk(Risk::Safe)
            .concurrency_safe()
            .idempotent()
            .with_capabilities(&["fs.read"])
            .with_category("meta")
            .with_exposure(Exposure::Hidden)
            .with_display("·", "Reading");
        spec.code_mode = false;
        spec
    }

    fn effects(&self, input: &ReadInput, _: &dyn SessionView) -> Effects {
        Effects::Only(vec![Touch::Read(input.path.clone())])
    }

    async fn run(&self, input: ReadInput, cx: &Cx) -> Result<Output, Failure> {
        let at = cx.path(&input.path)?;
        let files = Arc::clone(&cx.world.files);
        let target = at.clone();
        let (text, modified) = cx.blocking(move || read_text(files.as_ref(), &target)).await?;
        let total = u64::try_from(text.lines().count()).unwrap_or(u64::MAX);
        let seen = Seen::whole(&content_hash(text.as_bytes()), total);
        let told = format!("{at}: {} bytes, for a script", text.len());
        let structured = json!({"text": text, "modified": modified});
        Ok(Output { structured: Some(structured), seen: vec![(at, seen)], ..Output::text(told) })
    }
}

/// A whole file as text, and when it last changed, in milliseconds.
pub(super) fn read_text(
    files: &dyn haft_core::Files,
    at: &haft_core::RealPath,
) -> Result<(String, Value), Failure> {
    let stat = files.stat(at)?;
    let bytes = files.read(at, 0, FILE_MAX_BYTES + 1)?;
    if bytes.len() > FILE_MAX_BYTES {
        return Err(Failure::invalid(format!(
            "{at} is longer than 4 MiB; read a part of it with ctx.tools.read"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::invalid(format!("{at} is no UTF-8 text")))?;
    let since = stat.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = since.and_then(|since| u64::try_from(since.as_millis()).ok());
    Ok((text, modified.map_or(Value::Null, Value::from)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FetchInput {
    /// The page
    url: String,
}

struct ScriptFetch;

impl Tool for ScriptFetch {
    type Input = FetchInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        let mut spec = Spec::new(FETCH, "Fetches a page as it is, for scripts; use fetch instead.")
            .read_only()
            .with_permission(Permission::Confirm)
            .with_risk(Risk::Standard)
            .concurrency_safe()
            .idempotent()
            .with_capabilities(&["net.outbound"])
            .with_category("meta")
            .with_exposure(Exposure::Hidden)
            .with_display("·", "Fetching");
        spec.untrusted_source = true;
        spec.code_mode = false;
        spec
    }

    fn validate(&self, input: &FetchInput) -> Result<(), Failure> {
        WebUrl::parse(&input.url).map(drop)
    }

    fn effects(&self, input: &FetchInput, _: &dyn SessionView) -> Effects {
        match WebUrl::parse(&input.url) {
            Ok(url) => Effects::Only(vec![Touch::Host(url.authority().into())]),
            Err(_) => Effects::Everything,
        }
    }

    async fn run(&self, input: FetchInput, cx: &Cx) -> Result<Output, Failure> {
        let answer = fetch(cx, &input.url).await?;
        Ok(Output { structured: Some(answer), ..Output::text(format!("{}, for a script", input.url)) })
    }
}

/// Fetches through the guard; the answer as `ctx.fetch` wants it.
pub(super) async fn fetch(cx: &Cx, url: &str) -> Result<Value, Failure> {
    let request = WebRequest { cancel: cx.cancel.clone(), ..WebRequest::new(WebUrl::parse(url)?) };
    let page = cx.world.web.fetch(request).await?;
    if let Some(elsewhere) = &page.elsewhere {
        let text = format!(
            "{} redirects to {elsewhere}, another host, which wasn't contacted; fetch that if it is wanted",
            page.url
        );
        return Err(Failure::new(FailureKind::Permission, text));
    }
    let text = String::from_utf8_lossy(&page.body).into_owned();
    Ok(json!({"status": page.status, "url": page.url.as_str(), "headers": page.headers, "text": text}))
}
