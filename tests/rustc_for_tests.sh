#!/bin/sh
# Runs rustc for cargo in `make test`: tests of crates that have `opt-level = 1` are compiled without optimisation, and
# their libraries with it. Profiles of cargo cannot tell the tests of a package from its library (record 0035).
tests= level=
for argument; do
    case $argument in
    --test) tests=yes ;;
    opt-level=1) level=1 ;;
    esac
done
if [ "$tests$level" = yes1 ]; then
    set -- "$@" -C opt-level=0
fi
exec "$@"
