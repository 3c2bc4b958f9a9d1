"""The playground in Chromium, with the pretrained models behind it."""

import json
import random
import re
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tam
from tam.pretrained import folder_of
from tam.pretrained.card import read_packed
from tam.tasks.pathfinding import BLOBS, CELLS, blob, shortest_path
from tests.browsing import PHONE, watched
from tests.serve.test_serving import server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

MODELS = ("classification", "transduction", "pathfinding")
DONE = re.compile(r"(Learned|Answered from) .* in \d+\.\d s\.")
PATIENCE = 30_000  # ms


def hasty_copy(name: str, folder: Path) -> str:
    """A pretrained model that learns every task by one search of two steps."""
    shutil.copytree(folder_of(name), folder / name)
    file = folder / name / "learner.json"
    values = json.loads(file.read_text(encoding="utf-8"))
    values["config"]["settings"]["starts"] = 1
    values["choices"] = {k: [2, rate] for k, (_, rate) in values["choices"].items()}
    file.write_text(json.dumps(values), encoding="utf-8")
    return str(folder / name)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """A server of the pretrained models; the first has a store with some of its test tasks."""
    folder = tmp_path_factory.mktemp("models")
    models, file = [hasty_copy(name, folder) for name in MODELS], folder / "tasks.db"
    learner = tam.load(models[0], "cpu")
    with tam.Store(file, learner) as store:
        tasks = read_packed(folder_of("classification")).tasks[:4]
        rules = learner.adapt_many([task.examples[:2] for task in tasks])
        for task, rule in zip(tasks, rules, strict=True):
            store.put(task.name, rule, task.examples[:2])
    with server(*models, "--store", str(file)) as (_, found):
        yield found


@pytest.fixture
def page(browser: "Browser", address: str) -> Generator["Page"]:
    """A page of the server on a phone in the dark."""
    with watched(browser, address, width=PHONE, dark=True) as page:
        page.set_default_timeout(PATIENCE)
        yield page
        assert page.evaluate("() => document.documentElement.scrollWidth") == PHONE


def trial(page: "Page", act: Any, inputs: Any = None) -> dict[str, Any]:
    """What the page asked the server to learn when something was done, and the response.

    With `inputs`, only a request for these counts: a slow browser asks while something is still being drawn.
    """

    def is_meant(response: Any) -> bool:
        asked = response.url.endswith("/adapt")
        return asked and inputs in (None, (response.request.post_data_json or {}).get("inputs"))

    with page.expect_response(is_meant) as response:
        act()
    assert response.value.ok
    return {**(response.value.request.post_data_json or {}), "found": response.value.json()["rows"]}


def test_examples_one_after_another(page: "Page") -> None:
    """By keyboard alone, from the first Tab on."""
    page.goto("/#classification/teach")
    page.get_by_text("Learned 4 examples").wait_for()
    assert page.locator(".answers li").count() == 6
    assert page.locator(".answers li:first-child .trail rect").count() == 4  # how sure, after each of them
    page.locator("#own").focus()
    page.keyboard.press("Enter")

    def example(x: str, y: str) -> None:
        page.keyboard.type(x)
        page.keyboard.press("Tab")
        page.keyboard.type(y)
        page.keyboard.press("Enter")

    asked = trial(page, lambda: example("1 2 3 4 5", "up"))
    assert asked["examples"] == [{"x": [1, 2, 3, 4, 5], "y": "up"}]
    asked = trial(page, lambda: example("9 8 7 6 5", "down"))
    assert asked["examples"][-1] == {"x": [9, 8, 7, 6, 5], "y": "down"}
    page.get_by_text("Learned 2 examples").wait_for()
    shown = page.locator(".answers li")
    for place, row in enumerate(asked["found"]):
        assert row["answer"] in ("up", "down")
        assert shown.nth(place).locator(".label").inner_text() == row["answer"]
        assert shown.nth(place).locator(".number").inner_text() == f"{100 * row['probability']:.0f} %"
    page.get_by_label("Input of an example").fill("1 2 99")
    page.get_by_label("Its answer").fill("up")
    page.keyboard.press("Enter")
    assert "99 is not a token" in page.get_by_role("alert").inner_text()
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 28)"


def test_a_game_with_a_hidden_rule(page: "Page") -> None:
    page.goto("/#classification/guess")
    tasks = {task.name: task.examples for task in read_packed(folder_of("classification")).tasks}
    page.locator(".examples li").first.wait_for()
    seen = [
        [int(word) for word in line.split()]
        for line in page.locator(".examples li .tokens:first-child").all_inner_texts()
    ]
    ((name, examples),) = [
        (name, each) for name, each in tasks.items() if [x for x, _ in each[:4]] == seen[::-1]
    ]
    for number, (x, y) in enumerate(examples[4:10]):
        page.get_by_text(f"Round {number + 1} of 6").wait_for()
        assert page.locator(".asked .tokens").inner_text().split() == list(map(str, x))
        assert name not in page.inner_text("body")
        given = y if number else (y + 1) % 4  # the first is wrong
        page.get_by_role("button", name=f"Answer {given}").press("Enter")
    page.locator(".revealed").wait_for()
    assert page.inner_text(".revealed") == name
    assert page.inner_text("#score-you") == "5"
    assert page.locator(".dots .hit").count() == 5 + int(page.inner_text("#score-model"))
    assert page.locator(".rounds li").count() == 6


