"""TAM against a plain reading of Algorithms 1 and 2: one task after another, one example at a time."""

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

import pytest
import torch
from torch import Tensor

from tam.errors import UserError
from tam.methods import TAM, Losses
from tam.methods.losses import example_losses
from tam.methods.tam import z_gradient
from tam.models import Batch, Model, ModelSpec
from tam.training.adam import Adam

Make = Callable[..., Batch]
MakeModel = Callable[..., Model]

RATE, CLIP = 0.01, 0.5


def take(batch: Batch, task: int, rows: Sequence[int]) -> Batch:
    """Some rows of one task."""
    one = batch.part(slice(task, task + 1))
    index = torch.tensor(list(rows))
    return replace(
        one,
        x=one.x[:, index],
        x_length=one.x_length[:, index],
        y=one.y[:, index],
        y_length=None if one.y_length is None else one.y_length[:, index],
        present=None,
    )


def mean_loss(outcomes: Tensor, batch: Batch) -> Tensor:
    """The mean of −log p over the predictions of one task, picked one by one from all outcomes."""
    picked: list[Tensor] = []
    for row in range(batch.rows):
        if batch.y_length is None:
            picked.append(outcomes[0, row, int(batch.y[0, row])])
        else:
            length, end = int(batch.y_length[0, row]), outcomes.shape[-1] - 1
            tokens = [*batch.y[0, row, :length].tolist(), end]
            picked += [outcomes[0, row, place, token] for place, token in enumerate(tokens)]
    return -torch.stack(picked).mean()


def task_loss(model: Model, z: Tensor, batch: Batch, task: int, rows: Sequence[int] | None = None) -> Tensor:
    """The loss of one task at its z, `[S]`."""
    some = take(batch, task, range(batch.rows) if rows is None else rows)
    return mean_loss(model.outcomes(model.condition(z.view(1, 1, -1), some), some), some)


def losses_at(model: Model, z: Tensor, batch: Batch) -> Tensor:
    """The loss of every task at its z, `[B]`."""
    return example_losses(model, z.unsqueeze(1), batch).per_task()


@dataclass
class Walk:
    """One task of the reference on its way."""

    z: Tensor
    adam: torch.optim.Adam
    loss: Tensor
    z_loss: Tensor
    best: float = math.inf
    worse: int = 0
    steps: int = 0
    losses: list[float] = field(default_factory=list)

    def goes_on(self, patience: int | None) -> bool:
        """Line 5: whether the loss improved."""
        self.worse = 0 if self.z_loss.item() < self.best else self.worse + 1
        self.best = min(self.best, self.z_loss.item())
        return patience is None or self.worse < patience


def algorithm_1(
    model: Model,
    batch: Batch,
    settings: TAM,
    rows_of_z: Sequence[Sequence[int] | None] | None = None,
    outer: int = 1,
) -> list[Walk]:
    """Algorithm 1 as printed, θ moving once at the end or after every step; z by torch's Adam."""
    theta = list(model.parameters())
    theta_adam = torch.optim.Adam(theta, lr=RATE, betas=(0.9, 0.98))
    rows_of_z = rows_of_z or [None] * batch.tasks
    walks: list[Walk] = []

    def look(walk: Walk, task: int) -> None:
        walk.loss = task_loss(model, walk.z, batch, task)
        walk.z_loss = task_loss(model, walk.z, batch, task, rows_of_z[task])
        walk.losses.append(walk.z_loss.item())

    def move_theta(total: list[Tensor], count: int) -> None:
        for parameter, gradient in zip(theta, total, strict=True):
            parameter.grad = gradient / count
        torch.nn.utils.clip_grad_norm_(theta, CLIP)
        theta_adam.step()

    for _ in range(outer):
        walks = []
        for task in range(batch.tasks):
            z = torch.zeros(model.task_size, dtype=torch.float64, requires_grad=True)
            adam = torch.optim.Adam([z], lr=settings.inner_rate)
            walks.append(Walk(z, adam, z, z))
            look(walks[-1], task)
        total, count = [torch.zeros_like(parameter) for parameter in theta], 0
        going = list(range(batch.tasks))
        for _ in range(settings.inner_steps):
            going = [task for task in going if walks[task].goes_on(settings.patience)]
            if not going:
                break
            for task in going:
                walk = walks[task]
                if walk.steps == 0 or settings.theta_update == "accumulated":
                    (walk.z.grad,) = torch.autograd.grad(walk.z_loss, walk.z)
                walk.adam.step()
                look(walk, task)
                walk.steps += 1
                gradients = torch.autograd.grad(walk.loss, theta, retain_graph=True, materialize_grads=True)
                total = [sum_ + gradient for sum_, gradient in zip(total, gradients, strict=True)]
                count += 1
                # z and θ share a backward pass: with θ about to move, z's next gradient is of now.
                (walk.z.grad,) = torch.autograd.grad(walk.z_loss, walk.z, retain_graph=True)
            if settings.theta_update == "interleaved":
                move_theta(total, count)
                total, count = [torch.zeros_like(parameter) for parameter in theta], 0
        if settings.theta_update == "accumulated":
            move_theta(total, count)
    return walks


