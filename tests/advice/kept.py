"""Messages about values that outlive a session, and the tests that follow them."""

from __future__ import annotations

_FILES = "test_kept_crashes.py::test_stores_of_other_keys_and_files_of_other_parties"

#: As `BY_TEST` of `elsewhere`, which has these, too.
BY_TEST: dict[str, list[str]] = {
    "test_kept_values.py::test_what_is_no_secret_array_is_refused_and_the_name_is_free_still": [
        "keep it there",
    ],
    "test_kept_values.py::test_a_value_that_was_never_kept": [
        "keep it first, with mpc.keep",
    ],
    "test_kept_values.py::test_where_parties_may_cheat_nothing_is_kept @ spdz2k": [
        "keep values in a session of another family or without them",
    ],
    "test_kept_values.py::test_sessions_of_another_family_do_not_read_it": [
        "open such a session, or keep it again",
    ],
    "test_kept_values.py::test_strict_sessions_keep_values_of_known_range": [
        "keep it again, clipped or from inputs with bounds",
    ],
    "test_kept_crashes.py::test_what_does_not_open_is_not_stated @ the key gone": [
        "keep it again, or restore the stores of the others",
        "this version of a kept value is lost: keep it again",
    ],
    _FILES: [
        "name its own file",
    ],
    "test_kept_crashes.py::test_an_interrupted_keep_is_settled_by_another_session @ add": [
        "parties may be at different steps of it: open another session",
    ],
    "test_kept_programs.py::test_explain_of_a_script_where_the_value_is_and_elsewhere": [
        "explain it at a party that has it, with --config its party.toml",
    ],
    "test_kept_programs.py::test_what_depends_on_clients_is_not_kept": [
        'reveal results here, or make a campaign with keep = "yes"',
    ],
    "test_kept_stores.py::test_any_failure_of_a_store_is_told": [
        "the store failed: {}: look at its disk",
    ],
    "test_kept_stores.py::test_a_form_of_a_newer_release_is_named": [
        "was written by a newer release: install that one, or keep the value again",
    ],
    "test_kept_crashes.py::test_a_name_that_another_process_works_on": [
        "already: wait until it has ended that",
    ],
}
