"""The real `ldep serve` on a registered model: every format, malformed requests, and what happens to its processes."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import shlex
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mlflow
import pandas as pd
import psutil
import pytest
import requests

from ldep_pipeline.commands import score
from ldep_pipeline.registry import download
from ldep_pipeline.server.answers import PART, TAKEN_AS_MISSING
from ldep_pipeline.server.settings import Limits
from ldep_pipeline.serving import served_model
from tests.support import killing, malformed, registered, shapes
from tests.support.servers import mlflow_serving, serving

pytestmark = pytest.mark.xdist_group("server")
JSON, CSV = {"Content-Type": "application/json"}, {"Content-Type": "text/csv"}
URI = f"models:/ldep-{registered.NAME}@champion"
FEATURES = malformed.COLUMNS
EXTRA_CHILDREN = 1  # of a server: the resource tracker of Python's multiprocessing


@pytest.fixture(scope="module")
def server(registered_project: Path):
    with serving(registered_project, registered.NAME) as (address, process):
        yield f"{address}/invocations", process


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Rows that the model has not seen, with missing cells."""
    return registered.rows(60, seed=1)[FEATURES]


@pytest.fixture(scope="module")
def expected(registered_project: Path, frame: pd.DataFrame) -> list[dict]:
    return download.load(URI, registered_project).predict(frame, {"output": "full"})


