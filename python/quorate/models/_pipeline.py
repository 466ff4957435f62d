"""Affine steps before a model, which are folded into its weights and stay as secret as those.

A chain of steps maps a record x to M x + t. The floats that are added up on the way are bounded by `sizes` |x| +
`offsets`, the same chain applied to magnitudes. So after r roundings the library is off by at most gamma(r) times that
bound (Higham 2002, section 3.5). The same bound holds for the folded weights, whose matrices are multiplied beforehand.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from inspect import getattr_static
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError
from quorate.models._columns import VALUE, Column, Columns, plain

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Before:
    """The map from a record to the results of the steps before a model."""

    matrix: Floats
    shift: Floats
    sizes: Floats
    offsets: Floats
    roundings: int = 0
    dtype: np.dtype = dataclasses.field(default_factory=lambda: np.dtype(np.float64))
    """The coarsest dtype that the library rounds to, for records of float64."""
    selected: NDArray[np.int64] | None = None
    """The columns that are left, unchanged, if all steps only select; None after any other step."""

    columns: Columns = dataclasses.field(default_factory=lambda: Columns(0))
    """The columns that the records' owner computes of a record, to which `matrix` applies. Steps may have added columns
    that `matrix` does not have yet: see `wide`."""

    names: tuple[Any, ...] | None = None
    """The names of a record's features, if the first step has them."""

    seen: Floats | None = None
    """For each feature a magnitude that no record reached in training, if the first step that scales it has one, else
    NaN. `bounds` covers all features, so that it does not show which ones are left out."""

    @classmethod
    def nothing(cls, features: int, names: Any = None) -> Before:
        """Returns the identity, which stands for no steps."""
        same, none = np.eye(features), np.zeros(features)
        known = None if names is None else tuple(names)
        return cls(same, none, same, none, selected=np.arange(features), names=known, columns=Columns(features))

    def shaped(self, shape: Any, columns: Sequence[Column]) -> Any:
        """Makes the shape of a model over columns one over records."""
        known = tuple(self.columns.known.items()) or None
        return dataclasses.replace(shape, features=self.columns.features, columns=tuple(columns), known=known)

    @property
    def bounds(self) -> Floats | None:
        """The largest magnitudes seen of the columns, 1 for categories; None unless all numbers have one."""
        seen = np.full(self.features, np.nan) if self.seen is None else self.seen
        seen = np.where([what[0] in ("in", "out") for _, what in self.columns.all], 1.0, seen)
        return None if np.isnan(seen).any() else seen

    @property
    def features(self) -> int:
        """The number of columns of a record: its features, unless steps added others."""
        return self.matrix.shape[1]

    def wide(self) -> Before:
        """Returns the map on all columns that steps have added by now."""
        more = len(self.columns.all) - self.features
        if more == 0:
            return self
        padded = [np.pad(part, [(0, 0), (0, more)]) for part in (self.matrix, self.sizes)]
        seen = None if self.seen is None else np.pad(self.seen, (0, more), constant_values=np.nan)
        return dataclasses.replace(self, matrix=padded[0], sizes=padded[1], seen=seen)

    def picked(self, places: NDArray[np.int64]) -> Before:
        """Appends a step that returns the columns at `places`."""
        wide = self.wide()
        matrix, none = np.eye(wide.features)[places], np.zeros(len(places))
        return dataclasses.replace(wide, matrix=matrix, shift=none, sizes=matrix, offsets=none, selected=places)

    def of_columns(self) -> Before:
        """Drops the columns of features that are only categories, as they are not used as numbers."""
        before = self.wide()
        used = np.asarray(before.sizes.any(axis=0))
        kept = np.array(
            [
                used[i] or feature not in self.columns.encoded or feature in self.columns.numbers
                for i, (feature, _) in enumerate(self.columns.all)
            ]
        )
        kept[self.columns.features :] = True  # which categories are used is secret, as it is for features
        if kept.all():
            return before
        places = np.cumsum(kept) - 1
        columns = Columns(self.columns.features, known=self.columns.known)
        columns.all = [column for column, keep in zip(self.columns.all, kept, strict=True) if keep]
        return dataclasses.replace(
            before,
            matrix=before.matrix[:, kept],
            sizes=before.sizes[:, kept],
            selected=None if before.selected is None else places[before.selected],
            seen=None if before.seen is None else before.seen[kept],
            columns=columns,
        )

    @property
    def made(self) -> tuple[Column, ...] | None:
        """The columns; None if they are the features alone."""
        none_made = self.columns.all == [(feature, VALUE) for feature in range(self.columns.features)]
        return None if none_made else tuple(self.columns.all)

    def then(self, matrix: Floats, subtracted: Floats, added: Floats) -> Before:
        """Appends a step: matrix (y - subtracted) + added."""
        size = np.abs(matrix)
        return dataclasses.replace(
            self,
            matrix=matrix @ self.matrix,
            shift=matrix @ (self.shift - subtracted) + added,
            sizes=size @ self.sizes,
            offsets=size @ (self.offsets + np.abs(subtracted)) + np.abs(added),
            roundings=self.roundings + matrix.shape[1] + 4,
            selected=None,
        )

    def scaled(self, factors: Floats, subtracted: Any = 0.0, added: Any = 0.0) -> Before:
        """Appends a step, feature by feature: factors (y - subtracted) + added."""
        none = np.zeros(len(factors))
        after = self.then(np.diag(factors), none + subtracted, none + added)
        return dataclasses.replace(after, roundings=self.roundings + 5)

    def kept(self, which: NDArray[np.int64]) -> Before:
        """Appends a step that keeps some features only; it is exact."""
        return dataclasses.replace(
            self,
            matrix=self.matrix[which],
            shift=self.shift[which],
            sizes=self.sizes[which],
            offsets=self.offsets[which],
            selected=None if self.selected is None else self.selected[which],
        )

    def coarser(self, dtype: np.dtype) -> np.dtype:
        """Returns the coarser of `dtype` and these steps' dtype, in which the roundings of both are counted."""
        return min(self.dtype, dtype, key=lambda of: np.finfo(of).nmant)


