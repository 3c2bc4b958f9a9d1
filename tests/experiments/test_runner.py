"""The runner, with real processes: what is finished stays, what fails is recorded, what stops goes on."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from tam.errors import OUT_OF_MEMORY
from tam.experiments.job import Job
from tam.experiments.results import Folders, result_of, status
from tam.experiments.run_here import Here
from tam.experiments.run_workers import Worker, Workers
from tam.experiments.runner import Runner, next_job
from tam.experiments.work import Ending, Order
from tam.training.folder import alone_in
from tests.experiments.small import PUBLISHED, reproduce, small, wait_for

pytestmark = pytest.mark.slow

NEVER_ENDS = {"steps": 10**6, "validate_every": 10**6, "checkpoint_every": 10}


def files(folders: Folders) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in folders.results.glob("*")}


def test_work_is_done_once(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = small("good"), small("bad", values={"rows": 1_000, "no_such_setting": 1})
    needy = small("needy", seconds_of="absent")
    with pytest.raises(SystemExit, match="1 failed: bad"):
        reproduce(folders, [bad, needy, good], "--at-once", "2")
    out = capsys.readouterr().out
    assert "good: started" in out
    assert "bad: failed: there is no setting 'no_such_setting'" in out
    before = files(folders)
    good_file = folders.result_file(good).name
    assert set(before) == {good_file, "bad.error.json"}
    error = json.loads((folders.results / "bad.error.json").read_text())
    assert error["error"].startswith("there is no setting")
    assert error["job"]["name"] == "bad"

    reproduce(folders, [bad, needy, good], "--dry-run")
    assert capsys.readouterr().out.splitlines() == [
        "left  bad  (failed: there is no setting 'no_such_setting' of method 'tam')",
        "left  needy  (needs absent)",
        "done  good",
        "1 of 3 runs are done, 2 are left, which take about "
        f"{2 * (result_of(good, folders) or {})['wall_seconds'] / 2:.0f} s on one machine, "
        "judging by finished runs",
    ]
    reproduce(folders, [bad, needy, good], "--only", "g*")
    assert "started" not in capsys.readouterr().out
    assert files(folders) == before

    reproduce(folders, [small("bad")], "--on", "here")
    assert set(files(folders)) == {good_file, folders.result_file(small("bad")).name}


def test_a_killed_job_is_recorded(folders: Folders) -> None:
    job = small(values=NEVER_ENDS)
    runner = Runner(folders, Workers())

    def kill() -> None:
        wait_for(folders.run_folder(job) / "checkpoint.safetensors")
        worker = runner.running[0].attempt
        assert isinstance(worker, Worker)
        os.kill(worker.process.pid, signal.SIGKILL)

    run_beside(kill, runner, job)
    assert [one.name for one in runner.failed] == ["small"]
    assert status(job, folders) == (False, "failed: killed by SIGKILL")


def test_a_stopped_job_goes_on(folders: Folders, capfd: pytest.CaptureFixture[str]) -> None:
    job = small(values={"steps": 60, "validate_every": 60, "checkpoint_every": 1})

    def stop() -> None:
        wait_for(folders.run_folder(job) / "checkpoint.safetensors")
        os.kill(os.getpid(), signal.SIGTERM)

    run_beside(stop, Runner(folders, Workers()), job)
    assert status(job, folders) == (False, "interrupted")
    assert "small: stopped" in capfd.readouterr().out
    runner = Runner(folders, Here())
    runner.run([job])
    assert not runner.failed
    assert status(job, folders).done
    assert json.loads(folders.result_file(job).read_text())["processes"] == 2
    assert "small: step 60 of 60, " in capfd.readouterr().out


def test_it_ends_in_time(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    """After 3 of 4 seconds jobs are asked to stop, here in vain, and half a second later they are killed."""
    monkeypatch.setattr(Worker, "stop", lambda _: None)
    runner = Runner(folders, Workers(), at_once=2, seconds=4)
    started = time.monotonic()
    runner.run([small(values=NEVER_ENDS), small("second", values=NEVER_ENDS, seed=1), small("third")])
    assert 3.4 <= time.monotonic() - started < 5  # in time, but for a busy machine
    assert files(folders) == {}
    assert not runner.running
    assert not runner.failed
    assert not (folders.runs / "third.log").exists()


class Crowded:
    """An executor whose jobs are out of memory if more run than there is room for; job `greedy` always."""

    def __init__(self, room: int = 2) -> None:
        self.room = room
        self.running: list[str] = []
        self.most: list[int] = []

    def start(self, order: Order) -> "Crowded.Attempt":
        """Start a job."""
        self.running.append(order.job.name)
        self.most.append(len(self.running))
        return self.Attempt(self, order)

    class Attempt:
        """A job of it."""

        def __init__(self, executor: "Crowded", order: Order) -> None:
            self.executor, self.order, self.polls, self.short = executor, order, 0, False

        def ending(self) -> Ending | None:
            """See whether there is room once all have started, and end a moment later."""
            self.polls += 1
            crowd, name = self.executor.running, self.order.job.name
            if self.polls == 2:
                self.short = len(crowd) > self.executor.room or name == "greedy"
            if self.polls < 3:
                return None
            crowd.remove(name)
            return Ending("failed", OUT_OF_MEMORY) if self.short else Ending("finished")

        def stop(self) -> None: ...
        def kill(self) -> None: ...


def test_out_of_memory_beside_others_is_tried_again_with_fewer(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    executor = Crowded()
    runner = Runner(folders, executor, at_once=4)
    runner.run([small(name) for name in ("greedy", "a", "b", "c", "d")])
    out = capsys.readouterr().out
    assert "greedy: out of memory beside 3 other jobs: continues when one of them has ended" in out
    assert {name for name in "abcd" if f"{name}: finished" in out} == set("abcd")
    assert [job.name for job in runner.failed] == ["greedy"]  # also alone
    assert status(small("greedy"), folders) == (False, f"failed: {OUT_OF_MEMORY}")
    assert max(executor.most) == 4
    assert executor.most[-1] == 1


def test_jobs_that_are_out_of_memory_together_are_all_tried_again(folders: Folders) -> None:
    runner = Runner(folders, Crowded(room=1), at_once=2)
    runner.run([small("a"), small("b")])
    assert not runner.failed
    assert runner.at_once == 1


def test_a_failure_while_stopping_is_recorded(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job, killed = small("full"), small("killed")
    runner = Runner(folders, Workers(), at_once=2)

    def end(worker: Worker) -> Ending | None:
        if not runner.running[0].asked_to_stop:
            runner.stop()
            return None
        worker.process.kill()
        name = worker._log.stem  # pyright: ignore[reportPrivateUsage]
        return Ending("failed", "no space left on device" if name == "full" else "killed by SIGTERM")

    monkeypatch.setattr(Worker, "ending", end)
    runner.run([job, killed])
    assert [one.name for one in runner.failed] == ["full"]
    assert "killed: stopped" in capsys.readouterr().out


def test_who_is_next(folders: Folders) -> None:
    alone, needy, other = small("alone", alone=True), small("needy", seconds_of="base"), small("other")
    assert next_job([needy, alone, other], [], folders) == alone
    assert next_job([needy, other, alone], [], folders) == other
    assert next_job([alone, other], [other], folders) is None  # or it would never be alone
    assert next_job([other], [alone], folders) is None
    assert next_job([needy], [], folders) is None
    published = Folders(PUBLISHED, folders.runs, "cuda")
    lever = small("lever", seconds_of="tam-best-pathfinding-0")
    ready = next_job([lever, other], [other], published)
    assert ready is not None
    assert ready.seconds == pytest.approx(35, abs=2)
    folders.run_folder(other).mkdir(parents=True)
    with alone_in(folders.run_folder(other)):
        assert next_job([other, alone], [], folders) == alone
    assert next_job([other, alone], [], folders) == other


def run_beside(other: Callable[[], None], runner: Runner, job: Job) -> None:
    thread = threading.Thread(target=other)
    thread.start()
    runner.run([job])
    thread.join()
