"""A signed bundle is signed whole or not at all, and no other signature passes for the publisher's."""

import json
import random
import re
import stat
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import marginals
from command_line import main, run
from marginals import InputError, Release
from marginals.bundle.signature import check_signature, public_key, secret_key, signature_of
from marginals.bundle.writing import write_keys as write_new_keys
from marginals.errors import BundleError
from signing_keys import write_keys
from small_release import contents, write_config
from written_bundles import SIGNATURE, change_package

SEED = 20260103


@pytest.fixture(scope="module")
def release(small_release: Release) -> Release:
    return small_release


def problem(folder: Path, key: object) -> str:
    """What verifying says is wrong with the files: the command, which ends with 1, and Python."""
    answer = run("verify", folder, "--key", key, "--json", status=1)
    checks = json.loads(answer.stdout)["checks"]
    assert [check["criterion"] for check in checks] == ["integrity"]
    assert not marginals.verify(folder, key=str(key)).ok
    return f"{checks[0]['worst']['file']}: {checks[0]['worst']['problem']}"


def test_what_is_signed_verifies_with_the_key_and_with_no_other(release: Release, tmp_path: Path) -> None:
    ours, theirs, folder = write_keys(tmp_path, "ours"), write_keys(tmp_path, "theirs"), tmp_path / "release"
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


def test_the_same_key_and_release_give_the_same_bytes_which_tell_no_time_and_no_name(
    release: Release, tmp_path: Path
) -> None:
    ours = write_keys(tmp_path, "ours")
    release.write(tmp_path / "one", sign=ours.secret)
    release.write(tmp_path / "two", sign=ours.secret)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    lines = (tmp_path / "one" / SIGNATURE).read_text().split("\n")
    assert lines[::2] == ["untrusted comment: anonymized marginals", "trusted comment: anonymized marginals", ""]
    without = contents(tmp_path / "one")
    del without[SIGNATURE]
    assert without == contents(release.write(tmp_path / "three").path or tmp_path)


def test_every_changed_byte_of_a_signature_is_refused(release: Release, tmp_path: Path) -> None:
    ours, rng = write_keys(tmp_path, "ours"), random.Random(SEED)
    release.write(tmp_path / "release", sign=ours.secret)
    file, key = tmp_path / "release" / SIGNATURE, public_key(ours.public)
    descriptor = (tmp_path / "release" / "datapackage.json").read_bytes()
    whole = file.read_bytes()
    changes = [(place, change) for place in range(len(whole)) for change in (1, 2, 32, 128, rng.randrange(1, 256))]
    contents = [whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :] for place, change in changes]
    contents += [whole[:place] for place in range(len(whole))]
    contents += [whole + b"\n", whole + b" ", whole[:-1] + b"\r\n", whole * 2, b"\n" + whole, whole.replace(b"=", b"")]
    for content in contents:
        with pytest.raises(BundleError, match=re.escape(SIGNATURE)):
            check_signature(descriptor, content, key)
    check_signature(descriptor, whole, key)
    with pytest.raises(BundleError, match=r"it is not the signature of this datapackage\.json"):
        check_signature(descriptor + b" ", whole, key)
    for content in contents[:2]:
        file.write_bytes(content)
        assert not marginals.verify(file.parent, key=ours.public).ok


def test_a_bundle_that_was_changed_and_sealed_anew_is_refused(release: Release, tmp_path: Path) -> None:
    """What a seal cannot tell: a claim that was weakened by somebody who knows how seals are made."""
    ours, folder = write_keys(tmp_path, "ours"), tmp_path / "release"
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
    release.write(folder, sign=write_keys(tmp_path, "theirs").secret)
    assert "another key" in problem(folder, ours.text)
    release.write(folder)
    assert SIGNATURE not in contents(folder)
    (folder / SIGNATURE).write_bytes(old)
    assert marginals.verify(folder, key=ours.public).ok, "the same release again"


