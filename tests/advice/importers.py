"""Advice of messages about models: estimators of scikit-learn, boosted trees, networks."""

from __future__ import annotations

from advice.case import Case

SKLEARN = (
    "import warnings; from sklearn.exceptions import ConvergenceWarning; "
    "warnings.simplefilter('ignore', ConvergenceWarning); "
    "from sklearn.compose import *; from sklearn.linear_model import *; from sklearn.naive_bayes import *; "
    "from sklearn.pipeline import *; from sklearn.preprocessing import *; from sklearn.svm import *; "
    "from sklearn.tree import *; from sklearn.ensemble import *; from sklearn.neighbors import *; "
    "from sklearn.multiclass import *; from sklearn.calibration import *; "
    "from sklearn.model_selection import GridSearchCV; "
    "from sklearn.neural_network import *; from sklearn.decomposition import *; "
    "from sklearn.discriminant_analysis import *; "
    "load = qr.models.from_sklearn; roles = dict(model_owner=0, data_owner=1); "
    "X = np.random.default_rng(0).normal(size=(60, 3)); y = (X.sum(axis=1) > 0).astype(int); "
    "three = np.digitize(X.sum(axis=1), [-1, 1]); "
    "alike = lambda est, X=X, **how: bool((load(est, **how).predict(mpc, X, **roles) == est.predict(X)).all())"
)


def sk(of: str, program: str, followed: str, says: str = "", right: object = True) -> Case:
    return Case(of, program, followed, right, says, SKLEARN)


