"""Signature of a bundle: minisign's, over the descriptor, which holds the digests of all other files.

The seal detects damage. The signature proves who made the bundle, to readers with that person's public key. The
program minisign (jedisct1.github.io/minisign) makes and checks it, as anybody can by hand; no key is ever kept here.
Its two comments are always the same words, so the same bundle and key give the same signature, and it tells no name or
time.
"""

import binascii
import hashlib
import os
import re
import shutil
import sys
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from marginals.arguments import path_of
from marginals.bundle.content import DESCRIPTOR, MAX_SIGNATURE_BYTES
from marginals.errors import BundleError, InputError, system_reason
from marginals.files import made_folder, only_writer, open_regular, prefix, remove_leftovers, resolved
from marginals.messages import printable

SIGNATURE = "datapackage.json.minisig"

_COMMENT = "anonymized marginals"
_UNTRUSTED, _TRUSTED = "untrusted comment: ", "trusted comment: "
_SECONDS = 60.0
"""Time limit of the program, where no person at a terminal keeps it waiting."""


@dataclass(frozen=True)
class PublicKey:
    """Key that proves whose a signature is: the 56 characters that minisign prints. Raises InputError for others."""

    text: str

    def __post_init__(self) -> None:
        if len(_decoded(self.text)) != 42 or _decoded(self.text)[:2] != b"Ed":
            raise InputError("a public key of minisign has 56 characters and begins with RW")

    @property
    def number(self) -> bytes:
        """Eight bytes by which a signature names its key."""
        return _decoded(self.text)[2:10]


@dataclass(frozen=True)
class SecretKey:
    """A file with a secret key of minisign, which only that program reads in full.

    has_password: whether minisign asks for one before it signs.
    """

    path: Path
    has_password: bool


def public_key(key: str | Path) -> PublicKey:
    """Read a public key, itself or from a file. Raises InputError where there is none."""
    text = str(path_of(key))
    if re.fullmatch(r"RW[A-Za-z0-9+/]{54}", text) and not Path(text).exists():
        return PublicKey(text)
    line = _second_line(Path(text))
    try:
        return PublicKey(line)
    except InputError:
        raise InputError(printable(f"{text} holds no public key of minisign, as minisign -G writes it")) from None


def secret_key(path: str | Path) -> SecretKey:
    """Secret key in a file, ready to sign.

    Raises InputError where there is none, or minisign is not installed. It also does where minisign would ask for a
    password without a terminal.
    """
    secret = secret_key_at(path)
    _can_be_asked(secret)
    return secret


def secret_key_at(path: str | Path) -> SecretKey:
    """Secret key in a file, even one for whose password nobody can be asked. Otherwise raises InputError as
    `secret_key` does.
    """
    _program()
    try:
        path = resolved(Path(path))
        key = _decoded(_second_line(path))
    except OSError as error:
        raise InputError(printable(f"{path} cannot be read: {system_reason(error)}")) from None
    if len(key) != 158 or key[:2] != b"Ed":
        raise InputError(printable(f"{path} is no secret key of minisign; minisign -G makes one"))
    return SecretKey(path, key[2:4] != b"\0\0")


def signature_of(descriptor: bytes, key: SecretKey, target: Path) -> bytes:
    """Content of the signature of a descriptor, by minisign, which asks at the terminal for the key's password.

    `target`: the file to be written. Files of minisign lie beside it meanwhile, and are removed as all leftovers
    there. Raises InputError where minisign does not sign, OSError where nothing can be written.
    """
    from tempfile import TemporaryDirectory  # loaded here: most releases are read without a signature

    _can_be_asked(key)
    target = resolved(target)
    made_folder(target.parent)
    with only_writer(target.parent):
        remove_leftovers(target)
        with TemporaryDirectory(prefix=prefix(target), dir=target.parent) as folder:
            content = _signed(descriptor, key, Path(folder))
    try:
        signer_of(content)
    except BundleError:
        raise InputError("what minisign wrote is not a signature as it is written since version 0.8") from None
    return content


def _signed(descriptor: bytes, key: SecretKey, folder: Path) -> bytes:
    signed, signature = folder / DESCRIPTOR, folder / SIGNATURE
    signed.write_bytes(descriptor)
    comments = ["-c", _COMMENT, "-t", _COMMENT]
    status = _run(["-S", "-s", str(key.path), *comments, "-x", str(signature), "-m", str(signed)], key.has_password)
    if status or not signature.is_file():
        why = "the password was wrong, or " if key.has_password else ""
        problem = f"minisign did not sign with {key.path} (exit status {status})"
        raise InputError(printable(f"{problem}: {why}the key cannot be used") + "; nothing was written")
    return signature.read_bytes()


