"""Messages to operators at the console and its commands, and the tests that follow them."""

from __future__ import annotations

#: As `BY_TEST` of `elsewhere`, which has these, too.
BY_TEST: dict[str, list[str]] = {
    "test_console_commands.py::test_settings_of_the_console": [
        "`console.certificate` and `console.key` go together: name both, or neither",
    ],
    "test_console_commands.py::test_operators_are_added_listed_and_removed": [
        "take up to 64 letters, digits and . _ @ -, a letter or digit first",
        "remove that one first, or give this one another name",
    ],
    "test_console_commands.py::test_programs_are_proposed_and_not_approved": [
        "approve it by `quorate program approve`",
    ],
    "test_console_commands.py::test_verify_takes_files_or_acts": [
        "either the log's files, or --acts with the party.toml of a server",
    ],
    "test_console_jobs.py::test_an_operator_cancels_a_job_that_waits": [
        "look at the list of jobs",
        "look at its page",
    ],
    "test_console_slow.py::test_reads_do_not_wait_for_ever_for_reads_that_are_stuck": [
        "{} reads have not ended in {} s: look at its disk",
    ],
    "test_console_slow.py::test_the_page_of_a_slow_disk_says_so": ["try again, and look at its disk"],
    "test_console_commands.py::test_a_console_needs_its_table": ["serve.toml has no [console]: state where it listens"],
    "test_console.py::test_a_session_ends_with_sign_out": ["use the links and forms of the console's pages"],
    "test_console.py::test_acts_are_for_those_who_have_signed_in": ["sign in, and do it again"],
    "test_console.py::test_names_of_the_settings_are_taken_at_any_port": [
        "name the host in `names` of [console] in serve.toml",
    ],
    "test_console.py::test_failed_sign_ins_are_limited_by_address": ["try again in {} s"],
    "test_console.py::test_errors_show_nothing_of_the_inside": ["look at this server's log, and try again"],
    "test_console.py::test_things_that_are_not_there": ["look at the list for those that are"],
    "test_console_acts.py::test_a_server_without_jobs_approves_no_program": [
        "add [jobs] to serve.toml, and start it again",
    ],
    "test_console_acts.py::test_campaigns_that_do_not_fit_are_not_approved": [
        "make one for this deployment",
        "put the certificate of this server's service.pub into the campaign",
    ],
    "test_console_acts.py::test_terms_that_were_replaced_meanwhile_are_shown_first": [
        "look at it again, and then decide",
    ],
    "test_console_acts.py::test_an_operator_who_is_removed_within_the_act_does_nothing": ["ask who removed you"],
    "test_console_acts.py::test_a_campaign_is_shown_approved_and_closed": [
        "read what it asks for",
        "look at the list of campaigns",
    ],
    "test_console_acts.py::test_one_plan_is_made_at_a_time": ["wait a minute, and ask again"],
    "test_console_acts.py::test_programs_that_make_no_plan": ["make it at a shell, by `quorate program explain`"],
    "test_console_acts.py::test_a_proposal_that_was_replaced_is_not_approved": [
        "look at the list: it may have been replaced",
    ],
    "test_console_acts.py::test_a_proposal_that_was_altered_in_the_store_is_refused": [
        "remove it, and propose the file again",
    ],
    "test_console_acts.py::test_long_programs_and_too_many_proposals_are_refused": [
        "proposals wait at this server: approve or refuse some at its console first",
    ],
    "test_console_acts.py::test_a_program_that_was_altered_in_the_store_is_not_shown": ["approve its file again"],
}
