//! The verification of peers: exactly the holders of the pinned certificates are accepted.
//!
//! There is no authority, no name and no date. A certificate is accepted if its bytes are those that the configuration
//! names, and if the peer proves by TLS's own signature that it holds the key. TLS 1.3 only, no tickets, no resumption.

use std::path::Path;
use std::sync::Arc;

use ::ring::rand::{SecureRandom, SystemRandom};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, UnbufferedServerConnection};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error as TlsError, PeerIncompatible,
    ServerConfig, SignatureScheme,
};

use super::PartyConfig;
use super::channel::Channel;
use super::exporter::Exporter;
use super::keys::{bad, load_certificate, load_key};
use super::knock::{AnswerKeys, Challenge, FRESH_BYTES, Intention, Knock};
use super::session::SessionId;
use crate::{ConfigProblem, KeyProblem, NetError};

/// The name of the protocol inside TLS. The version is compared after the handshake, so that both sides can report it.
pub(crate) const PROTOCOL: &[u8] = b"quorate";

/// This party's key, and the certificate of every party.
pub(crate) struct Pinned {
    me: usize,
    certificates: Vec<CertificateDer<'static>>,
    identity: Arc<SingleCertAndKey>,
    provider: Arc<CryptoProvider>,
    server: Arc<ServerConfig>,
}

impl Pinned {
    /// Loads the files that the configuration names.
    ///
    /// # Errors
    /// [`NetError::BadKey`] and [`NetError::BadConfig`], naming the file or the parties.
    pub(crate) fn load(me: usize, parties: &[PartyConfig], key_path: &Path) -> Result<Self, NetError> {
        let certificates: Vec<_> =
            parties.iter().map(|party| load_certificate(&party.certificate)).collect::<Result<_, _>>()?;
        Pinned::new(me, certificates, load_key(key_path)?, key_path)
    }

    /// Pins the certificates of all parties. The key was read from `key_path`.
    ///
    /// # Errors
    /// [`NetError::BadKey`] and [`NetError::BadConfig`], naming the file or the parties.
    pub(crate) fn new(
        me: usize,
        certificates: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        key_path: &Path,
    ) -> Result<Self, NetError> {
        for (i, certificate) in certificates.iter().enumerate() {
            if let Some(j) = certificates[..i].iter().position(|earlier| earlier == certificate) {
                return Err(NetError::BadConfig(ConfigProblem::SameCertificate(j, i)));
            }
        }
        let provider = Arc::new(provider());
        let unusable = |_| bad(key_path, KeyProblem::Unusable);
        let key = provider.key_provider.load_private_key(key).map_err(unusable)?;
        let identity = CertifiedKey::new(vec![certificates[me].clone()], key);
        identity.keys_match().map_err(|_| bad(key_path, KeyProblem::Mismatch))?;
        let identity = Arc::new(SingleCertAndKey::from(identity));

        let others = certificates.iter().enumerate().filter(|(i, _)| *i != me).map(|(_, c)| c.clone()).collect();
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(unusable)?
            .with_client_cert_verifier(Verifier::new(others, &provider))
            .with_cert_resolver(Arc::clone(&identity) as _);
        server.alpn_protocols = vec![PROTOCOL.to_vec()];
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        Ok(Pinned { me, certificates, identity, provider, server: Arc::new(server) })
    }

    /// Returns the channel of a connection that was accepted: from any of the pinned peers.
    pub(crate) fn accept(&self) -> Result<Channel, TlsError> {
        let exporter = Arc::new(Exporter::default());
        let mut server = (*self.server).clone();
        server.key_log = Arc::clone(&exporter) as _;
        Ok(Channel::server(UnbufferedServerConnection::new(Arc::new(server))?, exporter))
    }

