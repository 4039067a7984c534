"""A linear-chain CRF in Keras' operations: scores, sums over all paths, marginals, the K best.

Emissions are [B, U, L]; potentials [L + 1, L], the last row for the start.
"""

from __future__ import annotations

from keras import ops

IMPOSSIBLE = -1e4
"""The score of what may not be."""


def path_scores(emissions, potentials, tags, mask):
    """Equation 2: scores ``[B]`` of tags ``[B, U]``."""
    labels = emissions.shape[-1]
    mask = ops.cast(mask, emissions.dtype)
    before = ops.pad(tags[:, :-1], [[0, 0], [1, 0]], constant_values=labels)
    own = ops.squeeze(ops.take_along_axis(emissions, ops.expand_dims(tags, -1), axis=-1), -1)
    step = ops.take(ops.reshape(potentials, (-1,)), before * labels + tags)
    return ops.sum((own + step) * mask, axis=-1)


def log_sums(emissions, potentials, first, joined, reverse=False):
    """What scores of all stretches that end (or begin) in a tag sum to, ``[B, U, L]``.

    A token that is not ``joined [B, U]`` to the one before starts anew, from ``first``.
    """
    tokens = ops.shape(emissions)[1]

    def step(i, carry):
        before, found = carry
        place = tokens - 1 - i if reverse else i
        onward = ops.logsumexp(ops.expand_dims(before, -1) + potentials, axis=1)
        onward = ops.where(ops.expand_dims(joined[:, place], -1) > 0, onward, first)
        after = onward + emissions[:, place]
        here = ops.reshape(ops.arange(tokens) == place, (1, -1, 1))
        return after, ops.where(here, ops.expand_dims(after, 1), found)

    nothing = ops.zeros_like(emissions)
    return ops.fori_loop(0, tokens, step, (nothing[:, 0], nothing))[1]


def from_here(emissions, potentials, mask):
    """Log-sums over what may follow, the token itself included."""
    followed = ops.pad(mask[:, 1:], [[0, 0], [0, 1]])
    return log_sums(emissions, ops.transpose(potentials[:-1]), 0.0, followed, reverse=True)


def log_partition(emissions, potentials, mask):
    """The logarithm of equation 1's denominator, ``[B]``."""
    return ops.logsumexp(from_here(emissions, potentials, mask)[:, 0] + potentials[-1], axis=-1)


def marginals(emissions, potentials, mask):
    """The probability of each tag of a token, ``[B, U, L]``."""
    follows = ops.pad(mask[:, 1:], [[0, 0], [1, 0]])
    up_to_here = log_sums(emissions, potentials[:-1], potentials[-1], follows)
    both = up_to_here + from_here(emissions, potentials, mask) - emissions
    return ops.softmax(both, axis=-1)


def best_paths(emissions, potentials, mask, k):
    """K-best Viterbi: tags ``[B, U, k]``, scores ``[B, k]`` and how many there are ``[B]``."""
    batch, tokens, labels = *ops.shape(emissions)[:2], emissions.shape[-1]
    own, places = ops.reshape(ops.arange(labels), (-1, 1, 1)), ops.arange(tokens)
    steps = ops.expand_dims(potentials[:-1], 1)
    # Hypotheses by last tag and rank: scores [B, L, k], tags [B, L, k, U].
    first = ops.expand_dims(emissions[:, 0] + potentials[-1], -1)
    scores = ops.pad(first, [[0, 0], [0, 0], [0, k - 1]], constant_values=10 * IMPOSSIBLE)
    tags = ops.broadcast_to(own * ops.cast(places == 0, "int32"), (batch, labels, k, tokens))

    def step(place, before):
        scores, tags = before
        onward = ops.reshape(ops.expand_dims(scores, -1) + steps, (batch, labels * k, labels))
        found, chosen = ops.top_k(ops.swapaxes(onward, 1, 2), k)
        found = found + ops.expand_dims(emissions[:, place], -1)
        longer = ops.reshape(tags, (batch, labels * k, tokens))
        chosen = ops.reshape(chosen, (batch, labels * k, 1))
        longer = ops.reshape(ops.take_along_axis(longer, chosen, axis=1), ops.shape(tags))
        longer = longer + own * ops.cast(places == place, "int32")
        real = ops.reshape(mask[:, place], (batch, 1, 1)) > 0
        scores = ops.where(real, found, scores)
        return scores, ops.where(ops.expand_dims(real, -1), longer, tags)

    scores, tags = ops.fori_loop(1, tokens, step, (scores, tags))
    best, chosen = ops.top_k(ops.reshape(scores, (batch, labels * k)), k)
    tags = ops.reshape(tags, (batch, labels * k, tokens))
    tags = ops.take_along_axis(tags, ops.expand_dims(chosen, -1), axis=1)
    count = ops.sum(ops.cast(best > IMPOSSIBLE / 2, "int32"), axis=-1)
    return ops.swapaxes(tags, 1, 2), best, count
