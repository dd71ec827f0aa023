"""The maxout network that the paper compares the ℓ-DEP with: two maxout units and a logistic output, in numpy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ldep._utils import Interval, StrOptions, fit_context, single_thread
from ldep.estimators._base import TauClassifier

UNITS = 2
# The settings of Adam that its authors and Keras use.
DECAY_MEAN, DECAY_SQUARE, EPSILON = 0.9, 0.999, 1e-7


class MaxoutClassifier(TauClassifier):
    """Maxout network [1]_ with two maxout units and a logistic output, trained by Adam [2]_ on the cross-entropy.

    h_u(x) = max_{i <= n_pieces}(w_ui . x + c_ui) for u = 1, 2; tau(x) = v_1 h_1(x) + v_2 h_2(x) + v_0; and the
    probability of `classes_[1]` is 1 / (1 + exp(-tau(x))). With v = (1, -1), tau is that of an ℓ-DEP. The weights start
    as in the dense layers of Keras (Glorot uniform [3]_, zero biases), but with v_1 > 0 > v_2: two units of one sign
    can represent convex or concave functions only. Standardise the features: the start and the step suit features of
    size 1.

    Parameters
    ----------
    n_pieces : int, default=10
        Number of affine pieces of each unit.
    alpha : float, default=0.0
        Weight of the penalty: alpha / 2 times the squared norm of all weights but the biases is added to the mean loss.
    batch_size : int, default=32
        Number of samples per mini-batch.
    learning_rate : float, default=0.001
        Step size of Adam.
    max_iter : int, default=200
        Largest number of epochs. In an epoch a sample is seen as often as its weight says. Weights that are not
        integers are rounded at random, so that their mean is right. Weights with a mean below 1 are rescaled to 1.
    tol : float, default=1e-4
        Training stops when the mean loss has not fallen by this much for `n_iter_no_change` epochs.
    n_iter_no_change : int, default=10
        Number of epochs without progress after which training stops.
    class_weight : dict or "balanced", default=None
        Weights of the classes. "balanced" gives both classes the same total weight, sample weights included.
    random_state : int, RandomState or None, default=None
        Seed of the first weights and of the mini-batches.
    verbose : int, default=0
        1 prints the loss of every tenth epoch, 2 that of each one.

    Attributes
    ----------
    W_ : ndarray of shape (2, n_pieces, n_features)
        Slopes of the pieces of each unit.
    c_ : ndarray of shape (2, n_pieces)
        Their biases.
    v_ : ndarray of shape (2,)
        Weights of the units.
    v0_ : float
        Bias of the output.
    classes_ : ndarray of shape (2,)
        The classes; the second one is predicted where tau >= 0.
    loss_curve_ : list of float
        Mean loss of each epoch.
    n_iter_ : int
        Number of epochs.
    n_features_in_, feature_names_in_
        Number and names of the features, as elsewhere in scikit-learn.

    References
    ----------
    .. [1] I. J. Goodfellow, D. Warde-Farley, M. Mirza, A. Courville and Y. Bengio, "Maxout networks", International
       Conference on Machine Learning, 2013, 1319-1327.
    .. [2] D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", International Conference on Learning
       Representations, 2015.
    .. [3] X. Glorot and Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks",
       International Conference on Artificial Intelligence and Statistics, 2010, 249-256.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ldep import MaxoutClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), MaxoutClassifier(learning_rate=0.01, random_state=0)).fit(X, y)
    >>> model.score(X, y) > 0.98
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_pieces": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_pieces=10,
        *,
        alpha=0.0,
        batch_size=32,
        learning_rate=0.001,
        max_iter=200,
        tol=1e-4,
        n_iter_no_change=10,
        class_weight=None,
        random_state=None,
        verbose=0,
    ):
        self.n_pieces = n_pieces
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes, of which there must be two.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples' losses; None is 1.

        Returns
        -------
        self : MaxoutClassifier
            The fitted estimator.
        """
        X, signs, weight = self._check_samples(X, y, sample_weight)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        epochs = WeightedEpochs(weight, self.batch_size, rng)
        network = Network(X.shape[1], self.n_pieces, rng)
        with single_thread():
            self.loss_curve_, converged = self._train(network, X, signs, epochs)
        self.n_iter_ = len(self.loss_curve_)
        self.W_ = network.W.reshape(UNITS, self.n_pieces, -1).copy()
        self.c_ = network.c.reshape(UNITS, self.n_pieces).copy()
        self.v_, self.v0_ = network.v.copy(), float(network.v0[0])
        if not converged:
            warnings.warn(
                f"MaxoutClassifier did not converge in {self.n_iter_} epochs (loss {self.loss_curve_[-1]:.6g}): "
                "increase max_iter, learning_rate or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _train(self, network: Network, X, signs, epochs: WeightedEpochs) -> tuple[list[float], bool]:
        """The loss of each epoch, and whether training stopped by itself."""
        adam = Adam(network.theta.size, self.learning_rate)
        losses: list[float] = []
        best, epochs_without_progress = np.inf, 0
        for epoch in range(1, self.max_iter + 1):
            total = 0.0
            for rows in epochs.batches():
                loss, gradient = network.loss(X[rows], signs[rows], self.alpha)
                total += loss * len(rows)
                network.theta -= adam.step(gradient)
            losses.append(total / epochs.length)
            if self.verbose and (self.verbose > 1 or epoch % 10 == 1):
                print(f"[MaxoutClassifier] epoch {epoch}: loss {losses[-1]:.6g}")
            epochs_without_progress = 0 if losses[-1] < best - self.tol else epochs_without_progress + 1
            best = min(best, losses[-1])
            if epochs_without_progress >= self.n_iter_no_change:
                return losses, True
        return losses, False

    def _tau(self, X: np.ndarray) -> np.ndarray:
        tau = np.full(len(X), self.v0_)
        for W, c, v in zip(self.W_, self.c_, self.v_):
            tau += v * (X @ W.T + c).max(axis=1)
        return tau

    def predict_proba(self, X):
        """Compute the probabilities of the two classes for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            One column per class, in the order of `classes_`.
        """
        tau = self.decision_function(X)
        return np.column_stack([expit(-tau), expit(tau)])


class Network:
    """The weights, as views into one vector theta, and the loss of a batch with its gradient."""

    def __init__(self, n: int, pieces: int, rng: np.random.Generator):
        self.pieces = pieces
        rows = UNITS * pieces
        ends = np.cumsum([rows * n, rows, UNITS, 1])
        self.theta = np.zeros(ends[-1])
        self.gradient = np.zeros(ends[-1])
        self.W, self.c, self.v, self.v0 = self._views(self.theta, ends, n)
        self.dW, self.dc, self.dv, self.dv0 = self._views(self.gradient, ends, n)
        self.W[:] = rng.uniform(-1.0, 1.0, self.W.shape) * np.sqrt(6.0 / (n + rows))
        # Opposite signs: with v of one sign tau is convex or concave, and gradient steps seldom change a sign.
        self.v[:] = np.array([1.0, -1.0]) * rng.uniform(0.0, 1.0, UNITS) * np.sqrt(6.0 / (UNITS + 1))

    @staticmethod
    def _views(vector: np.ndarray, ends: np.ndarray, n: int) -> tuple[np.ndarray, ...]:
        W, c, v, v0, _ = np.split(vector, ends)
        return W.reshape(-1, n), c, v, v0

    def loss(self, X: np.ndarray, signs: np.ndarray, alpha: float) -> tuple[float, np.ndarray]:
        """The mean cross-entropy plus the penalty, and its gradient in theta (overwritten by the next call)."""
        m = len(X)
        scores = (X @ self.W.T + self.c).reshape(m * UNITS, self.pieces)
        active = scores.argmax(axis=1)
        every = np.arange(m * UNITS)
        h = scores[every, active].reshape(m, UNITS)
        margin = signs * (h @ self.v + self.v0)
        dtau = -signs * expit(-margin) / m
        G = np.zeros((m * UNITS, self.pieces))
        G[every, active] = np.outer(dtau, self.v).ravel()
        G = G.reshape(m, UNITS * self.pieces)
        np.matmul(G.T, X, out=self.dW)
        G.sum(axis=0, out=self.dc)
        np.matmul(dtau, h, out=self.dv)
        self.dv0[0] = dtau.sum()
        loss = float(np.logaddexp(0.0, -margin).mean())
        if alpha > 0:
            loss += 0.5 * alpha * (float(np.vdot(self.W, self.W)) + float(self.v @ self.v))
            self.dW += alpha * self.W
            self.dv += alpha * self.v
        return loss, self.gradient


class Adam:
    """Adaptive moment estimation, with the bias correction of the two means folded into the step."""

    def __init__(self, size: int, learning_rate: float):
        self.learning_rate = learning_rate
        self.mean = np.zeros(size)
        self.square = np.zeros(size)
        self.steps = 0

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """What to subtract from the weights."""
        self.steps += 1
        self.mean += (1.0 - DECAY_MEAN) * (gradient - self.mean)
        self.square += (1.0 - DECAY_SQUARE) * (gradient * gradient - self.square)
        rate = self.learning_rate * np.sqrt(1.0 - DECAY_SQUARE**self.steps) / (1.0 - DECAY_MEAN**self.steps)
        return rate * self.mean / (np.sqrt(self.square) + EPSILON)


# An epoch shows a sample at most this often on average, however large the weights.
MAX_PASSES = 100


class WeightedEpochs:
    """Epochs in which sample k appears about weight[k] times, in random order.

    With integer weights each sample appears exactly that often: the epoch is that of the repeated samples. Other
    weights are rounded up or down at random (systematic resampling), so that their mean is right. Weights whose mean is
    below 1, or so large that an epoch would never end, are rescaled.
    """

    def __init__(self, weight: np.ndarray, batch_size: int, rng: np.random.Generator):
        m, total = len(weight), weight.sum()
        self.length = int(np.clip(np.rint(total), m, MAX_PASSES * m))
        self.batch_size = batch_size
        self.rng = rng
        self.cumulative_weight = np.cumsum(weight) * (self.length / total)

    def batches(self) -> Iterator[np.ndarray]:
        """Draw the next epoch, and iterate over the row numbers of its mini-batches."""
        marks = np.arange(self.length) + self.rng.random()
        rows = np.searchsorted(self.cumulative_weight, marks, side="right")
        rows = np.minimum(rows, len(self.cumulative_weight) - 1)
        self.rng.shuffle(rows)
        for first in range(0, self.length, self.batch_size):
            yield rows[first : first + self.batch_size]
