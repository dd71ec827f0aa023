"""Checks the parameters of an estimator before it is fitted.

Reason: scikit-learn checks parameters only inside `fit`, and has no public function for it. A typing error in
params.yaml would be reported after hours of other fits. Fitting on made-up rows would be public, but refuses parameters
that are valid for the user's rows, such as a number of neighbours.

What is assumed of scikit-learn (1.6 to 1.9), and checked by tests/pipeline/compat/test_sklearn_validation.py: an
estimator with the attribute `_parameter_constraints` has a method `_validate_params` without arguments, which raises a
ValueError that names the parameter. Estimators without that attribute are not checked.
"""

from __future__ import annotations

from typing import Any


def check_parameters(estimator: Any) -> None:
    """Raise ValueError if a parameter of the estimator, or of one inside it, has an invalid value."""
    inner = [value for value in estimator.get_params().values() if hasattr(value, "_parameter_constraints")]
    for candidate in (estimator, *inner):
        if hasattr(candidate, "_parameter_constraints"):
            candidate._validate_params()