def test_who_gives_no_key_is_told_that_the_signature_was_not_checked(release: Release, tmp_path: Path) -> None:
    release.write(tmp_path / "release", sign=write_keys(tmp_path, "ours").secret)
    release.write(tmp_path / "unsigned")
    for folders in (["release"], ["unsigned", "release"]):
        answer = run("verify", *(tmp_path / folder for folder in folders), status=0)
        assert "signed, but the signature was not checked" in answer.stdout
        assert "--key PUBLICKEY" in answer.stdout
    assert "signed" not in run("verify", tmp_path / "unsigned").stdout


def test_a_report_that_the_signed_descriptor_does_not_name_is_refused(release: Release, tmp_path: Path) -> None:
    """Anybody may have put it there; without a signature it may be one that is being replaced."""
    ours, folder = write_keys(tmp_path, "ours"), tmp_path / "release"
    release.write(folder)
    change_package(folder, lambda package: package["release"].pop("report"))
    signature = signature_of((folder / "datapackage.json").read_bytes(), secret_key(ours.secret))
    (folder / SIGNATURE).write_bytes(signature)
    assert problem(folder, ours.public).startswith("report.html: datapackage.json does not declare it")
    assert run("verify", folder).exit_code == 1, "nor without a key"
    (folder / "report.html").unlink()
    assert marginals.verify(folder, key=ours.public).ok


def test_several_bundles_must_all_be_signed_with_the_key(release: Release, tmp_path: Path) -> None:
    ours, theirs = write_keys(tmp_path, "ours"), write_keys(tmp_path, "theirs")
    for name, sign in (("one", ours.secret), ("two", ours.secret), ("three", theirs.secret), ("four", None)):
        release.write(tmp_path / name, sign=sign)
    assert marginals.verify(tmp_path / "one", tmp_path / "two", key=ours.public).ok
    for other in ("three", "four"):
        assert not marginals.verify(tmp_path / "one", tmp_path / other, key=ours.public).ok
        assert not marginals.verify(tmp_path / other, tmp_path / "one", key=ours.public).ok


def test_keys_that_are_none_are_one_sentence(small_config: Path, release: Release, tmp_path: Path) -> None:
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
    release: Release, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    release.write(tmp_path / "release")
    make(tmp_path / "release" / SIGNATURE)
    assert not marginals.verify(tmp_path / "release").ok
    assert not marginals.verify(tmp_path / "release", key=write_keys(tmp_path, "ours").text).ok


# What minisign 0.11 wrote: keys by `minisign -G -W` and `minisign -G` ("open sesame"),
# signatures by `minisign -S`, with `-l`, and with comments of a person.

