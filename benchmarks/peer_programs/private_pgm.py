"""Records that AIM of private-pgm makes of a table. Runs in an environment of its own.

The argument is a JSON object with `mechanisms` (the folder of that name in a checkout of private-pgm), `codes` (a CSV file
of whole numbers from 0), `sizes` (how many values each column has), `epsilon`, `delta`, `seed`, `megabytes` (the largest
model), `iterations` (of a fit) and `out` (the CSV file to write).
"""

import contextlib
import io
import itertools
import json
import sys

import numpy as np
import pandas as pd


def main():
    task = json.loads(sys.argv[1])
    sys.path.insert(0, task["mechanisms"])
    from aim import AIM
    from mbi import Dataset, Domain

    data = Dataset(pd.read_csv(task["codes"]), Domain.fromdict(task["sizes"]))
    np.random.seed(task["seed"])  # noqa: NPY002 - the generator that AIM draws from
    with contextlib.redirect_stdout(io.StringIO()):
        aim = AIM(
            task["epsilon"],
            task["delta"],
            prng=np.random,
            max_model_size=task["megabytes"],
            max_iters=task["iterations"],
        )
        workload = [(way, 1.0) for ways in (2, 3) for way in itertools.combinations(data.domain, ways)]
        _, made = aim.run(data, workload)
    made.df.to_csv(task["out"], index=False)


if __name__ == "__main__":
    main()
