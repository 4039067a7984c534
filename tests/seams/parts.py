"""What the five systems need and the product does not have yet, registered by name."""

from __future__ import annotations

from tests.seams import losses
from tfdistil.distill.objectives import objective

for signal, loss, counted in (
    ("attention", losses.attention_mse, {"count": losses.pieces_in_pairs}),
    ("hidden", losses.states_mse, {}),
):
    objective(
        loss.__name__,
        student=f"{signal}/{{layers[0]}}",
        teacher=(f"{signal}/{{layers[1]}}", f"{signal}/{{layers[2]}}"),
        align="subword",
        **counted,
    )(loss)

objective("softened", student="{head}/{output}", teacher="{teacher_head}/{output}")(losses.softened)