def post(server, body, headers=JSON) -> list:
    data = body if isinstance(body, (str, bytes)) else json.dumps(body)
    answer = requests.post(server[0], data=data, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()["predictions"]


def refused(server, body, headers=JSON) -> str:
    data = body if isinstance(body, (str, bytes)) else json.dumps(body)
    answer = requests.post(server[0], data=data, headers=headers, timeout=60)
    assert answer.status_code == 400, answer.text
    assert "stack_trace" not in answer.text
    return answer.json()["message"]


def memory(process: int) -> int:
    """Bytes of the server and its workers."""
    parent = psutil.Process(process)
    return sum(member.memory_info().rss for member in [parent, *parent.children(recursive=True)])


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """With None, which JSON has, for a missing cell."""
    return frame.astype(object).where(frame.notna(), None)


def bodies(frame: pd.DataFrame) -> dict[str, dict]:
    rows = plain(frame)
    return {
        "dataframe_split": {"dataframe_split": {k: v for k, v in rows.to_dict(orient="split").items() if k != "index"}},
        "dataframe_records": {"dataframe_records": rows.to_dict(orient="records")},
        "instances": {"instances": rows.to_dict(orient="records")},
        "inputs": {"inputs": rows.to_dict(orient="list")},
        "inputs, rows": {"inputs": rows.to_dict(orient="records")},
    }


@pytest.mark.parametrize("form", ["dataframe_split", "dataframe_records", "instances", "inputs", "inputs, rows"])
def test_each_json_format_answers_the_class_and_on_request_all(server, frame, expected, form):
    body = bodies(frame)[form]
    assert post(server, body) == [record["class"] for record in expected]
    assert post(server, {**body, "params": {"output": "full"}}) == expected
    scores = post(server, {**body, "params": {"output": "scores"}})
    assert [set(record) for record in scores] == [{"class", "decision", "probability"}] * len(frame)


def test_csv_answers_the_class(server, frame, expected):
    labels = [record["class"] for record in expected]
    assert {"no", "yes, sold"} == set(labels)  # as the training data spells them
    assert post(server, frame.to_csv(index=False).encode(), CSV) == labels


def test_server_batch_and_python_agree_to_the_bit(server, registered_project, frame, expected, tmp_path):
    with download.checked_copy(URI, registered_project) as folder:
        loaded = mlflow.pyfunc.load_model(str(folder))
    assert loaded.predict(frame, params={"output": "full"}) == expected
    frame.to_csv(tmp_path / "in.csv", index=False)
    score.run(URI, tmp_path / "in.csv", tmp_path / "out.parquet", explain=True, root=registered_project)
    table = pd.read_parquet(tmp_path / "out.parquet")
    assert table["class"].tolist() == [record["class"] for record in expected]
    assert table["decision"].tolist() == [record["decision"] for record in expected]
    assert table["probability_of_yes, sold"].tolist() == [record["probability"]["yes, sold"] for record in expected]
    for name in FEATURES:
        contributions = [record["explanation"]["contributions"][name] for record in expected]
        assert table[f"contribution_of_{name}"].tolist() == contributions
    assert post(server, bodies(frame)["inputs"]) == table["class"].tolist()


def test_sets_of_classes_are_those_of_python(server, registered_project, frame):
    params = {"output": "set", "coverage": 0.8}
    answers = post(server, {**bodies(frame)["instances"], "params": params})
    assert answers == download.load(URI, registered_project).predict(frame, params)
    assert "at most 0.999" in refused(server, {**bodies(frame)["instances"], "params": {**params, "coverage": 1}})


def test_an_explanation_sums_to_the_decision_value(expected):
    for record in expected:
        explanation = record["explanation"]
        total = explanation["bias"] + sum(explanation["contributions"].values())
        assert math.isclose(total, record["decision"], rel_tol=1e-9, abs_tol=1e-9)
        assert (record["class"] == "yes, sold") == (record["decision"] >= 0)
        assert math.isclose(sum(record["probability"].values()), 1)


def full(server, **cells) -> dict:
    row = {"width": 0.5, "größe (cm)": 1, "grade": "2", "colour": "red", **cells}
    return post(server, {"dataframe_records": [row], "params": {"output": "full"}})[0]


def test_an_unseen_category_counts_as_missing_and_the_answer_names_its_column(server):
    answer = full(server, colour="violet")
    assert answer.pop("taken_as_missing") == ["colour"]
    missing = full(server, colour=None)
    assert missing.pop("taken_as_missing") == []
    assert answer == missing != full(server)
    assert full(server, grade="9", colour="violet")["taken_as_missing"] == ["grade", "colour"]


def test_a_header_counts_the_values_taken_as_missing(server):
    rows = [{"width": 1, "größe (cm)": 1, "grade": grade, "colour": "red"} for grade in (1, 9, None, "?", "x")]
    answer = requests.post(server[0], json={"dataframe_records": rows}, timeout=60)
    assert json.loads(answer.headers[TAKEN_AS_MISSING]) == {"grade": 2}
    answer = requests.post(server[0], json={"dataframe_records": rows[:1]}, timeout=60)
    assert TAKEN_AS_MISSING not in answer.headers


def test_a_strict_request_with_an_unknown_value_is_refused(server):
    row = {"width": None, "größe (cm)": 1, "grade": "2", "colour": "?"}
    body = {"dataframe_records": [row, {**row, "colour": "violet"}], "params": {"strict": True}}
    assert refused(server, body).startswith("row 1, column 'colour': 'violet' is not a value that the model knows")
    assert len(post(server, {**body, "params": {"strict": False}})) == 2
    assert len(post(server, {**body, "dataframe_records": [row]})) == 1
    assert refused(server, {**body, "params": {"strict": "yes"}}) == "params.strict is 'yes'; it must be true or false."


def test_the_nearest_change_of_a_row_gives_it_the_other_class(server, frame):
    rows = plain(frame).iloc[:5].to_dict(orient="records")
    params = {"output": "counterfactual", "frozen": ["grade"], "norm": "l1"}
    answers = post(server, {"dataframe_records": rows, "params": params})
    for row, answer in zip(rows, answers, strict=True):
        near = answer["counterfactual"]
        assert near["proven"]
        assert "grade" not in near["changes"]
        sent = {**row, **{column: change["to"] for column, change in near["changes"].items()}}
        assert post(server, {"dataframe_records": [sent]}) == [near["class"]] != [answer["class"]]
    message = refused(server, {"dataframe_records": rows, "params": {**params, "frozen": ["height"]}})
    assert message == "params.frozen names 'height', which is not a column of the model."


def test_a_category_that_looks_like_a_number_may_come_as_one(server):
    assert full(server, grade=2) == full(server, grade=2.0) == full(server, grade="2.0") == full(server)


def test_every_spelling_of_a_missing_cell_means_missing(server):
    for spelling in ("", "?", "NA", "NaN", float("nan")):
        assert full(server, width=spelling) == full(server, width=None)
    text = "width,größe (cm),grade,colour\n?,1,2,red\n,1,2,red\nNA,1,2,\n"
    assert len(post(server, text.encode(), CSV)) == 3


def test_whole_numbers_and_numbers_as_text_are_numbers(server):
    assert full(server, width=1) == full(server, width=1.0) == full(server, width="1")


def test_the_order_of_columns_and_additional_columns_do_not_matter(server):
    row = {"colour": "red", "comment": "x", "grade": "2", "größe (cm)": 1, "width": 0.5}
    assert post(server, {"dataframe_records": [row], "params": {"output": "full"}})[0] == full(server)


def test_a_number_far_outside_is_answered_and_one_beyond_all_bounds_refused(server):
    assert math.isfinite(full(server, width=1e12)["decision"])
    row = {"width": 1e308, "größe (cm)": 1, "grade": "2", "colour": "red"}
    assert refused(server, {"dataframe_records": [row]}) == "row 0, column 'width': 1e+308 is beyond ±1e+150."
    infinite = json.dumps({"dataframe_records": [row]}).replace("1e+308", "1e999")
    assert refused(server, infinite) == "row 0, column 'width': the number is infinite."


def test_the_message_says_what_is_wrong(server):
    row = {"width": 1, "größe (cm)": 1, "grade": "2"}
    assert refused(server, {"dataframe_records": [row]}) == "the rows have no column 'colour' (1 of 4 absent)."
    text = "width,größe (cm),grade,colour\n4x,1,2,red\n"
    assert refused(server, text.encode(), CSV) == "row 0, column 'width': '4x' is not a number."
    body = {"dataframe_records": [{**row, "colour": "red"}], "params": {"output": "all"}}
    assert (
        refused(server, body) == "params.output is 'all'; it must be one of label, scores, full, set, counterfactual."
    )


def test_the_printed_curl_command_gets_an_explanation_that_says_something(server, registered_project):
    port = server[0].split(":")[-1].split("/")[0]
    printed = (registered_project / f"server-{port}.log").read_text()
    command = next(line for line in printed.splitlines() if line.startswith("curl "))
    (record,) = json.loads(subprocess.check_output(["bash", "-c", command], timeout=60))["predictions"]
    assert max(map(abs, record["explanation"]["contributions"].values())) > 0.1
    (row,) = json.loads(shlex.split(command)[-1])["dataframe_records"]
    training = plain(registered.rows()[FEATURES]).to_dict(orient="records")
    assert row in training


def test_ping_health_version_and_openapi_answer(server):
    root = server[0].removesuffix("/invocations")
    for route in ("ping", "health"):
        assert requests.get(f"{root}/{route}", timeout=60).status_code == 200
    assert requests.get(f"{root}/version", timeout=60).text == served_model.installed_version()
    document = requests.get(f"{root}/openapi.json", timeout=60).json()
    assert list(document["components"]["schemas"]["Row"]["properties"]) == FEATURES
    (example,) = document["paths"]["/invocations"]["post"]["requestBody"]["content"]["application/json"]["schema"][
        "examples"
    ]
    assert set(post(server, example)[0]) >= {"class", "decision", "probability", "explanation", "taken_as_missing"}


def test_a_table_without_rows_has_no_answers(server):
    assert post(server, {"dataframe_split": {"columns": FEATURES, "data": []}}) == []


def test_malformed_requests_are_answered_and_leave_the_server_working(server):
    """A part of the attack in tests/faults/test_requests.py, which also watches the memory."""
    statuses: dict[int, int] = {}
    with requests.Session() as session:
        for number, (body, kind) in enumerate(malformed.requests(250)):
            headers = {} if kind is None else {"Content-Type": kind.encode()}
            answer = session.post(server[0], data=body, headers=headers, timeout=120)
            shown = f"request {number}, {kind}: {body[:300]!r}: {answer.status_code} {answer.text[:300]}"
            assert answer.status_code < 500, shown
            assert "Traceback" not in answer.text, shown
            assert "stack_trace" not in answer.text, shown
            assert len(answer.content) < 2_000_000, shown
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
    assert sum(statuses.values()) == 250
    assert statuses[400] > 100
    assert full(server)["class"] in ("no", "yes, sold")


def test_two_hundred_slow_connections_do_not_keep_others_waiting(server):
    host, port = server[0].removeprefix("http://").removesuffix("/invocations").split(":")
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            connection = stack.enter_context(socket.create_connection((host, int(port))))
            connection.sendall(b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{")
        assert full(server)["class"] in ("no", "yes, sold")


def test_a_key_of_its_own_in_each_row_costs_no_memory(server):
    """4,000 such rows took 618 MB, 20,000 of them 9.7 GB and 107 s."""
    full(server)
    before = memory(server[1])
    body, kind = shapes.body("a key of its own in each row", 500_000)
    answer = requests.post(server[0], data=body, headers={"Content-Type": kind}, timeout=60)
    assert answer.status_code == 200
    assert memory(server[1]) < before + 40 * len(body)


def test_rows_are_answered_in_parts_as_they_are_at_once(server, frame):
    """Also the number of an unreadable row, and of values that were taken as missing, counts from the first part."""
    rows = plain(frame).to_dict(orient="records") * (2 * PART // len(frame) + 1)
    answers = post(server, {"dataframe_records": rows})
    assert answers == post(server, {"dataframe_records": rows[: len(frame)]}) * (len(rows) // len(frame))
    wrong = [*rows, {**rows[0], "width": "4x"}]
    assert refused(server, {"instances": wrong}) == f"row {len(rows)}, column 'width': '4x' is not a number."
    unknown = [{**row, "grade": "9"} for row in rows]
    answer = requests.post(server[0], json={"instances": unknown}, timeout=60)
    assert json.loads(answer.headers[TAKEN_AS_MISSING]) == {"grade": len(rows)}


def test_an_answer_that_is_too_large_is_refused(server, frame):
    rows = plain(frame).to_dict(orient="records") * 6000
    body = json.dumps(
        {
            "dataframe_split": {"columns": FEATURES, "data": [list(row.values()) for row in rows]},
            "params": {"output": "full"},
        }
    )
    assert len(body) < Limits().body
    answer = requests.post(server[0], data=body, headers=JSON, timeout=300)
    assert answer.status_code == 413
    assert "the answer is larger than" in answer.json()["message"].lower()


def test_a_request_for_a_class_never_waits_for_searches(server):
    """More searches than there are places for: some are answered, the others are told when to come again.

    Each is about so many rows that none ends before all have arrived.
    """
    before = full(server)
    body = shapes.params(rows=100, output="counterfactual", seconds=0.5)
    with ThreadPoolExecutor(60) as pool:
        searching = [pool.submit(requests.post, server[0], body, headers=JSON, timeout=300) for _ in range(60)]
        times = []
        while not all(search.done() for search in searching) and len(times) < 200:
            began = time.monotonic()
            assert full(server) == before
            times.append(time.monotonic() - began)
    statuses = [search.result().status_code for search in searching]
    assert set(statuses) == {200, 503}
    for search in searching:
        if search.result().status_code == 503:
            assert search.result().json()["error_code"] == "TEMPORARILY_UNAVAILABLE"
            assert 1 <= int(search.result().headers["Retry-After"]) <= 2
    assert max(times) < 5


def test_a_body_that_is_too_large_is_refused_and_takes_no_memory(server):
    before = memory(server[1])
    for _ in range(3):
        with contextlib.suppress(requests.ConnectionError):  # the server may answer before all was sent, and close
            answer = requests.post(server[0], data=b" " * 100_000_000, headers=JSON, timeout=120)
            assert answer.status_code == 413
    assert memory(server[1]) < before + 2 * Limits().body


def test_the_server_outlives_its_workers(server):
    """A killed worker is replaced, and the other one answers meanwhile."""
    parent = psutil.Process(server[1])
    workers = [child for child in parent.children() if "spawn_main" in " ".join(child.cmdline())]
    assert len(workers) == 2
    answer = full(server)
    for worker in workers:
        worker.kill()
        until = time.monotonic() + 300
        while True:
            with contextlib.suppress(requests.ConnectionError):  # a connection that the worker had accepted
                assert full(server) == answer
                break
            assert time.monotonic() < until
        psutil.wait_procs([worker], timeout=60)
        while len(parent.children()) < 2 + EXTRA_CHILDREN:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_workers_end_with_their_server(registered_project):
    with serving(registered_project, registered.BASELINE) as (_, process):
        family = psutil.Process(process).children(recursive=True)
        os.kill(process, signal.SIGKILL)
        _, alive = psutil.wait_procs(family, timeout=300)
    assert not alive


def test_mlflow_models_serve_answers_good_requests_the_same(registered_project, frame, expected):
    """MLflow's own server, which `ldep serve` replaces, has the same answers to JSON."""
    with mlflow_serving(registered_project, URI) as (address, _):
        invocations = (f"{address}/invocations",)
        for body in bodies(frame).values():
            assert post(invocations, {**body, "params": {"output": "full"}}) == expected
        row = {"width": "4x", "größe (cm)": 1, "grade": "2", "colour": "red"}
        answer = requests.post(invocations[0], json={"dataframe_records": [row]}, timeout=60)
        assert answer.status_code == 400
        assert "row 0, column 'width': '4x' is not a number." in answer.json()["message"]
        body = io.BytesIO()
        frame.to_parquet(body)
        headers = {"Content-Type": malformed.PARQUET}
        assert post(invocations, body.getvalue(), headers) == [record["class"] for record in expected]
        # Why `ldep serve` has a server of its own: these answers of MLflow's cannot be changed.
        csv = requests.post(invocations[0], data=frame.to_csv(index=False).encode(), headers=CSV, timeout=60)
        assert csv.status_code == 400
        assert "not DataType" in csv.json()["message"]
        assert requests.post(invocations[0], data=b"{}", timeout=60).status_code == 500
        assert "Traceback" in requests.post(invocations[0], data=b"", headers=CSV, timeout=60).text


def test_mlflow_models_predict_takes_a_csv(registered_project, frame, expected, tmp_path):
    frame.to_csv(tmp_path / "in.csv", index=False)
    command = ["models", "predict", "-m", URI, "-i", "in.csv", "-t", "csv", "-o", "out.json", "--env-manager", "local"]
    (tmp_path / "mlflow.db").symlink_to(registered_project / "mlflow.db")
    killing.finish(tmp_path, "mlflow", *command)
    answers = json.loads((tmp_path / "out.json").read_text())["predictions"]
    assert answers == [record["class"] for record in expected]


def test_a_baseline_is_served_the_same_way_strictly_and_with_a_log_if_asked(registered_project, frame):
    uri = f"models:/ldep-{registered.BASELINE}@champion"
    options = ("--workers", "1", "--strict", "--log-requests", "log.jsonl")
    with serving(registered_project, registered.BASELINE, *options) as (address, _):
        server = (f"{address}/invocations",)
        body = {**bodies(frame)["dataframe_records"], "params": {"output": "full"}}
        records = post(server, body)
        unknown = {"width": 1, "größe (cm)": 1, "grade": "9", "colour": "red"}
        assert "strict mode" in refused(server, pd.DataFrame([unknown]).to_csv(index=False).encode(), CSV)
        assert len(post(server, {"instances": [unknown], "params": {"strict": False}})) == 1
    logged = [json.loads(line)["row"] for line in (registered_project / "log.jsonl").read_text().splitlines()]
    assert logged == [*plain(frame).to_dict(orient="records"), unknown]  # and not the refused request
    assert records == download.load(uri, registered_project).predict(frame, {"output": "full"})
    assert records[0]["explanation"] == {"not_available": "SVC has no exact explanation."}
    assert 0 < records[0]["probability"]["no"] < 1