def ours(
    model: Model, batch: Batch, settings: TAM, outer: int = 1, step: int = 0
) -> tuple[list[Losses], list[float]]:
    """Our training steps with our Adam, and over how many task-steps each move was."""
    adam = Adam(model, (), CLIP)
    adam.rate.fill_(RATE)
    counts: list[float] = []

    def update(count: Tensor) -> None:
        counts.append(count.item())
        adam.move(count)

    return [settings.training_step(model, batch, update, step) for _ in range(outer)], counts


def assert_same_theta(first: Model, second: Model) -> None:
    for (name, a), b in zip(first.named_parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9, msg=lambda text, name=name: f"{name}: {text}")


def assert_moved(model: Model, start: Model) -> None:
    assert any((a != b).any() for a, b in zip(model.parameters(), start.parameters(), strict=True))


@pytest.mark.parametrize("patience", [None, 1])
@pytest.mark.parametrize("theta_update", ["accumulated", "interleaved"])
def test_a_training_step_is_algorithm_1(
    spec: ModelSpec, theta_update: str, patience: int | None, make_model: MakeModel, make_batch: Make
) -> None:
    settings = TAM(inner_steps=4, inner_rate=0.3, patience=patience, theta_update=theta_update)  # pyright: ignore[reportArgumentType]
    model, batch = make_model(spec), make_batch(spec, 3, 4)
    reference = deepcopy(model)
    losses, counts = ours(model, batch, settings, outer=2)
    walks = algorithm_1(reference, batch, settings, outer=2)
    assert_same_theta(model, reference)
    assert_moved(model, make_model(spec))
    steps = [walk.steps for walk in walks]
    assert losses[-1].steps.item() == pytest.approx(sum(steps) / 3)
    assert losses[-1].start.item() == pytest.approx(sum(walk.losses[0] for walk in walks) / 3, rel=1e-9)
    if theta_update == "accumulated" or patience is None:  # else θ moves on under tasks that have stopped
        assert losses[-1].end.item() == pytest.approx(sum(walk.losses[-1] for walk in walks) / 3, rel=1e-9)
    moves = 1 if theta_update == "accumulated" else 4
    assert len(counts) == 2 * moves
    assert sum(counts[moves:]) == sum(steps)


@pytest.mark.parametrize("theta_update", ["accumulated", "interleaved"])
def test_tasks_stop_one_by_one(
    plain_spec: ModelSpec, theta_update: str, make_model: MakeModel, make_batch: Make
) -> None:
    if plain_spec.kind == "classification":  # chosen such that tasks stop at different steps
        model, batch, rate = make_model(plain_spec), make_batch(plain_spec, 4, 8, seed=1), 0.6
    else:
        model, batch, rate = make_model(plain_spec, seed=0), make_batch(plain_spec, 5, 3, seed=2), 0.1
    settings = TAM(inner_steps=8, inner_rate=rate, patience=1, theta_update=theta_update)  # pyright: ignore[reportArgumentType]
    reference = deepcopy(model)
    losses, counts = ours(model, batch, settings)
    walks = algorithm_1(reference, batch, settings)
    steps = [walk.steps for walk in walks]
    assert len(set(steps)) >= 3, "the tasks must stop at different steps for this test to say anything"
    for walk in walks:  # the step that did not improve counts, and is the last
        assert walk.losses[:-1] == sorted(walk.losses[:-1], reverse=True)
        assert walk.steps == 8 or walk.losses[-1] >= walk.losses[-2]
    assert losses[0].steps.item() == pytest.approx(sum(steps) / batch.tasks)
    if theta_update == "interleaved":
        assert counts == [sum(number > step for number in steps) for step in range(8)]
    else:
        assert counts == [sum(steps)]
    assert_same_theta(model, reference)


