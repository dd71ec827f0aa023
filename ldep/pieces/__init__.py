"""The pieces of a model: affine functions of the features whose maxima make up the decision function."""

from ldep.pieces.base import AffinePieces, Pieces
from ldep.pieces.linear import LinearPieces
from ldep.pieces.morphological import MorphologicalPieces

__all__ = ["AffinePieces", "LinearPieces", "MorphologicalPieces", "Pieces"]
