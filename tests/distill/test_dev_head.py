"""Which head decides about the best weights of a stage."""

from __future__ import annotations

import itertools

import pytest

from tfdistil.distill.dev_head import dev_head
from tfdistil.errors import RecipeError
from tfdistil.recipe.schema.stages import StageSpec, StopSpec, TermSpec

STATES = TermSpec(loss="hidden_kl", layer=1)  # reads no head, whatever its key `head` is
LABELS = TermSpec(loss="cross_entropy", head="labels")
LOGITS = TermSpec(loss="logit_mse", head="logits")
OTHER = TermSpec(loss="logit_mse", head="labels", student_signal="hidden/1")  # nor does this one


@pytest.mark.parametrize(
    ("terms", "named", "delivered", "expected"),
    [
        ([LABELS], None, "labels", "labels"),
        ([LOGITS], None, "labels", "logits"),
        ([STATES, LOGITS], None, "labels", "logits"),
        ([STATES], None, "logits", "logits"),
        ([OTHER, LOGITS], None, "exported", "logits"),
        ([LABELS, LOGITS, STATES], None, "labels", "labels"),
        ([LABELS, LOGITS, STATES], None, "logits", "logits"),
        ([LABELS, LOGITS, STATES], "logits", "labels", "logits"),
        ([LABELS, LOGITS], "other", "labels", "other"),
        ([LABELS, LOGITS], "labels", "exported", "labels"),
    ],
)
def test_the_head_does_not_depend_on_the_order_of_terms(terms, named, delivered, expected):
    for order in itertools.permutations(terms):
        stage = StageSpec(name="s", terms=order, stop=StopSpec(head=named))
        assert dev_head(stage, delivered) == expected


def test_several_heads_of_which_none_is_delivered_ask_for_one():
    for order in ([LABELS, LOGITS], [LOGITS, LABELS]):
        with pytest.raises(RecipeError) as caught:
            dev_head(StageSpec(name="s", terms=order), "exported")
        message = str(caught.value)
        assert "stage 's' has terms on the heads labels, logits" in message
        assert "stop: {head: labels}" in message
