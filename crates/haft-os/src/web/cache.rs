//! Pages kept for a while, so that reading on in a page doesn't fetch it again.
//!
//! In memory and bounded. Only whole public pages that answered 200 and whose server doesn't object.

use haft_core::{WebPage, WebRequest, WebUrl};
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How long a page is kept.
const KEPT_FOR: Duration = Duration::from_secs(15 * 60);
/// How many pages are kept.
const PAGES_MAX: usize = 64;
/// And so many bytes of them.
const BYTES_MAX: usize = 32 * 1024 * 1024;
/// Larger pages aren't kept: one would push out all others.
const PAGE_MAX_BYTES: usize = BYTES_MAX / 4;

/// What must be the same for a kept page to stand for a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    url: WebUrl,
    headers: Vec<(String, String)>,
    allow: Vec<String>,
    max_bytes: usize,
}

impl Key {
    pub(super) fn of(request: &WebRequest) -> Self {
        Self {
            url: request.url.clone(),
            headers: request.headers.clone(),
            allow: request.allow.clone(),
            max_bytes: request.max_bytes,
        }
    }
}

#[derive(Default)]
pub(super) struct Cache(Mutex<Kept>);

/// Oldest first.
#[derive(Default)]
struct Kept {
    pages: VecDeque<(Key, Instant, WebPage)>,
    bytes: usize,
}

impl Kept {
    fn drop_oldest(&mut self) {
        if let Some((_, _, page)) = self.pages.pop_front() {
            self.bytes = self.bytes.saturating_sub(size(&page));
        }
    }

    fn drop_stale(&mut self, now: Instant) {
        while self.pages.front().is_some_and(|(_, since, _)| now.duration_since(*since) >= KEPT_FOR) {
            self.drop_oldest();
        }
    }
}

impl Cache {
    /// The page that was kept for the same request, if it is still fresh.
    pub(super) fn get(&self, key: &Key, now: Instant) -> Option<WebPage> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.drop_stale(now);
        let (_, _, page) = kept.pages.iter().rev().find(|(of, _, _)| of == key)?;
        Some(WebPage { from_cache: true, ..page.clone() })
    }

    /// Keeps a page, if it may be kept.
    pub(super) fn put(&self, key: Key, page: &WebPage, now: Instant) {
        if page.status != 200 || page.cut || page.elsewhere.is_some() || size(page) > PAGE_MAX_BYTES {
            return;
        }
        let control = page.header("cache-control").unwrap_or_default().to_ascii_lowercase();
        if ["no-store", "no-cache"].iter().any(|word| control.contains(word)) {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += size(page);
        kept.pages.push_back((key, now, page.clone()));
        while kept.pages.len() > PAGES_MAX || kept.bytes > BYTES_MAX {
            kept.drop_oldest();
        }
    }
}

fn size(page: &WebPage) -> usize {
    let headers: usize = page.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    page.body.len() + headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: usize) -> WebRequest {
        WebRequest::new(WebUrl::parse(&format!("https://example.com/{path}")).unwrap())
    }

    fn page(request: &WebRequest, bytes: usize) -> WebPage {
        WebPage {
            url: request.url.clone(),
            hops: Vec::new(),
            status: 200,
            headers: Vec::new(),
            body: vec![b'x'; bytes],
            cut: false,
            whole_bytes: None,
            elsewhere: None,
            from_cache: false,
        }
    }

    #[test]
    fn a_page_is_kept_for_a_quarter_of_an_hour_and_for_the_same_request_alone() {
        let (cache, start) = (Cache::default(), Instant::now());
        let asked = request(1);
        cache.put(Key::of(&asked), &page(&asked, 10), start);
        let after = |seconds| start + Duration::from_secs(seconds);
        assert!(cache.get(&Key::of(&asked), after(899)).unwrap().from_cache);
        let mut other = asked.clone();
        other.headers.push(("authorization".to_owned(), "x".to_owned()));
        assert!(cache.get(&Key::of(&other), start).is_none());
        assert!(cache.get(&Key::of(&request(2)), start).is_none());
        assert!(cache.get(&Key::of(&asked), after(900)).is_none());
    }

    #[test]
    fn what_should_not_be_kept_is_not() {
        let (cache, now) = (Cache::default(), Instant::now());
        let asked = request(1);
        let plain = page(&asked, 10);
        let stored = vec![("cache-control".to_owned(), "private, No-Store".to_owned())];
        for page in [
            WebPage { status: 404, ..plain.clone() },
            WebPage { cut: true, ..plain.clone() },
            WebPage { headers: stored, ..plain.clone() },
            page(&asked, PAGE_MAX_BYTES + 1),
        ] {
            cache.put(Key::of(&asked), &page, now);
            assert!(cache.get(&Key::of(&asked), now).is_none());
        }
    }

    #[test]
    fn the_oldest_go_first() {
        let (cache, now) = (Cache::default(), Instant::now());
        for path in 0..=PAGES_MAX {
            cache.put(Key::of(&request(path)), &page(&request(path), 1), now);
        }
        assert!(cache.get(&Key::of(&request(0)), now).is_none());
        assert!(cache.get(&Key::of(&request(1)), now).is_some());
        for path in 100..105 {
            cache.put(Key::of(&request(path)), &page(&request(path), PAGE_MAX_BYTES), now);
        }
        assert!(cache.get(&Key::of(&request(1)), now).is_none());
        assert!(cache.get(&Key::of(&request(100)), now).is_none());
        assert!(cache.get(&Key::of(&request(101)), now).is_some());
    }
}
