"""Messages that other tests follow, and strings that look like advice but are none."""

from __future__ import annotations

from advice import clients, console, jobs, kept, operations, pools

#: By test, parts of messages that it produces and follows. Every run of the test must produce all of them. Behind an @
#: stand words that select runs by the name of their parameters (see `heard`).
BY_TEST: dict[str, list[str]] = {
    **clients.BY_TEST,
    **console.BY_TEST,
    **jobs.BY_TEST,
    **kept.BY_TEST,
    **operations.BY_TEST,
    **pools.BY_TEST,
    "test_branches.py::test_branches_of_a_local_session": [
        "reveal something that depends on it before that, or build it in the branch",
    ],
    "test_branches.py::test_sessions_without_branches": [
        "that is no branch itself: open a session of another name (session=)",
    ],
    "test_branches.py::test_what_a_branch_of_a_deployment_refuses": [
        "which ends the branch: make another branch",
        "where others of this party would wait, too: await what",
    ],
    "test_deployment.py::test_two_processes_with_one_configuration": [
        "each party runs once: check `me` in the configurations",
    ],
    "test_deployment.py::test_who_leaves_before_all_are_there_is_named": [
        "start party {}, or look at party {}'s output",
    ],
    "test_deployment.py::test_sizes_of_what_others_have_are_stated": [
        "state shape= and dtype= at all parties; how many rows there are can be told",
        "this party does not have all values: state their sizes",
    ],
    "test_deployment.py::test_keys_that_are_no_keys_are_made_anew": [
        "make one with `quorate keygen`",
        "make keys with `quorate keygen`",
        "run chmod 600 on it",
    ],
    "test_deployment_losses.py::test_a_party_that_is_there_and_sends_nothing": [
        "raise stall_timeout_s in [limits] of party.toml; 0 waits for ever",
    ],
    "test_onnx_quantised.py::test_what_a_file_computes_of_constants_is_run": [
        "make constants of all inputs but one, inputs=",
    ],
    "test_onnx_quantised.py::test_options_that_do_nothing_are_refused": [
        "would do nothing: leave {} out; of use are {}",
    ],
    "test_onnx_quantised.py::test_what_is_refused_is_named": [
        "Import the file as it was before it was quantised",
    ],
    "test_onnx_quantised.py::test_sizes_that_are_open_are_stated": [
        "give shape= of one input where sizes are open",
    ],
    "test_onnx_reals.py::test_a_sample_that_comes_to_0_is_told_so": [
        "leave inputs out of the sample that come to 0 there",
        "or let the network add a constant before it",
    ],
    "test_onnx_sklearn.py::test_what_is_refused_says_what_to_do @ several": [
        "import the parts by themselves, or the estimator by from_sklearn",
    ],
    "test_onnx_sklearn.py::test_what_is_refused_says_what_to_do @ products": [
        "convert the last step of the pipeline by itself, and give it the records that the steps before it make",
    ],
    "test_onnx_composed.py::test_operators_that_are_not_supported_are_computed_in_the_clear": [
        "For what stands behind it, compute the operator in the clear and import that part alone",
    ],
    "test_onnx_sklearn.py::test_what_is_refused_says_what_to_do @ components": [
        "trees behind steps that mix features (PCA, MatMul): fit them on the records themselves",
    ],
    "test_onnx_sklearn.py::test_what_is_refused_says_what_to_do @ lengths": [
        "of features: transform the records before they are input, and fit the pipeline on those",
    ],
    "test_models_boosters.py::test_forms_of_lightgbms_that_are_refused": [
        "a tree of this model is damaged: a child that is no node; write it again",
    ],
    "test_onnx_sklearn.py::test_what_files_of_other_writers_are_told_works @ kernels": [
        "LINEAR is: fit with kernel='linear'",
    ],
    "test_onnx_sklearn.py::test_what_files_of_other_writers_are_told_works @ probabilities": [
        "probabilities of an SVM, by which onnxruntime decides: fit SVC(probability=False)",
    ],
    "test_onnx_sklearn.py::test_what_files_of_other_writers_are_told_works @ constants": [
        "an output that is neither a label nor numbers: name another one, output=",
    ],
    "test_onnx_sklearn.py::test_what_files_of_other_writers_are_told_works @ outputs": [
        "several outputs, of which none is a label: say which, output=",
    ],
    "test_onnx_sklearn.py::test_what_files_of_other_writers_are_told_works @ lists": [
        "several outputs are computed of networks of real numbers: name one, output=",
    ],
    "test_onnx_sklearn.py::test_what_files_of_other_writers_are_told_works @ codes": [
        "of features: encode categories by OneHotEncoder",
    ],
    "test_onnx_sklearn.py::test_what_files_of_other_writers_are_told_works @ doubles": [
        "of float64, which it rounds to float32: convert the pipeline for float32",
    ],
    "test_onnx_sklearn.py::test_what_files_of_other_writers_are_told_works @ behind": [
        "behind steps that change features: encode the features themselves",
    ],
    "test_data.py::test_identifiers_keep_their_zeros": [
        "leave the column out and give them as texts, qr.apps.psi(mpc, texts, ..., texts=True)",
    ],
    "test_small_results.py::test_inverses_name_means_and_clipped_matrices_and_they_are_right": [
        "a is a sum over {} rows: take its mean{}",
        "clip {} to what the numbers can be, up to {}",
        "keep {} fractional bits: {}",
        ", which is {} times the inverse: divide it by {} after reveal()",
        ", which is {} times the solution: divide it by {} after reveal()",
        "a is public: multiply by its inverse, np.linalg.inv(a) @ b",
    ],
    "test_small_results.py::test_what_loses_digits_is_named_and_the_advice_works": [
        "and divide results by 2**{} again where they are large",
    ],
    "test_small_results.py::test_a_public_factor_of_which_nothing_is_left_is_named @ False": [
        "give what it works on more fractional bits, x.astype(qr.{}), or {}",
    ],
    "test_small_results.py::test_a_mean_of_rare_events_is_named_and_one_of_terms_that_cancel_is_not": [
        "give what it works on more fractional bits, x.astype(qr.{})",
    ],
    "test_small_results.py::test_what_loses_digits_is_named_and_the_advice_works @ quotient": [
        "multiply what is divided by 2**{} first",
    ],
    "test_small_results.py::test_what_loses_digits_is_named_and_the_advice_works @ reciprocal": [
        "divide its argument by 2**{} first",
    ],
    "test_small_results.py::test_what_loses_digits_is_named_and_the_advice_works @ rsqrt": [
        "divide its argument by 4**{} first",
    ],
    "test_small_results.py::test_what_loses_digits_is_named_and_the_advice_works @ product": [
        "multiply a factor by 2**{} first",
    ],
    "test_small_results.py::test_functions_whose_results_are_all_small_are_named_and_the_advice_works @ exp": [
        "add {} to its argument, which multiplies results by 2**{}",
    ],
    "test_small_results.py::test_functions_whose_results_are_all_small_are_named_and_the_advice_works @ sigmoid": [
        "compute qr.exp(np.minimum(x, 0) + {}) * qr.sigmoid(abs(x)), which is 2**{} times as large",
    ],
    "test_small_results.py::test_functions_whose_results_are_all_small_are_named_and_the_advice_works @ softmax": [
        "compute h = qr.exp(x - x.max(){}) and h * 2**{} / h.sum(), with the axis and keepdims=True",
    ],
    "test_small_results.py::test_arguments_that_functions_round_are_named_and_the_advice_works @ tanh": [
        "functions take 16 fractional bits: compute x - x * x * x / 3 where x is so small",
    ],
    "test_small_results.py::test_arguments_that_functions_round_are_named_and_the_advice_works @ gelu": [
        "functions take 16 fractional bits: compute x / 2 + 0.3989423 * x * x where x is so small",
    ],
    "test_small_results.py::test_logarithms_of_numbers_near_1_are_named_and_the_advice_works": [
        "compute z = x - 1 and z - z * z / 2 + z * z * z / 3 where x is so near to 1",
    ],
    "test_learn_digits.py::test_a_gradient_in_a_stated_dtype_that_a_function_takes_is_told_what_works": [
        "leave dtype= of the inputs out, so that results grow",
    ],
    "test_small_results.py::test_a_range_that_keeps_bits_for_what_does_not_occur_is_to_be_clipped": [
        "say how large what it works on can be, x.clip(low, high) or bound= of the inputs, so that no bits are kept",
    ],
    "test_learn_digits.py::test_a_ratio_of_sums_in_a_stated_dtype_says_so_and_the_advice_works": [
        "leave dtype= of the inputs out, so that results grow",
    ],
    "test_learn_digits.py::test_a_ratio_of_sums_in_a_stated_dtype_says_so_and_the_advice_works @ state one with 32": [
        "or state one with 32, qr.fixed(96, 32)",
    ],
    "test_learn_digits.py::test_slopes_that_no_bound_leaves_room_for_are_named_and_the_advice_works": [
        "state bound= of the inputs, or clip what is multiplied to what it can be, x.clip(low, high)",
    ],
    "test_learn_digits.py::test_a_gradient_without_room_says_so_and_the_advice_works": [
        "clip divisors and the arguments of logarithms and roots to what they can be, x.clip(low, high)",
    ],
    "test_models_boosters.py::test_what_is_refused_says_what_is_not @ reg:squarederror are": [
        "are: train the model for one of these",
    ],
    "test_models_boosters.py::test_what_is_refused_says_what_is_not @ one model for each": [
        "XGBoost with several targets is not supported; train one model for each",
    ],
    "test_models_boosters.py::test_what_is_refused_says_what_is_not @ no trees": [
        "this model has no trees, or not as many for each class; train it again",
    ],
    "test_models_boosters.py::test_what_is_refused_says_what_is_not @ a threshold that is not finite": [
        "a tree has a threshold that is not finite; train the model again",
    ],
    "test_models_boosters.py::test_what_is_refused_says_what_is_not @ has numbers that are not finite": [
        "a tree of this model has numbers that are not finite; train it again",
    ],
    "test_models_boosters.py::test_what_is_refused_says_what_is_not @ begins with numbers": [
        "this model begins with numbers that are not finite; write it again",
    ],
    "test_models_boosters.py::test_what_is_refused_says_what_is_not @ 2 of 4 rounds": [
        "write those, booster[: booster.best_iteration + 1].save_model(...)",
    ],
    "test_models_boosters.py::test_models_are_read_from_files_texts_and_objects": [
        "this is no model: give what {} gives, not {}",
    ],
    "test_models_boosters.py::test_damaged_models_are_refused @ does not have": [
        "a tree is of a class that this model, of {}, does not have; write it again",
    ],
    "test_models_boosters.py::test_damaged_models_are_refused @ or several nodes": [
        "or several nodes'; write it again",
    ],
    "test_models_boosters.py::test_damaged_models_are_refused @ none of its": [
        "a tree of this model asks for a feature that is none of its {}; write it again",
    ],
    "test_models_boosters.py::test_damaged_models_are_refused @ and no probability": [
        "this model's base_score is {}, and no probability; write it again",
    ],
    "test_models_boosters.py::test_damaged_models_are_refused @ version that is not known": [
        "or of a version that is not known ({}); write it again",
    ],
    "test_models_boosters.py::test_categories_are_refused": [
        "splits by categories are not supported: encode categories as numbers",
    ],
    "test_models.py::test_owners_and_what_they_must_bring": [
        "party {} owns the model: call {} on what from_sklearn returned there",
        "party {} owns the records: give them as X there",
    ],
    "test_batches.py::test_refusals_under_a_limit_name_the_question": [
        "party {} owns the models: call {} on what from_sklearn returned there",
    ],
    "test_tflite.py::test_files_of_pictures_are_read": [
        "X: files of pictures are uint8 of one or three colours",
        "convert it as pictures were for training",
        "cut and resize it as pictures were for training",
    ],
    "test_batches.py::test_files_are_read_a_batch_at_a_time": [
        "is no .npy file of numbers, as np.save writes them: read others yourself, and give the array",
        "holds arrays by names: give one of them, numpy.load(path)[{}]",
    ],
    "test_models_voting.py::test_what_is_advised_of_members_works @ steps": [
        "steps before a {} and inside of it are too many: put all of them inside",
    ],
    "test_models_voting.py::test_what_is_advised_of_members_works @ votes": [
        "put its members here",
    ],
    "test_models_voting.py::test_what_is_advised_of_members_works @ shares": [
        'use voting="soft", or ',
    ],
    "test_models_pipelines.py::test_steps_are_put_inside_of_a_calibration": [
        "inside of it are too many: put all inside",
    ],
    "test_models_margins.py::test_whatever_differs_was_named": [
        "scale the features alike before training, or state tighter bounds",
    ],
    "test_models_voting.py::test_numbers_too_large_for_secrets_are_refused_at_once": [
        "state tighter bounds=, or fit the estimator on targets and features of smaller units",
    ],
    "test_models_clear.py::test_parameters_that_are_not_finite": [
        "it was trained with missing values: impute them",
    ],
    "test_onnx_embeddings.py::test_bounds_and_samples_go_by_the_tables": [
        "leave bound= out, since tables say it",
    ],
    "test_onnx_inputs.py::test_several_inputs_and_outputs_are_named": [
        "say which, output=...",
    ],
    "test_onnx_inputs.py::test_an_output_in_which_records_lie_side_by_side_is_cut_off_before": [
        "export a network whose outputs have it as an axis, or name a value that has, output=",
    ],
    "test_onnx_inputs.py::test_what_messages_about_inputs_advise_works": [
        "cannot be told: give it as a constant, inputs={{}: ...}, or name that axis as the first input's in the file",
        ", or give it as a constant, inputs={{}: ...}",
        "give the same number of records for each input",
    ],
    "test_onnx_inputs.py::test_questions_name_inputs": [
        "give a dictionary of arrays by name",
        "give it there, X={{}: ...}",
    ],
    "test_onnx_inputs.py::test_several_outputs_are_a_dictionary": [
        "labels= are of one output: name it, output=..., a name and no list",
    ],
    "test_onnx_inputs.py::test_several_outputs_are_named_once": [
        "name one value, or each of several once",
    ],
    "test_onnx_loops.py::test_what_one_input_cannot_be_told_of_is_no_matter_of_branches": [
        "export the network for a batch of one size",
    ],
    "test_onnx.py::test_deep_networks_need_a_sample_and_say_so": [
        "give sample= inputs like those to come",
    ],
    "test_onnx.py::test_a_tolerance_is_met_with_more_bits": [
        "more than the tolerance {}: state {}",
    ],
    "test_onnx.py::test_bounds_are_stated": [
        "bound= their largest magnitude, or sample= inputs like those to come",
        "state a larger bound, or scale the sample as inputs will be",
        "is beyond 2^100 or below its inverse; rescale the inputs",
    ],
    "test_onnx_refused.py::test_what_is_refused_works_as_its_message_has_it @ noise": [
        "training mode: export the network as it predicts",
    ],
    "test_onnx_refused.py::test_what_is_refused_works_as_its_message_has_it @ a mask that only raises": [
        "mask with -inf, or state a smaller bound= of the inputs",
    ],
    "test_onnx.py::test_a_layer_that_nothing_bounds_is_named_with_what_would_do": [
        "use fewer bits=, or scale the weights so that results become smaller",
    ],
    "test_onnx.py::test_weights_in_other_files_are_read_or_named": [
        "put them into {}",
        "give the path of the model, beside which it lies, or read it by onnx.load",
    ],
    "test_onnx.py::test_inputs_of_other_types_are_refused": [
        "export it so, without quantisation or half precision",
    ],
    "test_onnx.py::test_sizes_that_are_not_known_are_asked_for": [
        "give shape= of one input, without the batch, as it will be: {}",
    ],
    "test_onnx.py::test_secret_outputs_that_reals_do_not_hold_are_revealed_or_divided": [
        "reveal them, or let the network divide them",
    ],
    "test_onnx.py::test_inputs_of_the_wrong_shape_or_scale_are_refused_before_anything_is_sent": [
        "party {} owns the model: call {} on what {} returned there",
        "party {} owns the inputs: give them as X there",
        "scale them as they were for training, or let the model's owner state a larger bound",
    ],
    "test_torch.py::test_what_is_no_module_or_cannot_be_exported_is_refused": [
        "give an example of these, of an integer type",
    ],
    "test_tflite.py::test_files_that_are_no_quantised_networks_are_refused": [
        "convert it with full integer quantisation, inputs and outputs included, or export it to ONNX",
    ],
    "test_numpy_absent.py::test_results_in_turn_are_stacked": [
        "np.stack of x[0], f(x[0], x[1]) and so on",
    ],
    "test_apps_psi_texts.py::test_texts_that_hash_alike_are_refused": [
        "psi: two different texts have one hash: number the elements instead",
    ],
    "test_deployment.py::test_callables_are_called_at_the_owner_only": [
        "or give a callable with them, which is called at the owner alone",
    ],
    "test_data.py::test_messages_about_files_are_followed": [
        "give OWNER=FILE, such as {} 0=data.csv",
        "--input {}=FILE on the command line",
    ],
    "test_data.py::test_a_party_without_its_file_is_told": [
        "--input FILE on the command line",
    ],
    "test_data.py::test_two_results_do_not_go_into_one_file": [
        "and --output names one file: give both results as one table",
    ],
    "test_plan.py::test_what_was_not_computed_decides_nothing": [
        "run it instead, or guard this part",
    ],
    "test_deployment.py::test_scripts_that_differ": [
        "interrupt all of them and start the script anew everywhere",
        "Run the same script everywhere",
    ],
    "test_trust.py::test_parties_that_choose_differently_are_told_what_differs": [
        "Give the same options at every party",
    ],
    "test_deployment_losses.py::test_after_a_lost_party_the_session_is_over": [
        "Check that party's process and network, then open a new session",
        "Open a new one",
    ],
    "test_deployment.py::test_a_certificate_that_is_not_pinned": [
        "compare the fingerprints that `quorate keygen` printed and exchange the .crt files again",
    ],
    "test_deployment.py::test_a_port_in_use": [
        "stop it or choose another port (sessions share a port where they are of one party and one deployment",
    ],
    "test_deployment_sessions.py::test_a_program_that_runs_twice_at_a_party_is_named": [
        "wait for its end, or give this one another name at all parties (--session NAME",
    ],
    "test_deployment_sessions.py::test_a_suspended_process_that_has_the_port_leaves_links_alone": [
        "continue or stop it if it is suspended (Ctrl-Z), and try again",
    ],
    "test_deployment_sessions.py::test_a_program_that_not_all_run_is_named": [
        "start the same script there, or give the session one name at all parties (--session NAME",
    ],
    "test_deployment_sessions.py::test_parties_with_other_options_open_other_sessions": [
        "with another protocol or other options: compare those of all parties",
    ],
    "test_deployment_losses.py::test_a_party_does_not_come_up": [
        "start it, and check the address and the firewall",
    ],
    "test_deployment_losses.py::test_a_name_that_does_not_resolve": [
        "correct it, or look at the name service of this machine",
    ],
    "test_deployment.py::test_keygen_keeps_a_key_that_is_there": [
        "move it away to make a new one",
    ],
    "test_configurations.py::test_configurations @ an address without a port": [
        'has no port: write it as "host:port"',
    ],
    "test_shortage.py::test_what_cannot_fit_is_refused_before_anything_is_sent": [
        "run the computation in parts, let go of arrays (del), or run it where there is more memory",
    ],
    "test_shortage.py::test_memory_that_runs_out_in_the_midst_ends_the_session": [
        "Run the computation in parts, under a smaller max_memory, or where there is more memory",
    ],
    "test_spdz2k.py::test_short_keys_are_for_narrow_values_and_weak_ones_are_asked_for": [
        "take mac=64, or a smaller dtype if this step fits with one",
    ],
}

