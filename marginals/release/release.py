"""Releases: published marginals as an analyst sees them, without the data they came from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from checks.claims import Claim
from marginals import answers, averages, comparisons, cross_tables, drawn_tables, estimates
from marginals.answers import LEAST_TABLES, USUAL_TABLES, Answer
from marginals.arguments import (
    ATTRIBUTES,
    FLAG,
    FUNCTION,
    NAME,
    PATH,
    Function,
    Taken,
    instance,
    number,
    one_of,
    path_of,
    takes,
    whole,
)
from marginals.arguments import CONDITION as ANY_CONDITION
from marginals.averages import Limits, OpenEnds
from marginals.bundle.content import BundleContent, Verification
from marginals.bundle.reading import content_of
from marginals.bundle.signature import SecretKey, secret_key
from marginals.bundle.snapshot import Snapshot, WrittenBundle
from marginals.conditions import Where
from marginals.cross_tables import NORMALIZED
from marginals.deadline import Seconds, within
from marginals.drawn_tables import FAMILIES, Statistic
from marginals.errors import AssumptionWarning, InputError
from marginals.estimates import MOST_ROWS, Attributes, assumption
from marginals.later import pd
from marginals.named_rules import NamedRule, rules_of
from marginals.published_values import known_attribute, meanings
from marginals.replaced import Renewed
from marginals.tables.intervals import numbers_at
from models.deadline import Deadline
from models.frozen import frozen
from models.graphs.basis import Basis
from models.inference.marginal_model import MarginalModel
from models.tables.hierarchy import Domain

if TYPE_CHECKING:
    from marginals.attacks import Attacks
    from marginals.bundle.writing import Entering
    from marginals.tables.table import Table


def _base_values(release: "Release", where: Where) -> Any:
    """Return a condition as the base values that it means; value labels of the codebook count as labels."""
    return meanings(release.domain, release.model.finest_levels, where, words=release.published.codebook.values)


CONDITION = ANY_CONDITION._replace(read=_base_values)


def _some(taken: Taken, several: tuple[type, ...] = (list, tuple)) -> Taken:
    def test(value: Any) -> bool:
        elements: Any = value if isinstance(value, several) else [value]
        return all(map(taken.test, elements))

    return Taken(f"{taken.words}, or a list of them", test)


def _are_limits(value: Any) -> bool:
    is_pair = isinstance(value, tuple | list) and len(value) == 2 and all(map(number(-inf).test, value))
    return is_pair and value[0] <= value[1]


# Arguments of methods; a name means the same in all of them.
_TAKEN: Mapping[str, Taken] = {
    **dict.fromkeys(("where", "part", "outcome", "group", "against"), CONDITION),
    **dict.fromkeys(("by", "rows", "columns"), ATTRIBUTES),
    **dict.fromkeys(("bounds", "exact", "base_values"), FLAG),
    **dict.fromkeys(("path", "sign"), PATH),
    "attribute": NAME,
    "q": _some(number(0, 1)._replace(words="a probability"), (list, tuple, np.ndarray)),
    "limits": Taken("a least and a largest number, such as (0, 110)", _are_limits),
    "seconds": Taken(
        "a number of seconds above 0", lambda value: isinstance(value, Deadline) or number(0, inside=True).test(value)
    ),
    "normalize": one_of(*NORMALIZED),
    "formula": instance(str, "a formula of attributes"),
    "family": one_of(*FAMILIES),
    "function": FUNCTION,
    "level": number(0, 1, inside=True),
    "tables": whole(LEAST_TABLES, 10_000),
    "seed": whole(0),
    "n": whole(0, MOST_ROWS),
    "form": one_of("pandas", "polars", "duckdb", "pgmpy", "uai"),
    "claims": _some(instance(str | Claim, "a claim")),
    "rules": _some(instance(str | NamedRule, "the name of a rule")),
}


def _takes(example: str, **others: Taken) -> Callable[[Function], Function]:
    return takes(example, **{**_TAKEN, **others})


@frozen(eq=False)
class Release(Renewed):
    """Marginals that are published together, ready to be analysed.

    published: the content of its bundle. The examples of the methods ask `marginals.example.release`, of 48 people.

    Each number is an `Answer`, or a row of a frame: value, lower and upper bound, and kind. The kind is "published" if it is
    made of counts of one published table. It is "supported" if a published table shows the same attributes, but coarser than
    asked, "assumed" if none does, and "none" without an estimate. Bounds hold whatever the kind.

    >>> import marginals
    >>> import pandas as pd
    >>> people = [("22", "f", "flu"), ("22", "m", "flu"), ("29", "f", "gout"), ("38", "m", "gout"), ("35", "m", "flu")]
    >>> table = marginals.read_table(
    ...     pd.DataFrame(people, columns=["age", "sex", "ill"]),
    ...     {"age": marginals.Attribute("quasi-identifier", intervals=[10]), "sex": "quasi-identifier", "ill": "sensitive"},
    ... )
    >>> marginals.publish(table, marginals.Policy(k_link=2, diversity="none")).release
    Release(5 rows, information 0 nats; age:0; sex:0; ill:0)
    """

    published: BundleContent
    _written: WrittenBundle | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        number = self.published.information
        information = "" if number is None else f", information {number:.4g} nats"
        where = f" where {self.published.where}" if self.published.where else ""
        tables = "; ".join(map(str, self.published.everything.margins))
        return f"Release({self.model.total} rows{where}{information}; {tables})"

    @property
    def attributes(self) -> "pd.DataFrame":
        """The attributes: role, type, number of published values, range of numbers, open ends, and description.

        >>> from marginals.example import release
        >>> release.attributes[["role", "type", "values", "range"]]  # doctest: +NORMALIZE_WHITESPACE
                               role      type  values     range
        age        quasi-identifier    number       4  20 to 59
        sex        quasi-identifier  category       2
        diagnosis         sensitive  category       3
        """
        rows = []
        for a, hierarchy in self.domain.items():
            finest, numbers = self.model.finest_levels[a], numbers_at(hierarchy, 0)
            ends, is_open = "", np.zeros(hierarchy.size(0), dtype=np.bool_)
            if numbers is not None:
                finite = np.concatenate([numbers.low, numbers.high])[np.isfinite([*numbers.low, *numbers.high])]
                ends = f"{finite.min():g} to {finite.max():g}"
                is_open = (np.isinf(numbers.low) ^ np.isinf(numbers.high)) & numbers.may_count
            open_labels = np.array(hierarchy.labels[0], dtype=object)[is_open]
            words = [self.published.codebook.in_words(a, label) for label in open_labels]
            rows.append(
                {
                    "role": self.published.roles[a].value,
                    "type": "category" if numbers is None else "number",
                    "values": hierarchy.size(finest) if finest < hierarchy.height else 0,
                    "range": ends,
                    "open ends": ", ".join(words),
                    "description": self.published.codebook.description(a),
                }
            )
        return pd.DataFrame(rows, index=pd.Index(self.domain.attributes))

    @_takes('release.supports("age", "diagnosis")')
    def supports(self, *attributes: Attributes) -> Basis:
        """Return how far published tables back a cross table of some attributes; false if it is assumed.

        attributes: names, at their finest published levels, or one mapping with a level for each. `margins` are the finest
        margins that show them together, and `assumed` the smallest groups of them that none shows, mostly pairs.

        >>> from marginals.example import release
        >>> release.supports("age", "diagnosis")
        Basis(published; age:1, diagnosis:0)
        >>> release.supports({"age": 0, "diagnosis": 0})
        Basis(supported; age:1, diagnosis:0)
        >>> if not release.supports("age", "sex", "diagnosis"):
        ...     print(release.supports("age", "sex", "diagnosis").assumed)
        (('age', 'sex'),)
        """
        names: Attributes = attributes[0] if len(attributes) == 1 else attributes  # type: ignore[assignment]
        return estimates.basis_by(self.model, estimates.as_margin(self.model, names))

    @_takes('release.count("age=20-29 and sex=Female", seconds=5)', seconds=number(0))
    def count(self, where: Where = (), *, seconds: float = 10.0) -> Answer:
        """Return the rows that a condition means: `{"age": "20-39", "race": ["White", "Black"]}` or `"age in 20-39"`.

        A list of conditions means the rows that meet all. seconds: of integer programs, which run once a bound is asked for,
        if it is not proven to be the best; 0: without. Raises InputError for an unknown attribute or label.

        >>> from marginals.example import release
        >>> release.count({"age": "20-29", "sex": "Female"}).lower
        5
        >>> release.count({"age": "22", "diagnosis": "Flu"}).kind
        'supported'
        >>> release.count(["age in 20-39", "diagnosis=Asthma|Flu"])
        22 (22 to 22; published)
        """
        return answers.count(self.model, where, seconds)

    @_takes('release.share("diagnosis=Flu", where="sex=Female")')
    def share(self, part: Where, *, where: Where = ()) -> Answer:
        """Return the share of the rows of a condition, by default of all, that another one holds for.

        Rows without a value of an attribute of `part` are left out, unless it means them; `of` says how many.

        >>> from marginals.example import release
        >>> release.share("diagnosis=Flu", where="sex=Female")
        0.5217 (0.5217 to 0.5217; published)
        >>> release.share("diagnosis=Flu", where="sex=Female").denominator
        23.0
        """
        return comparisons.share(self.model, part, where)

    @_takes('release.mean("age", where="sex=Female")')
    def mean(
        self,
        attribute: str,
        *,
        where: Where = (),
        by: Attributes = (),
        limits: Limits | None = None,
    ) -> "Answer | pd.DataFrame":
        """Return the mean over the rows that a condition means; a frame of the mean of each group of `by`.

        Rows without a value are left out. A label such as `20-29` stands for numbers between its ends. Bounds hold whatever
        they are; the estimate takes whole numbers as equally likely, or the middle. A label without an end, `95 and over`,
        leaves the mean without a bound, unless its publisher says what it means: `95 to 110`. The estimate takes its one
        end. A name leaves the mean without a bound, too, and the estimate leaves its rows out.

        limits: between which numbers all values are known to lie, `(0, 110)`.

        >>> from marginals.example import release
        >>> release.mean("age", where="diagnosis=Gout")
        43.39 (38.89 to 47.89; supported)
        >>> release.mean("age", by="diagnosis")[["value", "lower", "upper"]].round(1)  # doctest: +NORMALIZE_WHITESPACE
                   value  lower  upper
        diagnosis
        Asthma      33.7   29.2   38.2
        Flu         33.3   28.8   37.8
        Gout        43.4   38.9   47.9
        """
        if not by:
            return averages.mean(self.model, attribute, where, self._ends(limits))
        return _warned(averages.means(self.model, attribute, by, where, self._ends(limits)))

    def _ends(self, limits: Limits | None) -> OpenEnds:
        return OpenEnds(self.published.codebook.values, limits and (float(limits[0]), float(limits[1])))

    @_takes('release.total("age", where="sex=Female")')
    def total(
        self,
        attribute: str,
        *,
        where: Where = (),
        limits: Limits | None = None,
    ) -> Answer:
        """Return the sum over the rows that a condition means; as `mean`, of which it has the parameters.

        >>> from marginals.example import release
        >>> release.total("age", where="diagnosis=Gout")
        781 (700 to 862; supported)
        """
        return averages.total(self.model, attribute, where, self._ends(limits))

    @_takes('release.quantile("age", 0.5, where="sex=Female")')
    def quantile(
        self,
        attribute: str,
        q: float | Sequence[float] = (0.25, 0.5, 0.75),
        *,
        where: Where = (),
        limits: Limits | None = None,
    ) -> "Answer | pd.DataFrame":
        """Return the least value that a share `q` of the rows do not exceed; a frame for several. Otherwise as `mean`.

        >>> from marginals.example import release
        >>> release.quantile("age", 0.5)
        36 (30 to 39; supported)
        >>> release.quantile("age", [0.1, 0.5, 0.9])["value"].to_dict()
        {0.1: 23.0, 0.5: 36.0, 0.9: 54.0}
        """
        answer = averages.quantile(self.model, attribute, q, where, self._ends(limits))
        return answer if isinstance(answer, Answer) else _warned(answer)

    @_takes('release.effect("diagnosis=Gout", "sex=Male", against="sex=Female")')
    def effect(
        self, outcome: Where, group: Where, *, against: Where | None = None, where: Where = ()
    ) -> "pd.DataFrame":
        """Return how often a group has an outcome beside another group: odds ratio, risk ratio and risk difference.

        against: the other group; by default everybody else. Rows without a value of the outcome, or of a group that is
        compared with everybody else, are left out.

        >>> from marginals.example import release
        >>> release.effect("diagnosis=Gout", "sex=Male")[["value", "kind"]].round(3)
                          value       kind
        odds ratio       18.667  published
        risk ratio        7.360  published
        risk difference   0.553  published
        """
        return _warned(comparisons.effect(self.model, outcome, group, against, where))

    @_takes('release.table("sex", "diagnosis", normalize="rows", bounds=True)')
    def table(
        self,
        rows: Attributes,
        columns: Attributes = (),
        *,
        where: Where = (),
        normalize: str | None = None,
        bounds: bool = False,
    ) -> "pd.DataFrame":
        """Return a row for each cell that can be occupied: value and kind, with `bounds` also lower and upper.

        rows, columns: names, at their finest published levels, or a level for each. normalize: "rows", "columns" or "all"
        for shares of these. `.value.unstack()` makes a cross table of it. Beside labels that are numbers, or ranges of them,
        stands their middle, `age_number`. `alike` names the published group that a row shares with others, if it does.

        >>> from marginals.example import release
        >>> release.table("sex", "diagnosis", normalize="rows").value.unstack().round(2)  # doctest: +NORMALIZE_WHITESPACE
        diagnosis  Asthma   Flu  Gout
        sex
        Female       0.39  0.52  0.09
        Male         0.16  0.20  0.64
        >>> release.table({"age": 2}, "sex", bounds=True).round(1)  # doctest: +NORMALIZE_WHITESPACE
                      age_number  value  lower  upper     kind
        age   sex
        20-39 Female        29.5   16.3     13     22  assumed
              Male          29.5   13.7      8     17  assumed
        40-59 Female        49.5    6.7      1     10  assumed
              Male          49.5   11.3      8     17  assumed
        """
        return _warned(cross_tables.table(self.model, rows, columns, where, normalize, bounds=bounds))

    @_takes('release.fit("diagnosis ~ age", "logit")')
    def fit(
        self, formula: str, family: str = "ols", *, level: float = 0.95, tables: int = LEAST_TABLES, seed: int = 0
    ) -> "pd.DataFrame":
        """Return the coefficients of a regression: value, std_error, low, high, and kind. Needs statsmodels.

        It is fitted to drawn tables with every published count, and pooled by Rubin's rules. family: "ols", "logit" or
        "poisson". An attribute whose labels are numbers enters as a number; a logistic regression is of the last of the
        two values of its outcome. Raises InputError if a pair of attributes that it needs is assumed.
        """
        return drawn_tables.fit(self.model, formula, family, float(level), int(tables), int(seed))

    @_takes('release.estimate(lambda rows: rows["age_number"].std())')
    def estimate(
        self, function: Statistic, *, level: float = 0.95, tables: int = USUAL_TABLES, seed: int = 0
    ) -> "Answer | pd.DataFrame":
        """Return any function of a table: a number as an Answer, with `interval()`, a Series or a frame as a frame.

        function: of a frame with a row for each person, a column for each published attribute, and `age_number` beside
        labels that are numbers. It is asked of drawn tables with every published count, in which what no table shows is as
        strong as what one shows. level: the share of cases in which the truth is meant to lie from `low` to `high`.

        >>> from marginals.example import release
        >>> both = lambda rows: ((rows.age == "20-29") & (rows.sex == "Female")).sum()
        >>> release.estimate(both).interval()
        Interval(low=6.0, high=15.0)
        >>> by_sex = release.estimate(lambda rows: rows.groupby("sex", observed=True).size())
        >>> by_sex[["value", "low", "high"]]  # doctest: +NORMALIZE_WHITESPACE
                value   low  high
        sex
        Female   23.0  23.0  23.0
        Male     25.0  25.0  25.0
        """
        return drawn_tables.estimate(self.model, function, float(level), int(tables), int(seed))

    @_takes("release.rows(1000, seed=1)")
    def rows(
        self,
        n: int | None = None,
        *,
        seed: int = 0,
        exact: bool = False,
        base_values: bool = False,
        seconds: Seconds = 100.0,
    ) -> "pd.DataFrame":
        """Return synthetic rows, for programs that need rows: as many as were counted unless `n` says otherwise.

        They are independent draws of the maximum-entropy distribution. exact: rows in which every published count is exact;
        many then look like real rows, which is coincidence. Pairs of columns that no table shows rest on nothing.
        base_values: all attributes at base values, drawn evenly among those under the published value. Beside labels that
        are numbers stands a number, `age_number`. Raises TimeOverError if no exact rows are found in time.

        >>> from marginals.example import release
        >>> release.rows(2)[["age", "sex", "diagnosis"]]
             age     sex diagnosis
        0  40-49  Female    Asthma
        1  30-39  Female       Flu
        >>> int((release.rows(exact=True).sex == "Female").sum())
        23
        """
        published = self.published
        if exact and n not in (None, self.model.total):
            raise InputError(f"exact rows are as many as were counted, {self.model.total:,}; leave out n")
        rng = np.random.default_rng(seed)
        if exact:
            frame = estimates.exact_rows(
                self.model, published.everything, int(seed), within(seconds), base_values=base_values
            )
        else:
            frame = estimates.drawn(self.model, self.model.total if n is None else int(n), rng, base_values=base_values)
        levels = dict.fromkeys(self.domain.attributes, 0) if base_values else self.model.finest_levels
        return _warned(drawn_tables.with_numbers(self.domain, levels, frame, rng))

    @property
    def tables(self) -> "dict[str, pd.DataFrame]":
        """The published tables as frames, by the names of their files: a row for each cell with rows, then `count`.

        >>> from marginals.example import release
        >>> release.tables["diagnosis.0-sex.0"].head(2).values.tolist()
        [['Female', 'Asthma', 9], ['Female', 'Flu', 12]]
        """
        from marginals.interchange import published_frames  # slow to import, and few need it

        return published_frames(self.published)

    @property
    def model(self) -> MarginalModel:
        """The maximum-entropy distribution as arrays, its graphs, and what it takes as independent.

        >>> from marginals.example import release
        >>> release.model.finest_levels
        {'age': 1, 'sex': 0, 'diagnosis': 0}
        """
        return self.published.model

    @_takes('release.plot("diagnosis", by="sex")')
    def plot(self, attribute: str, *, by: Attributes = (), where: Where = ()) -> Any:
        """Return matplotlib's axes: bars of an attribute's counts, or of its shares in each group, with certain bounds."""
        from marginals.plots import plot

        return plot(self.model, known_attribute(self.domain, attribute), by, where)

    @_takes('release.to("polars")')
    def to(self, form: str, path: str | Path | None = None) -> Any:
        """Return the release as another program takes it.

        form: "pandas" or "polars" for the tables by name, or "duckdb" for a connection, with `path` to a new database.
        "pgmpy" is for the Markov network of the model, "uai" for its file `path`, which returns the variables with labels.

        >>> from marginals.example import release
        >>> list(release.to("pandas"))
        ['age.1-diagnosis.0', 'diagnosis.0-sex.0']
        """
        from marginals.interchange import converted  # slow to import, and few need it

        return converted(self.published, form, path)

    @_takes('release.verify(["k-link=20"])')
    def verify(
        self, claims: Sequence[str | Claim] | None = None, *, rules: Sequence[str | NamedRule] = ()
    ) -> Verification:
        """Check the claims of the release, or others, as text or as objects, on its marginals alone.

        rules: names of rules to check, too. Raises InputError or CriterionError for no claim, or no rule.

        >>> from marginals.example import release
        >>> release.verify().ok
        True
        >>> print(release.verify())
        k-link (k 4): holds
        maxent-diversity (diversity distinct:2, sensitive diagnosis): holds
        >>> release.verify(["k-link=20"]).ok
        False
        >>> [rule.verdict.value for rule in release.verify(rules=["cms-11"]).rules]
        ['fails']
        """
        if claims is None and not rules:
            return self.published.verify()
        from marginals.release.verification import demanded  # slow to import, and few need it

        return demanded(self.published, claims or (), rules_of(rules))

    @_takes("release.attack(truth=table, seconds=20)")
    def attack(self, *, truth: "Table | None" = None, seconds: Seconds = None) -> "Attacks":
        """Measure what readers of the release can conclude, as `marginals.attack` does of a folder.

        >>> from marginals.example import release, table
        >>> release.attack(truth=table).certain["diagnosis"].determined
        18
        """
        from marginals.attacks import attack_on  # slow to import, and few need it

        return attack_on(self.published, truth, within(seconds))

    def cite(self) -> str:
        """Return how to cite the release: publisher, date, title, what it is, and the fingerprint of its files.

        >>> from marginals.example import release
        >>> release.cite()
        'Anonymized marginals. 2 tables of counts of 48 rows.'
        """
        imprint, identity = self.published.imprint, self._written and self._written.identity
        who = f"{imprint.publisher}{imprint.date and f' ({imprint.date})'}. " if imprint.publisher else ""
        what = f"{len(self.published.everything.margins)} tables of counts of {self.model.total:,} rows"
        more = [identity or "", imprint.licence]
        return f"{who}{self.published.title}. {'. '.join(filter(None, [what, *more]))}."

    @_takes('release.write("release", sign="minisign.key")')
    def write(self, path: str | Path, *, sign: str | Path | None = None) -> "Release":
        """Write the release as a bundle: all of it or nothing. Returns the release with its folder.

        sign: file of a secret key (minisign's format), which signs the bundle.
        Raises InputError for another file. A release for a ledger is written by its `Publication`.

        >>> from marginals.example import release
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     written = release.write(f"{folder}/release")
        ...     sorted(file.name for file in written.path.iterdir())
        ['datapackage.json', 'datapackage.json.sha256', 'hierarchies', 'marginals', 'report.html']
        """
        return write_release(self, path, sign)

    @_takes('release.report("report.html")')
    def report(self, path: str | Path) -> None:
        """Write the report, one HTML page, to a file. Raises InputError where it cannot be written, or lies in a bundle.

        >>> from marginals.example import release
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     release.report(f"{folder}/report.html")
        ...     Path(folder, "report.html").read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        from marginals.output import OutputFile  # slow to import, and few need it

        OutputFile(path_of(path)).write(_report(self.published))

    @property
    def path(self) -> Path | None:
        """The folder that the release was read from or written to; None for one that is in no folder yet.

        >>> from marginals.example import release
        >>> print(release.path)
        None
        """
        return None if self._written is None else self._written.folder

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies.

        >>> from marginals.example import release
        >>> release.domain.attributes
        ('age', 'sex', 'diagnosis')
        """
        return self.published.domain

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims about the privacy of the release.

        >>> from marginals.example import release
        >>> [str(claim) for claim in release.claims]
        ['KLink(k=4)', "MaxentDiversity(diversity=Distinct(l=2), sensitive='diagnosis', level=0)"]
        """
        return self.published.claims


def _warned(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the same frame; of one that rests on an assumption, the line is warned that asked the release."""
    if assumed := frame.attrs.get("assumed"):
        warn(f"{assumption(assumed)}: that is no finding about the data", AssumptionWarning, stacklevel=4)
    return frame


def write_release(
    release: Release, path: str | Path, sign: str | Path | SecretKey | None = None, entering: "Entering | None" = None
) -> Release:
    """Write a release as a bundle, as `Release.write` does. entering: notes in a ledger that it is out."""
    from marginals.bundle.writing import write_bundle  # slow to import, and who reads a release needs none of it

    key = sign if sign is None or isinstance(sign, SecretKey) else secret_key(path_of(sign))
    page = _report(release.published)
    return replace(release, _written=write_bundle(release.published, path_of(path), page, key, entering))


def _report(published: BundleContent) -> bytes:
    from marginals.pages.release_page import report_html

    return report_html(published)


def open_release(path: str | Path, seconds: Seconds = None) -> Release:
    """The release in a bundle. Raises InputError where there is none, BundleError where it cannot be trusted.

    seconds: time budget for all work on the release, from now on. When it ends, checks are undecided, bounds are the best so
    far, and anything else raises TimeOverError.

    >>> from tempfile import TemporaryDirectory
    >>> import marginals.example
    >>> with TemporaryDirectory() as folder:
    ...     _ = marginals.example.release.write(f"{folder}/release")
    ...     open_release(f"{folder}/release").count().lower
    48
    """
    folder = path_of(path)
    deadline = within(seconds)
    snapshot = Snapshot.of(folder)
    return Release(content_of(snapshot, deadline), WrittenBundle(folder, snapshot.descriptor.identity))