def test_shortest_paths_are_those_of_the_benchmark(page: "Page") -> None:
    draws = random.Random(0)
    cases = []
    while len(cases) < 400:
        layout, (start, end) = draws.choices(range(CELLS), k=BLOBS), draws.sample(range(CELLS), 2)
        if not {start, end} & {cell for corner in layout for cell in blob(corner)}:
            cases.append((layout, start, end))
    page.goto("/")
    found = page.evaluate(
        """async (cases) => {
          const { shortestPath } = await import("/paths.js");
          return cases.map((one) => shortestPath(...one));
        }""",
        cases,
    )
    assert found == [shortest_path(*case) for case in cases]
    assert any(not path for path in found)


def test_obstacles_that_are_drawn(page: "Page") -> None:
    page.goto("/#pathfinding/teach")
    page.get_by_text(DONE).wait_for()
    cell = page.get_by_role("gridcell")
    assert page.locator(".big .way").count() == 2
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("Draw an obstacle").wait_for()
    cell.nth(0).focus()
    for name in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(name)
    asked = trial(page, lambda: page.keyboard.press("Space"))
    assert asked["inputs"] == [[22] * BLOBS]
    box = page.locator(".big.grid").bounding_box()
    assert box is not None
    place = [box["width"] / 10 * (step + 0.5) for step in range(10)]
    page.mouse.move(box["x"] + place[4], box["y"] + place[4])
    page.mouse.down()
    page.mouse.move(box["x"] + place[6], box["y"] + place[4], steps=6)
    asked = trial(page, page.mouse.up, [[22, 44, 46, 22, 44, 46, 22, 44]])
    page.locator(".verdict.right, .verdict.wrong").wait_for()
    true = shortest_path([22, 44, 46], 70, 14)
    line = page.locator(".big .way.true").get_attribute("d")
    assert line is not None
    points = [[float(number) + 0.09 - 0.5 for number in point.split()] for point in line[1:].split("L")]
    assert [round(y) * 10 + round(x) for x, y in points] == true
    (row,) = asked["found"]
    assert f"{100 * row['probability']:.0f} % sure" in page.inner_text(".verdict")
    assert ("the shortest path," in page.inner_text(".verdict")) == (row["answer"] == [100 + c for c in true])


def test_the_map_of_stored_tasks(page: "Page", address: str) -> None:
    page.goto("/#classification/map")
    page.locator(".task").first.wait_for()
    assert page.locator(".task").count() == 4
    first, *others = (task.name for task in read_packed(folder_of("classification")).tasks[:4])
    page.locator(f'[data-task="{first}"] circle').last.click()
    page.get_by_role("heading", name=first).wait_for()
    with tam.Client(address) as client:
        expected = [one.name for one in client.nearest(first, 5)]
    assert page.locator(".nearest button").all_inner_texts() == expected
    assert set(expected) == set(others)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.locator(f'.task.chosen:not([data-task="{first}"])').wait_for()
    page.locator(".nearest button").first.click()
    page.get_by_role("tab", name="Map").focus()
    page.keyboard.press("ArrowLeft")
    assert page.get_by_role("tab", name="Guess").get_attribute("aria-selected") == "true"
    page.get_by_text("transduction", exact=True).click()
    page.get_by_text("rewrites a sequence").wait_for()


@pytest.mark.parametrize(
    ("text", "typed", "x"),
    [("words", "no, 5 zebras", ["no,", "5", "zebras"]), ("characters", "a b", ["a", " ", "b"])],
)
def test_text_is_typed_as_it_is_trained(
    text: str, typed: str, x: list[str], browser: "Browser", tmp_path: Path
) -> None:
    """Words that training never saw included."""
    tasks = {name: [("a cab", "taxi"), ("a bed 5", "hotel")] * 4 for name in "abc"}
    learner = tam.Learner(preset="smoke", steps=1, hints=0, shots=(1,)).fit(tam.tasks_from(tasks, text=text))
    learner.save(tmp_path / text)
    with server(str(tmp_path / text)) as (_, found), watched(browser, found, width=PHONE, dark=True) as page:
        page.goto("/#teach")
        page.get_by_label("Input of an example").fill(typed)
        page.get_by_label("Its answer").fill("hotel")
        asked = trial(page, lambda: page.keyboard.press("Enter"))
        assert asked["examples"] == [{"x": x, "y": "hotel"}]
