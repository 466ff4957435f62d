"""What all tests stand on."""

import signal

# Shells start what runs in the background with Ctrl-C ignored, and children inherit that: tests that interrupt one
# would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
