"""Write what `bythebook.embedding.tokenizer` takes from the library `tokenizers`: which characters are letters, numbers or
spaces, and the tokens of the texts in tests/embedding/tokens.json, which it is held against.

Run with `python -m scripts.build_tokenizer_tables`. Only for another model: other characters would move vectors of books that are
ingested already."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

from bythebook.embedding.granite import find_pack, read_pack
from bythebook.embedding.tokenizer import CHARACTERS

TOKENS = Path(__file__).parents[1] / "tests" / "embedding" / "tokens.json"
NEIGHBOURS = {"letters": "a", "numbers": "1", "signs": "!"}
"""What each kind stays in one piece with; spaces do with none of them."""


def write_characters() -> None:
    cut = ByteLevel(add_prefix_space=False).pre_tokenize_str
    found: dict[str, list[list[int]]] = {"letters": [], "numbers": [], "signs": [], "spaces": []}
    for code in range(0x110000):
        if 0xD800 <= code <= 0xDFFF:
            continue  # no text that can be written holds a lone surrogate
        kinds = (kind for kind, other in NEIGHBOURS.items() if len(cut(other + chr(code))) == 1)
        stretches = found[next(kinds, "spaces")]
        if stretches and stretches[-1][1] == code - 1:
            stretches[-1][1] = code
        else:
            stretches.append([code, code])
    del found["signs"]
    CHARACTERS.write_text(json.dumps(found, separators=(",", ":")) + "\n")


def write_tokens() -> None:
    tokenizer = Tokenizer.from_buffer(read_pack(find_pack()).tokenizer)
    tokenizer.encode_special_tokens = True
    texts = [text for text, _ids in json.loads(TOKENS.read_bytes())]
    rows = (json.dumps([text, tokenizer.encode(text, add_special_tokens=False).ids], ensure_ascii=True) for text in texts)
    TOKENS.write_text("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    write_characters()
    write_tokens()
