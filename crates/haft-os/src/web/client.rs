//! A fetch, hop by hop.

use super::{
    address::{is_local_name, is_plain, not_public},
    body::Body,
    cache::{Cache, Key},
    exchange::{Answer, request},
    network::{Network, SystemNetwork},
    refusal::Hop,
    tls::Tls,
};
use haft_core::{BoxFuture, Failure, FailureKind, Web, WebHop, WebPage, WebRequest, WebUrl};
use hyper::header::LOCATION;
use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{net::TcpStream, sync::OnceCell, time::timeout};

/// Redirects that are followed.
const REDIRECTS_MAX: usize = 5;
/// Addresses of one name that are tried, one after the other.
const ADDRESSES_MAX: usize = 4;
/// So much of a redirect's target is shown.
const TARGET_MAX_CHARS: usize = 200;
/// How long one address may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
/// How long the greeting by TLS may take.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);

/// The guarded client. Certificates are read when the first `https` page is fetched.
pub struct OsWeb {
    network: Arc<dyn Network>,
    tls: OnceCell<Tls>,
    cache: Cache,
}

impl Default for OsWeb {
    fn default() -> Self {
        Self::over(Arc::new(SystemNetwork))
    }
}

impl OsWeb {
    /// A client over another network, for tests of what names may come to mean.
    pub fn over(network: Arc<dyn Network>) -> Self {
        Self { network, tls: OnceCell::new(), cache: Cache::default() }
    }

    /// All hops of a fetch.
    async fn walk(&self, asked: &WebRequest) -> Result<WebPage, Failure> {
        let mut url = asked.url.clone();
        let mut hops: Vec<WebHop> = Vec::new();
        loop {
            let number = hops.len() + 1;
            let (answer, address) = self.hop(&url, number, asked).await?;
            hops.push(WebHop { url: url.clone(), address: address.to_string() });
            let next = redirect(&answer, &url, number, asked)?;
            if let Some(next) = &next
                && next.authority() == url.authority()
            {
                if hops.iter().any(|hop| hop.url == *next) {
                    let text =
                        format!("{} redirects in a circle, back to {next}; use another URL", asked.url);
                    return Err(Failure::conflict(text));
                }
                if hops.len() > REDIRECTS_MAX {
                    let text = format!(
                        "{} redirects more than {REDIRECTS_MAX} times; the next would be hop {}, {next}",
                        asked.url,
                        number + 1
                    );
                    return Err(Failure::conflict(text));
                }
                url = next.clone();
                continue;
            }
            return page(answer, next, (url, hops), asked).await;
        }
    }

    /// Checks, connects, asks.
    async fn hop(
        &self,
        url: &WebUrl,
        number: usize,
        asked: &WebRequest,
    ) -> Result<(Answer, SocketAddr), Failure> {
        let hop = Hop::new(number, url.as_str());
        let request = request(url, &asked.headers).map_err(Failure::invalid)?;
        let addresses = self.checked(url, hop, asked).await?;
        let (stream, address) = self
            .connect(&addresses)
            .await
            .map_err(|error| hop.unavailable(&format!("no connection ({error}); check host and port")))?;
        let answer = if url.is_https() {
            let tls = self.tls().await?;
            let greeting = timeout(GREETING_TIMEOUT, tls.greet(url, stream)).await;
            let stream = greeting
                .unwrap_or_else(|_| Err("the host didn't answer the TLS greeting".to_owned()))
                .map_err(|what| hop.unavailable(&what))?;
            Answer::to(request, stream).await
        } else {
            Answer::to(request, stream).await
        };
        Ok((answer.map_err(|what| hop.unavailable(&what))?, address))
    }

    /// The addresses that may be connected to. One that isn't public spoils them all: a name that means both a
    /// public and a private address is made to slip through.
    async fn checked(
        &self,
        url: &WebUrl,
        hop: Hop<'_>,
        asked: &WebRequest,
    ) -> Result<Vec<SocketAddr>, Failure> {
        let is_allowed = allows(&asked.allow, url);
        check_host(url, hop, asked)?;
        if let Some(address) = url.address() {
            return Ok(vec![SocketAddr::new(address, url.port())]);
        }
        let found = self.network.resolve(url.host()).await.map_err(|error| {
            hop.unavailable(&format!("the host {} isn't known ({error}); check its spelling", url.host()))
        })?;
        if let Some((address, what)) =
            found.iter().find_map(|address| Some((address, not_public(*address)?))).filter(|_| !is_allowed)
        {
            return Err(hop.not_public(&format!("{} means {address}, {what}", url.host())));
        }
        if found.is_empty() {
            return Err(
                hop.unavailable(&format!("the host {} has no address; check its spelling", url.host()))
            );
        }
        Ok(found.into_iter().map(|address| SocketAddr::new(address, url.port())).collect())
    }

