//! What a person is shown, and whether it still holds.

use haft_core::{Bound, Cx, Failure, Preview};
use std::{panic::AssertUnwindSafe, time::Duration};
use tokio::time::timeout;

/// A preview that takes longer is left out.
const PREVIEW_TIME: Duration = Duration::from_secs(10);

/// Takes the tool's preview. A failure is the call's: the change it would show can't be made.
pub(crate) async fn take(bound: &dyn Bound, cx: &Cx) -> Result<Preview, Failure> {
    // The call itself within, so that a panic before the first await is caught too.
    let taken = futures::FutureExt::catch_unwind(AssertUnwindSafe(async { bound.preview(cx).await }));
    match timeout(PREVIEW_TIME, taken).await {
        Ok(Ok(preview)) => preview,
        Ok(Err(_)) => Ok(Preview { text: "(the tool's preview failed)".to_owned(), digest: Vec::new() }),
        Err(_) => Ok(Preview { text: "(the tool's preview took too long)".to_owned(), digest: Vec::new() }),
    }
}

/// Whether what was shown is still what would happen.
pub(crate) async fn holds(bound: &dyn Bound, cx: &Cx, shown: &Preview) -> Result<(), Failure> {
    if shown.digest.is_empty() {
        return Ok(());
    }
    let now = take(bound, cx).await?;
    if now.digest == shown.digest {
        return Ok(());
    }
    Err(Failure::conflict(
        "what was approved is no longer what would happen: the file changed meanwhile. Read it again and make the \
         call anew.",
    ))
}
