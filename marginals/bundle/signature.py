"""Signature of a bundle: Ed25519 over the descriptor, which holds the digests of all other files.

The seal detects damage. The signature proves who made the bundle, to readers with that person's public key. Keys and
signatures have the file formats of minisign (jedisct1.github.io/minisign), so that program reads what is signed here.
The two comments are always the same words, so the same bundle and key give the same signature, and it tells no name or
time.
"""

import binascii
import hashlib
import re
import secrets
from base64 import b64decode
from dataclasses import field
from pathlib import Path

from marginals.arguments import path_of
from marginals.bundle.content import DESCRIPTOR, MAX_SIGNATURE_BYTES
from marginals.errors import BundleError, InputError
from marginals.files import open_regular, refusals, resolved
from marginals.messages import printable
from models.frozen import frozen

SIGNATURE = "datapackage.json.minisig"

_COMMENT = "anonymized marginals"
_UNTRUSTED, _TRUSTED = "untrusted comment: ", "trusted comment: "

# A public key: "Ed", the number, the point. A secret key without a password: the head, 48 zeros, the number, the seed, the
# point, 32 zeros.
_HEAD = b"Ed\0\0B2"
_SIGNED_HASH, _SIGNED_FILE = b"ED", b"Ed"


@frozen
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

    def verifies(self, signature: bytes, content: bytes) -> bool:
        """Return whether a signature of 64 bytes is that of this content."""
        from cryptography.exceptions import InvalidSignature  # slow to import: most releases are read without a key
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(_decoded(self.text)[10:]).verify(signature, content)
        except (InvalidSignature, ValueError):
            return False
        return True


@frozen
class SecretKey:
    """Key that signs. `path`: its file. `number`: as its public key has it. `seed`: 32 secret bytes."""

    path: Path
    number: bytes
    seed: bytes = field(repr=False)

    @property
    def public(self) -> PublicKey:
        """The key for readers."""
        return PublicKey(_encoded(b"Ed" + self.number + self._point))

    @property
    def _point(self) -> bytes:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()

    def sign(self, content: bytes) -> bytes:
        """Signature of 64 bytes."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed).sign(content)

    @property
    def files(self) -> tuple[bytes, bytes]:
        """Contents of the files of this key and of its public key."""
        text = f"{_UNTRUSTED}minisign public key {int.from_bytes(self.number, 'little'):X}\n{self.public.text}\n"
        content = _HEAD + bytes(48) + self.number + self.seed + self._point + bytes(32)
        return f"{_UNTRUSTED}minisign encrypted secret key\n{_encoded(content)}\n".encode(), text.encode()


def new_key(path: Path) -> SecretKey:
    """Make a key for a file, which is not written yet."""
    return SecretKey(resolved(path), secrets.token_bytes(8), secrets.token_bytes(32))


def public_key(key: str | Path) -> PublicKey:
    """Read a public key, itself or from a file. Raises InputError where there is none."""
    path = path_of(key)
    text = key if isinstance(key, str) else str(path)  # a path takes a / away that ends a key, or stands beside another
    if re.fullmatch(r"RW[A-Za-z0-9+/]{54}", text) and not path.exists():
        return PublicKey(text)
    line = _second_line(path)
    try:
        return PublicKey(line)
    except InputError:
        raise InputError(printable(f"{text} holds no public key of minisign, as publish --new-key writes it")) from None


def secret_key(path: str | Path) -> SecretKey:
    """Secret key in a file. Raises InputError where there is none, or where it has a password or was damaged."""
    path = Path(path)
    content = _decoded(_second_line(path))
    if len(content) != 158 or content[:2] + content[4:6] != b"EdB2" or content[2:4] not in (b"Sc", b"\0\0"):
        raise InputError(printable(f"{path} is no secret key of minisign; publish --new-key makes one"))
    if not content.startswith(_HEAD):
        raise InputError(
            printable(f"{path} has a password; take it off by minisign -C -W -s {path}, or make another key")
        )
    secret = SecretKey(resolved(path), content[54:62], content[62:94])
    if secret.public.text != _encoded(b"Ed" + content[54:62] + content[94:126]):
        raise InputError(printable(f"the secret key in {path} was damaged; restore it from a copy"))
    return secret


def signature_of(descriptor: bytes, key: SecretKey) -> bytes:
    """Content of the signature of a descriptor."""
    signature = key.sign(hashlib.blake2b(descriptor).digest())
    of_comment = key.sign(signature + _COMMENT.encode())
    lines = [_UNTRUSTED + _COMMENT, _encoded(_SIGNED_HASH + key.number + signature)]
    return "\n".join([*lines, _TRUSTED + _COMMENT, _encoded(of_comment), ""]).encode()


def signature_parts(content: bytes) -> tuple[bytes, str, bytes]:
    """Signature of a file with the number of its key, the trusted comment, and the signature of both.

    Raises BundleError where it is not spelt as minisign spells it.
    """
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError:
        raise BundleError(SIGNATURE, "it is no signature of minisign: it is no text in UTF-8") from None
    if len(lines) != 5 or lines[4] or not lines[0].startswith(_UNTRUSTED) or not lines[2].startswith(_TRUSTED):
        raise BundleError(SIGNATURE, "it is no signature of minisign: these have four lines, two of them comments")
    of_file, of_comment = _decoded(lines[1]), _decoded(lines[3])
    if len(of_file) != 74 or of_file[:2] not in (_SIGNED_HASH, _SIGNED_FILE) or len(of_comment) != 64:
        raise BundleError(SIGNATURE, "it is no signature of minisign")
    # Nothing signs the first comment; where the second shows that it was made here, it is known all the same.
    if lines[2] == _TRUSTED + _COMMENT and lines[0] != _UNTRUSTED + _COMMENT:
        raise BundleError(SIGNATURE, "its first line was changed")
    return of_file, lines[2].removeprefix(_TRUSTED), of_comment


def check_signature(descriptor: bytes, signature: bytes, key: PublicKey) -> None:
    """Raise BundleError unless this is the signature of a descriptor with the key."""
    of_file, comment, of_comment = signature_parts(signature)
    if of_file[2:10] != key.number:
        raise BundleError(SIGNATURE, "it was made with another key than the one given")
    signed = hashlib.blake2b(descriptor).digest() if of_file[:2] == _SIGNED_HASH else descriptor
    if not key.verifies(of_file[10:], signed) or not key.verifies(of_comment, of_file[10:] + comment.encode()):
        raise BundleError(SIGNATURE, f"it is not the signature of this {DESCRIPTOR}; one of them was changed")


def _second_line(path: Path) -> str:
    name = printable(str(path))
    if not path.is_file():
        raise InputError(f"there is no file {name}")
    with refusals(name, "read"), open_regular(path) as stream:
        lines = stream.read(MAX_SIGNATURE_BYTES).decode("utf-8", "replace").split("\n")
    return lines[1].strip() if len(lines) > 1 else ""


def _encoded(content: bytes) -> str:
    return binascii.b2a_base64(content, newline=False).decode()


def _decoded(text: str) -> bytes:
    """Bytes of a base64 text in its one canonical spelling; none for other texts."""
    try:
        decoded = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return decoded if _encoded(decoded) == text else b""


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
