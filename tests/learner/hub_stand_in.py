"""A small HTTP server that speaks what huggingface_hub needs to push and pull models, with LFS."""

import base64
import hashlib
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlparse

TOKEN = "hf_" + "a" * 34


class Hub(ThreadingHTTPServer):
    """Repositories in memory: the files of each."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.repos: dict[str, dict[str, bytes]] = {}
        self.large: dict[str, bytes] = {}
        self.uploads: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def commit_of(self, repo: str) -> str:
        files = sorted(self.repos[repo].items())
        return hashlib.sha1(b"".join(name.encode() + content for name, content in files)).hexdigest()


class _Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = urlparse(self.path).path.strip("/").split("/")
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._json({"error": "Invalid credentials"}, 401)
        elif parts == ["api", "repos", "create"]:
            asked = json.loads(body)
            repo = "/".join(part for part in (asked.get("organization") or "me", asked["name"]) if part)
            self.server.repos.setdefault(repo, {})
            self._json({"url": f"{self.server.address}/{repo}", "name": repo})
        elif parts[:2] == ["api", "models"] and parts[4] == "preupload":
            files = json.loads(body)["files"]
            modes = ["lfs" if file["path"].endswith(".safetensors") else "regular" for file in files]
            told = [
                {"path": file["path"], "uploadMode": mode, "shouldIgnore": False, "oid": None}
                for file, mode in zip(files, modes, strict=True)
            ]
            self._json({"files": told})
        elif parts == ["api", "validate-yaml"]:
            self._json({"errors": [], "warnings": []})
        elif parts[-3:] == ["lfs", "objects", "batch"]:
            objects = json.loads(body)["objects"]
            for one in objects:
                one["actions"] = {"upload": {"href": f"{self.server.address}/lfs/{one['oid']}"}}
            self._json({"transfer": "basic", "objects": objects})
        elif parts[:2] == ["api", "models"] and parts[4] == "commit":
            self._commit("/".join(parts[2:4]), body)
        else:
            self._json({"error": self.path}, 404)

    def _commit(self, repo: str, body: bytes) -> None:
        files = self.server.repos[repo]
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.large[value["oid"]]
            elif line["key"] == "deletedFile":
                files.pop(value["path"], None)
        oid = self.server.commit_of(repo)
        self._json({"commitOid": oid, "commitUrl": f"{self.server.address}/{repo}/commit/{oid}"})

    def do_PUT(self) -> None:
        oid = self.path.rsplit("/", 1)[1]
        content = self.rfile.read(int(self.headers["Content-Length"]))
        assert hashlib.sha256(content).hexdigest() == oid
        self.server.large[oid] = content
        self.server.uploads.append(oid)
        self._json({})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts = urlparse(self.path).path.strip("/").split("/")
        is_api = parts[:2] == ["api", "models"]
        repo = "/".join(parts[2:4] if is_api else parts[:2])
        if repo not in self.server.repos:
            self._json({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
            return
        commit, files = self.server.commit_of(repo), self.server.repos[repo]
        if is_api:
            revision = parts[5] if len(parts) > 5 else "main"
            if revision not in ("main", commit):
                self._json({"error": "Invalid rev"}, 404, {"X-Error-Code": "RevisionNotFound"})
            elif len(parts) > 4 and parts[4] == "tree":
                oids = {name: hashlib.sha1(content).hexdigest() for name, content in files.items()}
                sizes = {name: len(content) for name, content in files.items()}
                self._json([{"type": "file", "path": n, "size": sizes[n], "oid": oids[n]} for n in files])
            else:
                told = {"id": repo, "modelId": repo, "sha": commit, "private": False}
                self._json(told | {"siblings": [{"rfilename": name} for name in files], "tags": []})
        else:
            content = files["/".join(parts[4:])]
            etag = hashlib.sha256(content).hexdigest()
            self._send(content, 200, {"X-Repo-Commit": commit, "ETag": f'"{etag}"'})

    def _json(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self._send(json.dumps(value).encode(), status, {"Content-Type": "application/json"} | (headers or {}))

    def _send(self, content: bytes, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextmanager
def hub() -> Generator[Hub]:
    """The server, on a port of its own."""
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
