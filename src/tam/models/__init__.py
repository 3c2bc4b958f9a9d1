"""The networks: a transformer or an LSTM, conditioned on a task embedding that is passed in as a value."""

from tam.models.batch import Batch, target_log_prob, token_targets
from tam.models.conditioning import Condition, Modulation, task_size
from tam.models.fast.context import no_weight_gradients, twice_differentiable
from tam.models.lstm import LSTM
from tam.models.model import Model
from tam.models.precision import place_model
from tam.models.spec import ModelSpec
from tam.models.support_networks import build_model
from tam.models.transformer import Transformer

__all__ = [
    "LSTM",
    "Batch",
    "Condition",
    "Model",
    "ModelSpec",
    "Modulation",
    "Transformer",
    "build_model",
    "no_weight_gradients",
    "place_model",
    "target_log_prob",
    "task_size",
    "token_targets",
    "twice_differentiable",
]
