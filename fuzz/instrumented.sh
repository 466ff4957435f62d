#!/bin/sh
# A wrapper of rustc (RUSTC_WRAPPER) with which libFuzzer sees the branches and comparisons of the crates whose readers
# are fuzzed, and of the targets. The flags are those of cargo-fuzz without a sanitizer; they are stable.
rustc="$1"
shift
name=""
for word in "$@"; do
    if [ "$previous" = "--crate-name" ]; then name="$word"; fi
    previous="$word"
done
case "$name" in
quorate_aby | quorate_additive | quorate_authenticated | quorate_bench | quorate_gadgets) ;;
quorate_pika | quorate_protocols | quorate_spdz2k) ;;
quorate_* | circuits_* | engine_* | fss_* | garble_* | graph_* | he_* | net_* | ot_* | ring_* | rss_* | session_*)
    exec "$rustc" "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
        -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1
    ;;
esac
exec "$rustc" "$@"
