"""Sparse samples that are centred without being stored as a dense matrix.

A solver works best on features of mean 0, but subtracting the mean from a sparse matrix fills it. `CentredRows` is the
matrix S - 1 shift^T, of which only the sparse S and the vector are stored. Products with it are products with S and a
correction:

    A (S - 1 shift^T)^T = A S^T - A shift 1^T   and   G (S - 1 shift^T) = G S - (G 1) shift^T.

It offers what training asks of the samples of a problem: their number, some of the rows, another precision or scale,
and these two products.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse


class CentredRows:
    """The rows of a sparse matrix, each minus the vector `shift`, which has the precision of the matrix."""

    # numpy leaves the product `A @ rows` to `__rmatmul__`.
    __array_ufunc__ = None

    def __init__(self, matrix: sparse.csr_array, shift: np.ndarray):
        self.matrix, self.shift = matrix, shift

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    @property
    def dtype(self) -> np.dtype:
        return self.matrix.dtype

    def __len__(self) -> int:
        return self.matrix.shape[0]

    def __getitem__(self, rows) -> CentredRows:
        """The rows with these numbers, in a slice, or with True in a mask."""
        if isinstance(rows, slice) and rows.indices(len(self)) == (0, len(self), 1):
            return self
        return CentredRows(self.matrix[rows], self.shift)

    def __mul__(self, scale: np.ndarray) -> CentredRows:
        """The rows with each feature multiplied by its scale."""
        S = self.matrix
        scaled = sparse.csr_array((S.data * scale[S.indices], S.indices, S.indptr), shape=S.shape)
        return CentredRows(scaled, self.shift * scale)

    def astype(self, dtype) -> CentredRows:
        """The rows in another precision."""
        return CentredRows(self.matrix.astype(dtype), self.shift.astype(dtype))

    def toarray(self) -> np.ndarray:
        """The rows as a dense array. For few rows only."""
        return self.matrix.toarray() - self.shift

    def __rmatmul__(self, G: np.ndarray | sparse.sparray) -> np.ndarray:
        product = G @ self.matrix
        if sparse.issparse(product):
            product = product.toarray()
        product -= np.outer(G.sum(axis=1, dtype=np.float64), self.shift)
        return product

    @property
    def T(self) -> _Transposed:
        return _Transposed(self)


class _Transposed:
    """The transpose of centred rows, as the right factor of a product."""

    __array_ufunc__ = None

    def __init__(self, rows: CentredRows):
        self.rows = rows

    def __rmatmul__(self, A: np.ndarray) -> np.ndarray:
        # scipy's result has one column after the other in memory; the loss reads it row by row.
        product = np.ascontiguousarray(A @ self.rows.matrix.T)
        product -= (A @ self.rows.shift)[:, None]
        return product


def scaled_rows(X, scale: np.ndarray | float):
    """X, dense or sparse, with each row multiplied by its scale."""
    scale = np.broadcast_to(scale, X.shape[0])
    if sparse.issparse(X):
        data = X.data * np.repeat(scale, np.diff(X.indptr))
        return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return X * scale[:, None]


def mean_and_variance(X, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and variance of each column, in two passes over the entries, or those that are stored."""
    n, total = X.shape[1], weight.sum()
    if not sparse.issparse(X):
        mean = weight @ X / total
        return mean, weight @ np.square(X - mean) / total
    entry_weight = np.repeat(weight, np.diff(X.indptr))
    mean = np.bincount(X.indices, entry_weight * X.data, minlength=n) / total
    stored = np.bincount(X.indices, entry_weight, minlength=n)
    squares = np.bincount(X.indices, entry_weight * np.square(X.data - mean[X.indices]), minlength=n)
    # Entries that are not stored are zero; the weights of those that are may sum to a rounding error more than all.
    return mean, (squares + np.maximum(total - stored, 0.0) * np.square(mean)) / total