def test_once_all_tasks_have_stopped_theta_stands_still(
    plain_spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    """More inner steps then change nothing, not even by momentum."""
    batch = make_batch(plain_spec, 4, 8, seed=1 if plain_spec.kind == "classification" else 3)
    batch = batch.part(slice(2, 4) if plain_spec.kind == "classification" else slice(0, 3))
    results: list[Model] = []
    for inner_steps in (1, 2, 6):
        model = make_model(plain_spec)
        settings = TAM(inner_steps=inner_steps, inner_rate=20, patience=1, theta_update="interleaved")
        _, counts = ours(model, batch, settings)
        assert counts == [batch.tasks, *[0] * (inner_steps - 1)]
        results.append(model)
    assert_moved(results[0], make_model(plain_spec))
    for later in results[1:]:
        for a, b in zip(results[0].parameters(), later.parameters(), strict=True):
            assert torch.equal(a, b)


def test_the_folded_loop_equals_a_loop_over_tasks(
    spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    settings = TAM(inner_steps=4, inner_rate=0.3, patience=1)
    batch = make_batch(spec, 4, 5)
    sums: list[list[Tensor]] = []
    counts: list[float] = []
    losses: list[Losses] = []
    for part in [slice(0, 4), *(slice(task, task + 1) for task in range(4))]:
        model = make_model(spec)
        losses.append(settings.training_step(model, batch.part(part), lambda n: counts.append(n.item()), 0))
        sums.append([torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()])
    for place, together in enumerate(sums[0]):
        torch.testing.assert_close(together, torch.stack([alone[place] for alone in sums[1:]]).sum(0))
    assert counts[0] == sum(counts[1:])
    for together, alone in zip(losses[0], zip(*losses[1:], strict=True), strict=True):
        torch.testing.assert_close(together, torch.stack(list(alone)).mean())


def test_gradients_equal_finite_differences(spec: ModelSpec, make_model: MakeModel, make_batch: Make) -> None:
    model, batch = make_model(spec), make_batch(spec, 3, 4)
    generator = torch.Generator().manual_seed(3)
    z = 0.3 * torch.randn(3, model.task_size, generator=generator, dtype=torch.float64)
    weights = torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64)
    loss, at_rest = z_gradient(model, z, batch)
    assert all(parameter.grad is None for parameter in model.parameters())
    loss_too, weighted = z_gradient(model, z, batch, theta_weights=weights)
    torch.testing.assert_close(loss, loss_too)
    torch.testing.assert_close(weighted, at_rest * weights.unsqueeze(1))

    def total(where: Tensor) -> Tensor:
        with torch.no_grad():
            return torch.stack([task_loss(model, where[task], batch, task) for task in range(3)])

    torch.testing.assert_close(loss, total(z))
    small = 1e-6
    for _ in range(3):
        direction = torch.randn(z.shape, generator=generator, dtype=torch.float64)
        slope = (total(z + small * direction) - total(z - small * direction)) / (2 * small)
        torch.testing.assert_close((at_rest * direction).sum(1), slope, rtol=1e-5, atol=1e-6)
    for parameter in model.parameters():
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        values: list[Tensor] = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter += sign * small * direction
                values.append((total(z) * weights).sum())
                parameter -= sign * small * direction
        slope = (values[0] - values[1]) / (2 * small)
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        torch.testing.assert_close((gradient * direction).sum(), slope, rtol=1e-5, atol=1e-6)


def test_algorithm_2_trains_the_known_primitives_and_infers_the_unknown(
    compositional_spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    model = make_model(compositional_spec)
    batch = replace(
        make_batch(compositional_spec, 2, 5),
        primitives=torch.tensor([[1, 2, 3], [1, 4, 3]]),
        unknown=torch.tensor([1, 1]),
    )
    losses, gradients = _one_step(model, batch)
    used = gradients.ne(0).any(1)
    assert used.tolist() == [False, True, False, True, False, False]  # rows 2 and 4 play unknown
    # Inferred from zero: the first loss is that of a table whose unknown rows are zero, with no z at all.
    spelled = deepcopy(model)
    assert spelled.primitives is not None
    with torch.no_grad():
        spelled.primitives[[2, 4]] = 0
        known = [replace(take(batch, task, range(5)), unknown=None) for task in range(2)]
        by_hand = [mean_loss(spelled.outcomes(spelled.condition(None, one), one), one) for one in known]
    torch.testing.assert_close(losses.start, torch.stack(by_hand).mean())
    # The unknown slot's id is not looked at.
    other = make_model(compositional_spec)
    _, same = _one_step(other, replace(batch, primitives=torch.tensor([[1, 5, 3], [1, 0, 3]])))
    assert torch.equal(gradients, same)


def _one_step(model: Model, batch: Batch) -> tuple[Losses, Tensor]:
    losses = TAM(inner_steps=3, inner_rate=0.1).training_step(model, batch, lambda _: None, 0)
    assert model.primitives is not None
    assert model.primitives.grad is not None
    return losses, model.primitives.grad


MIXED = TAM(
    inner_steps=4,
    inner_rate=0.3,
    support="mixed",
    small_share=0.5,
    small_after=7,
    small_sizes=(1, 4),
)


def mixed_batch(batch: Batch) -> tuple[Batch, list[list[int] | None]]:
    """Four tasks: two with small supports, of 2 and 4 rows, and two with all."""
    chance = torch.tensor([[0.5, 0.1], [0.5, 0.5], [0.99, 0.49], [0.0, 0.9]], dtype=torch.float64)
    return replace(batch, chance=chance), [[0, 1], None, [0, 1, 2, 3], None]


@pytest.mark.parametrize(("patience", "theta_update"), [(1, "accumulated"), (None, "interleaved")])
def test_with_mixed_supports_z_follows_the_chosen_rows_and_theta_all(
    spec: ModelSpec, patience: int | None, theta_update: str, make_model: MakeModel, make_batch: Make
) -> None:
    settings = replace(MIXED, patience=patience, theta_update=theta_update)
    batch, chosen = mixed_batch(make_batch(spec, 4, 6))
    model = make_model(spec)
    reference = deepcopy(model)
    losses, _ = ours(model, batch, settings, step=7)
    walks = algorithm_1(reference, batch, settings, chosen)
    assert_same_theta(model, reference)
    assert losses[0].steps.item() == pytest.approx(sum(walk.steps for walk in walks) / 4)
    assert losses[0].end.item() == pytest.approx(sum(walk.losses[-1] for walk in walks) / 4)


def test_zs_gradient_is_that_of_the_support_alone(
    spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    model, batch = make_model(spec), make_batch(spec, 2, 6)
    chosen = torch.tensor([[1.0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 1, 1]], dtype=torch.float64)
    z = torch.randn(2, model.task_size, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    loss, gradient = z_gradient(model, z, batch, chosen, theta_weights=z.new_ones(2))
    theta = [parameter.grad for parameter in model.parameters()]
    for task, rows in enumerate(([0, 1], [2, 4, 5])):
        alone = z[task].clone().requires_grad_()
        expected = task_loss(model, alone, batch, task, rows)
        torch.testing.assert_close(loss[task], expected.detach())
        torch.testing.assert_close(gradient[task], torch.autograd.grad(expected, alone)[0])
    everything = make_model(spec)
    z_gradient(everything, z, batch, theta_weights=z.new_ones(2))
    for a, b in zip(theta, everything.parameters(), strict=True):
        torch.testing.assert_close(a, b.grad)


def test_small_supports_come_after_their_phase_and_at_their_share(
    plain_spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    batch, _ = mixed_batch(make_batch(plain_spec, 4, 6))

    def theta(settings: TAM, step: int, batch: Batch = batch) -> list[Tensor]:
        model = make_model(plain_spec)
        ours(model, batch, settings, step=step)
        return list(model.parameters())

    def same(first: list[Tensor], second: list[Tensor]) -> bool:
        return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))

    plain = TAM(inner_steps=4, inner_rate=0.3)
    assert [MIXED.phase(step) for step in (0, 6, 7, 100)] == [0, 0, 1, 1]
    assert [plain.phase(step) for step in (0, 10_000)] == [0, 0]
    assert same(theta(MIXED, 6), theta(plain, 6))
    assert not same(theta(MIXED, 7), theta(plain, 7))
    assert not same(theta(MIXED, 7), theta(replace(MIXED, small_share=1.0), 7))
    # With all rows as the paper has it, chance changes nothing; with mixed supports it does.
    other = replace(batch, chance=1 - torch.nn.functional.pad(batch.chance[:, :1], (0, 1)))  # pyright: ignore[reportOptionalSubscript]
    assert same(theta(plain, 100), theta(plain, 100, other))
    assert same(theta(plain, 100), theta(plain, 100, replace(batch, chance=None)))
    assert not same(theta(MIXED, 100), theta(MIXED, 100, other))


def test_small_supports_are_log_uniform(
    plain_spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    """The number of rows that z follows, seen from outside: the loss is that of so many rows."""
    settings = replace(MIXED, small_share=1.0, small_sizes=(2, 8), inner_steps=1)
    batch, model = make_batch(plain_spec, 1, 9), make_model(plain_spec)
    sizes: list[int] = []
    places = [0.0, 0.05, 0.3, 0.5, 0.7, 0.999]
    for place in places:
        drawn = replace(batch, chance=torch.tensor([[place, 0.0]], dtype=torch.float64))
        start = settings.training_step(model, drawn, lambda _: None, 100).start.item()
        blank = model.blank(1)[0]
        by_size = {n: task_loss(model, blank, batch, 0, range(n)).item() for n in range(1, 10)}
        sizes.append(min(by_size, key=lambda n: abs(by_size[n] - start)))
        assert by_size[sizes[-1]] == pytest.approx(start)
    assert sizes == [round(math.exp(math.log(2) + p * math.log(4))) for p in places] == [2, 2, 3, 4, 5, 8]


def test_rows_that_are_not_there_have_no_effect(
    spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    whole = make_batch(spec, 2, 6)
    present = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
    batch = replace(whole, present=present)
    scrambled = make_batch(spec, 2, 6, seed=9)
    where = present.unsqueeze(-1)
    other = replace(
        batch,
        x=torch.where(where, whole.x, scrambled.x),
        x_length=torch.where(present, whole.x_length, scrambled.x_length),
        y=torch.where(present if whole.y_length is None else where, whole.y, scrambled.y),
        y_length=None
        if whole.y_length is None or scrambled.y_length is None
        else torch.where(present, whole.y_length, scrambled.y_length),
    )
    for settings in (TAM(inner_steps=3, inner_rate=0.3), replace(MIXED, small_after=0, small_share=1.0)):
        gradients: list[list[Tensor | None]] = []
        for given in (batch, other):
            model = make_model(spec)
            settings.training_step(model, given, lambda _: None, 0)
            gradients.append([parameter.grad for parameter in model.parameters()])
        for a, b in zip(*gradients, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)
    model, settings = make_model(spec), TAM(patience=None)
    short = replace(
        whole.part(slice(1, 2)),
        x=whole.x[1:, :3],
        x_length=whole.x_length[1:, :3],
        y=whole.y[1:, :3],
        y_length=None if whole.y_length is None else whole.y_length[1:, :3],
    )
    (together,) = settings.adapt(model, batch, [4], 0.1)
    (alone,) = settings.adapt(model, short, [4], 0.1)
    torch.testing.assert_close(together[1:], alone)
    torch.testing.assert_close(losses_at(model, together, batch)[1:], losses_at(model, alone, short))


def test_adapting_leaves_theta_alone(spec: ModelSpec, make_model: MakeModel, make_batch: Make) -> None:
    model, untouched = make_model(spec), make_model(spec)
    states = TAM().adapt(model, make_batch(spec, 3, 5), [1, 5, 9], 0.1)
    assert states[2].ne(0).any()
    for parameter, before in zip(model.parameters(), untouched.parameters(), strict=True):
        assert torch.equal(parameter, before)
        assert parameter.grad is None
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    TAM().adapt(model, make_batch(spec, 3, 5), [2], 0.1)
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert parameter.grad.eq(1).all()


@pytest.mark.parametrize("patience", [None, 1, 2])
def test_one_trajectory_yields_the_states_of_all_step_counts(
    spec: ModelSpec, patience: int | None, make_model: MakeModel, make_batch: Make
) -> None:
    model, batch, settings = make_model(spec), make_batch(spec, 3, 5), TAM(patience=patience)
    steps = [5, 1, 0, 9]
    for count, state in zip(steps, settings.adapt(model, batch, steps, 0.5), strict=True):
        (separate,) = settings.adapt(model, batch, [count], 0.5)
        assert torch.equal(state, separate)
        assert not state.requires_grad


@pytest.mark.parametrize("patience", [None, 1, 3])
def test_adapting_returns_the_embedding_of_lowest_support_loss(
    spec: ModelSpec, patience: int | None, make_model: MakeModel, make_batch: Make
) -> None:
    model, batch, settings = make_model(spec), make_batch(spec, 4, 8, seed=1), TAM(patience=patience)
    steps, rate = [1, 2, 4, 7], 3.0 if spec.backbone == "lstm" else 1.5
    states = settings.adapt(model, batch, steps, rate)
    returned_early = False
    for task in range(4):
        z = torch.zeros(model.task_size, dtype=torch.float64, requires_grad=True)
        adam = torch.optim.Adam([z], lr=rate)
        best_z, best, worse = z.detach().clone(), math.inf, 0
        for step in range(max(steps) + 1):
            if patience is None or worse < patience:
                loss = task_loss(model, z, batch, task)
                worse = 0 if loss.item() < best else worse + 1
                if loss.item() < best:
                    best_z, best = z.detach().clone(), loss.item()
            if step in steps:
                torch.testing.assert_close(states[steps.index(step)][task], best_z)
                returned_early |= not torch.equal(best_z, z)
            if patience is None or worse < patience:
                (z.grad,) = torch.autograd.grad(task_loss(model, z, batch, task), z)
                adam.step()
        torch.testing.assert_close(losses_at(model, states[-1], batch)[task].item(), best)
    assert returned_early


def test_adapting_needs_no_grad_mode(plain_spec: ModelSpec, make_model: MakeModel, make_batch: Make) -> None:
    model, batch = make_model(plain_spec), make_batch(plain_spec)
    with torch.no_grad():
        (inside,) = TAM().adapt(model, batch, [3], 0.1)
    (outside,) = TAM().adapt(model, batch, [3], 0.1)
    assert torch.equal(inside, outside)


def test_outcomes_are_the_models_under_each_tasks_own_z(
    spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    model, batch = make_model(spec), make_batch(spec, 3, 4)
    (z,) = TAM().adapt(model, batch, [3], 0.3)
    outcomes = TAM().outcomes(model, z, batch)
    for task in range(3):
        one = batch.part(slice(task, task + 1))
        alone = model.outcomes(model.condition(z[task].view(1, 1, -1), one), one)
        torch.testing.assert_close(outcomes[task : task + 1], alone)


def test_adapting_learns(plain_spec: ModelSpec, make_model: MakeModel, make_batch: Make) -> None:
    model, batch, settings = make_model(plain_spec), make_batch(plain_spec, 3, 4), TAM(patience=None)
    losses = [losses_at(model, z, batch) for z in settings.adapt(model, batch, [0, 5, 25], 0.1)]
    assert (losses[0] > losses[2]).all()
    assert (losses[1] >= losses[2]).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"inner_steps": 0},
        {"patience": 0},
        {"inner_rate": -0.1},
        {"theta_update": "sometimes"},
        {"support": "some"},
        {"small_share": 0.5},
        {"small_after": 3},
        {"small_sizes": (4, 64)},
        {"support": "mixed", "small_sizes": (0, 4)},
        {"support": "mixed", "small_sizes": (8, 4)},
        {"support": "mixed", "small_share": 1.5},
    ],
)
def test_wrong_settings_are_errors(settings: dict[str, object]) -> None:
    with pytest.raises(UserError, match=list(settings)[-1]):
        TAM(**settings)  # pyright: ignore[reportArgumentType]
