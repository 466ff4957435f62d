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

/// This party's key, and the certificates of every party.
pub(crate) struct Pinned {
    me: usize,
    /// The certificate that this party shows.
    own: CertificateDer<'static>,
    certificates: Vec<Vec<CertificateDer<'static>>>,
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
        let of = |party: &PartyConfig| party.certificates.iter().map(|path| load_certificate(path)).collect();
        let certificates = parties.iter().map(of).collect::<Result<_, _>>()?;
        Pinned::new(me, certificates, load_key(key_path)?, key_path)
    }

    /// Pins the certificates of all parties. The key was read from `key_path`; this party shows that of its own
    /// certificates which belongs to the key.
    ///
    /// # Errors
    /// [`NetError::BadKey`] and [`NetError::BadConfig`], naming the file or the parties.
    pub(crate) fn new(
        me: usize,
        certificates: Vec<Vec<CertificateDer<'static>>>,
        key: PrivateKeyDer<'static>,
        key_path: &Path,
    ) -> Result<Self, NetError> {
        for (i, list) in certificates.iter().enumerate() {
            let is_shared = |earlier: &Vec<CertificateDer<'_>>| earlier.iter().any(|one| list.contains(one));
            if let Some(j) = certificates[..i].iter().position(is_shared) {
                return Err(NetError::BadConfig(ConfigProblem::SameCertificate(j, i)));
            }
        }
        let provider = Arc::new(provider());
        let unusable = |_| bad(key_path, KeyProblem::Unusable);
        let key = provider.key_provider.load_private_key(key).map_err(unusable)?;
        let with = |own: &CertificateDer<'static>| CertifiedKey::new(vec![own.clone()], Arc::clone(&key));
        let identity = certificates[me].iter().map(with).find(|one| one.keys_match().is_ok());
        let identity = identity.ok_or_else(|| bad(key_path, KeyProblem::Mismatch))?;
        let own = identity.cert[0].clone();
        let identity = Arc::new(SingleCertAndKey::from(identity));
        Pinned::with(me, own, certificates, identity, provider).map_err(unusable)
    }

    fn with(
        me: usize,
        own: CertificateDer<'static>,
        certificates: Vec<Vec<CertificateDer<'static>>>,
        identity: Arc<SingleCertAndKey>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, TlsError> {
        let others = certificates.iter().enumerate().filter(|(i, _)| *i != me).flat_map(|(_, list)| list.clone());
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(Verifier::new(others.collect(), &provider))
            .with_cert_resolver(Arc::clone(&identity) as _);
        server.alpn_protocols = vec![PROTOCOL.to_vec()];
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        Ok(Pinned { me, own, certificates, identity, provider, server: Arc::new(server) })
    }

    /// Returns the same with one certificate of each peer that was met: the one that it showed. `None` where no peer
    /// was met, as for this party.
    ///
    /// # Errors
    /// Those of TLS.
    pub(crate) fn only(&self, shown: &[Option<CertificateDer<'static>>]) -> Result<Self, TlsError> {
        let one = |(shown, all): (&Option<_>, &Vec<_>)| shown.clone().map_or_else(|| all.clone(), |shown| vec![shown]);
        let certificates = shown.iter().zip(&self.certificates).map(one).collect();
        let (identity, provider) = (Arc::clone(&self.identity), Arc::clone(&self.provider));
        Pinned::with(self.me, self.own.clone(), certificates, identity, provider)
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
        let verifier = Verifier::new(self.certificates[peer].clone(), &self.provider);
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
        // A peer that lists one certificate may list either of the two; another answer may be for the other one.
        let theirs = &self.certificates[peer];
        let called = &theirs[usize::from(fresh[0]) % theirs.len().max(1)];
        Ok(Knock::new(challenge, self.me, [called, &self.own], intention, session, &fresh))
    }

    /// Returns the party with this certificate. No two parties have the same one.
    pub(crate) fn party_of(&self, certificate: &CertificateDer<'_>) -> Option<usize> {
        self.certificates.iter().position(|pinned| pinned.contains(certificate))
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
        let party =
            |i: usize| PartyConfig { address: String::new(), certificates: vec![dir.join(format!("party{i}.crt"))] };
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
        let own = certificates[as_party][0].clone();
        let shown = CertifiedKey::new(vec![own.clone()], Arc::clone(key));
        assert!(shown.keys_match().is_err(), "the key belongs to the certificate");
        let identity = Arc::new(SingleCertAndKey::from(shown));
        let mut server = (*honest.server).clone();
        server.cert_resolver = Arc::clone(&identity) as _;
        Pinned {
            me: honest.me,
            own,
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

    /// Loads party `me` with this key, where each party has the certificates of these files.
    fn with_lists(dir: &Path, me: usize, key: &str, lists: [&[&str]; 2]) -> Result<Pinned, NetError> {
        let list = |files: &[&str]| PartyConfig {
            address: String::new(),
            certificates: files.iter().map(|file| dir.join(format!("{file}/party{}.crt", &file[..1]))).collect(),
        };
        Pinned::load(me, &lists.map(list), &dir.join(format!("{key}/party{}.key", &key[..1])))
    }

    /// Party 0 replaces its certificate: before, while both are accepted, and after.
    #[test]
    fn either_of_two_certificates_is_accepted_and_a_dropped_one_is_not() {
        let dir = scratch("two");
        for file in ["0a", "0b", "1a", "1b"] {
            keygen(&dir.join(file), file[..1].parse().unwrap()).unwrap();
        }
        let load = |me, key, lists| with_lists(&dir, me, key, lists).unwrap();
        let [old, both, new]: [&[&str]; 3] = [&["0a"], &["0a", "0b"], &["0b"]];
        let cases = [
            ("0a", old, both, true),
            ("0a", both, both, true),
            ("0b", both, both, true),
            ("0b", new, both, true),
            ("0b", both, old, false),
            ("0b", new, old, false),
            ("0a", both, new, false),
            ("0a", old, new, false),
        ];
        for (key, own, others, meets) in cases {
            let (first, second) = (load(0, key, [own, &["1a"]]), load(1, "1a", [others, &["1a"]]));
            let [client, server] = meet(&second, 0, &first);
            assert_eq!(client.is_ok(), meets, "{key} {own:?} {others:?}: {:?}", client.err());
            assert!(!meets || server.is_ok(), "{key} {own:?} {others:?}: {:?}", server.err());
        }
        // Who has met one of the two resumes with that one only, on either side.
        let second = load(1, "1a", [both, &["1a", "1b"]]);
        let shown = Some(load(0, "0a", [both, &["1a"]]).own);
        let met = second.only(&[shown, None]).unwrap();
        assert!(meet(&met, 0, &load(0, "0a", [both, &["1a"]]))[0].is_ok());
        let [other, _] = meet(&met, 0, &load(0, "0b", [both, &["1a"]]));
        let refusal = TlsError::InvalidCertificate(CertificateError::ApplicationVerificationFailure);
        assert_eq!(other.err(), Some(refusal.clone()));
        let (first, shown) = (load(0, "0b", [both, &["1a", "1b"]]), Some(second.own.clone()));
        let first = first.only(&[None, shown]).unwrap();
        assert!(meet(&second, 0, &first)[1].is_ok());
        let [_, other] = meet(&load(1, "1b", [both, &["1a", "1b"]]), 0, &first);
        assert_eq!(other.err(), Some(refusal));
        let refused = |key, lists: [&[&str]; 2]| with_lists(&dir, 0, key, lists).err().unwrap();
        for lists in [[both, &["0b"]], [both, &["1a", "0a"]], [&["1a"], &["1b", "1a"]]] {
            let same = refused("0a", lists);
            assert!(matches!(same, NetError::BadConfig(ConfigProblem::SameCertificate(0, 1))), "{same}");
        }
        assert!(matches!(refused("1a", [both, &["1a"]]), NetError::BadKey { what: KeyProblem::Mismatch, .. }));
        fs::remove_dir_all(&dir).unwrap();
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
