"""PyTorch modules are imported, if torch is installed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate.errors import ModelError


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ModelError, match="is not installed: pip install torch onnxscript"):
        qr.models.from_torch(object(), np.zeros((1, 4)), bound=1.0)


def _modules(torch: Any) -> dict[str, tuple[Any, tuple[int, ...]]]:
    nn = torch.nn
    torch.manual_seed(0)

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.second, self.last = nn.Conv2d(4, 4, 3, padding=1), nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            made = torch.relu(self.norm(self.first(x)))
            made = torch.relu(made + self.second(made))
            return self.last(nn.functional.adaptive_avg_pool2d(made, 1).flatten(1))

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.last = (
                nn.TransformerEncoderLayer(8, 2, 8, batch_first=True, activation="gelu"),
                nn.Linear(8, 3),
            )
            self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(4))

        def forward(self, x: Any) -> Any:
            return self.last(self.layer(x, src_mask=self.mask).mean(1))

    class Steps(nn.Module):
        """Attention and a recurrent layer that have steps first; between them the batch is a later axis."""

        def __init__(self) -> None:
            super().__init__()
            self.attention, self.series = nn.MultiheadAttention(4, 2), nn.GRU(4, 3, bidirectional=True)
            self.last = nn.Linear(6, 2)

        def forward(self, x: Any) -> Any:
            x = x.transpose(0, 1)
            made = x + self.attention(x, x, x)[0]
            made = (made - made.mean(-1, keepdim=True)) * torch.rsqrt(made.var(-1, keepdim=True) + 0.1)
            return self.last(self.series(made)[0][-1])

    dense = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Dropout(0.5), nn.Linear(8, 3))
    images = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3))

    class Words(nn.Module):
        """Rows of a table, and of another one by their positions."""

        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(20, 4, padding_idx=0), nn.Embedding(5, 4)
            self.series, self.last = nn.LSTM(4, 3, batch_first=True), nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            made = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
            return self.last(self.series(made)[0][:, -1])

    return {
        "words": (Words(), (5,)),
        "dense": (dense, (4,)),
        "images": (images, (1, 8, 8)),
        "residual": (Residual(), (2, 6, 6)),
        "attention": (Attention(), (4, 8)),
        "steps": (Steps(), (3, 4)),
    }


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning")
@pytest.mark.parametrize("name", ["dense", "images", "residual", "attention", "steps", "words"])
@pytest.mark.parametrize("training", [True, False])
def test_modules_predict_as_in_torch(name: str, training: bool) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    module, sizes = _modules(torch)[name]
    module.train(training)
    r = np.random.default_rng(0)
    x = r.integers(0, 20, (3, *sizes)) if name == "words" else r.uniform(-1, 1, (3, *sizes)).astype(np.float32)
    stated = {} if name == "words" else {"bound": 1.0}
    model = qr.models.from_torch(module, np.zeros((1, *sizes), x.dtype), **stated)
    assert module.training == training and model.shape.sizes == sizes
    with torch.no_grad():
        wanted = module.eval()(torch.as_tensor(x)).numpy()
    with qr.local("rss") as mpc:
        found = model.decision_function(mpc, x)
    assert np.abs(found - wanted).max() <= min(model.error_bound, 0.001) + 1e-5


def test_what_is_no_module_or_cannot_be_exported_is_refused() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")

    class Fails(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            raise RuntimeError("no such thing")

    for module, wanted in ((np.zeros(3), "not ndarray"), (Fails(), "cannot export")):
        with pytest.raises(ModelError, match=wanted):
            qr.models.from_torch(module, np.zeros((1, 4)), bound=1.0)
    with pytest.raises(ModelError, match="batch as its first axis"):
        qr.models.from_torch(torch.nn.Linear(4, 3), np.zeros(4), bound=1.0)
    words = torch.nn.Sequential(torch.nn.Embedding(5, 3), torch.nn.Flatten(), torch.nn.Linear(6, 2))
    with pytest.raises(ModelError, match=r"^from_torch: torch cannot export this.*give an example of these") as error:
        qr.models.from_torch(words, np.zeros((1, 2)))
    assert "\n" not in str(error.value)
    assert qr.models.from_torch(words, np.zeros((1, 2), np.int64)).shape.sizes == (2,)


def test_each_part_of_a_module_keeps_its_mode() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Dropout()).double()
    module.train()
    module[1].eval()
    qr.models.from_torch(module, np.zeros((1, 4)), bound=1.0)
    assert [part.training for part in module.modules()] == [True, True, False, True]