    async fn connect(&self, addresses: &[SocketAddr]) -> io::Result<(TcpStream, SocketAddr)> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in addresses.iter().take(ADDRESSES_MAX) {
            match timeout(CONNECT_TIMEOUT, self.network.connect(*address)).await {
                Ok(Ok(stream)) => return Ok((stream, *address)),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }

    async fn tls(&self) -> Result<&Tls, Failure> {
        self.tls
            .get_or_try_init(|| async {
                tokio::task::spawn_blocking(Tls::load)
                    .await
                    .map_err(|error| Failure::internal("TLS can't be set up").diagnose(error.to_string()))?
            })
            .await
    }
}

impl Web for OsWeb {
    fn fetch(&self, request: WebRequest) -> BoxFuture<'_, Result<WebPage, Failure>> {
        Box::pin(async move {
            let key = Key::of(&request);
            if let Some(page) = self.cache.get(&key, Instant::now()) {
                return Ok(page);
            }
            let page = tokio::select! {
                biased;
                () = request.cancel.fired() => return Err(Failure::cancelled()),
                walked = timeout(request.deadline, self.walk(&request)) => {
                    walked.map_err(|_| too_slow(&request))??
                }
            };
            // What an operator allows is what is being worked on: it may have changed since.
            if !allows(&request.allow, &request.url) {
                self.cache.put(key, &page, Instant::now());
            }
            Ok(page)
        })
    }
}

/// Whether the operator allows this very host and port, whatever its address.
fn allows(allow: &[String], url: &WebUrl) -> bool {
    let place = url.host_and_port();
    allow.iter().any(|allowed| allowed.eq_ignore_ascii_case(&place))
}

/// What can be said of a host without asking anybody.
fn check_host(url: &WebUrl, hop: Hop<'_>, asked: &WebRequest) -> Result<(), Failure> {
    if allows(&asked.allow, url) {
        return Ok(());
    }
    let (what, is_plain) = match url.address() {
        Some(address) => match not_public(address) {
            Some(what) => (format!("{address} is {what}"), is_plain(what)),
            None => return Ok(()),
        },
        None if is_local_name(url.host()) => {
            // Clouds give out the keys of a machine under such names.
            (
                format!("{} is a name within a machine or network", url.host()),
                !url.host().ends_with(".internal"),
            )
        }
        None => return Ok(()),
    };
    Err(if is_plain { hop.private(url, &what, asked.allow_by) } else { hop.not_public(&what) })
}

/// Where an answer leads, if it leads anywhere.
fn redirect(
    answer: &Answer,
    from: &WebUrl,
    number: usize,
    asked: &WebRequest,
) -> Result<Option<WebUrl>, Failure> {
    let location = match answer.status() {
        301 | 302 | 303 | 307 | 308 => answer.header(LOCATION),
        _ => None,
    };
    location.map(|location| lead(&location, from, number + 1, asked)).transpose()
}

/// Where a redirect leads, checked as far as it can be without contacting anybody.
fn lead(location: &str, from: &WebUrl, number: usize, asked: &WebRequest) -> Result<WebUrl, Failure> {
    let target: String = location.chars().take(TARGET_MAX_CHARS).flat_map(char::escape_debug).collect();
    let hop = Hop::new(number, &target);
    let next = from.join(location).map_err(|failure| hop.refused(&failure.text))?;
    check_host(&next, hop, asked)?;
    if !from.is_https() || next.is_https() {
        return Ok(next);
    }
    let why = "it leads from https to plain http";
    if next.host() == from.host() {
        // The host serves this only unprotected; whoever asked for http may still have it.
        return Err(Failure { retryable: false, ..hop.unavailable(why) });
    }
    Err(hop.refused(&format!("{why}. If that page is wanted, ask for it by its own URL")))
}

/// Reads the page that the last hop led to; of one that leads elsewhere only the head.
async fn page(
    answer: Answer,
    elsewhere: Option<WebUrl>,
    (url, hops): (WebUrl, Vec<WebHop>),
    asked: &WebRequest,
) -> Result<WebPage, Failure> {
    let (status, headers, whole_bytes) = (answer.status(), answer.headers(), answer.stated_bytes());
    let body = if elsewhere.is_some() {
        Body::default()
    } else {
        let hop = Hop::new(hops.len(), url.as_str());
        answer.body(asked.max_bytes).await.map_err(|what| hop.unavailable(&what))?
    };
    Ok(WebPage {
        hops,
        status,
        headers,
        body: body.bytes,
        cut: body.cut,
        whole_bytes,
        elsewhere,
        from_cache: false,
        url,
    })
}

fn too_slow(request: &WebRequest) -> Failure {
    let text = format!(
        "{} wasn't read within {} ms; try again later, or fetch something smaller",
        request.url,
        request.deadline.as_millis()
    );
    Failure::new(FailureKind::Timeout, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_never_gives_up_protection() {
        let from = WebUrl::parse("https://example.com/a").unwrap();
        let asked = WebRequest::new(from.clone());
        let to = |location| lead(location, &from, 2, &asked);
        assert_eq!(to("/b").unwrap().as_str(), "https://example.com/b");
        assert_eq!(to("https://other.org/").unwrap().authority(), "other.org");
        let own = to("http://example.com/a").unwrap_err();
        assert_eq!((own.kind, own.retryable), (FailureKind::Unavailable, false));
        let other = to("http://other.org/").unwrap_err();
        assert_eq!(other.kind, FailureKind::Permission);
        assert!(
            other.text.contains("hop 2, the redirect to http://other.org/")
                && other.text.contains("plain http")
        );
    }
}
