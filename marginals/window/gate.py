"""The gate lets in whoever has the token, by this machine's own address, from pages of this window.

A browser sends the cookies of 127.0.0.1 to every port, also to servers of other users of the machine. So all pages lie
below a place that nobody can guess, and the cookie is sent to addresses below it alone.
"""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from typing import Any

from werkzeug.wrappers import Request, Response

from models.frozen import frozen

LARGEST_FORM = 4 << 20  # bytes: four times the text of a config, whose escaped characters take three

# Pages: nothing from elsewhere, no script but the window's own.
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

# Reports run nothing, and are none of the window's pages.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox allow-popups allow-downloads"
)


_NOBODY = "The window belongs to whoever opened it. Use the address that marginals open printed."


@frozen
class Gate:
    """Secrets of a window: the token of its first address, and the random place where all addresses begin."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    place: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)

    @property
    def root(self) -> str:
        """The beginning of all addresses."""
        return f"/{self.place}"

    @property
    def host(self) -> str:
        """The one name of the server. It is not localhost, which may mean another server, at ::1."""
        return f"127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """The address that the browser is sent to."""
        return f"http://{self.host}{self.root}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """Name of the cookie."""
        return f"marginals-{self.port}"

    @property
    def form_token(self) -> str:
        """The token in each form of the window, which no other page can know."""
        return hmac.new(self.token.encode(), b"forms", sha256).hexdigest()

    def below_root(self, environ: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request's environment of WSGI, with the root taken off its path if it stands there."""
        path = str(environ.get("SCRIPT_NAME", "")) + str(environ.get("PATH_INFO", ""))
        place, _, below = path.removeprefix("/").partition("/")
        if not _is(place, self.place):
            return {**environ, "SCRIPT_NAME": "", "PATH_INFO": path}
        return {**environ, "SCRIPT_NAME": self.root, "PATH_INFO": f"/{below}"}

    def refusal(self, request: Request) -> str:
        """Return the reason why a request is refused; empty if it is not. Nobody without the secrets has a form read."""
        if request.headers.get("Host") != self.host:
            return "The window answers only to its own address on this machine."
        if "Transfer-Encoding" in request.headers:
            return "The window takes no request in pieces."
        path = str(request.environ.get("RAW_URI") or request.environ.get("REQUEST_URI") or request.path)
        if not path.startswith("/") or _leads_astray(path.partition("?")[0]) or _leads_astray(request.path):
            return "The address leads out of the window."
        if not _is(request.root_path, self.root):
            return _NOBODY
        enters, origin = self.enters(request), f"http://{self.host}"
        is_same = enters or request.headers.get("Sec-Fetch-Site", "none") in ("same-origin", "none")
        if request.headers.get("Origin", origin) != origin or not is_same:
            return "The request comes from another page."
        # Another server of this machine may set cookies of our name beside ours.
        if not enters and not any(_is(text, self.token) for text in request.cookies.getlist(self.cookie)):
            return _NOBODY
        if request.method == "POST":
            return self._refused_form(request)
        return "" if request.method in ("GET", "HEAD") else "The window takes no such request."

    def enters(self, request: Request) -> bool:
        """Return whether this is the address with the token, by which the browser comes in."""
        is_entry = request.method == "GET" and request.path == "/"
        return is_entry and _is(request.args.get("token", ""), self.token)

    def _refused_form(self, request: Request) -> str:
        if request.mimetype != "application/x-www-form-urlencoded":
            return "The window takes forms of its own pages only."
        if (request.content_length or 0) > LARGEST_FORM:
            return "The form is too large."
        if not _is(request.form.get("form", ""), self.form_token):
            return "The form comes from another page, or from a window that was closed; load the page again."
        return ""

    def remember(self, response: Response) -> Response:
        """Return the response, by which the browser knows the token from now on."""
        response.set_cookie(self.cookie, self.token, httponly=True, samesite="Strict", path=f"{self.root}/")
        return response


def guarded(response: Response) -> Response:
    """Set headers by which a browser loads nothing else, keeps nothing, and tells nobody the address."""
    headers = response.headers
    headers.setdefault("Content-Security-Policy", POLICY)
    headers.setdefault("Cache-Control", "no-store")
    headers["X-Content-Type-Options"] = "nosniff"
    headers["X-Frame-Options"] = "DENY"
    # Without any referrer browsers would send forms with `Origin: null`, as pages do that hide where they are from.
    headers["Referrer-Policy"] = "same-origin" if headers["Content-Security-Policy"] == POLICY else "no-referrer"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


def _is(text: str, expected: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "replace"), expected.encode())


def _leads_astray(path: str) -> bool:
    plain = path.lower().replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\").replace("%00", "\0")
    return ".." in plain.split("/") or "\\" in plain or "\0" in plain or "//" in plain or "%25" in plain
