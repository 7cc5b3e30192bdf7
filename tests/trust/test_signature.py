"""A signed bundle is signed whole or not at all, and no other signature passes for the publisher's.

What needs the program minisign itself runs where it is installed; the rest, with a stub of it, everywhere.
"""

import json
import os
import pty
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
from ast import literal_eval
from collections.abc import Callable
from pathlib import Path

import pytest

import forked
import marginals
from command_line import run
from marginals import InputError, Release
from marginals.bundle.signature import check_signature, public_key, secret_key, signature_of
from marginals.errors import BundleError
from minisign_programs import Keys, make_keys, write_keys, write_stub
from small_release import contents, marginals_command
from written_bundles import SIGNATURE, change_package

SEED = 20260103
MISSING = "minisign 0.10 or newer is not installed: apt install minisign"
KeysOf = Callable[[str], Keys]


@pytest.fixture(scope="module")
def release(small_release: Release) -> Release:
    return small_release


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(write_stub(tmp_path / "bin")))
    return tmp_path / "bin" / "calls"


@pytest.fixture(params=["stub", "minisign"])
def keys(request: pytest.FixtureRequest, tmp_path: Path) -> KeysOf:
    """How to make keys by name, for the stub and for the program."""
    (tmp_path / "keys").mkdir()
    if request.param == "stub":
        request.getfixturevalue("stub")
        return lambda name: write_keys(tmp_path / "keys", name)
    if make_keys(tmp_path / "keys", "first") is None:
        pytest.skip(MISSING)

    def made(name: str) -> Keys:
        found = make_keys(tmp_path / "keys", name)
        assert found is not None
        return found

    return made


def problem(folder: Path, key: object) -> str:
    """What verifying says is wrong with the files: the command, which ends with 1, and Python."""
    answer = run("verify", folder, "--key", key, "--json", status=1)
    checks = json.loads(answer.stdout)["checks"]
    assert [check["criterion"] for check in checks] == ["integrity"]
    assert not marginals.verify(folder, key=str(key)).ok
    return f"{checks[0]['worst']['file']}: {checks[0]['worst']['problem']}"


def test_what_is_signed_verifies_with_the_key_and_with_no_other(release: Release, keys: KeysOf, tmp_path: Path) -> None:
    ours, theirs, folder = keys("ours"), keys("theirs"), tmp_path / "release"
    release.write(folder, sign=ours.secret)
    for key in (ours.public, ours.text):
        found = marginals.verify(folder, key=key)
        assert found.ok
        assert found.checks[0].parameters == {"key": ours.text}
        assert not found.checks[0].note
    assert "another key" in problem(folder, theirs.public)
    signature = (folder / SIGNATURE).read_bytes()
    (folder / SIGNATURE).unlink()
    assert "it is missing" in problem(folder, ours.public)
    (folder / SIGNATURE).write_bytes(signature)
    assert run("verify", folder, "--key", ours.public).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "bin") == ["keys", "release"]


def test_the_same_key_and_release_give_the_same_bytes_which_tell_no_time_and_no_name(
    release: Release, keys: KeysOf, tmp_path: Path
) -> None:
    ours = keys("ours")
    release.write(tmp_path / "one", sign=ours.secret)
    release.write(tmp_path / "two", sign=ours.secret)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    lines = (tmp_path / "one" / SIGNATURE).read_text().split("\n")
    assert lines[::2] == ["untrusted comment: anonymized marginals", "trusted comment: anonymized marginals", ""]
    without = contents(tmp_path / "one")
    del without[SIGNATURE]
    assert without == contents(release.write(tmp_path / "three").path or tmp_path)


def test_every_changed_byte_of_a_signature_is_refused(release: Release, keys: KeysOf, tmp_path: Path) -> None:
    ours, rng = keys("ours"), random.Random(SEED)
    release.write(tmp_path / "release", sign=ours.secret)
    file, key = tmp_path / "release" / SIGNATURE, public_key(ours.public)
    descriptor = (tmp_path / "release" / "datapackage.json").read_bytes()
    whole = file.read_bytes()
    changes = [(place, change) for place in range(len(whole)) for change in (1, 2, 32, 128, rng.randrange(1, 256))]
    contents = [whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :] for place, change in changes]
    contents += [whole[:place] for place in range(len(whole))]
    contents += [whole + b"\n", whole + b" ", whole[:-1] + b"\r\n", whole * 2, b"\n" + whole, whole.replace(b"=", b"")]
    slow = (tmp_path / "bin").exists()  # the stub, which Python runs
    for content in contents[:: 29 if slow else 1]:
        with pytest.raises(BundleError, match=re.escape(SIGNATURE)):
            check_signature(descriptor, content, key)
    check_signature(descriptor, whole, key)
    with pytest.raises(BundleError, match=r"it is not the signature of this datapackage\.json"):
        check_signature(descriptor + b" ", whole, key)
    for content in contents[:2]:
        file.write_bytes(content)
        assert not marginals.verify(file.parent, key=ours.public).ok


