//! Pictures and PDF documents, decoded: [`OsMedia`].
//!
//! Pictures are decoded here, with limits on their size and on the memory that takes. The PDF library panics,
//! recurses and loops on documents that are made for it, so that it only ever runs in a child process with a
//! deadline and limits on memory and processor time. The child is the program itself, which therefore has to
//! call [`crate::serve_child`] first of all; a program that doesn't gives no PDF text, rather than being started a
//! second time.

#[cfg(feature = "pdf")]
mod pdf;
#[cfg(feature = "pdf")]
mod pdf_child;
#[cfg(feature = "images")]
mod picture;

use haft_core::{
    BoxFuture, Cancel, Failure, Image, ImageLimits, Media, NoMedia, PageRange, PdfText, Processes,
};
use std::sync::Arc;

/// For what there is no decoder.
static NONE: NoMedia = NoMedia;

/// Decodes pictures in this process and PDF documents in a child.
#[derive(Clone, Default)]
pub struct OsMedia {
    #[cfg_attr(not(feature = "pdf"), allow(dead_code, reason = "nothing is read in a child"))]
    child: Option<Child>,
}

/// How the child is started.
#[derive(Clone)]
#[cfg_attr(not(feature = "pdf"), allow(dead_code, reason = "nothing is read in a child"))]
struct Child {
    processes: Arc<dyn Processes>,
    argv: Vec<String>,
}

impl OsMedia {
    /// Decodes pictures, and PDF documents in a child of this very program.
    ///
    /// Only for a program whose `main` calls [`crate::serve_child`] before anything else.
    pub fn of_this_program(processes: Arc<dyn Processes>) -> Self {
        let program = std::env::current_exe().ok().and_then(|path| path.into_os_string().into_string().ok());
        match program {
            Some(program) => Self::default().with_child(processes, vec![program]),
            None => Self::default(),
        }
    }

    /// Reads PDF documents in a child that this command starts; it must come to [`crate::serve_child`].
    #[must_use]
    pub fn with_child(mut self, processes: Arc<dyn Processes>, argv: Vec<String>) -> Self {
        self.child = Some(Child { processes, argv });
        self
    }
}

impl Media for OsMedia {
    fn image(&self, bytes: &[u8], limits: ImageLimits) -> Result<Image, Failure> {
        #[cfg(feature = "images")]
        {
            picture::decode(bytes, limits)
        }
        #[cfg(not(feature = "images"))]
        {
            NONE.image(bytes, limits)
        }
    }

    fn pdf<'a>(
        &'a self,
        bytes: Vec<u8>,
        pages: PageRange,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<PdfText, Failure>> {
        #[cfg(feature = "pdf")]
        if let Some(child) = &self.child {
            return Box::pin(pdf::text(child, bytes, pages, cancel));
        }
        NONE.pdf(bytes, pages, cancel)
    }
}

/// Reads a document and ends the process, where it was started for that; else does nothing.
pub(crate) fn serve_child() {
    #[cfg(feature = "pdf")]
    if let Some(pages) = std::env::var_os(pdf::PAGES) {
        pdf_child::serve(&pages.to_string_lossy());
    }
}
