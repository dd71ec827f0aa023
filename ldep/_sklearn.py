"""What this package uses of scikit-learn's private parts.

scikit-learn's estimators declare their parameters in `_parameter_constraints`, and `_fit_context` checks them before
each fit. That has no public form (https://github.com/scikit-learn/scikit-learn/issues/28903), and the alternative is a
copy of it here. The names below exist from scikit-learn 1.6, the oldest supported version, to 1.9;
tests/ldep/test_sklearn_private.py fails first when they change.
"""

from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import Interval, StrOptions

__all__ = ["Interval", "StrOptions", "fit_context"]
