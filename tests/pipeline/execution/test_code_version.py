"""What a fit's key depends on, where the model is installed and not edited."""

from __future__ import annotations

import importlib

from ldep_pipeline.execution import code_version


def clear() -> None:
    for function in (code_version.code_digest, code_version.package_version):
        function.cache_clear()


def test_an_installed_package_counts_by_the_version_of_its_distribution(tmp_path, monkeypatch):
    """A package without a `__version__` must not keep its old fits when a new wheel is installed."""
    site = tmp_path / "site-packages"
    (site / "demo_model").mkdir(parents=True)
    (site / "demo_model/__init__.py").write_text("class Model: ...\n")
    monkeypatch.syspath_prepend(site)
    keys = []
    for version in ("1.0", "2.0"):
        info = site / f"demo_model-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: demo-model\nVersion: {version}\n")
        (info / "top_level.txt").write_text("demo_model\n")
        importlib.invalidate_caches()
        clear()
        keys.append(code_version.code_digest("demo_model.Model"))
        for path in info.iterdir():
            path.unlink()
        info.rmdir()
    assert keys[0] != keys[1]


def test_a_folder_without_an_init_file_counts_by_its_content(tmp_path, monkeypatch):
    (tmp_path / "loose_models").mkdir()
    module = tmp_path / "loose_models/one.py"
    monkeypatch.syspath_prepend(tmp_path)
    keys = []
    for text in ("class Model: ...\n", "class Model:\n    size = 1\n"):
        module.write_text(text)
        importlib.invalidate_caches()
        clear()
        keys.append(code_version.code_digest("loose_models.one.Model"))
    assert keys[0] != keys[1]