def test_a_bundle_that_was_changed_and_sealed_anew_is_refused(release: Release, keys: KeysOf, tmp_path: Path) -> None:
    """What a seal cannot tell: a claim that was weakened by somebody who knows how seals are made."""
    ours, folder = keys("ours"), tmp_path / "release"
    release.write(folder, sign=ours.secret)
    old = (folder / SIGNATURE).read_bytes()
    descriptor = folder / "datapackage.json"
    descriptor.write_text(descriptor.read_text().replace('"k": 5', '"k": 2'))
    (folder / "datapackage.json.sha256").unlink()
    weakened = marginals.verify(folder).checks
    assert [check.criterion for check in weakened if not check.holds] == ["report"], "its page promises 5"
    assert problem(
        folder, ours.text
    ) == f"{'datapackage.json.minisig'}: it is not the signature of this datapackage.json; " + (
        "one of them was changed"
    )
    release.write(folder, sign=keys("theirs").secret)
    assert "another key" in problem(folder, ours.text)
    release.write(folder)
    assert SIGNATURE not in contents(folder)
    (folder / SIGNATURE).write_bytes(old)
    assert marginals.verify(folder, key=ours.public).ok, "the same release again"


def test_who_gives_no_key_is_told_that_the_signature_was_not_checked(
    release: Release, keys: KeysOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verifying without a key needs no minisign."""
    release.write(tmp_path / "release", sign=keys("ours").secret)
    release.write(tmp_path / "unsigned")
    monkeypatch.setenv("PATH", str(tmp_path))
    for folders in (["release"], ["unsigned", "release"]):
        answer = run("verify", *(tmp_path / folder for folder in folders), status=0)
        assert "signed, but the signature was not checked" in answer.stdout
        assert "--key PUBLICKEY" in answer.stdout
    assert "signed" not in run("verify", tmp_path / "unsigned").stdout


def test_a_report_that_the_signed_descriptor_does_not_name_is_refused(
    release: Release, stub: Path, tmp_path: Path
) -> None:
    """Anybody may have put it there; without a signature it may be one that is being replaced."""
    ours, folder = write_keys(tmp_path, "ours"), tmp_path / "release"
    release.write(folder)
    change_package(folder, lambda package: package["release"].pop("report"))
    signature = signature_of((folder / "datapackage.json").read_bytes(), secret_key(ours.secret), folder)
    assert stub.exists()
    (folder / SIGNATURE).write_bytes(signature)
    assert problem(folder, ours.public).startswith("report.html: datapackage.json does not declare it")
    assert run("verify", folder).exit_code == 1, "nor without a key"
    (folder / "report.html").unlink()
    assert marginals.verify(folder, key=ours.public).ok


def test_several_bundles_must_all_be_signed_with_the_key(release: Release, keys: KeysOf, tmp_path: Path) -> None:
    ours, theirs = keys("ours"), keys("theirs")
    for name, sign in (("one", ours.secret), ("two", ours.secret), ("three", theirs.secret), ("four", None)):
        release.write(tmp_path / name, sign=sign)
    assert marginals.verify(tmp_path / "one", tmp_path / "two", key=ours.public).ok
    for other in ("three", "four"):
        assert not marginals.verify(tmp_path / "one", tmp_path / other, key=ours.public).ok
        assert not marginals.verify(tmp_path / other, tmp_path / "one", key=ours.public).ok


def test_minisign_is_called_with_these_arguments_only(release: Release, stub: Path, tmp_path: Path) -> None:
    ours = write_keys(tmp_path, "ours")
    release.write(tmp_path / "release", sign=ours.secret)
    marginals.verify(tmp_path / "release", key=ours.text)
    signing, checking = map(literal_eval, stub.read_text().splitlines())
    beside, apart, comment = Path(signing[-1]).parent, Path(checking[-1]).parent, "anonymized marginals"
    assert beside.parent == tmp_path
    files = ["-x", str(beside / SIGNATURE), "-m", str(beside / "datapackage.json")]
    assert signing == ["-S", "-s", str(ours.secret), "-c", comment, "-t", comment, *files]
    assert not apart.is_relative_to(tmp_path / "release"), "it checks what was read, not what lies there by now"
    files = ["-x", str(apart / SIGNATURE), "-m", str(apart / "datapackage.json")]
    assert checking == ["-V", "-q", "-P", ours.text, *files]
    assert not beside.exists()
    assert not apart.exists()


@pytest.mark.parametrize(("mode", "told"), [("1", "exit status 1"), ("2", "status 2"), ("rubbish", "not a signature")])
def test_signing_that_fails_leaves_the_old_bundle_and_nothing_beside(
    small_config: Path, stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, told: str
) -> None:
    ours, folder = write_keys(tmp_path, "ours"), tmp_path / "place" / "release"
    for _ in "no bundle", "the old bundle":
        before = contents(tmp_path / "place") if folder.exists() else {}
        monkeypatch.setenv("STUB", mode)
        refused = run("publish", small_config, "--out", folder, "--sign", ours.secret, status=2)
        assert told in refused.stderr
        assert contents(tmp_path / "place") == before
        monkeypatch.delenv("STUB")
        signed = run("publish", small_config, "--out", folder, "--sign", ours.secret, status=0)
        assert f"marginals verify {folder} --key" in signed.stdout
        assert {path.name for path in folder.parent.iterdir()} == {"release", "release-steward.html"}
    assert stub.exists()


@pytest.mark.parametrize("status", [1, 2, 3, 127])
def test_a_check_that_cannot_be_made_is_no_verdict(
    release: Release, stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """1 and 2 are minisign's words for a signature that is wrong or unreadable."""
    assert stub
    ours = write_keys(tmp_path, "ours")
    release.write(tmp_path / "release", sign=ours.secret)
    monkeypatch.setenv("STUB", str(status))
    answer = run("verify", tmp_path / "release", "--key", ours.public)
    assert answer.exit_code == (1 if status < 3 else 2)


def test_a_program_that_does_not_end_is_ended(
    release: Release, stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("marginals.bundle.signature._SECONDS", 0.5)
    # A shell is there at once, however busy the machine is.
    (stub.parent / "minisign").write_text(f"#!/bin/sh\necho called > {stub}\nexec /bin/sleep 60\n")
    with pytest.raises(InputError, match="did not end within"):
        release.write(tmp_path / "release", sign=write_keys(tmp_path, "ours").secret)
    assert stub.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "ours.key", "ours.pub"]


def test_a_run_that_is_killed_while_it_signs_leaves_the_old_bundle(
    small_config: Path, stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next writing removes what was left beside: what is being signed, and the older page of the steward."""
    ours, place = write_keys(tmp_path, "ours"), tmp_path / "place"
    assert run("publish", small_config, "--out", place / "release", "--sign", ours.secret).exit_code == 0
    before = contents(place)
    stub.unlink()
    monkeypatch.setenv("STUB", "hang")
    for number in (signal.SIGKILL, signal.SIGINT):
        process = forked.Forked(
            forked.COMMAND, "publish", small_config, "--out", place / "release", "--sign", ours.secret
        )
        latest = time.monotonic() + 60
        while not stub.exists() and time.monotonic() < latest:
            time.sleep(0.01)
        process.send_signal(number)
        process.wait()
        stub.unlink()
        left = [path for path in place.iterdir() if not path.name.startswith("release")]
        assert before.items() <= contents(place).items()
        beside = {path.name.partition(".writing-")[0] for path in left}
        assert beside == ({".release", ".release-steward.html"} if number == signal.SIGKILL else set())
        assert len(left) == len(beside)
        assert not any(path.stat().st_mode & 0o077 for path in left), "its owner alone may read it"
    assert process.status == 130
    monkeypatch.delenv("STUB")
    assert run("publish", small_config, "--out", place / "release", "--sign", ours.secret).exit_code == 0
    assert contents(place) == before


def test_without_the_program_one_sentence_says_how_to_get_it(
    small_config: Path, release: Release, stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = write_keys(tmp_path, "ours")
    release.write(tmp_path / "release", sign=ours.secret)
    monkeypatch.setenv("PATH", str(tmp_path))
    for arguments in (
        ("publish", small_config, "--out", tmp_path / "new", "--sign", ours.secret),
        ("verify", tmp_path / "release", "--key", ours.public),
    ):
        refused = run(*arguments, status=2)
        assert "apt install minisign" in refused.stderr
        assert len(refused.stderr.splitlines()) == 1, "and before the table is read"
    assert not (tmp_path / "new").exists()
    assert stub.exists()


def test_keys_that_are_none_are_one_sentence(small_config: Path, release: Release, stub: Path, tmp_path: Path) -> None:
    assert not stub.exists()
    ours = write_keys(tmp_path, "ours")
    release.write(tmp_path / "release", sign=ours.secret)
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 100)
    for key in ("none", "empty", "binary", "ours.pub", "."):
        run("publish", small_config, "--out", tmp_path / "new", "--sign", tmp_path / key, status=2)
        with pytest.raises(InputError):
            secret_key(tmp_path / key)
    for given in ("none", "empty", "binary", "ours.key", "."):
        assert run("verify", tmp_path / "release", "--key", tmp_path / given).exit_code == 2
    for text in ("", "RW", ours.text[:-1], "RW" + "A" * 53 + "=", "--json", "\x1b[2J"):
        with pytest.raises(InputError) as error:
            public_key(text)
        assert "\x1b" not in str(error.value)
    (tmp_path / "release" / "ours.key").write_bytes(ours.secret.read_bytes())
    with pytest.raises(InputError, match="keep it elsewhere"):
        release.write(tmp_path / "release", sign=tmp_path / "release" / "ours.key")
    assert (tmp_path / "release" / "ours.key").exists()
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("make", [lambda p: p.mkdir(), lambda p: p.symlink_to(p), lambda p: p.write_bytes(b"")])
def test_a_signature_that_is_none_is_refused_with_and_without_key(
    release: Release, stub: Path, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    release.write(tmp_path / "release")
    make(tmp_path / "release" / SIGNATURE)
    assert not marginals.verify(tmp_path / "release").ok
    assert not marginals.verify(tmp_path / "release", key=write_keys(tmp_path, "ours").text).ok
    assert not stub.exists()


def test_a_key_with_a_password_needs_a_terminal(small_config: Path, stub: Path, tmp_path: Path) -> None:
    """It is said before the table is read, and nobody waits for an answer that cannot come."""
    ours = write_keys(tmp_path, "ours", password=True)
    for said in ("", "open sesame\n"):
        refused = marginals_command(
            "publish", small_config, "--out", tmp_path / "release", "--sign", ours.secret, said=said, status=2
        )
        assert "has a password, and there is no terminal to ask for it" in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
    assert not stub.exists()
    assert not (tmp_path / "release").exists()


def on_screen(terminal: int) -> bytes:
    """What was written to a terminal since it was last looked at."""
    return os.read(terminal, 4096) if select.select([terminal], [], [], 0.1)[0] else b""


def at_terminal(password: str, *arguments: object) -> tuple[int, str, str]:
    """Exit status, standard output and what stood on the terminal of a command to which somebody types a password."""
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    with tempfile.TemporaryFile("w+") as output:
        process = forked.Forked(forked.COMMAND, *arguments, streams=(theirs, output, theirs))
        shown, latest = b"", time.monotonic() + 60
        while b"Password:" not in shown and time.monotonic() < latest:
            shown += on_screen(ours)
        os.write(ours, password.encode() + b"\n")
        status = process.wait()
        shown += on_screen(ours)
        output.seek(0)
        said = output.read()
    assert termios.tcgetattr(theirs) == before, "what is typed is shown again"
    os.close(ours)
    os.close(theirs)
    return status, said, shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="no such terminals")
@pytest.mark.parametrize("program", ["stub", "minisign"])
def test_a_password_is_asked_for_at_the_terminal(
    small_config: Path, tmp_path: Path, program: str, request: pytest.FixtureRequest
) -> None:
    if program == "stub":
        request.getfixturevalue("stub")
        ours: Keys | None = write_keys(tmp_path, "ours", password=True)
    else:
        ours = make_keys(tmp_path, "ours", "open sesame")
        if ours is None:
            pytest.skip(MISSING)
    publish = ("publish", small_config, "--out", tmp_path / "release", "--sign", ours.secret, "--json")
    status, said, shown = at_terminal("a wrong one", *publish)
    assert status == 2
    assert "the password was wrong" in shown
    assert not (tmp_path / "release").exists()
    assert "error" in json.loads(said)
    status, said, shown = at_terminal("open sesame", *publish)
    assert status == 0, shown
    assert "open sesame" not in shown
    assert json.loads(said)["out"] == str(tmp_path / "release")
    assert marginals.verify(tmp_path / "release", key=ours.public).ok


def test_what_was_signed_by_hand_verifies_and_what_is_signed_here_can_be_checked_by_hand(
    release: Release, tmp_path: Path
) -> None:
    """Whatever its comments, and in the older format too."""
    program, ours = shutil.which("minisign"), make_keys(tmp_path, "ours")
    if program is None or ours is None:
        pytest.skip(MISSING)
    folder = tmp_path / "release"
    release.write(folder, sign=ours.secret)
    by_hand = [program, "-Vm", "datapackage.json", "-p", str(ours.public)]
    assert subprocess.run(by_hand, cwd=folder, capture_output=True, check=False).returncode == 0
    for options in ([], ["-l"], ["-c", "ours", "-t", "of today"]):
        command = [program, "-S", *options, "-s", str(ours.secret), "-m", "datapackage.json"]
        subprocess.run(command, cwd=folder, capture_output=True, check=True, stdin=subprocess.DEVNULL)
        assert marginals.verify(folder, key=ours.public).ok
