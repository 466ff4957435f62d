"""Messages to operators of parties by `quorate doctor`, and the tests that follow them."""

from __future__ import annotations

#: As `BY_TEST` of `elsewhere`, which has these, too.
BY_TEST: dict[str, list[str]] = {
    "test_doctor.py::test_for_people_it_ends_with_one_sentence": [
        "run `quorate doctor` at all of them",
        "start `quorate doctor` there, or open the port",
    ],
    "test_doctor.py::test_a_host_that_has_no_address": ["correct it, or look at the name service here"],
    "test_keygen.py::test_a_renewed_key_stands_beside_the_old_one": [
        "Send {} to the other parties, and compare the new fingerprint by another channel",
        "Run `quorate doctor party.toml` at all parties, then erase",
    ],
    "test_keygen.py::test_nothing_is_overwritten": [
        "leave --renew out to make the first one",
        "exists already and is not overwritten; move it away to make a new one",
    ],
    "test_doctor.py::test_releases": ["install one release everywhere"],
    "test_doctor.py::test_clocks @ apart": ["let both follow a time server (NTP)"],
    "test_doctor.py::test_clocks @ others": ["let it follow a time server (NTP)"],
    "test_doctor.py::test_addresses_that_are_needed": ["open the port of party {} to party {}"],
    "test_doctor.py::test_disks": ["free some space"],
}
