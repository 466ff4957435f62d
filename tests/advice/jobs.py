"""Messages to requesters of jobs, and to operators of their servers, and the tests that follow them."""

from __future__ import annotations

_LIMITS = "test_job_terms.py::test_parameters_at_their_limits"
_FIELDS = "test_job_terms.py::test_approvals_that_cannot_be_read_name_the_field"

#: As `BY_TEST` of `elsewhere`, which has these, too.
BY_TEST: dict[str, list[str]] = {
    "test_job_commands.py::test_commands_say_what_they_lack": [
        "give --servers and --key as a requester, or --config as an operator",
        "write a number and a unit, as in 90s, 30m, 12h or 7d",
        "write a time in UTC, as in 2026-12-01T00:00:00Z",
        "give each parameter once, as NAME=VALUE",
        "is no hash: copy one that `quorate program list` prints",
    ],
    "test_job_child.py::test_results_are_plain_values": [
        "return numbers, texts or arrays, as reveal() does",
    ],
    "test_job_child.py::test_the_process_is_checked_when_the_server_starts": [
        "install Quorate and its packages in one environment",
        "start the server again once this machine is less busy",
    ],
    "test_job_child.py::test_a_job_is_cancelled_while_it_runs": ["try later"],
    "test_job_terms.py::test_unknown_programs_and_unlisted_keys_are_refused_alike": [
        "compare the file with this server's operator, line ends too, and ask for an approval",
    ],
    "test_job_terms.py::test_a_program_starts_as_often_as_was_approved": [
        "ask this server's operator to approve more",
    ],
    "test_job_terms.py::test_a_program_starts_as_often_a_day_as_was_approved": [
        "ask then, or ask this server's operator",
    ],
    "test_job_terms.py::test_a_program_that_was_altered_in_the_store_does_not_start": [
        "ask its operator to approve it",
    ],
    "test_job_terms.py::test_campaigns_at_their_limits": [
        "ask after that",
        "ask this server's operator to approve it",
        "ask for another campaign",
    ],
    f"{_LIMITS} @ rows is 0": ["ask for such a value, or ask this server's operator"],
    f"{_LIMITS} @ 1001": ["ask for fewer, or ask this server's operator"],
    f"{_LIMITS} @ is missing": ["state all parameters of the program"],
    f"{_FIELDS} @ list one public key": ["requesters: list one public key or more"],
    f"{_FIELDS} @ runs: list what": ["runs: list what `quorate explain` prints after --approve"],
    f"{_FIELDS} @ options: write a table": ["options: write a table, as in [options]"],
    f"{_FIELDS} @ parameters: write a table": ["parameters: write a table for each, as in [parameters.rows]"],
    f"{_FIELDS} @ list the texts": ["values: list the texts that are allowed; there is no free text"],
    f"{_FIELDS} @ values: write hashes": ["values: write hashes of campaigns, 64 hexadecimal digits each"],
    "test_job_terms.py::test_programs_with_other_arguments_are_not_approved @ has defaults": [
        "name each parameter, and state its limits in the approval",
    ],
    "test_job_queue.py::test_cheating_halts_all_jobs_until_the_operator_says_so": [
        "ask its operator to find the cause",
    ],
    "test_job_queue.py::test_requests_of_other_times_and_servers_are_refused": [
        "set the clock",
        "compare servers.toml with this server's operator",
    ],
    "test_job_queue.py::test_the_queue_of_one_key_is_full_while_anothers_is_not": [
        "wait for one of them, or cancel it",
        "ask later",
        "ask again in some days",
    ],
    "test_job_queue.py::test_jobs_start_once_and_one_at_a_time": [
        "send the request to this server",
        "ask for a new one",
    ],
    "test_job_serve.py::test_bodies_are_limited": ["send a shorter one"],
    "test_job_schedules.py::test_what_is_not_approved_is_refused_when_it_is_asked_for": [
        "ask for fewer times, or ask this server's operator",
    ],
    "test_job_schedules.py::test_a_thousand_standing_requests_are_too_many": [
        "wait for the end of one of them, or cancel it",
        "ask again once some of them are over, also those that were cancelled",
        "ask later",
    ],
    "test_job_schedules.py::test_a_clock_that_is_set_back_repeats_no_time": ["start it then"],
    "test_job_serve.py::test_a_call_passes_nowhere_else": ["send the path alone"],
    "test_serve_peers.py::test_a_server_that_never_ends_its_answer_is_seen_and_cut": [
        "takes calls and does not answer in time: see its log",
    ],
    "test_serve_peers.py::test_a_network_of_its_own_that_is_down_is_named": [
        "look at this server's own network first",
    ],
    "test_serve_peers.py::test_a_server_that_differs_is_told_apart": [
        "{} {}: compare servers.toml with its operator.",
        "{} runs release {}, and this server {}: install one at both.",
        "set the one that is wrong",
    ],
    "test_serve_peers.py::test_a_clock_far_off_is_told_apart_and_whose_it_is": [
        "those of all others differ: set this server's",
    ],
    "test_serve_peers.py::test_a_server_that_is_up_and_takes_no_jobs_says_so": [
        "Server {} cannot use its store: see its log.",
    ],
    "test_serve_peers.py::test_other_answers": [
        "{} runs no jobs, or an older release: ask its operator.",
        "{} does not take this server's key: compare servers.toml with its operator.",
        "{} answers {}: see its log.",
    ],
    "test_serve_peers.py::test_an_answer_that_is_none_differs": [
        "{} answers with what is no state of a server: ask its operator.",
    ],
    "test_serve_peers.py::test_only_servers_of_the_list_are_answered": [
        "compare servers.toml with this operator",
    ],
    "test_job_commands.py::test_operators_see_what_a_job_that_waits_will_reveal": [
        "--plan is for operators, who execute the program at their own server: give --config, too",
    ],
    "test_job_serve.py::test_without_jobs_there_are_none": ["ask its operator for [jobs] in serve.toml"],
    "test_job_serve.py::test_settings_that_do_not_fit_the_list_are_named": [
        "serve.toml has no [jobs]: name the list of servers there",
    ],
}
