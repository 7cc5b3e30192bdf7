"""Whatever happens between any two calls of the system while a release is entered: the ledger knows what is out.

The calls about files are those that Python audits. Before each of them, one after another, the process dies, or the call
fails, once or from then on. MARGINALS_TRIALS of at least 150 tries every call, otherwise every tenth.
"""

import os
import shutil
import signal
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals import InputError
from marginals.ledger import Ledger
from marginals.publishing.publishing import Publication
from small_release import contents

EVERY = 1 if int(os.environ.get("MARGINALS_TRIALS", "15")) >= 150 else 10
CALLS = {
    "open",
    "os.chmod",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.scandir",
    "shutil.rmtree",
    "fcntl.flock",
}
ATTRIBUTES = {
    "age": marginals.Attribute("quasi-identifier", intervals=[10, 20]),
    "sex": "quasi-identifier",
    "ill": "sensitive",
}
POLICY = marginals.Policy(k_link=5, k_combinatorial=5, diversity="distinct:2", base="none", max_waiting=1)


def table(number: int, where: str | None = None) -> marginals.Table:
    """The first so many of a thousand people, or a part of them."""
    rng = np.random.default_rng(1)
    columns = {"age": rng.integers(20, 60, 1000), "sex": rng.choice(["f", "m"], 1000)}
    frame = pd.DataFrame({**columns, "ill": rng.choice(["flu", "gout", "none"], 1000)})
    part = None if where is None else marginals.Part(where)
    return marginals.read_table(frame.iloc[:number], ATTRIBUTES, where=part)


def written(made: Publication, out: Path, moment: int, fault: str) -> int:
    """Write a publication in a process of its own, with a fault before its call number `moment`; its exit status.

    0: done. 3: refused in a sentence. 9: killed. 4: there were fewer calls.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    calls = 0

    def hook(event: str, _: object) -> None:
        nonlocal calls
        if event in CALLS:
            calls += 1
            if calls == moment and fault == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if calls == moment or (calls > moment and fault == "full from then on"):
                raise OSError(28, "No space left on device")

    status = 5
    try:
        sys.addaudithook(hook)
        made.write(out)
        status = 4 if calls < moment else 0
    except InputError:
        status = 3
    finally:
        os._exit(status)


@pytest.mark.parametrize("where", [None, "sex == 'f'"])
@pytest.mark.parametrize("fault", ["killed", "full once", "full from then on"])
def test_before_any_call_of_the_system_a_fault_leaves_a_ledger_that_knows_what_is_out(
    fault: str, where: str | None, tmp_path: Path
) -> None:
    """Also where it is of a part: then everybody is in the entry, and the part in the bundle."""
    place, begun = tmp_path / "place", tmp_path / "begun"
    marginals.publish(table(400, where), POLICY, ledger=place / "ledger").write(place / "release")
    made = marginals.publish(table(1000, where), POLICY, ledger=place / "ledger")
    shutil.copytree(place, begun)
    old = contents(begun / "release")
    found: Counter[str] = Counter()
    for moment in range(EVERY, 1000, EVERY):
        shutil.rmtree(place)
        shutil.copytree(begun, place)
        status = written(made, place / "release", moment, fault)
        ledger = Ledger.read(place / "ledger")
        entered = [contents(place / "ledger" / f"{entry.number:04d}" / "release") for entry in ledger.entries]
        now = contents(place / "release") if (place / "release").exists() else None
        assert status in ((4, -signal.SIGKILL) if fault == "killed" else (0, 3, 4)), (moment, status)
        assert now is None or now in entered, f"before call {moment}: a bundle that the ledger does not know"
        assert entered[0] == old
        assert [entry.where for entry in ledger.entries] == [where or ""] * len(entered)
        assert ledger.entries[0].table.total == 400
        if status in (0, 4):
            assert len(entered) == 2, f"before call {moment}: said to be written, and not entered"
            assert now == entered[1]
        found["two entries" if len(entered) == 2 else "one entry"] += 1
        found["new bundle" if now not in (None, old) else "no new bundle"] += 1
        if status == 4:
            break
    assert found["one entry"]
    assert found["two entries"]
    assert found["new bundle"] <= found["two entries"]
    # The next release is entered as if nothing had happened.
    marginals.publish(table(1000), POLICY, ledger=place / "ledger").write(place / "release")
    assert Ledger.read(place / "ledger").entries[-1].is_out
    print(f"\n{fault}: {moment // EVERY} moments, {dict(found)}")