def _array(values: Any, size: int, missing: float) -> Floats:
    """Returns a fitted attribute; `missing` everywhere if the step has None, as it leaves that part out."""
    return np.full(size, missing) if values is None else np.asarray(values, np.float64)


_LEAST, _MOST = 8.0, 64.0  # in standard deviations from the mean


def knowing(before: Before, largest: Floats) -> Before:
    """Adds the largest magnitudes of the features that a step scales, if these are the records' own features.

    A feature that was always 0 gets the largest magnitude of the others. Features that were left out before have none.
    """
    if before.selected is None or not np.isfinite(largest).all() or not largest.any():
        return before
    seen = np.full(before.features, np.nan)
    seen[before.selected] = np.where(largest > 0, largest, largest.max())
    return dataclasses.replace(before, seen=seen)


def _standard(step: Any, before: Before) -> Before:
    size = len(before.matrix)
    if step.mean_ is not None and step.var_ is not None:
        # None of n records is further from the mean than the square root of n standard deviations.
        reach = np.clip(np.sqrt(step.n_samples_seen_), _LEAST, _MOST)
        before = knowing(before, np.abs(step.mean_) + reach * np.sqrt(step.var_))
    mean = _array(step.mean_ if step.with_mean else None, size, 0.0)
    return before.scaled(1 / _array(step.scale_ if step.with_std else None, size, 1.0), mean)


def _min_max(step: Any, before: Before) -> Before:
    if step.clip:
        raise ModelError("MinMaxScaler(clip=True) is not affine: fit the pipeline with clip=False")
    before = knowing(before, 2 * np.maximum(np.abs(step.data_min_), np.abs(step.data_max_)))
    return before.scaled(_array(step.scale_, len(before.matrix), 1.0), 0.0, _array(step.min_, len(before.matrix), 0.0))


def _max_abs(step: Any, before: Before) -> Before:
    if getattr(step, "clip", False):
        raise ModelError("MaxAbsScaler(clip=True) is not affine: fit the pipeline with clip=False")
    before = knowing(before, 2 * np.asarray(step.max_abs_))
    return before.scaled(1 / _array(step.scale_, len(before.matrix), 1.0))


def _robust(step: Any, before: Before) -> Before:
    size = len(before.matrix)
    center = _array(step.center_ if step.with_centering else None, size, 0.0)
    return before.scaled(1 / _array(step.scale_ if step.with_scaling else None, size, 1.0), center)


def _pca(step: Any, before: Before) -> Before:
    """Folds a PCA. One fitted on float32 subtracts its projected mean in float32, whatever the dtype of the records."""
    if np.float32 in (step.components_.dtype, step.mean_.dtype):
        before = dataclasses.replace(before, dtype=np.dtype(np.float32))
    components = np.asarray(step.components_, np.float64)
    if step.whiten:
        deviations = np.sqrt(step.explained_variance_)  # in the dtype of the fit, whose eps is the least
        components = components / np.maximum(deviations, np.finfo(deviations.dtype).eps).astype(np.float64)[:, None]
    return before.then(components, np.asarray(step.mean_, np.float64), np.zeros(len(components)))