DESCRIPTOR = b'{"release": {"format": 1}}\n'
PLAIN = {
    "key": (
        "untrusted comment: minisign encrypted secret key\n"
        "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAZAzJ9oUfKgn5i8Mb3CN/OwiF58KfpcSKTuwX5M8REbyrusJv3Bjqsy7nnrNtQlGKI0Q9AnAdy67Eq0RYoqxOBNAUIYiShk3MAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
    ),
    "pub": (
        "untrusted comment: minisign public key 92A1F85F6C90C64\n"
        "RWRkDMn2hR8qCS7nnrNtQlGKI0Q9AnAdy67Eq0RYoqxOBNAUIYiShk3M\n"
    ),
    "made here": (
        "untrusted comment: anonymized marginals\n"
        "RURkDMn2hR8qCaixFlzXXSMLn4EACZYdCMO+ZXDezTJjaSpqQ6igMGnU9t+f36luY8+mNfvEVJtqIvPA4FRsAhmezYvJ9vwdMAA=\n"
        "trusted comment: anonymized marginals\n"
        "kqelCmAEcFXFPTM/d/4LNDCydWsilEMsaf6HD92gFYIdXeAT9D4UPploJVt3f34/bo3l0whYTnmNd23Ei0T6Dw==\n"
    ),
    "older format": (
        "untrusted comment: signature from minisign secret key\n"
        "RWRkDMn2hR8qCVtdIiEE4PrYatyHJuABNJYosqPnLnk/3ofWhjXntzYz3QoOwe5Xz/KsjDEa30SJfOoAcO4M+w2JZJcNNH+Chgg=\n"
        "trusted comment: timestamp:1795975361	file:datapackage.json\n"
        "3Kkoh3jmQP/kPc2fIzANxiZ+MYDOgdbb7wYRVmkWyiYn/DiJdOJXHwlDsmdvsOl6adef6ddihpfrqcoRt/VYAg==\n"
    ),
    "own comments": (
        "untrusted comment: ours\n"
        "RURkDMn2hR8qCaixFlzXXSMLn4EACZYdCMO+ZXDezTJjaSpqQ6igMGnU9t+f36luY8+mNfvEVJtqIvPA4FRsAhmezYvJ9vwdMAA=\n"
        "trusted comment: ofToday ü\n"
        "4WprBhN0p3LLLlG2JME83RmAC57SUWuqoKOWzei2sIsnk2Dh7hCcAfGtvSTOJ+UNjixtAQn2k78yWzvstJlkDw==\n"
    ),
}
ENCRYPTED = {
    "key": (
        "untrusted comment: minisign encrypted secret key\n"
        "RWRTY0IyWkeVBPD/c5FBfwRZP7rhZcTWG95NA89MhyPFVG73jKgAAAACAAAAAAAAAEAAAAAAHvyH7L5av0uEbvQllOEESYy6WDUVl9xpbfnqs0T9NRL3y97NW73r4E/mF519gfILhdqK82aawGMFAso8oasnbuNcm1CuP++qKxR2LdZfeLyrQzXnh6WcWUtc0+vGJF0GLwUoO241nrk=\n"
    ),
    "pub": (
        "untrusted comment: minisign public key 19F40AFCABDA694B\n"
        "RWRLadqr/Ar0GYl8/q3eQlvUWsZgBN7+cSmH+1kyKItlc7/bvikGhJuk\n"
    ),
}


def test_what_minisign_wrote_is_read_and_written_alike(tmp_path: Path) -> None:
    secret, public = tmp_path / "a.key", tmp_path / "a.pub"
    secret.write_text(PLAIN["key"])
    public.write_text(PLAIN["pub"])
    key = secret_key(secret)
    assert key.public == public_key(public)
    assert tuple(text.encode() for text in (PLAIN["key"], PLAIN["pub"])) == key.files
    assert signature_of(DESCRIPTOR, key) == PLAIN["made here"].encode()
    for name in ("made here", "older format", "own comments"):
        check_signature(DESCRIPTOR, PLAIN[name].encode(), key.public)
        with pytest.raises(BundleError):
            check_signature(DESCRIPTOR + b" ", PLAIN[name].encode(), key.public)
        with pytest.raises(BundleError):
            check_signature(DESCRIPTOR, PLAIN[name].encode(), public_key(ENCRYPTED["pub"].split("\n")[1]))
    secret.write_text(ENCRYPTED["key"])
    with pytest.raises(InputError, match="has a password; take it off by minisign -C -W"):
        secret_key(secret)


def test_a_key_that_is_made_is_for_its_owner_alone_and_never_replaced(release: Release, tmp_path: Path) -> None:
    secret = tmp_path / "minisign.key"
    key = write_new_keys(secret)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert key.seed not in (tmp_path / "minisign.pub").read_bytes()
    assert repr(key.seed) not in repr(key)
    assert secret_key(secret) == key
    assert public_key(tmp_path / "minisign.pub") == key.public
    before = contents(tmp_path)
    with pytest.raises(InputError, match="no key is replaced"):
        write_new_keys(secret)
    secret.unlink()
    with pytest.raises(InputError, match="no key is replaced"):
        write_new_keys(secret)
    secret.write_bytes(before["minisign.key"])
    assert contents(tmp_path) == before
    release.write(tmp_path / "release")
    for place in (tmp_path / "release" / "a.key", tmp_path / "a.pub"):
        with pytest.raises(InputError):
            write_new_keys(place)
    assert key.public != write_new_keys(tmp_path / "other.key").public


