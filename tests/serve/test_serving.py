"""`tam serve` as a process: started, used through the client, and stopped."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tam
from tam.serve.client import ServerError
from tam.serve.server import check_token
from tests.in_process import tam as tam_command
from tests.store.small import pairs

pytestmark = pytest.mark.slow


@contextmanager
def server(*words: str) -> Generator[tuple["subprocess.Popen[str]", str]]:
    """A process of `tam serve` and its address."""
    command = [sys.executable, "-m", "tam", "serve", *words, "--port", "0"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            read: list[str] = []
            for line in process.stdout:
                read.append(line)
                if found := re.search(r"serving on (\S+),", line):
                    yield process, found[1]
                    break
            else:
                pytest.fail("".join(read))
        finally:
            process.kill()


def test_a_server_from_start_to_stop(folder: Path, model: tam.Learner, tmp_path: Path) -> None:
    file = tmp_path / "tasks.db"
    with server(str(folder), "--store", str(file)) as (process, address):
        with tam.Client(address) as client:
            assert client.models()[0]["name"] == "labels"
            names = ["a/b", "50%2F?#", "ä ☃"]
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda one: client.learn(one[1], pairs(one[0])), enumerate(names)))
            for number, name in enumerate(names):
                rule = model.adapt(pairs(number))
                assert client.task(name).embedding.loss == pytest.approx(rule.loss, abs=1e-5)
                assert client.predict(name, [[1], [2]]) == model.predict(rule, [[1], [2]])
                (found,) = client.predict_proba(name, [[1]], answers=2)
                assert found == pytest.approx(model.predict_proba(rule, [[1]])[0], abs=1e-5)
            assert len(client.predict(names, [[1], [2], [3]])) == 3
            assert [one.name for one in client.tasks()] == sorted(names)
            assert [one.name for one in client.tasks("50*")] == ["50%2F?#"]
            assert {one.name for one in client.nearest("a/b")} == {*names} - {"a/b"}
            assert client.adapt(pairs(1)).labels == (0, 1)
            array: Any = np.array([1, 2])
            client.learn("text", [("1 2", True), ([3], False)])
            assert client.task("text").examples == [([1, 2], "true"), ([3], "false")]
            assert client.predict("text", ["1 2"]) == client.predict("text", [array])
            with pytest.raises(tam.UserError, match="or text for each: got '1 2'"):
                client.predict("text", "1 2")
            client.remove("text")
            client.rename("a/b", "c")
            client.annotate("c", "notes")
            client.remove("ä ☃")
            assert client.task("c").notes == "notes"
            for use, status in (
                (lambda: client.task("a/b"), 404),
                (lambda: client.learn("c", pairs(1)), 409),
                (lambda: client.predict("c", [[99]]), 422),
            ):
                with pytest.raises(ServerError, match=address) as error:
                    use()
                assert error.value.status == status
            with ThreadPoolExecutor(32) as pool:  # under way when it is stopped
                many = [pool.submit(client.learn, f"task {number}", pairs(number)) for number in range(24)]
                while sum(one.done() for one in many) < 4:
                    time.sleep(0.001)
                process.send_signal(signal.SIGTERM)
                learned = [number for number, one in enumerate(many) if one.exception() is None]
        assert process.wait(30) == 0
        assert process.stdout is not None
        assert process.stdout.read().splitlines()[-1] == "stopped"
    with tam.Store(file, model) as store:
        assert {f"task {number}" for number in learned} <= {one.name for one in store.list()}
        assert len(learned) >= 4


def test_errors_before_it_starts(folder: Path, tmp_path: Path) -> None:
    def fails(about: str, *words: str) -> None:
        with pytest.raises(SystemExit, match=about):
            tam_command("serve", *words)

    fails("^error: host '0.0.0.0' can be reached .* token", str(folder), "--host", "0.0.0.0")
    fails("token must have at least 8", str(folder), "--host", "0.0.0.0", "--token", "short")
    fails("no trained model", str(tmp_path))
    fails("two called 'labels'", str(folder), str(folder))
    fails("at most one store per model: got 2 for 1", str(folder), "--store", "a.db", "b.db")
    fails("--max-rows must be at least 1", str(folder), "--max-rows", "0")
    fails("port must be from 0 to 65535", str(folder), "--port", "70000")
    check_token("127.0.0.1", None)
    check_token("::1", None)
    check_token("example.org", "long enough")
    with pytest.raises(ServerError, match=r"127\.0\.0\.1:1: "):
        tam.Client("http://127.0.0.1:1").tasks()
