//! A party's key and certificate, as files.
//!
//! Certificates are self-signed and pinned: parties exchange the `.crt` files and each accepts exactly those. Names and
//! dates in a certificate are ignored.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ED25519, date_time_ymd};
use ring::digest;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use zeroize::Zeroizing;

use crate::{KeyProblem, NetError};

/// The SHA-256 of a certificate, by which people compare certificates over the telephone.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Returns the fingerprint of a certificate file (PEM).
    ///
    /// # Errors
    /// [`NetError::BadKey`] if the file cannot be read or holds no certificate.
    pub fn of_file(path: &Path) -> Result<Self, NetError> {
        load_certificate(path).map(|certificate| Fingerprint::of(&certificate))
    }

    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&digest::SHA256, certificate).as_ref());
        Fingerprint(hash)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, pair) in self.0.chunks(2).enumerate() {
            let separator = if i == 0 { "" } else { ":" };
            write!(f, "{separator}{:02x}{:02x}", pair[0], pair[1])?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Makes a key and a certificate for a party: `party{i}.key`, which only its user can read and which never leaves this
/// machine, and `party{i}.crt`, which every other party gets. The directory is made if it is missing.
///
/// # Errors
/// [`NetError::BadKey`] if one of the files exists already (nothing is written then) or cannot be written.
pub fn keygen(dir: &Path, party: usize) -> Result<Fingerprint, NetError> {
    let key_path = dir.join(format!("party{party}.key"));
    let certificate_path = dir.join(format!("party{party}.crt"));
    fs::create_dir_all(dir).map_err(|error| bad(dir, KeyProblem::Unwritable(error.kind())))?;
    if let Some(path) = [&key_path, &certificate_path].into_iter().find(|path| path.exists()) {
        return Err(bad(path, KeyProblem::Exists));
    }
    let generated = generate(party).map_err(|_| bad(&key_path, KeyProblem::NotGenerated))?;
    write_new(&key_path, generated.key_pem.as_bytes(), 0o600)?;
    write_new(&certificate_path, generated.certificate_pem.as_bytes(), 0o644)?;
    Ok(Fingerprint::of(&generated.certificate))
}

pub(crate) struct Generated {
    pub(crate) key_pem: Zeroizing<String>,
    certificate_pem: String,
    pub(crate) certificate: CertificateDer<'static>,
}

pub(crate) fn generate(party: usize) -> Result<Generated, rcgen::Error> {
    let key = KeyPair::generate_for(&PKCS_ED25519)?;
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, format!("quorate party {party}"));
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2060, 1, 1);
    let certificate = params.self_signed(&key)?;
    Ok(Generated {
        key_pem: Zeroizing::new(key.serialize_pem()),
        certificate_pem: certificate.pem(),
        certificate: certificate.der().clone(),
    })
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), NetError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let written = options.open(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => bad(path, KeyProblem::Exists),
        kind => bad(path, KeyProblem::Unwritable(kind)),
    })
}

/// Reads the first certificate of a PEM file.
pub(crate) fn load_certificate(path: &Path) -> Result<CertificateDer<'static>, NetError> {
    certificate(path, &read(path)?)
}

/// Returns the first certificate of a PEM text, which was read from `path`.
pub(crate) fn certificate(path: &Path, pem: &[u8]) -> Result<CertificateDer<'static>, NetError> {
    CertificateDer::from_pem_slice(pem).map_err(|_| bad(path, KeyProblem::Empty("certificate")))
}

/// Reads the private key of a PEM file, which other users must not be able to read.
pub(crate) fn load_key(path: &Path) -> Result<PrivateKeyDer<'static>, NetError> {
    let pem = read(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
        if mode & 0o077 != 0 {
            return Err(bad(path, KeyProblem::TooOpen));
        }
    }
    private_key(path, &pem)
}

/// Returns the private key of a PEM text, which was read from `path`.
pub(crate) fn private_key(path: &Path, pem: &[u8]) -> Result<PrivateKeyDer<'static>, NetError> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|_| bad(path, KeyProblem::Empty("private key")))
}

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, NetError> {
    fs::read(path).map(Zeroizing::new).map_err(|error| bad(path, KeyProblem::Unreadable(error.kind())))
}

pub(crate) fn bad(path: &Path, what: KeyProblem) -> NetError {
    NetError::BadKey { path: PathBuf::from(path), what }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns an empty directory for a test's keys; the caller removes it.
    pub(in crate::tcp) fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("quorate-keys-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    #[test]
    fn a_key_is_private_and_never_overwritten() {
        let dir = scratch("private");
        let fingerprint = keygen(&dir, 4).unwrap();
        assert_eq!(Fingerprint::of_file(&dir.join("party4.crt")).unwrap(), fingerprint);
        assert_eq!(fingerprint.to_string().len(), 64 + 15);
        load_key(&dir.join("party4.key")).unwrap();
        let before = fs::read(dir.join("party4.key")).unwrap();
        assert!(matches!(keygen(&dir, 4), Err(NetError::BadKey { what: KeyProblem::Exists, .. })));
        assert_eq!(fs::read(dir.join("party4.key")).unwrap(), before);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let path = dir.join("party4.key");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            assert!(matches!(load_key(&path), Err(NetError::BadKey { what: KeyProblem::TooOpen, .. })));
        }
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn files_that_hold_something_else_are_named() {
        let dir = scratch("else");
        let missing = load_certificate(&dir.join("no.crt")).unwrap_err();
        assert!(missing.to_string().contains("no.crt") && missing.to_string().contains("keygen"), "{missing}");
        keygen(&dir, 0).unwrap();
        fs::write(dir.join("bad.crt"), "hello").unwrap();
        let bad = load_certificate(&dir.join("bad.crt"));
        assert!(matches!(bad, Err(NetError::BadKey { what: KeyProblem::Empty("certificate"), .. })));
        let swapped = load_certificate(&dir.join("party0.key"));
        assert!(matches!(swapped, Err(NetError::BadKey { what: KeyProblem::Empty("certificate"), .. })));
        fs::remove_dir_all(&dir).unwrap();
    }
}
