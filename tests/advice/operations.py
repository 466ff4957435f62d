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
        "All parties, you too, list both for party {} in party.toml, the new one last",
        "Run `quorate doctor party.toml` at all parties. Once all list both, you set key",
    ],
    "test_keygen.py::test_nothing_is_overwritten": [
        "leave --renew out to make the first one",
        "if it is in use by now, rename it to the name without `.new`",
    ],
    "test_doctor.py::test_what_is_next_while_a_certificate_is_replaced": [
        "add the second one at {}",
        "Wait for the end of sessions that began before it changed",
    ],
    "test_audit_log.py::test_a_whole_chain": [
        "the first number is {}: an earlier file has the head {}",
        "note the head elsewhere, and give it as --head next time",
    ],
    "test_audit_log.py::test_a_log_whose_beginning_is_gone": ["lines are missing before those of {}: name {}"],
    "test_audit_log.py::test_a_log_is_put_aside_by_its_owner_or_root": ["put it aside as that user or as root"],
    "test_console_acts.py::test_a_cookie_without_the_token_does_nothing": [
        "go back, and state your token above the button",
    ],
    "test_audit_log.py::test_a_log_is_put_aside": ["name the log to put aside: either its file, or --config"],
    "test_audit_log.py::test_logs_that_cannot_be_put_aside": [
        "add `audit`, or name the log's file",
        "was put aside by another program: try again",
    ],
    "test_doctor.py::test_clocks @ apart": ["let both follow a time server (NTP)"],
    "test_doctor.py::test_clocks @ others": ["let it follow a time server (NTP)"],
    "test_doctor.py::test_addresses_that_are_needed": ["open the port of party {} to party {}"],
    "test_doctor.py::test_disks": ["free some space"],
}
