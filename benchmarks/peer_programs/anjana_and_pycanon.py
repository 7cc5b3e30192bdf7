"""What pycanon says about tables, and what anjana makes of one, as one JSON object. Runs in an environment of their own.

The argument is a JSON object with `tables` (CSV paths), `quasi_identifiers`, `sensitive`, `hierarchies` (CSV path by
attribute), `k` and `l`. All tables are checked; the first is anonymized.
"""

import contextlib
import io
import json
import sys
import time
from importlib.metadata import version

import anjana.anonymity
import pandas as pd
import pycanon.anonymity
from anjana.anonymity.utils import utils


def timed(function):
    begin = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        result = function()
    return time.perf_counter() - begin, result


def checked(frame, names, sensitive):
    seconds, (k, distinct, entropy) = timed(
        lambda: (
            pycanon.anonymity.k_anonymity(frame, names),
            pycanon.anonymity.l_diversity(frame, names, [sensitive]),
            pycanon.anonymity.entropy_l_diversity(frame, names, [sensitive]),
        )
    )
    return {"seconds": seconds, "k": int(k), "distinct": int(distinct), "entropy": int(entropy)}


def main():
    task = json.loads(sys.argv[1])
    names, sensitive = task["quasi_identifiers"], task["sensitive"]
    frames = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in task["tables"]]
    trees = {
        name: dict(pd.read_csv(path, sep=";", header=None, dtype=str, keep_default_na=False).items())
        for name, path in task["hierarchies"].items()
    }
    made = {}
    runs = {
        "k_anonymity": lambda: anjana.anonymity.k_anonymity(frames[0].copy(), [], list(names), task["k"], 0, trees),
        "l_diversity": lambda: anjana.anonymity.l_diversity(
            frames[0].copy(), [], list(names), sensitive, task["k"], task["l"], 0, trees
        ),
    }
    for name, run in runs.items():
        seconds, found = timed(run)
        levels = dict(zip(names, map(int, utils.get_transformation(found, names, trees)))) if len(found) else None
        made[name] = {"seconds": seconds, "levels": levels}
        if levels is not None:
            made[name]["checked"] = checked(found, names, sensitive)
    versions = {name: version(name) for name in ("anjana", "pycanon", "numpy", "pandas")}
    print(json.dumps({"versions": versions, "checks": [checked(f, names, sensitive) for f in frames], "made": made}))


if __name__ == "__main__":
    main()
