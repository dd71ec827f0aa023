"""The verifier stands alone, accepts every certificate, and refuses one of which a number that matters was changed."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ldep.prove import promise, verify
from tests.support.proven_models import Stated, random_model

FILE = Path(verify.__file__)


@pytest.fixture(scope="module")
def certificate():
    model = Stated(random_model(np.random.default_rng(3), 4, 3))
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 4))
    values = model.decision_function(X)
    verdict = promise(model, X, range={"decision": [float(values.min()) - 5.0, float(values.max()) + 5.0]})
    assert verdict.kept
    return json.loads(json.dumps(verdict.certificate))


def refused(certificate) -> list[str]:
    return [words for holds, words in verify.check(certificate) if not holds]


def run(*files: Path) -> subprocess.CompletedProcess:
    # -I: no path of the project, -S: no installed packages.
    return subprocess.run([sys.executable, "-I", "-S", FILE, *files], capture_output=True, text=True, check=False)


def test_it_is_one_short_file_that_needs_the_standard_library_alone():
    assert len(FILE.read_text(encoding="utf-8").splitlines()) <= 300


def test_it_accepts_a_certificate_and_the_model_that_it_is_about(certificate, tmp_path):
    proof, model = tmp_path / "certificate.json", tmp_path / "model.json"
    proof.write_text(json.dumps(certificate), encoding="utf-8")
    model.write_text(json.dumps(certificate["models"][0]), encoding="utf-8")
    result = run(proof, model)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("HOLDS") == 2
    changed = copy.deepcopy(certificate["models"][0])
    changed["offsets"][0] += 1e-9
    model.write_text(json.dumps(changed), encoding="utf-8")
    assert run(proof, model).returncode == 3
    assert run(proof, tmp_path / "absent.json").returncode == 1


def test_it_refuses_a_smaller_bound_and_a_larger_slope(certificate):
    changed = copy.deepcopy(certificate)
    changed["claims"][0]["bound"] = changed["claims"][0]["bound"].replace("-", "-9")
    assert not verify.check(changed)[0][0]
    changed = copy.deepcopy(certificate)
    changed["models"][0]["slopes"][0] = [100.0] * 4
    assert refused(changed)


def test_it_refuses_a_tree_that_leaves_rows_out(certificate):
    for claim in certificate["claims"]:
        for number, node in enumerate(claim["tree"]):
            if node["split"] != "maximum":
                continue
            changed = copy.deepcopy(certificate)
            (twin,) = [other for other in changed["claims"] if other["claim"] == claim["claim"]]
            twin["tree"][number]["groups"].pop()
            twin["tree"][number]["children"].pop()
            twin["tree"][number]["above"] = {str(p): 0 for p in range(3)}
            assert refused(changed)


def ball_of_one_input() -> dict:
    """A model whose decision value is x, in a ball of radius 0.1 around 5, with the false claim that x is negative."""
    model = {
        "center": [0.0], "slopes": [[1.0]], "offsets": [0.0], "sizes": [[1]], "signs": [[1.0]],
        "vote": None, "weights": [1.0], "factors": None, "thresholds": [0.0],
    }  # fmt: skip
    leaf = {"split": None, "below": {}, "above": {}, "rows": {}, "bridges": {}, "ball": {}}
    condition = {"terms": [[0, 1, 1.0]], "constant": 0.0}
    return {
        "format": verify.FORMAT,
        "models": [model],
        "inputs": [{"name": "x", "low": -10.0, "high": 10.0, "grid": None}],
        "choices": [],
        "rows": [],
        "ball": {"center": [5.0], "scale": [1.0], "radius": 0.1, "norm": "l2"},
        "copies": [{"model": 0, "features": [{"terms": [[0, 1.0]], "constant": 0.0, "scale": 1.0}]}],
        "bridges": [],
        "claims": [{"claim": "x < 0", "conditions": [condition], "ranges": [], "bound": -1.0, "tree": [leaf]}],
    }


def saved(folder: Path, **contents) -> list[Path]:
    files = [folder / f"{name}.json" for name in contents]
    for file, content in zip(files, contents.values()):
        file.write_text(json.dumps(content), encoding="utf-8")
    return files


@pytest.mark.parametrize(
    "changed",
    [
        {"inputs": [{"name": "x", "low": 1.0, "high": -1.0, "grid": None}], "ball": None},
        {"ball": {"center": [5.0], "scale": [1.0], "radius": -0.1, "norm": "l2"}},
        # x <= 1 and x >= 2, which the multipliers 1 and 1 contradict.
        {"rows": [{"terms": [[0, 1.0]], "at_most": 1.0}, {"terms": [[0, -1.0]], "at_most": -2.0}], "ball": None},
    ],
)
def test_it_says_that_a_claim_is_about_no_row(changed, tmp_path):
    certificate = {**ball_of_one_input(), **changed}
    certificate["claims"][0]["tree"][0]["rows"] = {str(k): 1.0 for k in range(len(certificate["rows"]))}
    result = run(*saved(tmp_path, certificate=certificate, model=certificate["models"][0]))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "HOLDS, BUT NO INPUT IS ALLOWED: x < 0" in result.stdout


def test_it_says_what_is_proven_and_about_which_file(certificate, tmp_path):
    files = saved(tmp_path, certificate=certificate, model=certificate["models"][0])
    lines = run(*files).stdout.splitlines()
    assert lines[0] == f"Model 0: that of {files[1]}"
    bound = float(verify.Fraction(certificate["claims"][0]["bound"]))
    assert f"HOLDS, at most {bound:.9g} is proven: {certificate['claims'][0]['claim']}" in lines


def test_it_refuses_a_file_that_the_certificate_is_not_about(certificate, tmp_path):
    # Claims about no model at all would otherwise be proven in the name of the file.
    other = {**certificate["models"][0], "thresholds": [1.0]}
    assert run(*saved(tmp_path, certificate=certificate, model=certificate["models"][0], other=other)).returncode == 3
    none = {**ball_of_one_input(), "models": [], "copies": []}
    none["claims"][0].update(conditions=[{"terms": [], "constant": -2.0}])
    assert not refused(none)
    assert run(*saved(tmp_path, none=none, model=certificate["models"][0])).returncode == 3


def test_it_refuses_a_vote_that_it_does_not_know():
    certificate = ball_of_one_input()
    certificate["models"][0]["vote"] = "majority"
    with pytest.raises(verify.Refused, match="there is no vote 'majority'"):
        verify.check(certificate)


@pytest.mark.parametrize("place", ["-1", "-2", "1"])
def test_the_direction_of_a_ball_is_one_of_inputs(place):
    # -1 is the place of the constant: a multiplier there would subtract from the bound what nothing pays for.
    certificate = ball_of_one_input()
    certificate["claims"][0]["tree"][0]["ball"] = {place: -100.0}
    assert refused(certificate)


@pytest.mark.parametrize("value", [None, "nothing", [], {}, 1.0])
def test_damaged_certificates_are_refused(certificate, value):
    for key in certificate:
        changed = {**certificate, key: value}
        try:
            results = verify.check(changed)
        except verify.DAMAGED:
            continue
        harmless = (key, value) in (("ball", None), ("ball", []), ("ball", {})) or key in ("choices", "rows", "bridges")
        assert harmless or refused(changed) or not results
