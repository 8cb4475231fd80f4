"""The configuration of paddlectl, and the login at one of its services."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import json
import os
import re
import stat
import tempfile
import urllib.parse
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import yaml  # type: ignore[import-untyped]

from .protocol import NOT_EXIST, UNAUTHENTICATED, Failure

_KEYS = {"name", "username", "password", "usercert", "userkey", "endpoint", "fingerprint", "active", "insecure"}
_EARLY = datetime.timedelta(seconds=30)  # before its expiry a stored token is no longer used


@dataclass(frozen=True)
class Entry:
    """A service, and the account there."""

    endpoint: str
    name: str = ""
    username: str = ""
    password: str = ""
    fingerprint: str = ""
    insecure: bool = False

    def __post_init__(self) -> None:
        endpoint = self.endpoint if "://" in self.endpoint else "https://" + self.endpoint
        url = urllib.parse.urlsplit(endpoint)
        if url.scheme not in ("https", "http") or not url.hostname or url.query or url.fragment or "@" in url.netloc:
            raise ValueError("datacenter %r: the endpoint is not an address like https://HOST:PORT" % self.name)
        loopback = url.hostname == "localhost" or url.hostname.startswith("127.") or url.hostname == "::1"
        if url.scheme == "http" and not loopback and not self.insecure:
            raise ValueError("%s would carry the login of %r unencrypted: use https, or paddlectl login --insecure" % (endpoint, self.name))
        object.__setattr__(self, "endpoint", endpoint.rstrip("/"))
        pinned = re.sub("[: ]", "", self.fingerprint.lower()).removeprefix("sha256")
        if pinned and not re.fullmatch("[0-9a-f]{64}", pinned):
            raise ValueError("datacenter %r: the fingerprint is not a SHA-256: 64 hexadecimal digits are needed" % self.name)
        object.__setattr__(self, "fingerprint", pinned)


def path() -> str:
    """Returns the name of the configuration file."""
    return os.environ.get("PADDLE_CONFIG") or os.path.join(os.path.expanduser("~"), ".paddle", "config")


class Config:
    """A configuration file. A mistake in one entry disables only that entry."""

    def __init__(self, name: str):
        self.name = name
        try:
            with open(name, encoding="utf-8") as f:
                content = yaml.load(f, yaml.BaseLoader)  # texts only: a name may look like a number
        except FileNotFoundError:
            raise Failure(UNAUTHENTICATED, "there is no configuration %s: paddlectl login makes it" % name, final=True) from None
        except (yaml.YAMLError, UnicodeDecodeError) as err:
            raise ValueError("%s: %s" % (name, err)) from None
        if not isinstance(content, dict) or not isinstance(content.get("datacenters", []), list):
            raise ValueError("%s: not a configuration of paddlectl" % name)
        self._entries: dict[str, dict[str, Any]] = {}
        self._current = content.get("current-datacenter") or ""
        for e in content.get("datacenters", []):
            if not isinstance(e, dict) or not isinstance(e.get("name"), str):
                raise ValueError("%s: an entry has no name" % name)
            if e["name"] in self._entries:
                raise ValueError("%s: there are two datacenters %r" % (name, e["name"]))
            self._entries[e["name"]] = e
            if e.get("active") == "true" and not self._current:
                self._current = e["name"]
        if not self._current and len(self._entries) == 1:
            self._current = next(iter(self._entries))

    def find(self, datacenter: str) -> Entry:
        """Returns the entry with the name of the datacenter, or the current one."""
        name = datacenter if datacenter in self._entries else self._current
        if name not in self._entries:
            missing = "no datacenter %r" % name if name else "no current datacenter"
            raise ValueError("%s: %s: paddlectl config use-context NAME" % (self.name, missing))
        e = self._entries[name]
        unknown = set(e) - _KEYS
        if unknown:
            raise ValueError("%s: datacenter %r: unknown key %r" % (self.name, name, unknown.pop()))
        text = {k: str(e.get(k) or "") for k in ("endpoint", "name", "username", "password", "fingerprint")}
        return Entry(**text, insecure=e.get("insecure") == "true")


Ask = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]  # posts an anonymous request


class TokenFile:
    """The token in a file that another process replaces, as in a pod."""

    def __init__(self, name: str):
        self.name = name

    async def token(self, ask: Ask, refused: str) -> str:
        with open(self.name, encoding="ascii") as f:
            token = f.read().strip()
        if not token or token == refused:
            raise Failure(UNAUTHENTICATED, "the service does not accept the token in %s" % self.name, final=True)
        return token


class Login:
    """The tokens of an entry, in the file that paddlectl keeps. Processes take turns at refreshing them."""

    def __init__(self, config_name: str, entry: Entry):
        self._entry = entry
        self._owner = {"endpoint": entry.endpoint, "datacenter": entry.name, "username": entry.username}
        tag = hashlib.sha256("\0".join(self._owner.values()).encode()).digest()[:8].hex()
        base = "".join(c if c.isascii() and (c.isalnum() or c == "-") else "_" for c in entry.name)[:40]
        self.name = os.path.join(os.path.dirname(config_name), "tokens", "%s-%s" % (base, tag))
        self._tokens: dict[str, Any] = {}
        self._fresh = False  # issued to this process: valid until refused
        self._mutex = asyncio.Lock()

    async def token(self, ask: Ask, refused: str) -> str:
        """Returns an access token other than the refused one. If necessary it refreshes, or logs in with the password of the entry."""
        async with self._mutex:
            if not self._usable(refused):
                self._load()
            if not self._usable(refused):
                lock = self._locked()
                await asyncio.to_thread(lock.__enter__)
                try:
                    self._load()
                    if not self._usable(refused):  # no other process was faster
                        await self._renew(ask)
                finally:
                    lock.__exit__(None, None, None)
            access: str = self._tokens["access"]
            return access

    def _usable(self, refused: str) -> bool:
        t = self._tokens
        if not t.get("access") or t["access"] == refused:
            return False
        return self._fresh or _time(t.get("expires", "")) - datetime.datetime.now(datetime.timezone.utc) > _EARLY

    def _load(self) -> None:
        try:
            with open(self.name, encoding="utf-8") as f:
                t = json.load(f)
        except (FileNotFoundError, ValueError):
            t = {}
        if not isinstance(t, dict) or any(t.get(k) != v for k, v in self._owner.items()):
            t = {}
        if t.get("access") != self._tokens.get("access"):
            self._fresh = False
        self._tokens = t

    async def _renew(self, ask: Ask) -> None:
        why = ""
        if self._tokens.get("refresh"):
            try:
                return self._keep(await ask("/v1/refresh", {"refresh": self._tokens["refresh"]}))
            except Failure as e:
                if e.kind == NOT_EXIST:
                    raise Failure(UNAUTHENTICATED, "datacenter %r: the account was removed" % self._entry.name, final=True) from None
                if e.kind != UNAUTHENTICATED or e.final:
                    raise
                why = ": " + e.text
        if not self._entry.password or not self._entry.username:
            text = "datacenter %r%s: paddlectl login --endpoint %s" % (self._entry.name, why, self._entry.endpoint)
            raise Failure(UNAUTHENTICATED, text, final=True)
        self._keep(await ask("/v1/login", {"user": self._entry.username, "password": self._entry.password}))

    def _keep(self, m: dict[str, Any]) -> None:
        t = dict(self._owner)
        for key in ("user", "access", "refresh"):
            t[key] = m.get(key, "")
        for key in ("expires", "refresh_expires"):
            t[key] = _text(m.get(key) or {})
        self._tokens, self._fresh = t, True
        try:
            fd, name = tempfile.mkstemp(dir=os.path.dirname(self.name))
            with os.fdopen(fd, "w", encoding="utf-8") as f:
                f.write(json.dumps(t, indent=2) + "\n")
            os.chmod(name, stat.S_IRUSR | stat.S_IWUSR)
            os.replace(name, self.name)
        except OSError:
            pass  # this process uses them; the next one gets its own

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            import fcntl

            os.makedirs(os.path.dirname(self.name), mode=0o700, exist_ok=True)
            f = open(self.name + ".lock", "a")
        except (ImportError, OSError):  # not a Unix, or a read-only home
            yield
            return
        with f:
            fcntl.flock(f, fcntl.LOCK_EX)
            yield


def _text(t: dict[str, Any]) -> str:
    moment = datetime.datetime.fromtimestamp(t.get("s", 0), datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _time(text: str) -> datetime.datetime:
    m = re.fullmatch(r"(.{19})(\.\d+)?(Z|[+-]\d\d:\d\d)", text)
    if not m:
        return datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
    return datetime.datetime.fromisoformat(m[1] + m[3].replace("Z", "+00:00"))
