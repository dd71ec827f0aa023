"""What makes a class win: one inequality per rival, in signed sums of maxima.

The lead of a class k over a class j under one member is

    s_k - s_j = sum_g (C_kg - C_jg) z_g,

a sum of maxima of which those with a positive sign are convex, and those with a negative sign concave. A vote is an
increasing concave function of leads, limited from below, which is convex again:

- scores that count as they are: the lead over each rival;
- two classes that vote: max(-1, min(1, s_k - s_j));
- more classes that vote: v_k = max(0, y_k), where y_k = min over sets S of other classes of
  (1 + sum over j in S of (s_k - s_j)) / (1 + |S|). This is the sparsemax: if k is among the classes that share the
  vote, the others among them are the S of the minimum; if it is not, these make y_k negative.

The votes of a member sum to 1. What a rival l loses is therefore what all others win, and the class k beats it where

    f_k v_k + f_l min(1, sum over j other than l of v_j) >= f_l + t,

with the factors f and the difference t of the thresholds, summed over the members: every vote has a positive sign. So
the relaxation needs bounds of votes from one side only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ldep.model import OPEN_VOTES, FittedModel, form_of

PLAIN, CLIP, SPARSEMAX = "plain", "clip", "sparsemax"


@dataclass(frozen=True)
class Contest:
    """What the target class needs to win.

    Parameters
    ----------
    kind : {"plain", "clip", "sparsemax"}
        Whether scores count as they are, or how they become votes.
    target : int
        The vote, of those of a member, that is the target's own.
    signs : ndarray of shape (n_members, n_votes, n_leads, n_maxima)
        What each maximum counts in each lead. A vote is a function of its leads.
    weights : ndarray of shape (n_members,)
        Weights of the members.
    own : ndarray of shape (n_rivals, n_votes)
        What the sums of the votes count in the condition of each rival.
    shared : ndarray of shape (n_rivals,)
        What the part of each member counts that does not go to the rival.
    others : ndarray of shape (n_rivals, n_votes)
        The votes of which this part consists, as a mask.
    required : ndarray of shape (n_rivals,)
        What the sum must reach.
    """

    kind: str
    target: int
    signs: np.ndarray
    weights: np.ndarray
    own: np.ndarray
    shared: np.ndarray
    others: np.ndarray
    required: np.ndarray

    @classmethod
    def of(cls, model: FittedModel, target: int) -> Contest:
        classes, weights = np.arange(model.n_classes), np.asarray(model.weights, dtype=float)
        rivals = classes[classes != target]
        ahead = model.thresholds[target] - model.thresholds[rivals]
        if not model.votes or form_of(model.n_classes).pair is not None:
            signs = _stacked([(member.signs[target] - member.signs[rivals])[:, None] for member in model.members])
            none = np.zeros((len(rivals), len(rivals)))
            kind = CLIP if model.votes else PLAIN
            return cls(kind, 0, signs, weights, np.eye(len(rivals)), none[0], none, ahead)
        behind = np.array([classes[classes != k] for k in classes])
        signs = _stacked([member.signs[:, None] - member.signs[behind] for member in model.members])
        factors = np.ones(model.n_classes) if model.factors is None else model.factors
        opened = 0.0 if model.factors is None else OPEN_VOTES
        own = np.zeros((len(rivals), model.n_classes))
        own[:, target] = factors[target] * (1.0 - opened)
        shared = factors[rivals] * (1.0 - opened)
        advantage = (factors[target] - factors[rivals]) * opened / model.n_classes
        others = (classes != rivals[:, None]).astype(float)
        required = shared * weights.sum() + ahead - advantage
        return cls(SPARSEMAX, target, signs, weights, own, shared, others, required)

    @property
    def limit(self) -> float:
        """The lowest vote."""
        return {PLAIN: -np.inf, CLIP: -1.0, SPARSEMAX: 0.0}[self.kind]

    @cached_property
    def convex(self) -> np.ndarray:
        """The maxima that have a positive sign in some lead."""
        return np.flatnonzero((self.signs > 0).any(axis=(0, 1, 2)))

    @cached_property
    def concave(self) -> np.ndarray:
        """The maxima that have a negative sign in some lead."""
        return np.flatnonzero((self.signs < 0).any(axis=(0, 1, 2)))

    @cached_property
    def plus(self) -> np.ndarray:
        """The signs of the convex maxima where they are positive."""
        return np.maximum(self.signs[..., self.convex], 0.0)

    @cached_property
    def minus(self) -> np.ndarray:
        """The signs of the concave maxima where they are negative, as positive numbers."""
        return np.maximum(-self.signs[..., self.concave], 0.0)

    def leads(self, up: np.ndarray, down: np.ndarray) -> np.ndarray:
        """The leads, from the values of the convex and of the concave maxima."""
        return _totals(self.plus, up) - _totals(self.minus, down)

    def unlimited(self, leads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The votes without their lower limit, and their supergradients with respect to the leads."""
        if self.kind == PLAIN:
            return leads[..., 0], np.ones(leads.shape)
        if self.kind == CLIP:
            return np.minimum(leads[..., 0], 1.0), (leads < 1.0).astype(float)
        # Of all sets S with the same number of classes, the one with the smallest leads counts.
        order = leads.argsort(axis=2)
        size = np.arange(1.0, leads.shape[2] + 2.0)
        means = np.ones((*leads.shape[:2], len(size)))
        means[..., 1:] += np.take_along_axis(leads, order, axis=2).cumsum(axis=2)
        means /= size
        others = means.argmin(axis=2)[..., None]
        counts = (order.argsort(axis=2) < others) / (others + 1.0)
        return np.take_along_axis(means, others, axis=2)[..., 0], counts

    def sums(self, votes: np.ndarray) -> np.ndarray:
        """What is compared with `required`, from the votes of shape (n_members, n_votes)."""
        kept = np.minimum(votes @ self.others.T, 1.0)
        return self.weights @ (votes @ self.own.T + self.shared * kept)

    def importance(self, votes: np.ndarray) -> np.ndarray:
        """What each vote counts in each sum: shape (n_rivals, n_members, n_votes)."""
        open_share = (votes @ self.others.T < 1.0).T[:, :, None]
        shared = (self.shared[:, None] * self.others)[:, None] * open_share
        return self.weights[:, None] * (self.own[:, None] + shared)

    def steepness(self, sizes: np.ndarray) -> np.ndarray:
        """For each rival a bound of the slope of its sum, from bounds of the slopes of the maxima."""
        votes = (np.abs(self.signs) @ sizes[:, None, :, None])[..., 0].max(axis=2)
        none = np.zeros(votes.shape)
        return (self.importance(none) * votes).sum(axis=(1, 2))

    def in_units(self, units: np.ndarray) -> Contest:
        """The same conditions, each divided by one unit."""
        column = units[:, None]
        return replace(self, own=self.own / column, shared=self.shared / units, required=self.required / units)


def _totals(signs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The sums of the maxima with their signs, one per lead. An infinite maximum counts only where it has a sign."""
    if np.isfinite(values).all():
        return (signs @ values[:, None, :, None])[..., 0]
    return np.multiply(signs, values[:, None, None], out=np.zeros(signs.shape), where=signs != 0).sum(axis=-1)


def _stacked(signs: list[np.ndarray]) -> np.ndarray:
    """One array, padded with zeros where a member has fewer maxima than another."""
    longest = max(array.shape[-1] for array in signs)
    return np.stack([np.pad(array, [(0, 0), (0, 0), (0, longest - array.shape[-1])]) for array in signs])
