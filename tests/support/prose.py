"""Columns of strings that are prose, and columns that are not, though some of them look like it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from tests.support import tickets

PROSE = {
    "tickets": list(tickets.table(120, seed=0)["body"]),
    "capitals": [f"{text} {text}".upper() for text in tickets.table(120, seed=1)["body"]],
    "German": [
        f"Die {thing} ist seit {day} nicht da, bitte melden Sie sich {how} bei mir."
        for thing in ("Rechnung", "Lieferung", "Ware", "Antwort")
        for day in ("Montag", "gestern", "drei Wochen", "Mai")
        for how in ("bald", "heute", "per Post")
    ],
    "Chinese": [
        f"你好,我的{thing}{problem},请{wish}。谢谢你们的帮助"
        for thing in ("订单", "包裹", "发票", "账户")
        for problem in ("没有收到", "有错误", "已经坏了", "不见了")
        for wish in ("尽快处理", "联系我", "退款给我")
    ],
    "Hindi": [
        f"मेरा {thing} अभी तक {problem} है कृपया {wish} दें"
        for thing in ("पार्सल", "बिल", "खाता", "आदेश")
        for problem in ("नहीं आया", "गलत", "बंद", "खोया हुआ")
        for wish in ("जल्दी जवाब", "पैसे वापस", "नया भेज")
    ],
}
FIRST = ["Anna", "Maria", "José", "Li", "Olga", "Jean-Luc", "Ahmed", "Chloë", "Bob", "Eve", "Ivan", "Noor"]
LAST = ["García Márquez", "da Silva Santos", "Müller", "O'Brien", "van der Berg", "Smith", "Nguyễn", "de la Cruz"]
rng = np.random.default_rng(0)
NOT_PROSE = {
    "names": [f"{first} {last}" for first in FIRST for last in LAST],
    "names in small letters": [f"{first} {last}".lower() for first in FIRST for last in LAST],
    "companies": [f"{last} & {first} Trading {form}" for last in LAST for first in FIRST for form in ("Ltd", "AG")],
    "addresses": [f"{place} {last} Street, New {first} City, UK" for place, last in enumerate(LAST) for first in FIRST],
    "titles": [f"The {a} of the {b} {c}" for a in ("Lord", "Fall", "Rise") for b in FIRST for c in ("Kings", "Queens")],
    "codes": [f"AB-{number:04d}-XY" for number in range(100)],
    "identifiers with words": [f"order number {number} of customer {number * 7}" for number in range(100)],
    "hashes": [rng.bytes(8).hex() for _ in range(100)],
    "uuids": [f"{rng.bytes(4).hex()}-{rng.bytes(2).hex()}-{rng.bytes(6).hex()}" for _ in range(100)],
    "links": [f"https://example.com/a/page/about/some/thing-{number}?of=the&kind=that" for number in range(100)],
    "addresses of mail": [f"{first}.{last}@example.com".lower().replace(" ", ".") for first in FIRST for last in LAST],
    "paths": [f"/home/user/{first}/some file of {number}.txt" for number, first in enumerate(FIRST * 9)],
    "dates": list(pd.date_range("2020-01-01", periods=100).strftime("%A, %d %B %Y")),
    "JSON": [json.dumps({"id": number, "name": "a", "is": True}) for number in range(100)],
    "random words": ["".join(rng.choice(list("abcdefghij"), 8)) + " " + rng.bytes(3).hex() for _ in range(100)],
    "many categories": [f"other administrative support workers of grade {number % 40}" for number in range(1000)],
    "Chinese names": [first + last for first in "王李张刘陈杨黄赵吴周" for last in ("伟", "芳", "秀英", "娜", "敏")],
}  # fmt: skip