#: What only the tests of a crate meet: the file, and the error.
IN_CRATES: dict[str, tuple[str, str]] = {
    **pools.IN_CRATES,
    "this branch has had {} requests, the most that it may have: make another branch": (
        "crates/session/src/session/branching_tests.rs",
        "SessionError::WornOut",
    ),
    "this session has had {} branches, the most that there may be: open a new session": (
        "crates/session/src/session/branching_tests.rs",
        "SessionError::MostBranches",
    ),
    "run chmod 700 on it": ("crates/net/tests/processes.rs", "fault: Open"),
    "is a file or a link; remove it": ("crates/net/tests/processes.rs", "FolderFault::NoFolder"),
    "make room in it, or set XDG_RUNTIME_DIR to a folder": ("crates/net/tests/processes.rs", "FolderFault::NoFiles"),
    "set XDG_RUNTIME_DIR to a folder of your own with a path of at most 60": (
        "crates/net/src/tcp/neighbours/tests.rs",
        "folders_with_long_paths_are_named_and_those_that_the_advice_allows_are_used",
    ),
    "set XDG_RUNTIME_DIR to a folder of your own, the same one": (
        "crates/net/tests/processes.rs",
        "FolderFault::NotMade",
    ),
    "choose another port for this party": ("crates/net/tests/processes.rs", "InUse::OtherParties"),
    "install releases of one wire version at all parties": ("crates/net/src/tcp/connect.rs", "OTHER_RELEASE"),
    "look at that party's output first": ("crates/net/tests/failures.rs", "NetError::Lost"),
}

