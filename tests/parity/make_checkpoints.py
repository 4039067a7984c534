"""Writes small untrained checkpoints with the tokenizers of XLM-R and RoBERTa.

``python -m tests.parity.make_checkpoints FOLDER``

FOLDER gets ``xlmr`` and ``roberta``, whose pieces are those of the vectors; pieces.yaml has a
student that takes them from its teacher.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, processors

from tests.vectors.make_pieces import byte_pairs, unigram, variant
from tfdistil.encoders import save_encoder, scratch_encoder


def main(folder: Path) -> None:
    """See the module."""
    for name, kind, base in (
        ("xlmr", "unigram", unigram()),
        ("roberta", "bytes", byte_pairs()),
    ):
        tokenizer = Tokenizer.from_str(json.dumps(variant(base, kind, name)))
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
        encoder = scratch_encoder(tokenizer.get_vocab_size(), 32, 1, seed=18)
        save_encoder(encoder, folder / name, tokenizer=tokenizer)
        print(folder / name, tokenizer.get_vocab_size(), "pieces")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
