//! Tests of `party.toml`: its keys, and the messages for mistakes.

use std::path::{Path, PathBuf};

use quorate_session::{Config, SessionError};

const GOOD: &str = r#"
me = 1
protocol = "rss"
key = "keys/party1.key"
[[party]]
address = "one.example:9000"
certificate = "keys/party0.crt"
[[party]]
address = "two.example:9000"
certificate = "keys/party1.crt"
[[party]]
address = "[::1]:9000"
certificate = "/etc/quorate/party2.crt"
[limits]
peer_timeout_s = 2.5
"#;

fn read(name: &str, text: &str) -> Result<Config, SessionError> {
    let folder = std::env::temp_dir().join(format!("quorate-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.toml"));
    std::fs::write(&path, text).unwrap();
    let config = Config::read(&path);
    std::fs::remove_file(path).unwrap();
    config
}

#[test]
fn a_good_file_is_read_with_paths_relative_to_it() {
    let config = read("good", GOOD).unwrap();
    assert_eq!((config.me, config.parties.len()), (1, 3));
    assert!(config.key.is_absolute() && config.key.ends_with("keys/party1.key"));
    assert_eq!(config.parties[2].certificates, [PathBuf::from("/etc/quorate/party2.crt")]);
    let two = GOOD.replace(r#""keys/party0.crt""#, r#"["keys/party0.crt", "/etc/party0.new.crt"]"#);
    let two = read("two", &two).unwrap().parties[0].certificates.clone();
    assert!(two[0].is_absolute() && two[0].ends_with("keys/party0.crt"));
    assert_eq!(two[1], PathBuf::from("/etc/party0.new.crt"));
    let limits = config.limits;
    assert_eq!((limits.connect_timeout_s, limits.peer_timeout_s, limits.reconnect_timeout_s), (30.0, 2.5, 30.0));
    for (given, read_as) in [("0", 0.0), ("30", 30.0)] {
        let other = GOOD.replace("peer_timeout_s = 2.5", &format!("reconnect_timeout_s = {given}"));
        assert_eq!(read(given, &other).unwrap().limits.reconnect_timeout_s, read_as);
    }
}

#[test]
fn each_mistake_is_named() {
    let cases = [
        ("protocol = ", "protocl = ", "protocl"),
        ("me = 1", "me = 3", "`me` is 3, and the number of parties in the file is 3"),
        ("me = 1", "me = -1", "me"),
        ("me = 1", "", "missing field `me`"),
        (r#""rss""#, r#""bgw""#, "unknown protocol \"bgw\""),
        ("one.example:9000", "one.example", "has no port"),
        ("one.example:9000", ":9000", "has no port"),
        ("one.example:9000", "one.example:99999", "has no port"),
        ("= 2.5", "= 0", "must be a positive number of seconds"),
        ("= 2.5", "= -1", "must be a positive number of seconds"),
        ("= 2.5", "= nan", "must be a positive number of seconds"),
        ("= 2.5", "= 1e300", "must be a positive number of seconds"),
        ("peer_timeout_s = 2.5", "reconnect_timeout_s = -1", "`reconnect_timeout_s` must be a positive number"),
        ("peer_timeout_s", "peer_timeout", "peer_timeout_s"),
        ("[limits]", "[[party]]\naddress = \"four:1\"\ncertificate = \"4.crt\"\n[limits]", "3, 5 or 7 parties, not 4"),
        ("me = 1", "me = = 1", "TOML"),
        ("\"keys/party0.crt\"", "[]", "invalid length 0, expected the file of a certificate, or a list of two"),
        ("\"keys/party0.crt\"", "[\"a\", \"b\", \"c\"]", "line 7, column 15"),
        ("\"keys/party0.crt\"", "7", "expected the file of a certificate, or a list of two"),
        ("\"keys/party0.crt\"", "[7]", "integer `7`"),
        ("me = 1", "me = 1\nallow_weak = true", "--allow-weak), or to qr.connect(allow_weak=...)"),
    ];
    for (i, (from, to, words)) in cases.into_iter().enumerate() {
        assert!(GOOD.contains(from));
        let error = read(&format!("bad{i}"), &GOOD.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(words), "{words:?} is not in {error:?}");
    }
    let error = Config::read(Path::new("nowhere.toml")).unwrap_err().to_string();
    assert!(error.starts_with("nowhere.toml: cannot be read"), "{error}");
}
