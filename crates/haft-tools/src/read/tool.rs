//! The tool `read`.

use super::{
    input::ReadInput,
    look::{Job, Look, lines_max},
    media::Found,
};
use haft_core::{Cx, Effects, Failure, Media, Output, Permission, Risk, SessionView, Spec, Tool, Touch};
use std::sync::Arc;

/// A file of at most this length is read where the call runs: handing it to another thread and back would take
/// longer than the read.
const INLINE_MAX_BYTES: usize = 64 * 1024;

/// Shows files and folders.
#[derive(Clone)]
pub(crate) struct ReadTool {
    /// Decodes what isn't text.
    pub(crate) media: Arc<dyn Media>,
}

impl Tool for ReadTool {
    type Input = ReadInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("read", include_str!("prompt.md").trim_end())
            .with_aliases(&["Read"])
            .with_input_aliases("path", &["file_path", "file", "filename", "filePath"])
            .with_category("files")
            .with_permission(Permission::Auto)
            .with_risk(Risk::Safe)
            .read_only()
            .concurrency_safe()
            .idempotent()
            .with_capabilities(&["fs.read"])
            .with_display("📄", "Reading")
    }

    fn validate(&self, input: &ReadInput) -> Result<(), Failure> {
        input.pages()?;
        input.columns().map(|_| ())
    }

    fn effects(&self, input: &ReadInput, _: &dyn SessionView) -> Effects {
        Effects::Only(vec![Touch::Read(input.path.clone())])
    }

    async fn run(&self, input: ReadInput, cx: &Cx) -> Result<Output, Failure> {
        let at = cx.path(&input.path)?;
        let look = Look {
            offset: input.offset.unwrap_or(1),
            limit: input.limit.unwrap_or(u64::MAX).clamp(1, lines_max()),
            columns: input.columns()?,
            pages: input.pages()?,
            is_plain: input.columns.is_some(),
        };
        let (files, cancel) = (Arc::clone(&cx.world.files), cx.cancel.clone());
        let short = files.read_short(&at, INLINE_MAX_BYTES)?;
        let is_small = short.bytes.is_some();
        let media = Arc::clone(&self.media);
        let job = move || {
            let (files, media) = (&*files, &*media);
            look.at(&Job { files, media, written: &input.path.0, at: &at, cancel: &cancel }, short)
        };
        let found = if is_small { job() } else { cx.blocking(job).await };
        match found? {
            Found::Shown(output) => Ok(output),
            Found::Document(document) => document.show(&*self.media, &cx.cancel).await,
        }
    }
}
