"""A linear-chain CRF over words (Lafferty et al. 2001): sums over paths, best paths, losses.

The potentials of a CRF over L labels are one float32 array ``[L + 2, L]``: entry ``[a, b]`` scores
label b after label a, row L the first label of a text and row L + 1 the last one. What is forbidden
scores `tfdistil.crf.constraints.IMPOSSIBLE`. Emissions are ``[B, U, L]`` and the mask of real words
is int ``[B, U]``, padding at the end.

Nothing is imported here: `decoding` and `constraints` are NumPy, for the runtime; the other modules
need Keras.
"""
