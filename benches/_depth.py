"""Accuracy of deep networks (Pika, Fig. 3 and Table 4): error, labels and confidence by the number of layers. Run by
`paper_networks.py depth`.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _lenet
import numpy as np
from _links import network

import quorate as qr
from quorate._display._plots import drawn, pyplot

PIECE = 50  # images at a time
DEPTHS = range(4, 9)
CLEAR = "in the clear"

#: A function that evaluates a network on secret images, and returns its outputs.
Ask = Callable[[Any, np.ndarray], Any]


@dataclasses.dataclass(frozen=True)
class Quality:
    """The quality of the outputs for some images; all attributes are shares of 1.

    Attributes:
        right: images with the right label.
        confidence: the mean probability, by softmax, of the label that the network gives.
        error: the mean of |secret - clear| / |clear| over all outputs.
    """

    right: float
    confidence: float
    error: float

    @staticmethod
    def of(outputs: np.ndarray, clear: np.ndarray, labels: np.ndarray) -> Quality:
        """Returns the quality of outputs, compared with those in the clear."""
        powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        largest = powers.max(axis=1) / powers.sum(axis=1)
        error = np.abs(outputs - clear) / np.abs(clear)
        return Quality(float((outputs.argmax(axis=1) == labels).mean()), float(largest.mean()), float(np.mean(error)))


def depth(asked: argparse.Namespace) -> None:
    """Trains LeNets of 4 to 8 layers in the clear, with and without normalisation, and evaluates them on secrets.

    The three secret ways are:

    - numbers of 24 bits, with scales by proof alone;
    - numbers of 16 bits and weights of 12, with scales from a sample of images and normalisation folded into weights;
    - `fixed(32, 12)` throughout as in the paper, with normalisation by 1 / sqrt on shares.

    For comparison, each network also runs in the clear, in floating point and in fixed point whose sums wrap at 32
    bits.
    """
    if asked.data is None:
        raise SystemExit("depth: --data FOLDER, which has MNIST's test images and labels as idx files (*.gz)")
    x, y = _lenet.mnist(asked.data)
    many = len(x) - asked.images
    train, test = (x[:many], y[:many]), (x[many:], y[many:])
    print(
        f"{'layers':>6} {'normalised':>10}  {'way':<13} {'protocol':<9} {'link':<7} {'right':>8} {'confidence':>10} "
        f"{'error':>9} {'s':>7} {'predicted':>9}",
        flush=True,
    )
    found: dict[tuple[str, bool], dict[int, Quality]] = {}
    for layers, normalised in itertools.product(DEPTHS, (False, True)):
        net = _lenet.LeNet(layers, normalised).train(*train, epochs=asked.epochs)
        clear = net.outputs(test[0])
        quality = Quality.of(clear, clear, test[1])
        found.setdefault((CLEAR, normalised), {})[layers] = quality
        say(net, CLEAR, quality)
        say(net, "wrapping", Quality.of(net.outputs(test[0], fraction=12, bits=32), clear, test[1]))
        for protocol, link in itertools.product(asked.protocols, asked.links):
            for way, ask in ways(net, train[0][:100]).items():
                predicted, outputs, seconds = answered(ask, test[0], protocol, link, asked.most)
                if outputs is None:
                    say(net, way, None, f"{protocol:<9} {link:<7}", f"{'':7} {predicted:9.1f}")
                    continue
                quality = Quality.of(outputs, clear, test[1])
                found.setdefault((way, normalised), {})[layers] = quality
                say(net, way, quality, f"{protocol:<9} {link:<7}", f"{seconds:7.1f} {predicted:9.1f}")
    if asked.plot:
        draw(found, asked.plot)


def say(net: _lenet.LeNet, way: str, quality: Quality | None, where: str = "", seconds: str = "") -> None:
    """Prints a line of the table."""
    figures = f"{'':29}" if quality is None else "{:8.2%} {:10.2%} {:9.2%}".format(*dataclasses.astuple(quality))
    normalised = "yes" if net.normalised else "no"
    print(f"{net.convs + 2:6} {normalised:>10}  {way:<13} {where:<17} {figures} {seconds}".rstrip(), flush=True)


def ways(net: _lenet.LeNet, sample: np.ndarray) -> dict[str, Ask]:
    """Returns the ways to evaluate a network on secrets, by name."""

    def scaled(*scales: Any) -> Ask:
        model = net.model(*scales)
        return lambda mpc, x: model.decision_function(mpc, x, reveal=False)

    return {"24, proof": scaled(24, 24), "16, sample": scaled(16, 12, sample), "fixed(32, 12)": net.on_shares}


def answered(
    ask: Ask, images: np.ndarray, protocol: str, link: str, most: float
) -> tuple[float, np.ndarray | None, float]:
    """Returns the predicted seconds, the outputs, and the measured seconds.

    The outputs are `None` if the prediction is longer than `most` seconds; nothing is run then.
    """
    pieces = [images[first : first + PIECE] for first in range(0, len(images), PIECE)]
    with qr.local(protocol, network=network(link), check=False) as mpc:
        asked = ask(mpc, pieces[0])
        plan = mpc.explain(asked)
        predicted = (plan.offline.seconds + plan.online.seconds) * len(pieces)
        if predicted > most:
            return predicted, None, 0.0
        started = time.perf_counter()
        outputs = [(asked if place == 0 else ask(mpc, piece)).reveal() for place, piece in enumerate(pieces)]
        return predicted, np.concatenate(outputs), time.perf_counter() - started


def draw(found: dict[tuple[str, bool], dict[int, Quality]], path: Path) -> None:
    """Draws error, labels and confidence by depth: a colour for each way, dashed lines without normalisation."""
    names = {"error": "mean relative error of outputs", "right": "labels that are right", "confidence": "confidence"}
    colours = {way: f"C{place}" for place, way in enumerate(dict.fromkeys(way for way, _ in found))}
    with drawn():
        figure, axes = pyplot().subplots(1, 3, figsize=(11, 3.6), layout="constrained")
        for (name, label), panel in zip(names.items(), axes, strict=True):
            for (way, normalised), layers in found.items():
                if (name, way) != ("error", CLEAR):
                    figures = [getattr(quality, name) for quality in layers.values()]
                    panel.plot(list(layers), figures, "-" if normalised else "--", color=colours[way], marker="o", ms=4)
            panel.set(xlabel="layers", ylabel=label, yscale="log" if name == "error" else "linear")
            panel.set_xticks(list(DEPTHS))
        for way, colour in colours.items():
            axes[1].plot([], [], color=colour, label=way)
        for style, label in (("-", "normalised"), ("--", "not normalised")):
            axes[1].plot([], [], style, color="#444444", label=label)
        figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
        figure.savefig(path, dpi=110)