def _svd(step: Any, before: Before) -> Before:
    components = np.asarray(step.components_, np.float64)
    return before.then(components, np.zeros(components.shape[1]), np.zeros(len(components)))


def _same(step: Any, before: Before) -> Before:
    if step.func is not None:
        raise ModelError(
            f"FunctionTransformer(func={getattr(step.func, '__name__', step.func)}) is not supported: transform the "
            "records before they are input, and fit the pipeline on those"
        )
    return before


def _imputer(step: Any, before: Before) -> Before:
    """Folds an imputer, which changes no record, as missing values are refused. Columns without values are dropped."""
    if step.add_indicator:
        raise ModelError("SimpleImputer(add_indicator=True) is not supported: add_indicator=False is")
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise ModelError("SimpleImputer is supported for missing values that are nan, which records must not have")
    if step.strategy == "constant" and step.fill_value is not None and step.fill_value != step.fill_value:
        raise ModelError("SimpleImputer is supported for a fill_value that is a number")
    missing = [value is None or value != value for value in np.asarray(step.statistics_).tolist()]
    empty = np.array(missing, bool) & (not step.keep_empty_features)
    return before.kept(np.flatnonzero(~empty))


def _selector(step: Any, before: Before) -> Before:
    """Folds a selection. Features that it leaves out remain columns, so that the columns do not show the selection."""
    for place in np.flatnonzero(before.sizes.any(axis=0)):
        feature, what = before.columns.all[place]
        if what == VALUE:
            before.columns.numbers.add(feature)
    return before.kept(np.flatnonzero(step.get_support()))


def _columns(step: Any, before: Before) -> Before:
    """Folds each part on its own columns; the results are joined side by side."""
    if step.transformer_weights:
        raise ModelError("ColumnTransformer(transformer_weights=) is not supported: scale what a part makes instead")
    parts: list[Before] = []
    for name, part, _ in step.transformers_:
        which = np.asarray(step._transformer_to_input_indices[name], np.int64)
        if (isinstance(part, str) and part == "drop") or not len(which):
            continue
        same = isinstance(part, str) or (type(part).__name__ == "FunctionTransformer" and part.func is None)
        parts.append(before.kept(which) if same else _folded(name, part, before.kept(which)))
    if not parts:
        raise ModelError("this ColumnTransformer drops all columns: there is nothing to predict from")

    return beside(before, parts)


def beside(before: Before, parts: Sequence[Before]) -> Before:
    """Joins the results of several parts for the same records, side by side."""
    wide = [part.wide() for part in parts]

    def joined(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in wide])

    known = [part.seen for part in wide if part.seen is not None]
    return dataclasses.replace(
        before,
        matrix=joined("matrix"),
        shift=joined("shift"),
        sizes=joined("sizes"),
        offsets=joined("offsets"),
        roundings=max(part.roundings for part in wide),
        dtype=min((part.dtype for part in wide), key=lambda of: np.finfo(of).nmant),
        selected=joined("selected") if all(part.selected is not None for part in wide) else None,
        seen=np.fmax.reduce(known) if known else None,
    )


def _one_hot(step: Any, before: Before) -> Before:
    """Folds an encoder: a column for each output, which the records' owner computes, since categories are public."""
    places: list[int] = []
    for place, values, outputs in zip(_own(step, before), step.categories_, _outputs(step), strict=True):
        feature, _ = before.columns.all[place]
        before.columns.encoded.add(feature)
        categories = [plain(value) for value in values]
        if step.handle_unknown == "error":
            before.columns.must_be(feature, tuple(categories))
        for output in outputs:
            inside = tuple(value for value, there in zip(categories, output[:-1], strict=True) if there)
            outside = tuple(value for value, there in zip(categories, output[:-1], strict=True) if not there)
            # The last entry is for unknown values: they may count as the infrequent categories.
            what = ("out", *outside) if output[-1] else ("in", *inside)
            places.append(before.columns.add(feature, what))
    return before.picked(np.array(places, np.int64))


def _own(step: Any, before: Before) -> NDArray[np.int64]:
    """Returns the columns that a step encodes, which are the record's own features.

    Raises:
        ModelError: an earlier step changed them.
    """
    if before.selected is None or any(before.columns.all[place][1] != VALUE for place in before.selected):
        raise ModelError(
            f"{type(step).__name__} behind steps that change features is not supported: encode the features themselves"
        )
    return before.selected


