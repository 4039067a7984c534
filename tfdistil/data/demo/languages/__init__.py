"""The languages of the demo corpus, one file each; add one here and it is generated."""

from __future__ import annotations

from tfdistil.data.demo.grammar import Language
from tfdistil.data.demo.languages.de import GERMAN
from tfdistil.data.demo.languages.en import ENGLISH
from tfdistil.data.demo.languages.es import SPANISH
from tfdistil.data.demo.languages.hi import HINDI
from tfdistil.data.demo.languages.ja import JAPANESE

GRAMMARS: dict[str, Language] = {
    language.code: language for language in (ENGLISH, SPANISH, GERMAN, HINDI, JAPANESE)
}