ESTIMATORS = [
    sk(
        "give sample= records like those to come | of this GaussianNB apart to",
        "alike(GaussianNB().fit(X * 1e-5, y), X * 1e-5)",
        "alike(GaussianNB().fit(X * 1e-5, y), X * 1e-5, sample=X * 1e-5)",
    ),
    sk(
        "state tighter bounds=",
        "alike(GaussianNB().fit(X * 1e-5, y), X * 1e-5, bounds=8192)",
        "alike(GaussianNB().fit(X * 1e-5, y), X * 1e-5, bounds=1e-4)",
    ),
    sk(
        "{} neighbors of {} records: fit it on as many at least",
        "load(KNeighborsClassifier(99).fit(X, y), sample=X)",
        "alike(KNeighborsClassifier(5).fit(X, y), sample=X)",
    ),
    sk(
        "the model has weights that are not finite; train it again",
        "m = LogisticRegression().fit(X, y); m.coef_[0, 0] = np.nan; load(m, bounds=9)",
        "m = LogisticRegression().fit(X, y); alike(m, bounds=9)",
    ),
    sk(
        "bounds: magnitudes beyond 2**{} or below its inverse; rescale the features",
        "load(LogisticRegression().fit(X, y), bounds=1e305)",
        "alike(LogisticRegression().fit(X, y), bounds=10)",
    ),
    sk(
        "weights times the largest features exceed the range of float64; rescale the features",
        "m = LogisticRegression().fit(X, y); m.coef_[:] = 1e308; load(m, bounds=9)",
        "alike(LogisticRegression().fit(X, y), bounds=9)",
    ),
    Case(
        "give from_sklearn(..., bounds=), or from_onnx(..., bound=), their largest magnitudes, or sample= records "
        "like those to come",
        "load(m).predict(mpc, D[:2], **roles)",
        "load(m, sample=D).predict(mpc, D[:2], **roles)",
        ...,
        before=SKLEARN + "; from sklearn.datasets import load_diabetes; D, t = load_diabetes(return_X_y=True); "
        "m = MLPRegressor(hidden_layer_sizes=(4,), max_iter=5, random_state=0).fit(D, t)",
    ),
    sk(
        "Select them in the order of model.shape.names",
        "import pandas; f = pandas.DataFrame(X, columns=['a', 'b', 'c']); "
        "m = load(LogisticRegression().fit(f, y), bounds=9); m.predict(mpc, f[['b', 'a', 'c']], **roles)",
        "import pandas; f = pandas.DataFrame(X, columns=['a', 'b', 'c']); "
        "m = load(LogisticRegression().fit(f, y), bounds=9); "
        "m.predict(mpc, f[list(m.shape.names)], **roles)",
        right=...,
    ),
    sk(
        "reveal=False reveals to nobody; leave reveal_to={} out",
        "load(LogisticRegression().fit(X, y), bounds=9).predict(mpc, X[:4], reveal=False, reveal_to=1, **roles)",
        "load(LogisticRegression().fit(X, y), bounds=9).predict(mpc, X[:4], reveal=False, **roles)",
        right=...,
    ),
    sk(
        "ask predict, or import a LogisticRegression",
        "load(CalibratedClassifierCV(LogisticRegression(), ensemble=False, cv=3).fit(X, three), "
        "bounds=9).predict_proba(mpc, X[:4], **roles)",
        "load(LogisticRegression().fit(X, three), bounds=9).predict_proba(mpc, X[:4], **roles)",
        right=...,
    ),
    sk(
        "it predicts classes or numbers; see `quorate models`",
        "load(LinearSVC().fit(X, y), bounds=9).predict_proba(mpc, X[:4], **roles)",
        "load(LinearSVC().fit(X, y), bounds=9).predict(mpc, X[:4], **roles)",
        right=...,
    ),
    sk(
        "has no decision_function; see `quorate models`",
        "load(DecisionTreeClassifier().fit(X, y)).decision_function(mpc, X[:4], **roles)",
        "load(DecisionTreeClassifier().fit(X, y)).predict(mpc, X[:4], **roles)",
        right=...,
    ),
    sk(
        "bounds= and sample= both say how large features are: give one of them",
        "load(LogisticRegression().fit(X, y), bounds=9, sample=X)",
        "alike(LogisticRegression().fit(X, y), sample=X)",
    ),
    sk(
        "more than the tolerance {}: state tighter bounds=",
        "load(LogisticRegression().fit(X, y), bounds=2.0**20, tolerance=1e-9)",
        "alike(LogisticRegression().fit(X, y), bounds=8, tolerance=1e-5)",
    ),
    sk(
        "{} is a class; give a fitted estimator",
        "load(LogisticRegression)",
        "alike(LogisticRegression().fit(X, y), bounds=9)",
    ),
    sk(
        "is not fitted; call fit first", "load(LogisticRegression())", "alike(LogisticRegression().fit(X, y), bounds=9)"
    ),
    sk(
        "this RidgeClassifier has several labels for a record: train one for each label",
        "load(RidgeClassifier().fit(X, np.stack([y, 1 - y], axis=1)), bounds=9)",
        "alike(RidgeClassifier().fit(X, y), bounds=9)",
    ),
    sk(
        "has several labels for a record: import its estimators_ one by one",
        "load(OneVsRestClassifier(LinearSVC()).fit(X, np.stack([y, 1 - y], axis=1)), bounds=9)",
        "alike(OneVsRestClassifier(LinearSVC()).fit(X, np.stack([y, 1 - y], axis=1)).estimators_[0], bounds=9)",
    ),
    sk(
        "as means of its probabilities are no linear decisions: fit it with ensemble=False",
        "load(CalibratedClassifierCV(LogisticRegression(), cv=3).fit(X, three), bounds=9)",
        "alike(CalibratedClassifierCV(LogisticRegression(), cv=3, ensemble=False).fit(X, three), bounds=9)",
    ),
    sk(
        "OneVsRestClassifier of pipelines is not supported: put their steps before it",
        "load(OneVsRestClassifier(make_pipeline(StandardScaler(), LinearSVC())).fit(X, three))",
        "alike(make_pipeline(StandardScaler(), OneVsRestClassifier(LinearSVC())).fit(X, three))",
    ),
    sk(
        "met a class that all or no records have: leave that class out",
        "load(OneVsRestClassifier(LinearSVC()).fit(X, y * 0), bounds=9)",
        "alike(OneVsRestClassifier(LinearSVC()).fit(X, y), bounds=9)",
    ),
    sk(
        "fit GradientBoosting, HistGradientBoosting or RandomForest",
        "load(AdaBoostClassifier(n_estimators=3).fit(X, y))",
        "alike(RandomForestClassifier(3, random_state=0).fit(X, y))",
    ),
    sk(
        "fit RandomForest or ExtraTrees",
        "load(BaggingClassifier(n_estimators=3).fit(X, y))",
        "alike(ExtraTreesClassifier(3, random_state=0).fit(X, y))",
    ),
    sk(
        "fit LogisticRegression, which decides alike on columns of 0 and 1",
        "load(BernoulliNB().fit(X > 0, y))",
        "alike(LogisticRegression().fit((X > 0) * 1.0, y), (X > 0) * 1.0, bounds=1)",
    ),
    sk(
        "fit LinearDiscriminantAnalysis, or GaussianNB",
        "load(QuadraticDiscriminantAnalysis().fit(X, y))",
        "alike(LinearDiscriminantAnalysis().fit(X, y), bounds=9)",
    ),
    sk(
        "fit KNeighborsClassifier; qr.apps.nearest finds the nearest of secret records",
        "load(RadiusNeighborsClassifier().fit(X, y))",
        "alike(KNeighborsClassifier(3).fit(X, y), sample=X)",
    ),
    sk(
        "import its estimators_ one by one, or fit a GradientBoosting estimator",
        "load(StackingClassifier([('a', LogisticRegression())], cv=2).fit(X, y))",
        "alike(StackingClassifier([('a', LogisticRegression())], cv=2).fit(X, y).estimators_[0], bounds=9)",
    ),
    sk(
        "of the pipeline is not fitted; call fit first",
        "load(make_pipeline(StandardScaler(), LogisticRegression()))",
        "alike(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y))",
    ),
    sk(
        "cannot be folded into a model: transform the records before they are input",
        "load(make_pipeline(PowerTransformer(), LogisticRegression()).fit(X, y))",
        "Z = PowerTransformer().fit_transform(X); alike(LogisticRegression().fit(Z, y), Z, sample=Z)",
    ),
    sk(
        "MinMaxScaler(clip=True) is not affine: fit the pipeline with clip=False",
        "load(make_pipeline(MinMaxScaler(clip=True), LogisticRegression()).fit(X, y))",
        "alike(make_pipeline(MinMaxScaler(clip=False), LogisticRegression()).fit(X, y))",
    ),
    sk(
        "MaxAbsScaler(clip=True) is not affine: fit the pipeline with clip=False",
        "load(make_pipeline(MaxAbsScaler(clip=True), LogisticRegression()).fit(X, y))",
        "alike(make_pipeline(MaxAbsScaler(clip=False), LogisticRegression()).fit(X, y))",
    ),
    sk(
        "is not supported: transform the records before they are input, and fit the pipeline on those",
        "load(make_pipeline(FunctionTransformer(np.sinh), LogisticRegression()).fit(X, y))",
        "alike(make_pipeline(StandardScaler(), LogisticRegression()).fit(np.sinh(X), y), np.sinh(X))",
    ),
    sk(
        "ColumnTransformer(transformer_weights=) is not supported: scale what a part makes instead",
        "load(make_pipeline(ColumnTransformer([('a', StandardScaler(), [0])], transformer_weights={'a': "
        "2.0}), LogisticRegression()).fit(X, y))",
        "alike(make_pipeline(ColumnTransformer([('a', make_pipeline(StandardScaler(), MaxAbsScaler()), "
        "[0])]), LogisticRegression()).fit(X, y))",
    ),
    sk(
        "has no best estimator: call fit, with refit=True",
        "load(GridSearchCV(LogisticRegression(), {{'C': [1.0]}}, refit=False, cv=2).fit(X, y))".replace(
            "{{", "{"
        ).replace("}}", "}"),
        "alike(GridSearchCV(LogisticRegression(), {{'C': [1.0]}}, refit=True, cv=2).fit(X, y), bounds=9)",
    ),
    sk(
        "outputs; train one estimator per output",
        "load(DecisionTreeClassifier().fit(X, np.stack([y, 1 - y], axis=1)))",
        "alike(DecisionTreeClassifier().fit(X, y))",
    ),
    sk(
        "trees need no scaling, so fit the estimator on the records themselves",
        "load(make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(X, y))",
        "alike(DecisionTreeClassifier().fit(X, y))",
    ),
    sk(
        "predicts powers of e and is not supported; "
        "'squared_error', 'absolute_error' and 'quantile' are: fit it on the logarithms",
        "load(HistGradientBoostingRegressor(loss='poisson', max_iter=2).fit(X, y + 1))",
        "m = HistGradientBoostingRegressor(max_iter=2).fit(X, np.log(y + 1)); load(m).predict(mpc, X[:4], **roles)",
        right=...,
    ),
    sk(
        "encode them as numbers first (OrdinalEncoder, OneHotEncoder), and fit it with categorical_features=None",
        "load(HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(np.abs(X).round(), y))",
        "Z = OrdinalEncoder().fit_transform(np.abs(X).round()); "
        "alike(HistGradientBoostingClassifier(max_iter=2, categorical_features=None).fit(Z, y), Z)",
    ),
    sk(
        "{}: {} at index {}; impute or drop such values first",
        "load(LogisticRegression().fit(X, y), bounds=9).predict(mpc, X * [np.nan, 1, 1], **roles)",
        "alike(LogisticRegression().fit(X, y), np.nan_to_num(X), bounds=9)",
    ),
    sk(
        "give them as X at party {} (data_owner=), elsewhere X=None and rows=",
        "load(LogisticRegression().fit(X, y), bounds=9).predict(mpc, given(X[:4]), **roles)",
        "load(LogisticRegression().fit(X, y), bounds=9).predict(mpc, X[:4], **roles)",
        right=...,
    ),
    sk(
        "behind steps that change features is not supported: encode the features themselves",
        "load(make_pipeline(StandardScaler(), OneHotEncoder(handle_unknown='ignore'), "
        "LogisticRegression()).fit(X[:4], y[:4] * 0 + [0, 1, 0, 1]))",
        "Z = (X > 0) * 1; alike(make_pipeline(OneHotEncoder(), LogisticRegression()).fit(Z, y), Z)",
    ),
    sk(
        "{} is one of {}'s: use qr.models.{}",
        "C = type('XGBClassifier', (), {'__module__': 'xgboost.sklearn'}); load(C())",
        "'{0}' in dir(qr.models)",
        r"use qr\.models\.(\w+)",
    ),
]
OTHERS = [
    sk(
        "feature {}; impute or drop such values first",
        "m = make_pipeline(OneHotEncoder(handle_unknown='ignore'), LogisticRegression()).fit([['a'], "
        "['b']], [0, 1]); load(m).predict(mpc, [[None]], **roles)",
        "m = make_pipeline(OneHotEncoder(handle_unknown='ignore'), LogisticRegression()).fit([['a'], "
        "['b']], [0, 1]); load(m).predict(mpc, [['a']], **roles)",
        right=[0],
    ),
    sk(
        "the model has values that are not finite; train it again",
        "m = GradientBoostingRegressor(n_estimators=2).fit(X, y); m.estimators_[0, 0].tree_.value[:] = np.inf; load(m)",
        "m = GradientBoostingRegressor(n_estimators=2).fit(X, y); load(m).predict(mpc, X[:4], **roles)",
        right=...,
    ),
    sk(
        "weights times the largest features exceed 2**{}; rescale the features",
        "m = LogisticRegression().fit(X, y); m.coef_[:] = 1e305; load(m, bounds=9)",
        "alike(LogisticRegression().fit(X, y), bounds=9)",
    ),
    sk(
        "are too large for tanh and logistic; rescale the features",
        "m = MLPRegressor(hidden_layer_sizes=(4,), activation='tanh', max_iter=20, "
        "random_state=0).fit(X, y); m.coefs_[0] *= 2.0**60; load(m, bounds=9)",
        "m = MLPRegressor(hidden_layer_sizes=(4,), activation='tanh', max_iter=20, "
        "random_state=0).fit(X, y); load(m, bounds=9).predict(mpc, X[:4], **roles)",
        right=...,
    ),
    sk(
        "weights times the largest features are too large; rescale the features",
        "m = MLPRegressor(hidden_layer_sizes=(4,), max_iter=20, random_state=0).fit(X, y); "
        "m.coefs_[0] *= 2.0**500; load(m, bounds=9)",
        "m = MLPRegressor(hidden_layer_sizes=(4,), max_iter=20, random_state=0).fit(X, y); "
        "load(m, bounds=9).predict(mpc, X[:4], **roles)",
        right=...,
    ),
    sk(
        "is not a finite float32; rescale the feature",
        "load(DecisionTreeClassifier().fit(X, y)).predict(mpc, X * 1e300, **roles)",
        "alike(DecisionTreeClassifier().fit(X, y))",
    ),
    sk(
        "compare with the estimator's answers for X.astype(float)",
        "Z = X.astype(np.float32); load(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, "
        "y)).predict(mpc, Z, **roles)",
        "Z = X.astype(np.float32); alike(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, "
        "y), Z.astype(float))",
    ),
    sk(
        "scikit-learn cannot predict with it either; fit it anew",
        "m = RandomForestClassifier(2, random_state=0, warm_start=True).fit(X, y); "
        "_ = m.set_params(n_estimators=4).fit(X, three); load(m)",
        "alike(RandomForestClassifier(4, random_state=0).fit(X, three))",
    ),
    sk(
        "give the number of neurons of each hidden layer",
        "m = load(MLPClassifier(hidden_layer_sizes=(4,), max_iter=20, random_state=0).fit(X, y), "
        "bounds=9); import dataclasses; dataclasses.replace(m.shape, layers=None)",
        "m = load(MLPClassifier(hidden_layer_sizes=(4,), max_iter=20, random_state=0).fit(X, y), "
        "bounds=9); import dataclasses; dataclasses.replace(m.shape, layers=(4,)) == m.shape",
    ),
]

CASES = [*ESTIMATORS, *OTHERS]
