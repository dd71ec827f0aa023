"""The same kernels on every x86-64 processor with AVX2, so that the same commit gives the same digits on all of them.

OpenBLAS and NumPy choose their code by the processor, and code for AVX-512 adds in another order than code for AVX2.
The last bits of a sum then differ, and a solver that follows them may end in another minimum. So both are told to use
their code for AVX2, unless the user's environment says otherwise. They read these variables when they are loaded.
"""

from __future__ import annotations

import os
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")
VARIABLES = {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}


def use_common_kernels(cpu_info: Path = CPU_INFO) -> None:
    """Set the variables for this process and its children, if the processor has AVX2; before NumPy is loaded."""
    if _has_avx2(cpu_info):
        for name, value in VARIABLES.items():
            os.environ.setdefault(name, value)


def _has_avx2(cpu_info: Path) -> bool:
    # Another operating system, or another kind of processor, has no such file or no such flag.
    return cpu_info.is_file() and " avx2 " in cpu_info.read_text()