def signer_of(signature: bytes) -> bytes:
    """Number of the key that a signature names. Raises BundleError where it is not spelt as minisign spells it."""
    lines = signature.decode("utf-8", "replace").split("\n")
    if len(lines) != 5 or lines[4] or not lines[0].startswith(_UNTRUSTED) or not lines[2].startswith(_TRUSTED):
        raise BundleError(SIGNATURE, "it is no signature of minisign: these have four lines, two of them comments")
    of_file, of_comment = _decoded(lines[1]), _decoded(lines[3])
    if len(of_file) != 74 or of_file[:2] not in (b"ED", b"Ed") or len(of_comment) != 64:
        raise BundleError(SIGNATURE, "it is no signature of minisign")
    # Nothing signs the first comment; where the second shows that it was made here, it is known all the same.
    if lines[2] == _TRUSTED + _COMMENT and lines[0] != _UNTRUSTED + _COMMENT:
        raise BundleError(SIGNATURE, "its first line was changed")
    return of_file[2:10]


def check_signature(descriptor: bytes, signature: bytes, key: PublicKey) -> None:
    """Raise BundleError unless this is the signature of a descriptor with the key; InputError without minisign.

    minisign reads copies of these bytes, which lie in a folder of their own meanwhile.
    """
    from tempfile import TemporaryDirectory

    if signer_of(signature) != key.number:
        raise BundleError(SIGNATURE, "it was made with another key than the one given")
    try:
        with TemporaryDirectory(prefix="marginals-") as folder:
            signed, signing = Path(folder) / DESCRIPTOR, Path(folder) / SIGNATURE
            signed.write_bytes(descriptor)
            signing.write_bytes(signature)
            status = _run(["-V", "-q", "-P", key.text, "-x", str(signing), "-m", str(signed)], False)
    except OSError as error:
        problem = system_reason(error)
        raise InputError(f"no temporary file can be written to check the signature: {problem}") from None
    if status in (1, 2):
        raise BundleError(SIGNATURE, f"it is not the signature of this {DESCRIPTOR}; one of them was changed")
    if status:
        raise InputError(f"minisign ended with exit status {status}, so the signature was not checked")


def _second_line(path: Path) -> str:
    name = printable(str(path))
    if not path.is_file():
        raise InputError(f"there is no file {name}")
    try:
        with open_regular(path) as stream:
            lines = stream.read(MAX_SIGNATURE_BYTES).decode("utf-8", "replace").split("\n")
    except OSError as error:
        raise InputError(f"{name} cannot be read: {system_reason(error)}") from None
    return lines[1].strip() if len(lines) > 1 else ""


def _decoded(text: str) -> bytes:
    """Bytes of a base64 text in its one canonical spelling; none for other texts."""
    try:
        decoded = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return decoded if binascii.b2a_base64(decoded, newline=False) == text.encode() else b""


def _program() -> str:
    program = shutil.which("minisign")
    if program is None:
        raise InputError(
            "signatures need the program minisign, which is not installed: apt install minisign, brew install minisign, "
            "or see https://jedisct1.github.io/minisign"
        )
    return program


def _can_be_asked(key: SecretKey) -> None:
    if key.has_password and not _at_terminal():
        raise InputError(
            printable(f"{key.path} has a password, and there is no terminal to ask for it")
            + "; sign at a terminal, or with a key without a password (minisign -G -W)"
        )


def _at_terminal() -> bool:
    return os.isatty(0) and os.isatty(2)


def _run(arguments: Sequence[str], asks: bool) -> int:
    import subprocess  # loaded here as well

    command = [_program(), *arguments]
    try:
        if asks:
            with _kept_terminal():
                return subprocess.run(command, stdout=2, check=False).returncode
        quiet = subprocess.DEVNULL
        return subprocess.run(
            command, stdin=quiet, stdout=quiet, stderr=quiet, check=False, timeout=_SECONDS, start_new_session=True
        ).returncode
    except subprocess.TimeoutExpired:
        raise InputError(f"minisign did not end within {_SECONDS:.0f} seconds") from None
    except OSError as error:
        raise InputError(f"minisign cannot be run: {system_reason(error)}") from None


@contextmanager
def _kept_terminal() -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    import termios

    before = termios.tcgetattr(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


# The seal of a bundle: the digest of its descriptor, which holds the digests of all other files.
#
# It has the form of `sha256sum`, so `sha256sum --check` reads it. It detects damage and carelessness, not malice: anybody
# who changes a bundle on purpose can seal it anew, unless the descriptor is signed.


SEAL = "datapackage.json.sha256"


def seal_of(descriptor: bytes) -> bytes:
    """Content of the seal of a descriptor."""
    return f"{hashlib.sha256(descriptor).hexdigest()}  {DESCRIPTOR}\n".encode()


def check_seal(seal: bytes, descriptor: bytes) -> None:
    """Raise BundleError unless a seal is that of the descriptor."""
    if seal != seal_of(descriptor):
        problem = f"{DESCRIPTOR} is not what was sealed; it or its seal was changed"
        raise BundleError(SEAL, f"{problem} (sha256sum {DESCRIPTOR} > {SEAL} seals what you changed on purpose)")
