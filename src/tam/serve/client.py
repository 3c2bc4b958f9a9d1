"""A client of the server, with the interface of a learner."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tam.errors import UserError
from tam.io import infinite_if_none
from tam.learner.inputs import listed_inputs, plain_answer, plain_pairs, plain_tokens
from tam.learner.learner import Examples, Inputs
from tam.learner.task_embedding import TaskEmbedding
from tam.store.store import Neighbour
from tam.store.stored import Listed, StoredTask, check_encodable
from tam.tasks.task import Label
from tam.tasks.vocabulary import Token

if TYPE_CHECKING:
    import httpx


class ServerError(UserError):
    """The server refused a request, or cannot be reached.

    Attributes:
        status: The HTTP status of its response; None if there was none.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """Learns tasks and answers inputs through a server that `tam serve` started.

    Args:
        address: The address of the server.
        token: The token of the server, if it needs one.
        model: The model to use; by default the server's first.
        timeout: Seconds to wait for a response.

    Examples:
        ```python
        with tam.Client("http://127.0.0.1:8000") as client:
            client.learn("vowels", [(["t", "o"], 1), (["a", "r", "e"], 2)])
            client.predict("vowels", [["i", "s"]])
        ```
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        token: str | None = None,
        model: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        try:
            import httpx
        except ModuleNotFoundError:
            raise UserError("a client needs httpx: pip install 'tam-fewshot[serve]'") from None
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._errors = httpx.HTTPError, httpx.InvalidURL
        self._client = httpx.Client(base_url=address, headers=headers, timeout=timeout)
        self.address, self.model = address, model

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def models(self) -> list[dict[str, Any]]:
        """List the models and what they take."""
        return self._ask("GET", "/models")["models"]

    def learn(
        self,
        name: str,
        examples: Examples,
        primitives: Iterable[str] = (),
        notes: str = "",
        *,
        replace: bool = False,
    ) -> StoredTask:
        """Learn a task from examples and store it on the server under a name."""
        body = self._examples(name, examples, primitives) | {"name": name, "notes": notes, "replace": replace}
        return _task(self._ask("POST", "/tasks", body))

    def adapt(self, examples: Examples, primitives: Iterable[str] = ()) -> TaskEmbedding:
        """Learn a task from examples without storing it."""
        body = self._examples("a new task", examples, primitives)
        return TaskEmbedding.from_json(self._ask("POST", "/adapt", body)["embedding"])

    def predict(
        self, tasks: str | Iterable[str], inputs: Inputs, beams: int = 1
    ) -> list[Label] | list[list[Token]]:
        """Answer inputs.

        Args:
            tasks: The name of the task, or one name per input.
            inputs: In your own tokens, or text.
            beams: For sequences, the number of beams.
        """
        return [row["answer"] for row in self._rows(tasks, inputs, beams)]

    def predict_proba(
        self, tasks: str | Iterable[str], inputs: Inputs, answers: int = 1
    ) -> list[dict[Any, float]]:
        """Return the likeliest answers to each input with their probabilities, best first."""
        return [
            {_key(one["answer"]): one["probability"] for one in (row, *row["others"])}
            for row in self._rows(tasks, inputs, answers)
        ]

    def tasks(self, search: str | None = None, limit: int = 100, offset: int = 0) -> list[Listed]:
        """List at most `limit` stored tasks, sorted by name."""
        tasks = self._ask("GET", "/tasks", limit=limit, offset=offset, search=search or "")["tasks"]
        return [Listed(**(one | {"loss": infinite_if_none(one["loss"])})) for one in tasks]

    def task(self, name: str) -> StoredTask:
        """Return a stored task."""
        return _task(self._ask("GET", _path(name)))

    def nearest(self, name: str, count: int = 10) -> list[Neighbour]:
        """Find the stored tasks most similar to one."""
        nearest = self._ask("GET", "/nearest", task=name, count=count)["nearest"]
        return [Neighbour(**one) for one in nearest]

    def rename(self, name: str, new: str) -> None:
        """Rename a task."""
        self._ask("PATCH", _path(name), {"name": new})

    def annotate(self, name: str, notes: str) -> None:
        """Replace the notes of a task."""
        self._ask("PATCH", _path(name), {"notes": notes})

    def remove(self, name: str) -> None:
        """Remove a task."""
        self._ask("DELETE", _path(name))

    def _examples(self, name: str, examples: Examples, primitives: Iterable[str]) -> dict[str, Any]:
        found = plain_pairs(f"task {name!r}", examples, _input, plain_answer)
        check_encodable(name, found)
        pairs = [{"x": x, "y": y} for x, y in found]
        return self._named({"examples": pairs, "primitives": list(primitives)})

    def _named(self, body: dict[str, Any]) -> dict[str, Any]:
        return body if self.model is None else body | {"model": self.model}

    def _rows(self, tasks: str | Iterable[str], inputs: Inputs, answers: int) -> list[dict[str, Any]]:
        given = listed_inputs(inputs)
        names = [tasks] * len(given) if isinstance(tasks, str) else list(tasks)
        if len(names) != len(given):
            raise UserError(f"tasks must be one name or one per input: got {len(names)} for {len(given)}")
        if not given:
            return []
        rows = [{"task": name, "x": _input(x)} for name, x in zip(names, given, strict=True)]
        return self._ask("POST", "/predict", self._named({"rows": rows, "answers": answers}))["rows"]

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None, **query: str | int) -> Any:
        if self.model is not None and method != "POST":
            query["model"] = self.model
        try:
            answer = self._client.request(method, path, json=body, params=query)
        except self._errors as error:
            raise ServerError(f"{self.address}: {error or type(error).__name__}") from None
        if answer.is_success:
            return answer.json() if answer.content else None
        raise ServerError(f"{self.address}: {_reason(answer)}", answer.status_code)


def _input(x: Any) -> str | list[Token]:
    """Tokens as plain values; text is sent as it is, since the server splits it."""
    return x if isinstance(x, str) else plain_tokens(x)


def _reason(answer: "httpx.Response") -> str:
    try:
        return answer.json()["error"]
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}"


def _path(name: str) -> str:
    return f"/tasks/{quote(name, safe='')}"


def _task(values: dict[str, Any]) -> StoredTask:
    return StoredTask.from_json({"task": values["name"], **values})


def _key(answer: Label | Sequence[Token]) -> Any:
    return tuple(answer) if isinstance(answer, list) else answer
