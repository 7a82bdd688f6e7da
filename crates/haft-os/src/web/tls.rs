//! TLS on a connection that is already made: the name is proven by its certificate, whatever the address.

use haft_core::{Failure, WebUrl};
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use std::{io, sync::Arc};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// The system's certificates, ready for use.
pub(super) struct Tls {
    connector: TlsConnector,
    has_roots: bool,
}

impl Tls {
    /// Reads the certificates; takes a while and blocks. `SSL_CERT_FILE` and `SSL_CERT_DIR` are honoured.
    ///
    /// # Errors
    /// Internal where TLS can't be set up. A system without certificates is no error: each host then fails to
    /// prove its name.
    pub(super) fn load() -> Result<Self, Failure> {
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::internal("TLS can't be set up").diagnose(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), has_roots: added > 0 })
    }

    /// Greets the host by its name.
    ///
    /// # Errors
    /// What the system says, in words.
    pub(super) async fn greet(
        &self,
        url: &WebUrl,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, String> {
        let name = match url.address() {
            Some(address) => ServerName::from(address),
            None => ServerName::try_from(url.host().to_owned())
                .map_err(|error| format!("{} can't be proven by a certificate: {error}", url.host()))?,
        };
        self.connector.connect(name, stream).await.map_err(|error: io::Error| {
            let advice = if self.has_roots { "" } else { " (this system has no root certificates)" };
            format!("no secure connection: {error}{advice}")
        })
    }
}
