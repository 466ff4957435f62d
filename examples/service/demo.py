"""A survey with servers and clients on this machine: what an installation does, from its keys to its result.

    python examples/service/demo.py                    # `make demo-service`: forty clients, ten of them in the form
    python examples/service/demo.py --clients 6

Three `quorate serve` take packets over HTTPS on the loopback. A quarter of the clients fills in the form of
clients/form in Chromium, without a window, where Chromium and playwright are installed; otherwise it is JavaScript in
Node. The others are Python. After the closing, the program runs at three parties, each a process. The result
is compared with numpy's; the exit status is 1 if it differs. Nothing is left behind: all files are in a temporary
folder, and all processes end with this one, also on Ctrl-C.
"""

import argparse
import contextlib
import importlib.util
import json
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
from network import COMMAND_S, END_S, Failed, Interrupts, Network, failure
from prepare import HERE, asked_of

CLIENTS = HERE.parent.parent / "clients"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LEAST, MOST = 3, 10_000


def salaries(count):
    """Returns a salary for each client, which only that client has in a survey."""
    return np.random.default_rng(2026).integers(25_000, 140_000, count).tolist()


def node():
    """Returns the command of Node 20 or later, or None and a sentence that says why not."""
    command = shutil.which("node")
    if command is None:
        return None, "All clients are Python: Node is not installed."
    told = subprocess.run([command, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    version = re.match(r"v(\d+)\.", told)
    if version is None or int(version[1]) < 20:
        this = told if version else "another program"
        return None, f"All clients are Python: Node 20 or later is needed, and this is {this}."
    return command, f"Node {told}"


def browser():
    """Returns the command of Chromium, or None and a sentence that says why the form is not filled in."""
    command = next(filter(None, map(shutil.which, BROWSERS)), None)
    if command is None:
        return None, "The form is left out: Chromium is not installed."
    if importlib.util.find_spec("playwright") is None:
        return None, "The form is left out: playwright is not installed (pip install playwright)."
    return command, "the form in Chromium"


class Clients:
    """A process of clients.

    Args:
        network: the servers.
        asked: the invitation and the values of each client.
        command: the process.
    """

    def __init__(self, network, asked, *command):
        self.asked = asked
        self.process = network.start(*command)

    def give(self):
        """Begins to give all values."""
        self._tell(self.asked)

    def wait(self):
        """Waits until all servers have confirmed all values."""
        if self._answer() != {"given": len(self.asked)}:
            raise Failed("a process of clients has confirmed other values than it was told to give")

    def results(self):
        """Returns what each client gets from the program."""
        self._tell("results")
        return self._answer()["results"]

    def _tell(self, line):
        with contextlib.suppress(BrokenPipeError):  # it has ended: there is no answer
            print(json.dumps(line), file=self.process.stdin, flush=True)

    def _answer(self):
        answer = self.process.stdout.readline()
        if not answer:
            self.process.wait(END_S)
            raise failure(self.process)
        return json.loads(answer)


def javascript():
    """Returns how clients in JavaScript are started, as a function of the network, or None; and a sentence."""
    chromium, sentence = browser()
    if chromium:
        return lambda network: form_of(network, chromium), sentence
    command, other = node()
    return (lambda network: node_of(network, command)) if command else None, f"{other}; {sentence}".replace(".;", ";")


def form_of(network, chromium):
    """Returns the command of clients that fill in the form."""
    folder = network.folder / "form"
    build = (CLIENTS / "form" / "build.py", "--campaign", network.campaign, "--out", folder)
    network.ended(network.start(sys.executable, *build), COMMAND_S)
    return sys.executable, HERE / "form.py", folder, network.page, chromium


def node_of(network, command):
    """Returns the command of clients in Node."""
    certificates = [config.with_name("tls.crt") for config in network.configs]
    return command, HERE / "clients.mjs", network.campaign, CLIENTS / "js" / "quorate.js", *certificates


def clients_of(network, invitations, values, others, count):
    """Starts the processes of clients: Python's, and for the last `count` of them what `others` returns."""
    asked = asked_of(invitations, values)
    split = len(asked) - count
    started = [Clients(network, asked[:split], sys.executable, HERE / "clients.py", network.campaign, network.folder)]
    if count:
        started.append(Clients(network, asked[split:], *others(network)))
    return started


def survey(count, interrupts, say):
    """Runs the survey, and returns whether all results are those that numpy computes of the plain values."""
    values = salaries(count)
    others, sentence = javascript()
    in_javascript = count // 4 if others else 0
    with Network(count, interrupts) as network:
        invitations = network.make_files()
        say(f"keys of three servers; a campaign of one program, with {count} invitations")
        network.serve()
        say("three servers take packets")
        clients = clients_of(network, invitations, values, others, in_javascript)
        for group in clients:
            group.give()
        for group in clients:
            group.wait()
        in_python = count - in_javascript
        say(f"{count} clients have given a salary: {in_python} in Python, {in_javascript} in JavaScript ({sentence})")
        network.close_campaign()
        say("closed")
        found = network.run_program()
        say("the program has run at three parties")
        told = [result for group in clients for result in group.results()]
        say("all clients have their own result")
    return compare(values, found, told)


def compare(values, found, told):
    """Prints results beside those of the plain values, and returns whether all are the same."""
    plain = {"mean": sum(values) // len(values), "highest": max(values), "clients": len(values)}
    above = [value > plain["mean"] for value in values]
    print(f"\n{'':>24}  {'by the servers':>14}  {'in the clear':>14}")
    for name, value in plain.items():
        print(f"{name:>24}  {found[0].get(name, '-'):>14}  {value:>14}")
    print(f"{'clients above the mean':>24}  {sum(told):>14}  {sum(above):>14}\n")
    return all(one == plain for one in found) and told == above


def main():
    parser = argparse.ArgumentParser(description="three servers, and clients in Python and JavaScript: one result")
    parser.add_argument("--clients", type=int, default=40, help="the number of clients (default: 40)")
    count = parser.parse_args().clients
    if not LEAST <= count <= MOST:
        parser.error(f"--clients must be {LEAST} to {MOST}: the program does not run for fewer clients")
    interrupts = Interrupts()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupts)
    begun = time.monotonic()
    try:
        is_right = survey(
            count, interrupts, lambda text: print(f"{time.monotonic() - begun:6.1f} s  {text}", flush=True)
        )
    except KeyboardInterrupt:
        print("told to end; all processes have ended, and the files are removed", file=sys.stderr)
        return 130
    except Failed as error:
        print(f"the demonstration failed: {error}", file=sys.stderr)
        return 1
    if not is_right:
        print("results differ from those in the clear; this must not happen; please report it", file=sys.stderr)
        return 1
    print(f"all results agree; {time.monotonic() - begun:.1f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
