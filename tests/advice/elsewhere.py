"""Messages that other tests follow, and strings that look like advice but are none."""

from __future__ import annotations

#: By test, parts of messages that it produces and follows.
_BY_TEST: dict[str, list[str]] = {
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
    "test_onnx_sklearn.py::test_what_is_refused_says_what_to_do": [
        "import the parts by themselves, or the estimator by from_sklearn",
        "trees behind steps that mix features (PCA, MatMul): fit them on the records themselves",
        "of features: transform the records before they are input, and fit the pipeline on those",
    ],
    "test_models_boosters.py::test_lightgbms_own_form_is_the_same_model": [
        "a tree of this model is damaged: a child that is no node; write it again",
    ],
    "test_onnx_sklearn.py::test_what_files_of_other_writers_are_told_works": [
        "LINEAR is: fit with kernel='linear'",
        "probabilities of an SVM, by which onnxruntime decides: fit SVC(probability=False)",
        "an output that is neither a label nor numbers: name another one, output=",
        "several outputs, of which none is a label: say which, output=",
        "several outputs are computed of networks of real numbers: name one, output=",
        "of features: encode categories by OneHotEncoder",
        "of float64, which it rounds to float32: convert the pipeline for float32",
        "behind steps that change features: encode the features themselves",
    ],
    "test_deployment.py::test_a_party_that_accepts_and_is_silent": [
        "raise stall_timeout_s in [limits] of party.toml; 0 waits for ever",
    ],
    "test_data.py::test_identifiers_keep_their_zeros": [
        "leave the column out and give them as texts, qr.apps.psi(mpc, texts, ..., texts=True)",
    ],
    "test_small_results.py::test_an_inverse_that_has_no_room_names_means_and_they_are_right": [
        "where the matrix is a sum over n rows, take its mean, {}; else {}",
    ],
    "test_small_results.py::test_what_loses_digits_is_named_and_the_advice_works": [
        "and divide results by 2**{} again where they are large",
        "give what it works on more fractional bits, x.astype(qr.{}), or {}",
        "multiply what is divided by 2**{} first",
        "divide its argument by 2**{} first",
        "divide its argument by 4**{} first",
        "multiply a factor by 2**{} first",
    ],
    "test_small_results.py::test_a_range_that_keeps_bits_for_what_does_not_occur_is_to_be_clipped": [
        "say how large what it works on can be, x.clip(low, high) or bound= of the inputs, so that no bits are kept",
    ],
    "test_learn_digits.py::test_a_ratio_of_sums_in_a_stated_dtype_says_so_and_the_advice_works": [
        "leave dtype= of the inputs out, so that results grow",
        "or state one with 32, qr.fixed(96, 32)",
    ],
    "test_learn_digits.py::test_a_gradient_without_room_says_so_and_the_advice_works": [
        "clip divisors and the arguments of logarithms and roots to what they can be, x.clip(low, high)",
    ],
    "test_models_boosters.py::test_predictions_are_the_librarys": [
        "are: train the model for one of these",
        "XGBoost with several targets is not supported; train one model for each",
        "this model has no trees, or not as many for each class; train it again",
        "a tree of this model has numbers that are not finite; train it again",
        "a tree has a threshold that is not finite; train the model again",
    ],
    "test_models_boosters.py::test_models_are_read_from_files_texts_and_objects": [
        "write those, booster[: booster.best_iteration + 1].save_model(...)",
        "a tree is of a class that this model, of {}, does not have; write it again",
        "this is no model: give what {} gives, not {}",
        "this model begins with numbers that are not finite; write it again",
        "or several nodes'; write it again",
        "a tree of this model asks for a feature that is none of its {}; write it again",
        "this model's base_score is {}, and no probability; write it again",
        "or of a version that is not known ({}); write it again",
    ],
    "test_models_boosters.py::test_categories_are_refused": [
        "splits by categories are not supported: encode categories as numbers",
    ],
    "test_models_roles.py::test_all_parties_declare_the_same_and_owners_alone_give_values": [
        "party {} owns the model: call {} on what from_sklearn returned there",
        "party {} owns the records: give them as X there",
    ],
    "test_models_voting.py::test_other_parties_need_the_shape_alone": [
        "party {} owns the models: call {} on what from_sklearn returned there",
    ],
    "test_onnx.py::test_parties_without_the_model_need_its_shape_alone": [
        "party {} owns the model: call {} on what {} returned there",
        "party {} owns the inputs: give them as X there",
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
    "test_models_voting.py::test_voters_agree_with_the_estimator": [
        "steps before a {} and inside of it are too many: put all of them inside",
        "inside of it are too many: put all inside",
        "put its members here",
        'use voting="soft", or ',
    ],
    "test_models_numbers.py::test_networks_without_bounds_say_how_far_numbers_are_off": [
        "scale the features alike before training, or state tighter bounds",
    ],
    "test_models_voting.py::test_numbers_too_large_for_secrets_are_refused_at_once": [
        "state tighter bounds=, or fit the estimator on targets and features of smaller units",
    ],
    "test_models_boosters.py::test_missing_values_are_refused": [
        "it was trained with missing values: impute them",
    ],
    "test_onnx_embeddings.py::test_bounds_and_samples_go_by_the_tables": [
        "leave bound= out, since tables say it",
    ],
    "test_onnx.py::test_several_inputs_and_outputs_are_named": [
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
        "more than the tolerance {}: state {}",
    ],
    "test_onnx.py::test_bounds_are_stated": [
        "bound= their largest magnitude, or sample= inputs like those to come",
        "state a larger bound, or scale the sample as inputs will be",
        "is beyond 2^100 or below its inverse; rescale the inputs",
    ],
    "test_onnx_axes.py::test_operators_along_axes_are_onnxruntimes": [
        "training mode: export the network as it predicts",
        "mask with -inf, or state a smaller bound= of the inputs",
    ],
    "test_onnx.py::test_a_layer_that_nothing_bounds_is_named_with_what_would_do": [
        "use fewer bits=, or scale the weights so that results become smaller",
    ],
    "test_onnx.py::test_weights_in_other_files_are_read_or_named": [
        "put them into {}",
        "give the path of the model, beside which it lies, or read it by onnx.load",
    ],
    "test_onnx.py::test_whole_networks": [
        "export it so, without quantisation or half precision",
    ],
    "test_onnx.py::test_sizes_that_are_not_known_are_asked_for": [
        "give shape= of one input, without the batch, as it will be: {}",
    ],
    "test_onnx.py::test_secret_outputs_have_room_in_the_ring_of_reals": [
        "reveal them, or let the network divide them",
    ],
    "test_onnx.py::test_inputs_of_the_wrong_shape_or_scale_are_refused_before_anything_is_sent": [
        "scale them as they were for training, or let the model's owner state a larger bound",
    ],
    "test_torch.py::test_modules_predict_as_in_torch": [
        "give an example of these, of an integer type",
    ],
    "test_tflite.py::test_mobilenet_equals_tflite_layer_by_layer": [
        "convert it with full integer quantisation, inputs and outputs included, or export it to ONNX",
    ],
    "test_numpy_absent.py::test_every_hint_has_a_case_or_is_said_in_words": [
        "results in turn, np.stack of x[0], f(x[0], x[1]) and so on",
    ],
    "test_apps_deployed.py::test_values_come_from_their_owners_and_results_go_where_they_should": [
        "this party does not have all values: state their sizes",
    ],
    "test_apps_psi_texts.py::test_texts_that_hash_alike_are_refused": [
        "psi: two different texts have one hash: number the elements instead",
    ],
    "test_frames.py::test_who_has_no_values_is_told_of_announce": [
        "state shape= and dtype= at all parties; how many rows there are can be told",
    ],
    "test_deployment.py::test_callables_are_called_at_the_owner_only": [
        "or give a callable with them, which is called at the owner alone",
    ],
    "test_deployment.py::test_declarations_that_differ": [
        "pass them to `input` at party {}",
    ],
    "test_data.py::test_every_command_takes_the_same_script": [
        "give OWNER=FILE, such as {} 0=data.csv",
        "--input {}=FILE on the command line",
    ],
    "test_data.py::test_a_deployment": [
        "--input FILE on the command line",
    ],
    "test_data.py::test_two_results_do_not_go_into_one_file": [
        "and --output names one file: give both results as one table",
    ],
    "test_plan.py::test_what_was_not_computed_decides_nothing": [
        "run it instead, or guard this part",
    ],
    "test_interrupts.py::test_what_one_process_has_seen_is_what_all_see_wherever_another_is_interrupted": [
        "interrupt all of them and start the script anew everywhere",
    ],
    "test_deployment.py::test_scripts_that_differ": [
        "Run the same script everywhere",
    ],
    "test_trust.py::test_parties_that_choose_differently_are_told_what_differs": [
        "Give the same options at every party",
        "Say which sharings it shall run in, alike at every party",
    ],
    "test_deployment.py::test_after_a_lost_party_the_session_is_over": [
        "Check that party's process and network, then open a new session",
        "Open a new one",
    ],
    "test_deployment.py::test_a_script_that_fails_takes_the_others_along": [
        "look at that party's output first",
    ],
    "test_deployment.py::test_who_leaves_early_is_reported_to_who_waits": [
        "start party {}, or look at party {}'s output",
    ],
    "test_deployment.py::test_a_certificate_that_is_not_pinned": [
        "compare the fingerprints that `quorate keygen` printed and exchange the .crt files again",
    ],
    "test_deployment.py::test_two_parties_with_one_number": [
        "each party runs once: check `me` in the configurations",
    ],
    "test_deployment.py::test_a_port_in_use": [
        "stop it (another run of this party?) or choose another port",
    ],
    "test_deployment.py::test_a_party_does_not_come_up": [
        "start it, and check the address and the firewall",
    ],
    "test_deployment.py::test_a_name_that_does_not_resolve": [
        "correct it, or look at the name service of this machine",
    ],
    "test_deployment.py::test_keygen_then_a_configuration_by_hand_then_a_run": [
        "make keys with `quorate keygen`",
        "make one with `quorate keygen`",
    ],
    "test_deployment.py::test_keygen_keeps_a_key_that_is_there": [
        "move it away to make a new one",
    ],
    "test_deployment.py::test_files_that_are_not_there": [
        "run chmod 600 on it",
    ],
    "test_configurations.py::test_configurations": [
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
    "test_operations.py::test_who_deals_proves_no_choice": [
        "let party 0 or 1 input it",
    ],
}

#: By a part of the message, the test.
ELSEWHERE: dict[str, str] = {part: test for test, parts in _BY_TEST.items() for part in parts}

#: By a part of the string, the reason why there is nothing to follow.
NO_ADVICE: dict[str, str] = {
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
    "install the same release of Quorate everywhere": "there is one release in a test",
    "a program holds at most 2^32 - 1 operations": "more than a test can build",
    "has too many elements: an array holds at most 2^32 - 1; split it": "more than a test can hold",
    "division, roots and logarithms take at most 60 bits": "programs refuse this before, by a message of their own",
    "real functions take at most 16 bits after the point": "programs refuse this before, by a message of their own",
    "the ring is too small for the results of this function": "programs refuse this before, by a message of their own",
    "a session makes fewer than 2^32 triples": "more than a test can make",
    "this session accepted {} packets": "more than a test can send",
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
