//! TLS settings. The trust store is read with the first certificate that has to be checked, so plain http never pays for it.

use ostler_wire::{Why, Word};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Makes the cryptography of this crate the default of the process. May be called any number of times.
pub fn install_crypto() {
    // An error means that a provider is installed already, which is what is wanted.
    _ = rustls::crypto::ring::default_provider().install_default();
}

/// Why there is nothing to check certificates against, on its way through the layers below us.
#[derive(Clone, Debug)]
pub(super) struct TrustFault(pub(super) Why);

impl fmt::Display for TrustFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for TrustFault {}

/// Checks certificates against the system's trust store and the given files.
#[derive(Debug)]
pub(super) struct LazyVerifier {
    crypto: Arc<CryptoProvider>,
    ca_files: Vec<PathBuf>,
    loaded: OnceLock<Result<Arc<dyn ServerCertVerifier>, TrustFault>>,
}

impl LazyVerifier {
    pub(super) fn new(ca_files: Vec<PathBuf>) -> Self {
        Self {
            crypto: Arc::new(rustls::crypto::ring::default_provider()),
            ca_files,
            loaded: OnceLock::new(),
        }
    }

    /// Reads the trust store unless that was done. Blocks on files.
    pub(super) fn load(&self) -> Result<&Arc<dyn ServerCertVerifier>, rustls::Error> {
        self.loaded
            .get_or_init(|| self.read())
            .as_ref()
            .map_err(|fault| rustls::OtherError(Arc::new(fault.clone())).into())
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.loaded.get().is_some()
    }

    fn read(&self) -> Result<Arc<dyn ServerCertVerifier>, TrustFault> {
        let mut extra = Vec::new();
        for file in &self.ca_files {
            extra.extend(read_pem(file).map_err(TrustFault)?);
        }
        if !extra.is_empty() {
            extra.extend(system_bundle());
        }
        let make = |roots: Vec<CertificateDer<'static>>| {
            rustls_platform_verifier::Verifier::new_with_extra_roots(roots, self.crypto.clone())
        };
        let verifier = match make(extra.clone()) {
            Ok(verifier) => verifier,
            // An image without certificates: what the system does not have comes with us.
            Err(_) => {
                extra.extend(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
                let verifier = make(extra).map_err(|error| {
                    TrustFault(Why::ours(Word::LlmNoTrustStore, [error.to_string().into()]))
                })?;
                USED_BUNDLED.store(true, Ordering::Relaxed);
                verifier
            }
        };
        Ok(Arc::new(verifier))
    }
}

/// Whether certificates were checked against the roots that come with us. A fact of the system, so one for the process.
static USED_BUNDLED: AtomicBool = AtomicBool::new(false);

/// What the person is to know of the system's trust store, once it was needed.
pub fn trust_notice() -> Option<Word> {
    USED_BUNDLED
        .load(Ordering::Relaxed)
        .then_some(Word::LlmBundledRoots)
}

/// Most bytes of a file of certificates.
const MAX_PEM: u64 = 16 << 20;

/// Settings for a client that speaks HTTP/2 where the server does.
pub(super) fn config(verifier: Arc<LazyVerifier>) -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(verifier.crypto.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

impl ServerCertVerifier for LazyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.load()?
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.crypto.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.crypto.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.crypto
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn read_pem(file: &Path) -> Result<Vec<CertificateDer<'static>>, Why> {
    let name = || file.display().to_string().into();
    let certs: Vec<_> = check_file(file)
        .map_err(pem::Error::Io)
        .and_then(|()| CertificateDer::pem_file_iter(file)?.collect())
        .map_err(|error| {
            let said = match &error {
                pem::Error::Io(error) => error.into(),
                error => error.to_string().into(),
            };
            Why::ours(Word::LlmBadTrustFile, [name(), said])
        })?;
    let certs: Vec<_> = certs.into_iter().filter(is_usable).collect();
    if certs.is_empty() {
        return Err(Why::ours(Word::LlmNoCertificate, [name()]));
    }
    Ok(certs)
}

/// A setting may name a pipe or a device, which has no end.
fn check_file(file: &Path) -> std::io::Result<()> {
    let meta = std::fs::metadata(file)?;
    match (meta.is_file(), meta.len() <= MAX_PEM) {
        (true, true) => Ok(()),
        (true, false) => Err(std::io::ErrorKind::FileTooLarge.into()),
        (false, _) => Err(std::io::ErrorKind::InvalidInput.into()),
    }
}

/// Where the common systems keep their bundle. The loader below us reads only `SSL_CERT_FILE` when that is set; we want both.
fn system_bundle() -> Vec<CertificateDer<'static>> {
    const BUNDLES: [&str; 4] = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ];
    if !cfg!(all(unix, not(target_vendor = "apple"))) {
        return Vec::new();
    }
    BUNDLES
        .iter()
        .find_map(|file| read_pem(Path::new(file)).ok())
        .unwrap_or_default()
}

/// One root that cannot be read must not lose the others.
fn is_usable(cert: &CertificateDer<'static>) -> bool {
    RootCertStore::empty().add(cert.clone()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::LazyVerifier;
    use std::io::Write;

    #[test]
    fn a_bad_certificate_file_is_named() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"not a certificate\n").unwrap();
        let name = file.path().display().to_string();
        let error = LazyVerifier::new(vec![file.path().into()])
            .load()
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(&name) && error.contains("PEM"), "{error}");

        let error = LazyVerifier::new(vec!["/nowhere/ca.pem".into()])
            .load()
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("/nowhere/ca.pem cannot be read: No such file"),
            "{error}"
        );
    }
}
