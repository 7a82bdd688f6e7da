//! The tool `fetch`.

use super::{
    input::FetchInput,
    render::{excerpt, length, render},
    settings::FetchSettings,
};
use crate::text::paths;
use haft_core::{
    Cx, Effects, Exposure, Failure, FailureKind, Flags, Output, PathArg, Permission, Preview, Risk,
    SessionView, Spec, Tool, Touch, WebPage, WebRequest, WebUrl, WriteMode,
};
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// Longer than two fetches, of which the second is tried where `https` isn't answered.
const TIMEOUT: Duration = Duration::from_secs(100);

/// Fetches pages.
#[derive(Clone, Default)]
pub(crate) struct FetchTool {
    settings: FetchSettings,
}

impl FetchTool {
    pub(crate) fn new(settings: FetchSettings) -> Self {
        Self { settings }
    }

    fn request(&self, url: WebUrl, input: &FetchInput, cx: &Cx) -> Result<WebRequest, Failure> {
        Ok(WebRequest {
            headers: self.settings.headers_for(&url),
            allow: self.settings.allowed(),
            allow_by: Some("allowPrivate under [tools.fetch] in the settings"),
            max_bytes: input.limit()?,
            cancel: cx.cancel.clone(),
            ..WebRequest::new(url)
        })
    }

    /// Fetches it, over `https` where that is answered. An allowed private host is taken at its word.
    async fn get(&self, input: &FetchInput, cx: &Cx) -> Result<WebPage, Failure> {
        let asked = input.target()?;
        let secure = asked.over_https().filter(|_| !self.settings.allows(&asked));
        if let Some(secure) = secure {
            let request = self.request(secure, input, cx)?;
            // What the operator adds may be a secret, which isn't sent unprotected for a host's being down.
            let may_fall_back = request.headers.is_empty();
            match cx.world.web.fetch(request).await {
                Err(failure) if failure.kind == FailureKind::Unavailable && may_fall_back => {}
                ended => return ended,
            }
        }
        cx.world.web.fetch(self.request(asked, input, cx)?).await
    }
}

impl Tool for FetchTool {
    type Input = FetchInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        let mut spec = Spec::new("fetch", include_str!("prompt.md").trim_end())
            .with_aliases(&["WebFetch"])
            .with_input_aliases("url", &["uri", "link"])
            .with_input_aliases("maxBytes", &["max_bytes"])
            .with_category("web")
            .with_permission(Permission::Confirm)
            .with_risk(Risk::Standard)
            .read_only()
            .concurrency_safe()
            .idempotent()
            .with_capabilities(&["net.outbound"])
            .with_exposure(Exposure::Deferred)
            .with_timeout(TIMEOUT)
            .with_display("🌐", "Fetching");
        spec.untrusted_source = true;
        spec
    }

    fn validate(&self, input: &FetchInput) -> Result<(), Failure> {
        input.target()?;
        input.limit().map(|_| ())
    }

    fn effects(&self, input: &FetchInput, _: &dyn SessionView) -> Effects {
        let Ok(url) = input.target() else {
            return Effects::Everything;
        };
        let mut touches = vec![Touch::Host(url.authority().into())];
        touches.extend(input.save.clone().map(Touch::Write));
        Effects::Only(touches)
    }

    fn flags(&self, input: &FetchInput) -> Flags {
        match input.save {
            Some(_) => Flags { read_only: Some(false), ..Flags::default() },
            None => Flags::default(),
        }
    }

    async fn preview(&self, input: &FetchInput, _: &Cx) -> Result<Preview, Failure> {
        let url = input.target()?;
        let text = match &input.save {
            Some(path) => format!("GET {url}\nsaved as {}", path.0),
            None => format!("GET {url}"),
        };
        Ok(Preview { text, digest: Vec::new() })
    }

    async fn run(&self, input: FetchInput, cx: &Cx) -> Result<Output, Failure> {
        let page = self.get(&input, cx).await?;
        if let Some(elsewhere) = &page.elsewhere {
            let text = format!(
                "{} redirects ({}) to {elsewhere}, which is another host or port and wasn't contacted. \
                 To go on, fetch that URL.",
                page.url, page.status
            );
            return Ok(Output::text(text).with_metadata(metadata(&page)));
        }
        if page.status >= 300 {
            return Err(error_page(&page));
        }
        if let Some(path) = &input.save {
            return save(page, path, cx).await;
        }
        let format = input.format.unwrap_or_default();
        cx.blocking(move || Ok(Output::text(render(&page, format)?).with_metadata(metadata(&page)))).await
    }
}

/// For people: what was contacted.
fn metadata(page: &WebPage) -> serde_json::Value {
    let hops = page.hops.iter().map(|hop| json!({"url": hop.url.as_str(), "address": hop.address}));
    json!({
        "url": page.url.as_str(),
        "status": page.status,
        "bytes": page.body.len(),
        "cut": page.cut,
        "fromCache": page.from_cache,
        "hops": hops.collect::<Vec<_>>(),
    })
}

/// A page that says why there is none.
fn error_page(page: &WebPage) -> Failure {
    let (kind, advice) = match page.status {
        301 | 302 | 303 | 307 | 308 => {
            (FailureKind::NotFound, "it redirects without a Location, so not to any page; use another URL")
        }
        300..=399 => (FailureKind::NotFound, "it gives no page by itself; use another URL"),
        401 | 403 | 407 | 451 => (FailureKind::Permission, "it isn't open to everybody; use another source"),
        404 | 410 => (FailureKind::NotFound, "correct the URL, or look for the page from its site's start"),
        408 | 425 | 429 => (FailureKind::Unavailable, "wait before fetching from this host again"),
        500.. => (FailureKind::Unavailable, "the server has a fault; try later or use another source"),
        _ => (FailureKind::InvalidInput, "correct the URL"),
    };
    let failure = Failure::new(kind, format!("{} answered {}; {advice}", page.url, page.status));
    match excerpt(page) {
        text if text.is_empty() => failure,
        text => failure.with_partial(Output::text(text)),
    }
}

/// Writes the bytes as they came into a new file.
async fn save(page: WebPage, path: &PathArg, cx: &Cx) -> Result<Output, Failure> {
    let at = cx.path(path)?;
    let files = Arc::clone(&cx.world.files);
    let name = paths::shown(&at, &files.workspace());
    if page.cut {
        let (url, read) = (&page.url, length(&page));
        return Err(Failure::invalid(format!(
            "{url} is larger than what may be read ({read}), so nothing was saved; pass a larger maxBytes if \
             there is room, or download it with a command"
        )));
    }
    let (metadata, told) = (metadata(&page), format!("{}, {}", media_type(&page), length(&page)));
    let (url, target, shown) = (page.url.clone(), at.clone(), name.clone());
    let change = cx
        .blocking(move || {
            if files.peek(&target).is_some() {
                let text = format!("{shown} exists already and was left as it is; save under a new name");
                return Err(Failure::conflict(text));
            }
            files.write(&target, &page.body, &WriteMode::New)
        })
        .await?;
    cx.file_changed(&at);
    let text = format!("Saved {url} as {name}: {told}. It was written by others.");
    Ok(Output { files: vec![change], ..Output::text(text) }.with_metadata(metadata))
}

fn media_type(page: &WebPage) -> String {
    super::content::Content::of(page).media_type
}