#: By a part of the message, the test.
ELSEWHERE: dict[str, str] = {part: test for test, parts in BY_TEST.items() for part in parts}


def listed(file: str, name: str) -> list[str]:
    """The parts of messages that a run of a test is to meet."""
    function, _, parameters = name.partition("[")

    def is_meant(test: str) -> bool:
        which, _, words = test.partition(" @ ")
        return which == f"{file}::{function}" and words in parameters

    return [part for test, parts in BY_TEST.items() if is_meant(test) for part in parts]


#: By a part of the string, the reason why there is nothing to follow.
NO_ADVICE: dict[str, str] = {
    **pools.NO_ADVICE,
    "{} lines, each of which follows the one before it; the first number is {}": "a verdict on a log",
    "It is being verified, and {} of it has been read: look again later": "the state of a verdict on a log",
    "DO NOT allow": "a part of a sentence about a job, for who decides on it",
    "an earlier file has the lines before it: give both to `quorate audit verify`": "a verdict on a log",
    "go back, and state your token above the button": "a page of the console: test_console_acts looks for it",
    "about jobs, and they wait: compare its clock, and see its log": "a line of the log: test_job_serve looks for it",
    "  list of servers: {}": "a caption",
    "the program is code with the rights of this server's user: read it": "said whenever a program is approved",
    "sys.path.insert(0, sys.argv[1])": "a program of Python",
    "a network with hidden layers has no {}: see {}": "names the attribute that has it",
    "{} take": "a key of lines that were warned of",
    "{} reveal": "a key of lines that were warned of",
    "run {}: ": "a caption",
    "--- run {} of {} ---": "a caption",
    "seed: every share and mask grows from a seed that was given": "a remark on what was chosen",
    "do not exist, or repeat": "says what is wrong with axes",
    "--input {}={}: there are parties": "says which parties there are",
    "run number out of range": "of a malformed message",
    "cheating detected: check `{}` failed": "the name of a check",
    "the shift must lie between 0 and {}": "says what is allowed",
    "check before {}": "the name of a lane",
    "reveal of {}": "the name of a lane",
    "mask of ": "the name of a correlation",
    "cut at {}": "the name of a correlation",
    "number of trees; depth": "a row of a list",
    "number of stages; depth": "a row of a list",
    "{}, number of points, n_neighbors": "a row of a list",
    "{}, number of clusters": "a row of a list",
    "qr.models.from_sklearn supports these estimators": "the head of a list",
    "number {}": "the name of a node",
    "round trips of {} ms and {} Mbit/s among all parties": "a measurement",
    "they differ by at most {} ms, round trips included": "a measurement",
    "no text, number or truth value": "says what a value is not",
    "run before was": "says what ran",
    "of this operator it must be the first axis (Transpose)": "says what is supported",
    "batch after time (Transpose) or layout=1": "says what is supported",
    "from_onnx: the model has {} not supported (see `quorate models`)": "the list itself says what is supported",
    "a regression has targets () or (number,) and no classes": "says what a shape has",
    "input takes public values; this is a secret array already": "says what it is",
    "what is approved has other operations, public numbers": "says how approvals differ",
    "please report": "a defect: nothing but to report it",
    "report this as a defect": "a defect: nothing but to report it",
    "Check that all parties run the same version": "of a malformed message, which no version of this release sends",
    "a log is put aside on Unix only; elsewhere, rename it": "tests run on Unix",
    "a program holds at most 2^32 - 1 operations": "more than a test can build",
    "has too many elements: an array holds at most 2^48; split it": "more than a test can hold",
    "no elements are moved or compared along an axis; split it": "more than a test can hold",
    "pass them to `input` at party {}": "Python checks this before, and says `give its values`",
    "let party 0 or 1 input it": "programs refuse this before, by a message of their own",
    "division, roots and logarithms take at most 60 bits": "programs refuse this before, by a message of their own",
    "real functions take at most 16 bits after the point": "programs refuse this before, by a message of their own",
    "the ring is too small for the results of this function": "programs refuse this before, by a message of their own",
    "a session makes fewer than 2^32 triples": "more than a test can make",
    "this session accepted {} packets": "more than a test can send",
    "Nothing was revealed; ask again": "less than one of 500,000 orders",
    "an order took more comparisons than it makes room for; ask again": "less than one of 500,000 orders",
    "correlations or checks side by side: make them ahead": "a defect of a protocol",
    "the system does not give {} threads": "of a machine without threads",
    "take the logarithm of": "a part of the message that says what may be 0",
    "divide by": "a part of the message that says what may be 0",
    "from_onnx: the model is not valid ONNX, or cut off: {}": "says what a file is",
    "give one for each, or a single one for all": "Python checks this before",
    "look-ups take from 1 to {} of them; state a smaller domain=": "Python checks this before",
    "for it depends on too many numbers to look at": "more than a test can hold",
    "it may not fit; convert it first (x.astype(qr.{}))": "operands come to a dtype that holds both",
    "NaN has no place in the order of numbers": "a defect: callers refuse missing values",
    "this CalibratedClassifierCV and the classifier inside know different classes; fit anew": "scikit-learn makes none",
}
