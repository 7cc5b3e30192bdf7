"""A made-up questionnaire of many columns that go together, and a config that publishes it within seconds."""

from pathlib import Path

import numpy as np
import pandas as pd

ROWS = 3000


def write_wide(folder: Path, columns: int) -> Path:
    """Write a table of so many columns, the last one sensitive, and its config, whose path this is."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(3)
    common = rng.normal(size=ROWS)
    table = {}
    for number in range(1, columns):
        value, answers = 0.6 * common + rng.normal(size=ROWS), (2, 3, 5, 8)[number % 4]
        cuts = np.quantile(value, np.linspace(0, 1, answers + 1)[1:-1])
        table[f"question_{number}"] = [f"answer {code}" for code in np.digitize(value, cuts)]
    table["disease"] = rng.choice(["asthma", "cold", "flu", "none"], ROWS).tolist()
    pd.DataFrame(table).to_csv(folder / "wide.csv", index=False)
    roles = dict.fromkeys(table, "quasi-identifier") | {"disease": "sensitive"}
    attributes = "".join(f'[attributes.{name}]\nrole = "{role}"\n' for name, role in roles.items())
    config = folder / "release.toml"
    config.write_text(
        f'[data]\npath = "wide.csv"\n{attributes}[privacy]\nk_link = 10\ndiversity = "entropy:2"\n'
        '[search]\nstrategy = "forward"\n[base]\ntable = "none"\n'
    )
    return config
