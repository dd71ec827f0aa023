"""What every package here shares: data frames, sparse rows, threads, seeds, and private parts of scikit-learn."""

# scikit-learn has no public names for these; tests/ldep/_utils/test_sklearn_private.py fails first if they change.
from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ldep._utils._frames import check_collected, check_rows, feature_names, frame_like, is_frame, like_input
from ldep._utils._runtime import draw_seeds, interruptible, set_random_states, single_thread
from ldep._utils._sparse_rows import CentredRows, mean_and_variance, scaled_rows


def belong_to(package: str, *classes: type) -> None:
    """Let classes name their package as their module.

    A stored model names the module of each of its classes. Files inside a package are private and may move; the package
    is what must stay.
    """
    for public in classes:
        public.__module__ = package