def _outputs(step: Any) -> list[NDArray[np.bool_]]:
    """Returns for each feature which categories set an output, (outputs, categories + 1); last, unknown values."""
    firsts = [values[0] for values in step.categories_]
    found, at = [], 0
    widths = [int(width) for width in step._n_features_outs]
    unknown = step.handle_unknown in ("infrequent_if_exist", "warn")
    for place, (values, width) in enumerate(zip(step.categories_, widths, strict=True)):
        rows = [[*firsts[:place], value, *firsts[place + 1 :]] for value in values]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # these rows have no names
            made = step.transform(np.array(rows, object))
        made = np.asarray(made.toarray() if hasattr(made, "toarray") else made)[:, at : at + width] != 0
        rare = getattr(step, "_infrequent_indices", [None] * len(widths))[place] if unknown else None
        last = np.zeros(width, bool)
        if rare is not None and len(rare):
            last = made[int(rare[0])]
        found.append(np.vstack([made, last]).T)
        at += width
    return found


STEPS = (
    "StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, OneHotEncoder, PCA, IncrementalPCA, TruncatedSVD, "
    "SimpleImputer, VarianceThreshold, SelectKBest, SelectPercentile, SelectFromModel, RFE, RFECV, "
    "FunctionTransformer() of no function, and ColumnTransformer of these"
)
"""The steps that a pipeline may have before its estimator."""


def _steps() -> list[tuple[Any, Callable[[Any, Before], Before]]]:
    from sklearn.compose import ColumnTransformer
    from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
    from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, SelectPercentile, VarianceThreshold
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import (
        FunctionTransformer,
        MaxAbsScaler,
        MinMaxScaler,
        OneHotEncoder,
        RobustScaler,
        StandardScaler,
    )

    selectors = (VarianceThreshold, SelectKBest, SelectPercentile, SelectFromModel, RFE)
    return [
        (StandardScaler, _standard),
        (MinMaxScaler, _min_max),
        (MaxAbsScaler, _max_abs),
        (RobustScaler, _robust),
        (OneHotEncoder, _one_hot),
        (PCA, _pca),
        (IncrementalPCA, _pca),
        (FunctionTransformer, _same),
        (TruncatedSVD, _svd),
        (SimpleImputer, _imputer),
        (ColumnTransformer, _columns),
        *((selector, _selector) for selector in selectors),
    ]


def unwrapped(estimator: Any) -> tuple[Any, Before | None]:
    """Returns the estimator inside searches and pipelines, and the steps before it; None if there are none.

    Raises:
        ModelError: a step is not affine, or a search kept no estimator.
    """
    try:
        from sklearn.model_selection._search import BaseSearchCV
        from sklearn.pipeline import Pipeline
    except ImportError:
        return estimator, None
    before: Before | None = None
    while isinstance(estimator, (BaseSearchCV, Pipeline)):
        base = BaseSearchCV if isinstance(estimator, BaseSearchCV) else Pipeline
        if getattr_static(type(estimator), "predict") is not getattr_static(base, "predict"):
            raise ModelError(f"{type(estimator).__name__} predicts in its own way, not as {base.__name__} does")
        if isinstance(estimator, BaseSearchCV):
            if not hasattr(estimator, "best_estimator_"):
                raise ModelError(f"this {type(estimator).__name__} has no best estimator: call fit, with refit=True")
            estimator = estimator.best_estimator_
            continue
        *steps, (_, last) = estimator.steps
        for name, step in steps:
            if step is None or step == "passthrough":
                continue
            if not hasattr(step, "n_features_in_"):
                raise ModelError(f"the step {name!r} of the pipeline is not fitted; call fit first")
            if before is None:
                before = Before.nothing(int(step.n_features_in_), getattr(step, "feature_names_in_", None))
            before = _folded(name, step, before)
        if last is None or last == "passthrough":
            raise ModelError("the pipeline ends without an estimator: there is nothing to predict")
        estimator = last
    return estimator, None if before is None else before.of_columns()


_TRANSFORMING = ("transform", "_transform")


def _folded(name: str, step: Any, before: Before) -> Before:
    if type(step).__name__ == "Pipeline":
        for inner, part in step.steps:
            if part is not None and part != "passthrough":
                before = _folded(inner, part, before)
        return before
    for base, fold in _steps():
        if isinstance(step, base) and all(
            getattr_static(type(step), method, None) is getattr_static(base, method, None) for method in _TRANSFORMING
        ):
            return fold(step, before)
    raise ModelError(
        f"the step {name!r} of the pipeline, {type(step).__name__}, cannot be folded into a model: transform the "
        f"records before they are input, or use one of {STEPS}"
    )