    /// Returns the channel of a connection that was dialled: to this peer only.
    pub(crate) fn dial(&self, peer: usize) -> Result<Channel, TlsError> {
        let verifier = Verifier::new(vec![self.certificates[peer].clone()], &self.provider);
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&TLS13])?
            .dangerous() // it is not: the verifier is stricter than the usual one
            .with_custom_certificate_verifier(verifier)
            .with_client_cert_resolver(Arc::clone(&self.identity) as _);
        client.alpn_protocols = vec![PROTOCOL.to_vec()];
        client.enable_sni = false;
        client.resumption = Resumption::disabled();
        let name = ServerName::try_from("quorate").map_err(|_| TlsError::UnsupportedNameType)?;
        let exporter = Arc::new(Exporter::default());
        client.key_log = Arc::clone(&exporter) as _;
        Ok(Channel::client(UnbufferedClientConnection::new(Arc::new(client), name)?, exporter))
    }

    /// Returns the keys with which this party checks its callers' answers.
    pub(crate) fn answer_keys(&self) -> AnswerKeys {
        AnswerKeys::of_called(self.me, &self.certificates)
    }

    /// Returns this party's answer to a challenge of `peer`, which it dialled.
    ///
    /// # Errors
    /// [`TlsError::FailedToGetRandomBytes`].
    pub(crate) fn knock(
        &self,
        challenge: &Challenge,
        peer: usize,
        intention: Intention,
        session: SessionId,
    ) -> Result<Knock, TlsError> {
        let mut fresh = [0; FRESH_BYTES];
        SystemRandom::new().fill(&mut fresh).map_err(|_| TlsError::FailedToGetRandomBytes)?;
        Ok(Knock::new(challenge, (peer, self.me), &self.certificates, intention, session, &fresh))
    }

    /// Returns a hash of this party's number and all certificates: sessions with the same one may share a port.
    pub(crate) fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("quorate-net 2026-11-29 parties that share a port");
        hasher.update(&(self.me as u64).to_le_bytes());
        for certificate in &self.certificates {
            hasher.update(&(certificate.len() as u64).to_le_bytes()).update(certificate);
        }
        *hasher.finalize().as_bytes()
    }

    /// Returns the party with this certificate.
    pub(crate) fn party_of(&self, certificate: &CertificateDer<'_>) -> Option<usize> {
        self.certificates.iter().position(|pinned| pinned == certificate)
    }
}

/// Returns the ciphers of TLS 1.3, the fastest first: 128 bits are the security of all data inside.
fn provider() -> CryptoProvider {
    let cipher_suites = vec![
        ring::cipher_suite::TLS13_AES_128_GCM_SHA256,
        ring::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        ring::cipher_suite::TLS13_AES_256_GCM_SHA384,
    ];
    CryptoProvider { cipher_suites, ..ring::default_provider() }
}

