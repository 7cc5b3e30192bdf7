"""The program minisign, where it is installed, and a stub of it that says how it was called."""

import shutil
import subprocess
import sys
from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import blake2b, scrypt, sha256
from pathlib import Path

STUB = """#!{python} -IS
import getopt, hashlib, os, sys, time
from base64 import b64decode, b64encode
from pathlib import Path
log = Path({log!r})
with log.open("a") as stream:
    stream.write(repr(sys.argv[1:]) + "\\n")
mode = os.environ.get("STUB", "")
if mode == "hang":
    time.sleep(60)
    sys.exit(3)
if mode.isdigit():
    sys.exit(int(mode))
options = dict(getopt.getopt(sys.argv[1:], "SVqs:c:t:x:m:P:")[0])
content, signature = Path(options["-m"]).read_bytes(), Path(options["-x"])
encoded = lambda data: b64encode(data).decode()
if "-S" in options:
    secret = b64decode(Path(options["-s"]).read_text().split("\\n")[1])
    if secret[2:4] != bytes(2):
        import termios
        hidden = termios.tcgetattr(0)
        hidden[3] &= ~termios.ECHO
        termios.tcsetattr(0, termios.TCSANOW, hidden)
        print("Password: ", end="", file=sys.stderr, flush=True)
        print("Deriving a key")
        if sys.stdin.readline() != "open sesame\\n":
            sys.exit(2)
    number, public = secret[54:62], secret[126:158]
    first = b"ED" + number + hashlib.sha512(public + content).digest()
    second = hashlib.sha512(public + first + options["-t"].encode()).digest()
    signature.write_text(
        f"untrusted comment: {{options['-c']}}\\n{{encoded(first)}}\\n"
        f"trusted comment: {{options['-t']}}\\n{{encoded(second)}}\\n" if mode != "rubbish" else "rubbish"
    )
else:
    public = b64decode(options["-P"])[10:]
    _, first, trusted, second, _ = signature.read_text().split("\\n")
    first, second = b64decode(first), b64decode(second)
    told = trusted.removeprefix("trusted comment: ").encode()
    right = first[10:] == hashlib.sha512(public + content).digest()
    sys.exit(0 if right and second == hashlib.sha512(public + first + told).digest() else 1)
"""
"""It signs by hashes, which anybody could, and otherwise behaves as the program does."""


@dataclass(frozen=True)
class Keys:
    """A pair of keys, in files."""

    public: Path
    secret: Path

    @property
    def text(self) -> str:
        return self.public.read_text().split("\n")[1]


def write_stub(folder: Path) -> Path:
    """The stub, to be the only program on the PATH; its calls are in the file `calls` beside it."""
    folder.mkdir()
    program = folder / "minisign"
    program.write_text(STUB.format(python=sys.executable, log=str(folder / "calls")))
    program.chmod(0o755)
    return folder


def write_keys(folder: Path, name: str, *, password: bool = False) -> Keys:
    """Keys that are spelt as minisign spells them; with a password, the stub's is "open sesame"."""
    number, public = sha256(name.encode()).digest()[:8], sha256(b"public" + name.encode()).digest()
    kdf = b"Sc" if password else bytes(2)
    secret = b"Ed" + kdf + b"B2" + bytes(48) + number + bytes(64) + public
    keys = Keys(folder / f"{name}.pub", folder / f"{name}.key")
    keys.public.write_text(f"untrusted comment: public\n{b64encode(b'Ed' + number + public).decode()}\n")
    keys.secret.write_text(f"untrusted comment: secret\n{b64encode(secret).decode()}\n")
    return keys


def make_keys(folder: Path, name: str, password: str = "") -> Keys | None:
    """Keys made by the program itself, or None where it is not installed or too old to make keys without password."""
    program = shutil.which("minisign")
    if program is None:
        return None
    keys = Keys(folder / f"{name}.pub", folder / f"{name}.key")
    command = [program, "-G", "-f", "-W", "-p", str(keys.public), "-s", str(keys.secret)]
    if subprocess.run(command, capture_output=True, check=False, timeout=60, stdin=subprocess.DEVNULL).returncode:
        return None
    if password:
        _encrypt(keys.secret, password)
    return keys


def _encrypt(secret: Path, password: str) -> None:
    """Give a key without password one, as the program does but for the cost of a guess: it would take seconds and 1 GB.

    The key says how much the derivation costs: "operations" and memory of libsodium, here the least, which are N = 1024,
    r = 8 and p = 1 of scrypt (RFC 7914).
    """
    first, encoded, *_ = secret.read_text().split("\n")
    content, salt = b64decode(encoded), sha256(password.encode()).digest()
    key = content[54:126]
    key += blake2b(content[:2] + key, digest_size=32).digest()
    stream = scrypt(password.encode(), salt=salt, n=1024, r=8, p=1, dklen=len(key))
    cost = (1 << 15).to_bytes(8, "little") + (1 << 24).to_bytes(8, "little")
    content = content[:2] + b"Sc" + content[4:6] + salt + cost + bytes(byte ^ pad for byte, pad in zip(key, stream))
    secret.chmod(0o600)
    secret.write_text(f"{first}\n{b64encode(content).decode()}\n")
