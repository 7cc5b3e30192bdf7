"""What R's gRim selects from classic tables is what is selected here: forward, backward, by BIC, AIC and tests.

Made by gRim 0.3.4 with gRbase 2.0.3.9001 on R 4.2.2, by the program below; where R finds gRim (as by R_LIBS) it runs again.
gRim's "aic" with k = ln N is BIC. `reinis` is the table of the Czech autoworkers (Edwards and Havranek 1985).
"""

import shutil
import subprocess
from itertools import product

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

SELECTED = """
HairEyeColor,bic,forward,Eye Hair;Sex
HairEyeColor,bic,backward,Eye Hair;Sex
HairEyeColor,aic,forward,Eye Hair;Hair Sex
HairEyeColor,aic,backward,Eye Hair;Hair Sex
HairEyeColor,likelihood-ratio,forward,Eye Hair;Hair Sex
HairEyeColor,likelihood-ratio,backward,Eye Hair;Hair Sex
Titanic,bic,forward,Age Class Survived;Class Sex Survived
Titanic,bic,backward,Age Class Survived;Class Sex Survived
Titanic,aic,forward,Age Class Sex Survived
Titanic,aic,backward,Age Class Sex Survived
Titanic,likelihood-ratio,forward,Age Class Sex Survived
Titanic,likelihood-ratio,backward,Age Class Sex Survived
UCBAdmissions,bic,forward,Admit Dept;Dept Gender
UCBAdmissions,bic,backward,Admit Dept;Dept Gender
UCBAdmissions,aic,forward,Admit Dept Gender
UCBAdmissions,aic,backward,Admit Dept Gender
UCBAdmissions,likelihood-ratio,forward,Admit Dept Gender
UCBAdmissions,likelihood-ratio,backward,Admit Dept Gender
housing,bic,forward,Cont Type;Infl Sat;Sat Type
housing,bic,backward,Cont Type;Infl Sat;Sat Type
housing,aic,forward,Cont Infl Sat;Cont Sat Type
housing,aic,backward,Cont Infl Sat;Cont Sat Type
housing,likelihood-ratio,forward,Cont Infl Sat;Cont Sat Type
housing,likelihood-ratio,backward,Cont Infl Sat;Cont Sat Type
reinis,bic,forward,family;mental phys;mental protein;phys smoke;protein systol
reinis,bic,backward,family;mental phys;phys protein smoke;protein smoke systol
reinis,aic,forward,family mental;mental phys smoke;mental protein smoke;protein smoke systol
reinis,aic,backward,family mental;mental phys smoke;phys protein smoke;protein smoke systol
reinis,likelihood-ratio,forward,family mental;mental phys;mental protein;phys smoke;protein systol
reinis,likelihood-ratio,backward,family mental;mental phys;phys protein smoke;protein smoke systol
lizard,bic,forward,diam species;height species
lizard,bic,backward,diam species;height species
lizard,aic,forward,diam species;height species
lizard,aic,backward,diam species;height species
lizard,likelihood-ratio,forward,diam species;height species
lizard,likelihood-ratio,backward,diam species;height species
"""

LEVELS = {
    "HairEyeColor": {"Hair": "Black Brown Red Blond", "Eye": "Brown Blue Hazel Green", "Sex": "Male Female"},
    "Titanic": {"Class": "1st 2nd 3rd Crew", "Sex": "Male Female", "Age": "Child Adult", "Survived": "No Yes"},
    "UCBAdmissions": {"Admit": "Admitted Rejected", "Gender": "Male Female", "Dept": "A B C D E F"},
    "housing": {
        "Sat": "Low Medium High",
        "Infl": "Low Medium High",
        "Type": "Tower Apartment Atrium Terrace",
        "Cont": "Low High",
    },
    "reinis": dict.fromkeys(["smoke", "mental", "phys", "systol", "protein", "family"], "y n"),
    "lizard": {"diam": "1 2", "height": "1 2", "species": "1 2"},
}
"""The values of each attribute, the first one changing fastest in the counts."""

COUNTS = {
    "HairEyeColor": "32 53 10 3 11 50 10 30 10 25 7 5 3 15 7 8 36 66 16 4 9 34 7 64 5 29 7 5 2 14 7 8",
    "Titanic": "0 0 35 0 0 0 17 0 118 154 387 670 4 13 89 3 5 11 13 0 1 13 14 0 57 14 75 192 140 80 76 20",
    "UCBAdmissions": "512 313 89 19 353 207 17 8 120 205 202 391 138 279 131 244 53 138 94 299 22 351 24 317",
    "housing": (
        "21 21 28 34 22 36 10 11 36 61 23 17 43 35 40 26 18 54 13 9 10 8 8 12 6 7 9 18 6 7 15 13 13 7 5 11 14 "
        "19 37 17 23 40 3 5 23 78 46 43 48 45 86 15 25 62 20 23 20 10 22 24 7 10 21 57 23 13 31 21 13 5 6 13"
    ),
    "reinis": (
        "44 40 112 67 129 145 12 23 35 12 80 33 109 67 7 9 23 32 70 66 50 80 7 13 24 25 73 57 51 63 7 16 5 7 "
        "21 9 9 17 1 4 4 3 11 8 14 17 5 2 7 3 14 14 9 16 2 3 4 0 13 11 5 14 4 4"
    ),
    "lizard": "32 11 86 35 61 41 73 70",
}

STRATEGIES = {"forward": "greedy", "backward": "greedy-backward"}

CASES = [tuple(line.split(",")) for line in SELECTED.split("\n") if line]

GOES_ON = ("reinis", "likelihood-ratio", "backward")
"""The one case in which the backward search here ends elsewhere: it adds again when nothing more can go."""


def frame(name):
    levels = {attribute: values.split() for attribute, values in LEVELS[name].items()}
    rows = [cell[::-1] for cell in product(*reversed(levels.values()))]
    return pd.DataFrame(rows, columns=list(levels)).assign(Freq=list(map(int, COUNTS[name].split())))


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
    theirs = marginals.fit_model(frame(name), [tuple(clique) for clique in cliques_of(cliques)], counts="Freq")
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
