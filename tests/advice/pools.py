"""Messages about pools, and the tests that follow them."""

from __future__ import annotations

#: As `BY_TEST` of `elsewhere`, which has these, too.
BY_TEST: dict[str, list[str]] = {
    "test_pools.py::test_a_pool_serves_as_many_starts_as_it_was_made_for_and_says_how_to_make_more": [
        "Make more with `quorate preprocess` for this script at all parties",
    ],
    "test_pools.py::test_a_pool_is_of_one_process_and_of_one_folder": [
        "is in use by another process of this party: wait for its end, or give this session a pool of its own",
        "its correlations may have been used, so remove its folder at all parties and make the pool again",
    ],
    "test_pools.py::test_other_options_need_another_pool": [
        "give this session another pool",
    ],
    "test_pools.py::test_malicious_protocols_have_none_and_garbled_circuits_none": [
        'which no pool can hold: compute it without garbled circuits (no .to("Y"))',
    ],
    "test_pools.py::test_the_key_of_a_pool": [
        "is gone: put it back, or remove the pool's folder at all parties",
    ],
    "test_pool_rebind.py::test_a_pool_is_used_on_after_a_certificate_was_renewed": [
        "the pool {} {} {}; do this at all parties",
    ],
    "test_pool_rebind.py::test_what_is_not_rebound": [
        "than the new file: name the party.toml from before the change of certificates",
    ],
    "test_pool_makings.py::test_one_server_that_does_not_agree_is_enough @ no table": [
        "write the same program, parameters and form into its serve.toml",
    ],
    "test_pool_makings.py::test_one_server_that_does_not_agree_is_enough @ fewer": [
        "state the same `high` at all servers",
    ],
    "test_pool_makings.py::test_calls_of_others_and_malformed_ones_make_nothing": [
        "update all servers to one release",
    ],
    "test_pool_makings.py::test_tables_are_read_and_need_a_pool": [
        '{} has [[pool]], and {} has no pool: name its folder, as in pool = "pool"',
        "leave the program that is asked for most",
    ],
    "test_pool_makings.py::test_a_pool_that_cannot_be_added_to_and_lacks_what_a_program_needs": [
        "remove the pool's folder at all servers",
    ],
    "test_pool_makings.py::test_a_pool_without_its_folder": [
        "name its folder in party.toml",
    ],
    "test_pool_makings.py::test_programs_that_read_a_campaign_have_no_makings": [
        "leave it out of [[pool]]",
    ],
    "test_pools.py::test_a_pool_has_a_folder": [
        "name the folder of the pool: --pool DIR, or `pool` in {}",
    ],
}

_LIVES, _USES = "crates/session/src/session/pool_lives_tests.rs", "crates/session/src/session/pool_tests.rs"

#: As `IN_CRATES` of `elsewhere`, which has these, too.
IN_CRATES: dict[str, tuple[str, str]] = {
    "or remove the pool's folder at all parties and make the pool again": (
        "crates/pool/tests/places.rs",
        "PoolError::Altered",
    ),
    "and this release reads format {}: remove its folder at all parties": (
        "crates/pool/tests/places.rs",
        "PoolError::Format",
    ),
    "a pool holds the correlations of at most {} runs of a kind: make fewer": (
        "crates/pool/tests/places.rs",
        "PoolError::TooMany",
    ),
    "another process has made a pool in this folder meanwhile: start again": (
        "crates/pool/tests/places.rs",
        "PoolError::Taken",
    ),
    "put the pool on another file system": ("crates/pool/src/folder.rs", "PoolError::NoBirths"),
    "remove its folder at all parties and make the pool again": (_LIVES, "the test says so"),
    "name the same pool at all parties; or remove its folder where it is": (_LIVES, "SessionError::NoPool"),
    "the pool is dead: {}. Its correlations are of no use any more": (_LIVES, "PoolError::Dead"),
    "and was erased here, too: make the pool again": (_LIVES, "SessionError::PoolDeadThere"),
    "give `quorate preprocess` another folder, or all scripts at once": (_LIVES, "SessionError::PoolClosed"),
    "Nothing was given up; make the pool again if a backup was restored": (_LIVES, "SessionError::PoolBehind"),
    "open a session of another name with a pool of its own (session=, pool=)": (_USES, "SessionError::PoolBranch"),
    "this session makes no correlations for a pool: open it with a pool to make": (_USES, "SessionError::MakesNoPool"),
    "Remove the pool's folder at all parties, and make the pool again": (_USES, "SessionError::OldPool"),
    "name the same pool at all parties, or remove its folder at all parties": (
        "crates/session/src/pool/mortal.rs",
        "SessionError::PoolsUnlike",
    ),
    "the pool has keys out of their range: remove its folder at all parties": (
        "crates/spdz2k/tests/pools.rs",
        "out of their range",
    ),
    "give this session this party's own pool": ("crates/attacked-pika/tests/malicious/pools.rs", "Error::Misuse"),
}

#: As `NO_ADVICE` of `elsewhere`, which has these, too.
NO_ADVICE: dict[str, str] = {
    'names no pool: write its folder, as in pool = "pool"': "its server does not start without a pool",
    "state of a pool": "a part of a message of a peer",
    "a pool is for deployments, with a protocol that has pools": "a session that has none was opened",
    "an insecure dealer has no pools: leave offline= out": "a choice for measurements",
    "bits=paper has no pools: leave it out": "a choice for measurements",
    "reads no submissions of clients where parties may cheat: open this session without pool=": "a choice of a program",
}
