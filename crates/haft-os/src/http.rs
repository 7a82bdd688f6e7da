//! HTTP for the operator's own settings: model endpoints and protocol servers.
//!
//! Leaves checking addresses of what a model asks for to the guarded client. No proxy from the environment,
//! no redirects, the system's certificates (`SSL_CERT_FILE` and `SSL_CERT_DIR` are honoured). Where addresses come from a
//! server, such as who gives tokens for it, only public hosts are reached, and those that the operator named.

use crate::web::{is_local_name, not_public};
use haft_core::{BoxFuture, Failure, FailureKind, Http, HttpRequest, HttpResponse, WebUrl};
use reqwest::{
    Client, Method,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};
use std::{error::Error, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{net::lookup_host, sync::OnceCell, time::timeout};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client made at its first use: reading the certificates takes longer than a start may.
#[derive(Debug, Default)]
pub struct OsHttp {
    client: OnceCell<Client>,
    /// Keeps it to public hosts.
    guard: Option<Guard>,
}

/// Which hosts are reached.
#[derive(Debug, Clone)]
struct Guard {
    /// These whatever their addresses are, others where all of theirs are public.
    named: Arc<[String]>,
}

impl OsHttp {
    /// One that reaches public hosts only, and these hosts whatever their addresses are.
    pub fn public_and(hosts: impl IntoIterator<Item = String>) -> Self {
        Self { guard: Some(Guard { named: hosts.into_iter().collect() }), ..Self::default() }
    }

    async fn client(&self) -> Result<&Client, Failure> {
        let guard = self.guard.clone();
        self.client
            .get_or_try_init(|| async move {
                tokio::task::spawn_blocking(move || build(guard)).await.map_err(|error| {
                    Failure::internal("the HTTP client can't be made").diagnose(error.to_string())
                })?
            })
            .await
    }
}

impl Guard {
    fn names(&self, host: &str) -> bool {
        self.named.iter().any(|named| named.eq_ignore_ascii_case(host))
    }

    /// What can be said of a host without asking anybody.
    fn check(&self, url: &str) -> Result<(), Failure> {
        let url = WebUrl::parse(url)?;
        if self.names(url.host()) {
            return Ok(());
        }
        let what = match url.address() {
            Some(address) => not_public(address),
            None => is_local_name(url.host()).then_some("a name within a machine or network"),
        };
        what.map_or(Ok(()), |what| Err(private(url.host(), what)))
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let is_named = self.names(name.as_str());
        Box::pin(addresses(name, is_named))
    }
}

/// All addresses of a name. One that isn't public spoils them all, unless the operator named the host: a name that means
/// both is made to slip through.
async fn addresses(name: Name, is_named: bool) -> Result<Addrs, Box<dyn Error + Send + Sync>> {
    let found: Vec<SocketAddr> = lookup_host((name.as_str(), 0)).await?.collect();
    let hidden = found.iter().find_map(|address| not_public(address.ip())).filter(|_| !is_named);
    match hidden {
        Some(what) => Err(private(name.as_str(), what).text.into()),
        None => Ok(Box::new(found.into_iter())),
    }
}

fn private(host: &str, what: &str) -> Failure {
    Failure::new(
        FailureKind::Permission,
        format!(
            "{host} is {what}, to which nothing that a server names may lead; tell whoever runs the server"
        ),
    )
}

impl Http for OsHttp {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, Failure>> {
        Box::pin(async move {
            if let Some(guard) = &self.guard {
                guard.check(&request.url)?;
            }
            let method = Method::from_bytes(request.method.as_bytes())
                .map_err(|_| Failure::invalid(format!("{} is not an HTTP method", request.method)))?;
            let mut builder = self.client().await?.request(method, request.url.as_str());
            for (name, value) in &request.headers {
                builder = builder.header(name.as_str(), value.as_str());
            }
            if !request.body.is_empty() {
                builder = builder.body(request.body);
            }
            let idle = request.idle_timeout;
            let response = timeout(idle, builder.send())
                .await
                .map_err(|_| silent("the server sent no answer", idle))?
                .map_err(failure)?;
            let headers = response
                .headers()
                .iter()
                .map(|(name, value)| {
                    (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
                })
                .collect();
            let status = response.status().as_u16();
            let body = futures::stream::unfold(Some(response), move |response| async move {
                let mut response = response?;
                match timeout(idle, response.chunk()).await {
                    Ok(Ok(Some(piece))) => Some((Ok(piece.to_vec()), Some(response))),
                    Ok(Ok(None)) => None,
                    Ok(Err(error)) => Some((Err(failure(error)), None)),
                    Err(_) => Some((Err(silent("the server's answer stopped", idle)), None)),
                }
            });
            Ok(HttpResponse { status, headers, body: Box::pin(body) })
        })
    }
}

fn build(guard: Option<Guard>) -> Result<Client, Failure> {
    // An error means that a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        let plain = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")));
        match guard.clone() {
            Some(guard) => plain.dns_resolver(guard),
            None => plain,
        }
    };
    builder()
        .build()
        // A system without certificates (a bare container) still reaches plain-HTTP endpoints; HTTPS then
        // fails by itself.
        .or_else(|_| builder().tls_certs_only(std::iter::empty()).build())
        .map_err(|error| Failure::internal("the HTTP client can't be made").diagnose(chain(&error)))
}

fn silent(what: &str, idle: Duration) -> Failure {
    Failure::new(
        FailureKind::Timeout,
        format!("{what} for {} s; try again, or raise the time limit in the settings", idle.as_secs()),
    )
}

/// Without the URL, which may carry a key.
fn failure(error: reqwest::Error) -> Failure {
    let error = error.without_url();
    let told = chain(&error);
    if error.is_builder() {
        return Failure::invalid(format!(
            "the request can't be made: {told}; correct the URL or the headers"
        ));
    }
    if error.is_timeout() {
        let text = format!("the server didn't answer in time: {told}; try again");
        return Failure::new(FailureKind::Timeout, text);
    }
    let what = if error.is_connect() { "no connection to the server" } else { "the connection broke" };
    let text = format!("{what}: {told}; check the address and that the server runs, then try again");
    Failure::new(FailureKind::Unavailable, text)
}

/// An error with its causes: reqwest's own text names only the step.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_server_names_leads_to_public_hosts_and_to_those_that_were_named() {
        let http = OsHttp::public_and(["localhost".to_owned(), "10.0.0.7".to_owned()]);
        for (url, is_reached) in [
            ("http://127.0.0.1:9/", false),
            ("http://169.254.169.254/latest", false),
            ("http://[::1]:9/", false),
            ("http://10.0.0.8/", false),
            ("http://metadata.google.internal/", false),
            ("http://LOCALHOST:1/", true),
        ] {
            let request = HttpRequest {
                method: "GET".to_owned(),
                url: url.to_owned(),
                headers: Vec::new(),
                body: Vec::new(),
                idle_timeout: Duration::from_secs(5),
            };
            let failure = http.send(request).await.err().unwrap();
            // Nobody listens there, but it was tried.
            assert_eq!(failure.kind != FailureKind::Permission, is_reached, "{url}: {}", failure.text);
        }
        assert!(http.guard.as_ref().unwrap().check("http://10.0.0.7/").is_ok());
    }
}
