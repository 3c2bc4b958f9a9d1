"""The types of requests and responses: the source of the OpenAPI schema."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StrictBool, StrictInt, StrictStr, Tag

Token = StrictInt | StrictStr
Sequence = list[Token]
Reply = Token | Sequence
Input = Annotated[
    Annotated[Sequence, Tag("tokens")] | Annotated[StrictStr, Tag("text")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "tokens"),
    Field(description="Tokens, or text, which is split as in training."),
]

ModelName = Annotated[str | None, Field(description="A model of /models; by default the first.")]
_Answers = Annotated[
    int,
    Field(
        ge=1,
        le=64,
        strict=True,
        description="Number of answers per row, likeliest first; for sequences also the beam width.",
    ),
]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Example(_Request):
    """An input and its answer: a label, or tokens."""

    x: Input
    y: Reply | StrictBool


class _Examples(_Request):
    examples: Annotated[list[Example], Field(min_length=1)]
    primitives: Annotated[
        list[StrictStr], Field(description="For a compositional model: its primitives, one of them unknown.")
    ] = []
    searches: Annotated[
        int | None,
        Field(
            ge=2,
            le=64,
            strict=True,
            description="Most searches to learn the task with, if the model uses several; fewer are faster.",
        ),
    ] = None
    model: ModelName = None


class NewTask(_Examples):
    """A task to learn and store."""

    name: Annotated[StrictStr, Field(min_length=1, max_length=200)]
    notes: StrictStr = ""
    replace: Annotated[StrictBool, Field(description="Whether to replace a task of this name.")] = False


class Trial(_Examples):
    """A task to learn without storing it, and inputs to answer with it."""

    inputs: list[Input] = []
    answers: _Answers = 1


class Row(_Request):
    """An input, and the stored task to answer it with."""

    task: StrictStr
    x: Input


class Rows(_Request):
    """Rows to answer, of different tasks."""

    rows: Annotated[list[Row], Field(min_length=1)]
    answers: _Answers = 1
    model: ModelName = None


class Change(_Request):
    """Changes to a stored task."""

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
    """The likeliest answer to a row, and the others requested."""

    others: list[Possible]


class Predictions(BaseModel):
    """An answer to every row."""

    rows: list[Answered]


class Listed(BaseModel):
    """An entry in the list of tasks."""

    name: str
    examples: int
    loss: float | None
    weights: str
    notes: str
    created: str


class Tasks(BaseModel):
    """The requested tasks, and the number of tasks in the store."""

    tasks: list[Listed]
    total: int


class Stored(BaseModel):
    """A stored task."""

    name: str
    notes: str
    created: str
    examples: list[Example]
    embedding: dict[str, Any]


class Learned(BaseModel):
    """A learned task, and the answers to the inputs."""

    loss: float | None
    embedding: dict[str, Any]
    rows: list[Answered]


class Neighbour(BaseModel):
    """A similar task; the similarity is the cosine of the angle between the embeddings."""

    name: str
    similarity: float


class Neighbours(BaseModel):
    """The tasks most similar to one.

    Only tasks learned with the same weights are compared: a model may use different ones for different k.
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
    """Tasks learned with the same weights, in the plane of their first two principal components."""

    weights: str
    shots: list[int]
    tasks: list[Place]
    shares: tuple[float, float]


class Maps(BaseModel):
    """One map per set of weights."""

    maps: list[Map]


class ModelOut(BaseModel):
    """A served model."""

    name: str
    kind: str
    method: str
    vocabulary: Sequence
    unknown: Annotated[bool, Field(description="Whether inputs may have other tokens.")]
    text: Annotated[
        str | None,
        Field(description="characters, words or tokenizer: how text was split; null for lists of tokens."),
    ]
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
    """The served models; requests that name none use the first."""

    models: list[ModelOut]


class Hidden(BaseModel):
    """A test task that came with a model, to be guessed from its examples."""

    name: str
    examples: list[Example]


class Health(BaseModel):
    """The status and version of the server."""

    status: str
    version: str