/// Accepts a fixed set of certificates.
#[derive(Debug)]
struct Verifier {
    accepted: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn new(accepted: Vec<CertificateDer<'static>>, provider: &CryptoProvider) -> Arc<Self> {
        Arc::new(Verifier { accepted, algorithms: provider.signature_verification_algorithms })
    }

    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), TlsError> {
        if self.accepted.iter().any(|pinned| pinned == certificate) {
            Ok(())
        } else {
            Err(TlsError::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Err(TlsError::PeerIncompatible(PeerIncompatible::Tls12NotOfferedOrEnabled))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, TlsError> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Err(TlsError::PeerIncompatible(PeerIncompatible::Tls12NotOfferedOrEnabled))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::super::keys::keygen;
    use super::super::keys::tests::scratch;
    use super::*;

    const PARTIES: usize = 3;

    /// Returns the keys of every party as loaded, and the key of a stranger.
    pub(crate) fn loaded(name: &str) -> (Vec<Pinned>, Arc<dyn rustls::sign::SigningKey>) {
        let dir = scratch(name);
        for party in 0..=PARTIES {
            keygen(&dir, party).unwrap();
        }
        let party = |i: usize| PartyConfig { address: String::new(), certificate: dir.join(format!("party{i}.crt")) };
        let parties: Vec<PartyConfig> = (0..PARTIES).map(party).collect();
        let load = |me: usize| Pinned::load(me, &parties, &dir.join(format!("party{me}.key"))).unwrap();
        let pinned: Vec<Pinned> = (0..PARTIES).map(load).collect();
        let stranger = load_key(&dir.join(format!("party{PARTIES}.key"))).unwrap();
        let stranger = pinned[0].provider.key_provider.load_private_key(stranger).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        (pinned, stranger)
    }

    /// Returns an impostor that shows the certificate of party `as_party` and signs with another key.
    fn impostor(honest: &Pinned, as_party: usize, key: &Arc<dyn rustls::sign::SigningKey>) -> Pinned {
        let certificates = honest.certificates.clone();
        let shown = CertifiedKey::new(vec![certificates[as_party].clone()], Arc::clone(key));
        assert!(shown.keys_match().is_err(), "the key belongs to the certificate");
        let identity = Arc::new(SingleCertAndKey::from(shown));
        let mut server = (*honest.server).clone();
        server.cert_resolver = Arc::clone(&identity) as _;
        Pinned {
            me: honest.me,
            certificates,
            identity,
            provider: Arc::clone(&honest.provider),
            server: Arc::new(server),
        }
    }

    #[test]
    fn each_answer_to_a_challenge_is_another_one() {
        let (parties, _) = loaded("answers");
        let answer = || parties[1].knock(&[5; 32], 0, Intention::Connect, [9; 16]).unwrap().answer;
        assert_ne!(answer(), answer());
    }

    /// Takes in the bytes from the other end, and adds this end's answers to `answer`.
    fn take(channel: &mut Channel, bytes: &mut Vec<u8>, answer: &mut Vec<u8>) -> Result<bool, TlsError> {
        channel.room()[..bytes.len()].copy_from_slice(bytes);
        channel.filled(bytes.len());
        bytes.clear();
        channel.open(&mut |_| panic!("nobody says anything"), answer)
    }

    /// Runs a handshake. Returns each end's channel, or the reason why it refused the other.
    fn meet(caller: &Pinned, called: usize, answering: &Pinned) -> [Result<Channel, TlsError>; 2] {
        let (mut client, mut server) = (caller.dial(called).unwrap(), answering.accept().unwrap());
        let (mut to_client, mut to_server) = (Vec::new(), Vec::new());
        let (mut dialled, mut accepted) = (Ok(false), Ok(false));
        for _ in 0..10 {
            dialled = dialled.and_then(|_| take(&mut client, &mut to_client, &mut to_server));
            accepted = accepted.and_then(|_| take(&mut server, &mut to_server, &mut to_client));
        }
        assert!(dialled.is_err() || client.is_ready(), "the caller waits");
        assert!(accepted.is_err() || dialled.is_err() || server.is_ready(), "the called party waits");
        [dialled.map(|_| client), accepted.map(|_| server)]
    }

    #[test]
    fn holders_of_pinned_keys_meet() {
        let (parties, _) = loaded("meet");
        for (caller, called) in [(1, 0), (2, 0), (2, 1)] {
            let [client, server] = meet(&parties[caller], called, &parties[called]).map(Result::unwrap);
            assert_eq!(client.peer_certificate().and_then(|shown| parties[0].party_of(shown)), Some(called));
            assert_eq!(server.peer_certificate().and_then(|shown| parties[0].party_of(shown)), Some(caller));
        }
    }

    /// A certificate is public: anyone can show it. Only its key proves its holder.
    #[test]
    fn a_pinned_certificate_without_its_key_is_refused_on_either_side() {
        let (parties, stranger) = loaded("impostor");
        let bad_signature = |result: &Result<Channel, TlsError>| {
            let error = result.as_ref().err();
            matches!(error, Some(TlsError::InvalidCertificate(CertificateError::BadSignature)))
        };
        let [client, _] = meet(&parties[1], 0, &impostor(&parties[0], 0, &stranger));
        assert!(bad_signature(&client), "{:?}", client.err());
        let [_, server] = meet(&impostor(&parties[1], 1, &stranger), 0, &parties[0]);
        assert!(bad_signature(&server), "{:?}", server.err());
    }

    /// Party 2 is a known party, but not party 1.
    #[test]
    fn another_party_than_the_one_dialled_is_refused() {
        let (parties, _) = loaded("another");
        let refusal = TlsError::InvalidCertificate(CertificateError::ApplicationVerificationFailure);
        for (caller, called, answers) in [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0), (2, 1, 2)] {
            let [client, _] = meet(&parties[caller], called, &parties[answers]);
            assert_eq!(
                client.err(),
                Some(refusal.clone()),
                "party {answers} answers party {caller}, who called {called}"
            );
        }
    }
}
