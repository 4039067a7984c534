"""Writes what `tfdistil.Runtime` answers, for other implementations to be compared with.

``python -m tests.parity.make_answers [--plain] FOLDER FILE.tflite ...``

FOLDER gets each file and, beside it, ``NAME.json``: one object with one key, ``answers``, which has
an array with an item for each text, one a line: ``text``, ``words`` (start and end of each), what
`Result` has of ``tags``, ``spans``, ``label`` and ``label_score``, and under ``logits`` the float
scores of each output, row after row.

``--plain`` is for libraries without XNNPACK's kernels of int8, which round otherwise.
"""

from __future__ import annotations

import argparse
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from ai_edge_litert.interpreter import Interpreter, OpResolverType

from tests.vectors.make_projection import lines, texts
from tfdistil import Runtime
from tfdistil.runtime import graph

LONG = "turn off the lights in the kitchen, s'il te plaît, et réveille-moi à 7:30 👍🏽 नमस्ते "

MORE = [
    *("", " \t\n", LONG * 60, (LONG * 60)[:5000], "x" * 5000, "東京" * 2500),
    *(
        "שים ג'אז בסלון, בבקשה!",
        "شغّل موسيقى الجاز في المطبخ غداً الساعة ٧:٣٠",
        "\u202eplay jazz\u202c",
    ),
    *(
        "🎵🎶 play 🎷 jazz 👨‍👩‍👧‍👦 in 🇩🇪",
        "re\u0301veille-moi a\u0300 7:30",
        "q\u0323\u0307 ẗ̈ o\u0302\u0323",
    ),
    *(
        "PLAY JAZZ IN THE KITCHEN",
        "play  jazz\u00a0in\u3000the kitchen",
        "[CLS] play [SEP] [PAD] jazz",
    ),
]


def answers(runtime: Runtime) -> list[dict[str, Any]]:
    """One by one, so that each text goes through the signature that a phone uses."""
    found = []
    for text in [*(text * times for _, text, times in texts()), *MORE]:
        (result,) = runtime.predict([text])
        (logits,) = runtime.logits([([word.text for word in result.words], None)])
        given = {
            "text": text,
            "words": [[word.start, word.end] for word in result.words],
            "spans": [[s.label, s.start, s.end, s.score] for s in result.spans],
            "logits": {name: values.ravel().tolist() for name, values in logits.items()},
        }
        if result.tags is not None:
            given["tags"] = result.tags
        if result.label is not None:
            given |= {"label": result.label, "label_score": result.label_score}
        found.append(given)
    return found


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--plain", action="store_true", help="without XNNPACK")
    given = parser.parse_args()
    if given.plain:
        plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        graph.Interpreter = partial(Interpreter, experimental_op_resolver_type=plain)
    given.folder.mkdir(parents=True, exist_ok=True)
    for file in given.files:
        found = answers(Runtime(file))
        shutil.copyfile(file, given.folder / file.name)
        content = lines("answers", found)
        (given.folder / f"{file.stem}.json").write_text(content, "utf-8", newline="\n")
        print(file.name, len(found), "answers")


if __name__ == "__main__":
    main()
