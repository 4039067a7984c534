"""The teacher: BERT-family encoders, and their checkpoints."""

from tfdistil.encoders.checkpoint import LoadReport, load_encoder, word_embeddings
from tfdistil.encoders.checkpoint_info import checkpoint_heads
from tfdistil.encoders.config import EncoderConfig
from tfdistil.encoders.encoder import Encoder
from tfdistil.encoders.saving import save_encoder
from tfdistil.encoders.scratch import scratch_encoder
from tfdistil.encoders.tokenizer import load_tokenizer

__all__ = [
    "Encoder",
    "EncoderConfig",
    "LoadReport",
    "checkpoint_heads",
    "load_encoder",
    "load_tokenizer",
    "save_encoder",
    "scratch_encoder",
    "word_embeddings",
]
