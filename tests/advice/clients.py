"""Messages to clients of campaigns, and to operators of their servers, and the tests that follow them."""

from __future__ import annotations

#: As `BY_TEST` of `elsewhere`, which has these, too.
BY_TEST: dict[str, list[str]] = {
    "test_campaign_agreed.py::test_records_of_unlike_shapes_are_refused": [
        "compare the hashes of their campaigns",
    ],
    "test_campaign_freeze.py::test_a_campaign_that_is_open_is_not_run": [
        "run after that, or close it at every server by `quorate campaign close`",
    ],
    "test_campaign_freeze.py::test_lists_that_are_not_of_this_server_are_refused": [
        "give the list that `agreed` returned",
    ],
    "test_campaign_freeze.py::test_keys_that_are_lost_or_moved_are_named": [
        "this campaign's packets are lost: end it, and ask the clients again in a new campaign",
    ],
    "test_campaign_freeze.py::test_a_key_that_cannot_be_erased_is_removed_by_hand": [
        "cannot be erased ({}): remove it by hand",
    ],
    "test_campaign_freeze.py::test_keys_that_others_may_read_are_refused": [
        "others may read the key {}: run `chmod 600 {}`",
    ],
    "test_tagged_attempts.py::test_cheating_halts_the_campaign_at_each_server": [
        "find out which, with the other operators; then allow another attempt by `quorate campaign resume {}`",
    ],
    "test_tagged_attempts.py::test_sixteen_attempts_spend_the_packets": [
        "run the program again",
    ],
    "test_tagged_attempts.py::test_a_failure_costs_an_attempt_and_no_value": [
        "failed in this session: close it, and open another one",
    ],
    "test_tagged_attempts.py::test_a_slot_is_read_before_anything_is_revealed": [
        "call it for all slots before the first result of the campaign is revealed",
    ],
    "test_campaign_tagged.py::test_calls_for_other_campaigns_are_refused": [
        "call `tagged` instead",
        "call `parts` in families without tags",
    ],
    "test_campaign_intake.py::test_packets_of_a_campaign_do_not_fit_another": [
        "send it to its own campaign",
    ],
    "test_campaign_intake.py::test_only_the_client_hears_of_its_packets": [
        "send 65 bytes without padding",
    ],
    "test_campaign_intake.py::test_a_client_with_an_invitation_hears_its_own": [
        "use the key that gave values to it",
    ],
    "test_campaign_intake.py::test_older_numbers_are_refused": [
        "use a higher number",
    ],
    "test_campaign_intake.py::test_a_campaign_that_is_not_approved_takes_no_packets": [
        "ask its operators to approve it",
    ],
    "test_campaign_intake.py::test_packets_after_the_closing_time_are_refused": [
        "ask its operators for a new one",
    ],
    "test_campaign_intake.py::test_an_invitation_that_was_not_used_has_nothing_to_withdraw": [
        "send values first",
    ],
    "test_campaign_intake.py::test_a_client_replaces_60_packets_an_hour": [
        "send the last one again when the hour is over",
    ],
    "test_campaign_intake.py::test_other_bytes_under_one_number_are_refused_by_name": [
        "send the bytes that were sent first, or values under a higher number",
    ],
    "test_campaign_intake.py::test_an_invitation_belongs_to_the_first_key_that_shows_it": [
        "make a key for each invitation",
        "use that key, or ask for an invitation",
    ],
    "test_campaign_intake.py::test_campaigns_for_other_servers_are_not_approved": [
        "list this server in the campaign, or correct `me` in party.toml",
        "put the keys of this server's service.pub into the campaign",
    ],
    "test_campaign_intake.py::test_two_open_campaigns_of_one_name_are_refused": [
        "end that one, or give this one another name",
        "make a new campaign",
    ],
    "test_campaign_results.py::test_a_mask_hides_one_result": [
        "give the results of another look",
    ],
    "test_campaign_results.py::test_results_of_another_form_are_refused": [
        "give these: {}",
        "give such an array",
        "reduce them mod 2^k",
    ],
    "test_campaign_store.py::test_files_that_are_no_stores_are_refused": [
        "is a database of another program; name another file",
        "has version {}, and this release reads up to {}; install the newer one",
    ],
    "test_campaign_store.py::test_after_a_failed_sync_the_store_takes_nothing": [
        "failed ({}): check its disk, then start again",
    ],
    "test_campaign_store.py::test_another_key_is_refused": [
        "bytes instead of {}: name the key's file as `store_key`",
        "was made with another key: name the file of its own key as `store_key`",
    ],
    "test_campaign_store.py::test_a_full_disk_is_named_and_leaves_nothing_half_stored": [
        "is full: free space there, then send again",
    ],
    "test_campaign_store.py::test_a_change_waits_for_another_process_and_says_so_in_the_end": [
        "another process writes to the store {} for long: send again later",
    ],
    "test_campaign_store.py::test_a_second_process_with_one_lock_is_refused_by_name": [
        "{} {} the store {}: wait for it, or stop it first",
    ],
    "test_campaign_store.py::test_too_many_changes_are_refused_and_a_closed_store_says_so": [
        "changes wait for the store {}: send again later",
    ],
    "test_campaign_serve.py::test_paths_and_methods_that_do_not_exist @ /docs": [
        "use a client of Quorate, such as quorate_client",
    ],
    "test_campaign_serve.py::test_paths_and_methods_that_do_not_exist @ %00": [
        "compare the hash with that of its file",
    ],
    "test_campaign_serve.py::test_browsers_of_the_campaigns_origins_alone": [
        "ask its operators to name it",
    ],
    "test_campaign_serve.py::test_a_broken_store_is_not_ready_and_tells_no_paths": [
        "send them later",
    ],
    "test_campaign_serve.py::test_servers_below_a_path": [
        "send requests to this server's address in the campaign",
    ],
    "test_campaign_serve.py::test_slow_bodies_are_given_up": [
        "send it again over a better connection",
    ],
    "test_campaign_serve.py::test_lengths_are_checked_before_the_body_is_read": [
        "send Content-Length",
    ],
    "test_campaign_serve.py::test_a_body_of_another_length_than_it_states_is_refused": [
        "send the whole request",
    ],
    "test_campaign_serve.py::test_bodies_in_memory_are_limited": [
        "send it again later",
    ],
    "test_campaign_serve.py::test_errors_of_the_program_are_told_and_logged_without_values": [
        "send it again later, and tell its operator",
    ],
    "test_campaign_serve.py::test_certificates_are_for_addresses_and_names_in_ascii": [
        "is no host: write an address, or a name in ASCII",
    ],
    "test_campaign_commands.py::test_commands_name_what_is_wrong": [
        "there is no file {}: write it as the page on clients describes",
    ],
    "test_campaign_commands.py::test_invitations_of_other_servers_or_campaigns_are_not_joined": [
        "the file of server {} is missing: give those of all {} servers",
        "{} is of another campaign than {}: give the files of one",
        "{}: there are two files of server {}: give one of each server",
    ],
    "test_submission_results.py::test_looks_begin_where_something_is_shown": [
        "answer: a branch cannot give results: call it in the session that read the campaign",
    ],
    "test_campaign_commands.py::test_an_operator_from_keys_to_the_end": [
        "set `program` to the hash that `quorate explain` prints, or give --any-program",
        "{} exists; {}: name another file",
        "keys are not overwritten: name another folder",
        "lists its clients: leave --invitations out",
    ],
    "test_submissions.py::test_results_are_looked_at_as_often_as_the_campaign_allows": [
        "make a new campaign, and ask the clients again",
    ],
    "test_submissions.py::test_a_campaign_is_for_one_family_its_options_and_its_parties": [
        "{}: open it with those options",
    ],
    "test_submissions.py::test_a_party_without_a_configuration_is_asked_for_it": [
        "give config=, the `party.toml` beside the server's `serve.toml`",
    ],
    "test_submissions.py::test_parties_with_unlike_campaigns_are_told": [
        "compare the files' hashes",
    ],
}
