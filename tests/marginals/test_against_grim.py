"""What R's gRim selects from classic tables is what is selected here: forward, backward, by BIC, AIC and tests.

Made by gRim 0.3.4 with gRbase 2.0.3.9001 on R 4.2.2, by the program below; where R finds gRim (as by R_LIBS) it runs again.
gRim's "aic" with k = ln N is BIC. `reinis` is the table of the Czech autoworkers (Edwards and Havranek 1985).
"""

import shutil
import subprocess
import tomllib
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

import marginals

PROGRAM = """
suppressMessages(library(gRim))
data(reinis, lizard, package = "gRbase")
tables <- list(HairEyeColor = HairEyeColor, Titanic = Titanic, UCBAdmissions = UCBAdmissions,
  housing = xtabs(Freq ~ Sat + Infl + Type + Cont, MASS::housing), reinis = reinis, lizard = lizard)
for (name in names(tables)) {
  x <- tables[[name]]
  searched <- function(by, ...) list(forward(dmod(~ .^1, x), ..., details = 0), backward(dmod(~ .^., x), ..., details = 0))
  found <- c(searched(k = log(sum(x))), searched(k = 2), searched(criterion = "test", alpha = 0.05))
  for (i in 1:6) cat(name, c("bic", "aic", "likelihood-ratio")[(i + 1) %/% 2], c("forward", "backward")[2 - i %% 2],
    paste(sapply(terms(found[[i]]), paste, collapse = " "), collapse = ";"), sep = ",", fill = 300)
}
"""

TABLES = tomllib.loads(Path(__file__).with_name("against_grim.toml").read_text())

STRATEGIES = {"forward": "forward", "backward": "backward"}

CASES = [
    (name, criterion, direction, cliques)
    for name, table in TABLES.items()
    for criterion, found in table["selected"].items()
    for direction, cliques in found.items()
]

GOES_ON = ("reinis", "likelihood-ratio", "backward")
"""The one case in which the backward search here ends elsewhere: it adds again when nothing more can go."""


def frame(name):
    levels = {attribute: values.split() for attribute, values in TABLES[name]["levels"].items()}
    rows = [cell[::-1] for cell in product(*reversed(levels.values()))]
    return pd.DataFrame(rows, columns=list(levels)).assign(Freq=list(map(int, TABLES[name]["counts"].split())))


def cliques_of(text):
    return frozenset(frozenset(clique.split()) for clique in text.split(";"))


def grim_is_there():
    if shutil.which("Rscript") is None:
        return False
    asked = subprocess.run(["Rscript", "-e", "library(gRim)"], capture_output=True, check=False)
    return asked.returncode == 0


@pytest.mark.parametrize(("name", "criterion", "direction", "cliques"), CASES)
def test_the_same_model_is_selected(name, criterion, direction, cliques):
    selected = marginals.select(frame(name), criterion, STRATEGIES[direction], counts="Freq")
    if (name, criterion, direction) != GOES_ON:
        assert frozenset(map(frozenset, selected.cliques)) == cliques_of(cliques)
        return
    theirs = marginals.selection.fit_model(
        frame(name), [tuple(clique) for clique in cliques_of(cliques)], counts="Freq"
    )
    added = {frozenset(edge) for edge in selected.graph.edges} - {frozenset(edge) for edge in theirs.graph.edges}
    assert added == {frozenset(("mental", "protein"))}
    assert selected.compare(theirs).p_value < 0.05


def test_grim_still_says_so():
    if not grim_is_there():
        pytest.skip("R with gRim is not installed")
    done = subprocess.run(["R", "--vanilla", "--no-echo"], input=PROGRAM, check=True, capture_output=True, text=True)
    now = {
        (n, c, d): cliques_of(text.strip()) for n, c, d, text in (line.split(",") for line in done.stdout.splitlines())
    }
    assert now == {(n, c, d): cliques_of(text) for n, c, d, text in CASES}
