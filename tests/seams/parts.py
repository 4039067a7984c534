"""What the five systems need and the product does not have yet, registered by name."""

from __future__ import annotations

from tests.heads.crf import Crf, CrfDecoder
from tests.seams import losses
from tfdistil.distill.objectives import objective
from tfdistil.heads.kinds import head_kind
from tfdistil.tasks.decoders import decoder

head_kind("crf")(Crf)
decoder("crf")(CrfDecoder)

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

OWN = ("{head}/{output}", "{head}/{output}/potentials")
THEIRS = ("{teacher_head}/{output}", "{teacher_head}/{output}/potentials")
texts = {"count": losses.texts}
objective("crf_nll", student=OWN, target="{output}", **texts)(losses.gold_nll)
objective("token_posterior", student=OWN, teacher=THEIRS, **texts)(losses.token_posterior)