def test_a_key_is_made_and_signs_in_one_command(small_config: Path, tmp_path: Path) -> None:
    out, key = tmp_path / "release", tmp_path / "ours.key"
    assert "--new-key goes with --sign" in run("publish", small_config, "--out", out, "--new-key", status=2).stderr
    made = run("publish", small_config, "--out", out, "--sign", key, "--new-key", status=0)
    text = (tmp_path / "ours.pub").read_text().split("\n")[1]
    assert f"marginals verify {out} --key {text}" in made.stdout
    assert run("verify", out, "--key", text, status=0)
    again = run("publish", small_config, "--out", out, "--sign", key, "--new-key", status=2)
    assert "no key is replaced" in again.stderr
    assert run("publish", small_config, "--out", out, "--sign", key, status=0)


def test_a_key_may_have_any_sign_of_its_alphabet() -> None:
    """Keys that end with a slash, or have two in a row, were taken for paths, about one in thirty."""
    for text in ("RWQ" + "A" * 52 + "/", "RWQ" + "A" * 20 + "//" + "A" * 31, "RWQ" + "/" * 53):
        assert public_key(text).text == text


def test_a_damaged_secret_key_is_refused(tmp_path: Path) -> None:
    """A bit of its seed or of its public half is another: nobody could verify what it signs."""
    key = write_keys(tmp_path, "ours").secret
    head, text = key.read_text().splitlines()
    content = b64decode(text)
    for place in range(62, 126):
        changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        key.write_text(f"{head}\n{b64encode(changed).decode()}\n")
        with pytest.raises(InputError, match="was damaged"):
            secret_key(key)


def test_a_pair_of_keys_takes_no_place_that_is_read_or_written(tmp_path: Path) -> None:
    """What would be refused after the search is refused before it, and leaves no key."""
    config = write_config(tmp_path)
    cases = (
        ("--out", tmp_path / "a", "--sign", tmp_path / "k.key", "--steward", tmp_path / "k.pub"),
        ("--out", tmp_path / "k.pub", "--sign", tmp_path / "k.key"),
        ("--out", tmp_path / "c", "--sign", tmp_path / "c" / "k.key"),
    )
    (tmp_path / "c").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for case in cases:
        ended = CliRunner().invoke(main, [*map(str, ("publish", config, *case)), "--new-key"])
        assert ended.exit_code == 2, case
        assert sorted(tmp_path.rglob("*")) == before, case
    (tmp_path / "data").mkdir()
    (tmp_path / "people.csv").rename(tmp_path / "data" / "people.csv")
    config.write_text(config.read_text().replace('"people.csv"', '"data"'))
    arguments = [
        "publish",
        str(config),
        "--out",
        str(tmp_path / "a"),
        "--sign",
        str(tmp_path / "data" / "k.csv"),
        "--new-key",
    ]
    assert CliRunner().invoke(main, arguments).exit_code == 2
    assert [file.name for file in (tmp_path / "data").iterdir()] == ["people.csv"]


def test_of_two_who_make_a_key_at_once_one_does(tmp_path: Path) -> None:
    for number in range(20):
        path, made = tmp_path / f"{number}.key", []

        def make(path: Path = path, made: list[str] = made) -> None:
            try:
                made.append(write_new_keys(path).public.text)
            except marginals.InputError:
                made.append("")

        threads = [threading.Thread(target=make) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(map(bool, made)) == 1
        assert secret_key(path).public.text == public_key(path.with_suffix(".pub")).text == max(made)
