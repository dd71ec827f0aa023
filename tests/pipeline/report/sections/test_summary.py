"""The sentences at the top of the report."""

from __future__ import annotations

from ldep_pipeline.report.sections import summary
from tests.support import reported


def sentences(datasets: dict[str, reported.Folds]) -> tuple[str, str]:
    """The findings and the limits, each as one text."""
    data = reported.report_data(datasets)
    return " ".join(summary.findings(data)), " ".join(summary.limits(data))


def test_too_few_data_sets_are_a_limit_and_no_verdict():
    datasets = {f"s{i}": {"ldep": [0.9 + 0.001 * i], "mlp": [0.8], "forest": [0.9]} for i in range(1, 4)}
    findings, limits = sentences(datasets)
    assert "Tuned ℓ-DEP: no significant difference in 2 comparisons" in findings
    assert limits.startswith("3 data sets are too few for a significant difference")


def test_a_significant_loss_is_a_finding():
    findings, _ = sentences({f"s{i}": {"ldep": [0.5, 0.6], "mlp": [0.7 + 0.01 * i] * 2} for i in range(10)})
    assert "significantly worse than MLP (p\u00a0=\u00a00.002)" in findings


def test_of_many_models_that_do_not_differ_only_the_closest_is_named():
    datasets: dict[str, reported.Folds] = {}
    for i in range(12):
        alternating = [0.8 + 0.04 * (-1) ** i] * 2
        datasets[f"s{i}"] = {
            "ldep": [0.8, 0.8],
            "mlp": alternating,
            "mlp_tuned": alternating,
            "rbf_svc": [0.84 if i < 4 else 0.76] * 2,  # worse on eight of the twelve, the others on six
            "rbf_svc_tuned": alternating,
            "logistic_tuned": [0.6 + 0.01 * i] * 2,
        }
    findings, _ = sentences(datasets)
    assert "significantly better than Tuned logistic regression (p\u00a0=\u00a00.002)" in findings
    assert "no significant difference from the other 4 (closest: RBF SVC, p" in findings


def test_the_papers_figures_stand_beside_ours():
    findings, limits = sentences({"haberman": {"ldep": [0.76, 0.76], "rbf_svc": [0.7, 0.7]}})
    assert "Best mean accuracy on Haberman: Tuned ℓ-DEP 76.0, RBF SVC 70.0." in findings
    assert "This run: Tuned ℓ-DEP 76.0. The paper: ℓ-DEP 70.3, its best model" in findings
    assert "The paper did not tune its models." in limits
    assert "All numbers come from one partition into folds." in limits


def test_no_model_of_ours_means_no_claim():
    findings, limits = sentences({"one": {"a": [0.5, None], "b": [None, 0.5]}})
    assert findings == "No model has a result on every data set."
    assert limits.startswith("No claim about the tuned ℓ-DEP is tested")


def test_p_values_are_short():
    assert [summary.p_text(p) for p in (1.0, 0.0421, 0.00001234)] == ["1", "0.042", "1.2e−5"]
