"""What requests and responses look like: the source of the OpenAPI schema."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

Token = StrictInt | StrictStr
Sequence = list[Token]
Reply = Token | Sequence

ModelName = Annotated[str | None, Field(description="A model of /models; the first if not given.")]
Answers = Annotated[
    int,
    Field(
        ge=1,
        le=64,
        strict=True,
        description="Answers per row, the likeliest first; for sequences also the beams.",
    ),
]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Example(_Request):
    """An input and its answer: a label, or tokens."""

    x: Sequence
    y: Reply


class _Examples(_Request):
    examples: Annotated[list[Example], Field(min_length=1)]
    primitives: Annotated[
        list[StrictStr], Field(description="For a compositional model: one of them unknown to it.")
    ] = []
    searches: Annotated[
        int | None,
        Field(
            ge=2,
            le=64,
            strict=True,
            description="Most searches that learn the task, if the model uses several; fewer take less time.",
        ),
    ] = None
    model: ModelName = None


class NewTask(_Examples):
    """A task to learn and to keep."""

    name: Annotated[StrictStr, Field(min_length=1, max_length=200)]
    notes: StrictStr = ""
    replace: Annotated[StrictBool, Field(description="Whether a task of this name is replaced.")] = False


class Trial(_Examples):
    """A task to learn and not to keep, and inputs to answer with it."""

    inputs: list[Sequence] = []
    answers: Answers = 1


class Row(_Request):
    """An input, and the stored task to answer it with."""

    task: StrictStr
    x: Sequence


class Rows(_Request):
    """Rows to answer, of different tasks."""

    rows: Annotated[list[Row], Field(min_length=1)]
    answers: Answers = 1
    model: ModelName = None


class Change(_Request):
    """What changes of a task."""

    name: Annotated[StrictStr | None, Field(min_length=1, max_length=200)] = None
    notes: StrictStr | None = None


class Problem(BaseModel):
    """Why a request failed."""

    error: str


class Possible(BaseModel):
    """A possible answer and its probability."""

    answer: Reply
    probability: float


class Answered(Possible):
    """The likeliest answer to a row, and others if more were asked for."""

    others: list[Possible]


class Predictions(BaseModel):
    """An answer to every row."""

    rows: list[Answered]


class Listed(BaseModel):
    """A task in a list."""

    name: str
    examples: int
    loss: float | None
    weights: str
    notes: str
    created: str


class Tasks(BaseModel):
    """Tasks that were asked for, and how many the store has."""

    tasks: list[Listed]
    total: int


class Stored(BaseModel):
    """All that is kept of a task."""

    name: str
    notes: str
    created: str
    examples: list[Example]
    embedding: dict[str, Any]


class Learned(BaseModel):
    """What was learned of a task, and answers to the inputs."""

    loss: float | None
    embedding: dict[str, Any]
    rows: list[Answered]


class Neighbour(BaseModel):
    """A task that is similar to another: the cosine of the angle between their embeddings."""

    name: str
    similarity: float


class Neighbours(BaseModel):
    """The tasks most similar to one.

    Only those learned with the same weights are compared: a model may use others at another k.
    """

    task: str
    nearest: list[Neighbour]
    compared: int
    total: int


class Place(BaseModel):
    """A task on a map."""

    name: str
    x: float
    y: float


class Map(BaseModel):
    """Tasks that were learned with the same weights, in the plane of their first two principal components."""

    weights: str
    shots: list[int]
    tasks: list[Place]
    shares: tuple[float, float]


class Maps(BaseModel):
    """A map for each weights."""

    maps: list[Map]


class ModelOut(BaseModel):
    """A model that is served."""

    name: str
    kind: str
    method: str
    vocabulary: Sequence
    max_x: int
    max_y: int
    classes: int
    primitives: list[str] | None
    shots: list[int]
    weights: dict[str, str]
    searches: int
    tasks: int
    in_memory: bool
    benchmark: str | None
    hidden: int


class Models(BaseModel):
    """The models that are served; the first is used where a request names none."""

    models: list[ModelOut]


class Hidden(BaseModel):
    """A test task that came with a model, to be guessed from its examples."""

    name: str
    examples: list[Example]


class Health(BaseModel):
    """That the server answers, and which version it is."""

    status: str
    version: str
