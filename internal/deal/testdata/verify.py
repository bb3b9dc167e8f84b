#!/usr/bin/env python3
"""A second implementation of the deal, version 1, as the package comment of
internal/deal states it. It computes every output of a file of vectors again and
names each one that differs. Only the standard library is used.

    python3 verify.py vectors.json

The vectors under "sealed" are left out: the standard library has no AES.
"""
import hashlib
import hmac
import json
import sys


def tag(text):
    return bytes([len(text)]) + text.encode("ascii")


def number(value, size):
    return value.to_bytes(size, "big")


def sized(field):
    return number(len(field), 4) + field


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


class Game:
    def __init__(self, vector):
        self.context = bytes.fromhex(vector["match_id"]) + number(vector["game"], 2)
        self.seed = bytes.fromhex(vector["server_seed"])
        self.players = [bytes.fromhex(seed) for seed in vector["players"]]

    def commitment(self):
        return sha256(tag("referee.deal.v1.commit"), self.context, self.seed)

    def stream(self, label):
        """Yields the bytes of a label's stream, one by one."""
        message = tag("referee.deal.v1.stream") + self.context + number(len(self.players), 4)
        message += b"".join(sized(seed) for seed in self.players) + sized(label.encode("ascii"))
        key = hmac.new(self.seed, message, hashlib.sha256).digest()
        counter = 0
        while True:
            yield from hmac.new(key, number(counter, 8), hashlib.sha256).digest()
            counter += 1

    def arrangement(self, deck):
        dealt, stream = list(deck), self.stream("deal")
        for i in reversed(range(1, len(dealt))):
            j = draw(stream, i + 1)
            dealt[i], dealt[j] = dealt[j], dealt[i]
        return bytes(dealt)


def take(stream, count):
    return bytes(next(stream) for _ in range(count))


def draw(stream, below):
    while True:
        word = int.from_bytes(take(stream, 8), "big")
        if word < 2**64 - 2**64 % below:
            return word % below


def tree(arrangement, salts):
    """Returns the root, and for each square its proof."""
    level = [
        sha256(tag("referee.deal.v1.leaf"), bytes([square, piece]), salts[square])
        for square, piece in enumerate(arrangement)
    ]
    while len(level) & (len(level) - 1):
        level.append(sha256(tag("referee.deal.v1.pad")))
    proofs, step = [[] for _ in arrangement], 0
    while len(level) > 1:
        for square, proof in enumerate(proofs):
            proof.append(level[(square >> step) ^ 1])
        pairs = zip(level[::2], level[1::2])
        level = [sha256(tag("referee.deal.v1.node"), left, right) for left, right in pairs]
        step += 1
    return sha256(tag("referee.deal.v1.root"), bytes([len(arrangement)]), level[0]), proofs


def outputs(vector):
    """Returns the vector as this implementation computes it."""
    game, again = Game(vector), dict(vector)
    again["commitment"] = game.commitment().hex()
    again["streams"] = [
        {"label": s["label"], "bytes": take(game.stream(s["label"]), len(s["bytes"]) // 2).hex()}
        for s in vector["streams"]
    ]
    again["draws"] = []
    for d in vector["draws"]:
        stream = game.stream(d["label"])
        numbers = [str(draw(stream, int(below))) for below in d["below"]]
        again["draws"].append({"label": d["label"], "below": d["below"], "numbers": numbers})
    arrangement = game.arrangement(bytes.fromhex(vector["deck"]))
    again["arrangement"] = arrangement.hex()
    stream = game.stream("salt")
    salts = [take(stream, 16) for _ in arrangement]
    root, proofs = tree(arrangement, salts)
    again["root"] = root.hex()
    again["openings"] = [
        {
            "square": o["square"],
            "piece": arrangement[o["square"]],
            "salt": salts[o["square"]].hex(),
            "proof": [node.hex() for node in proofs[o["square"]]],
        }
        for o in vector["openings"]
    ]
    return again


def main(path):
    with open(path, encoding="utf-8") as file:
        vectors = json.load(file)
    wrong = 0
    if vectors["version"] != 1 or not vectors["games"]:
        sys.exit("not a file of vectors of version 1")
    for vector in vectors["games"]:
        again = outputs(vector)
        for field, value in vector.items():
            if again[field] != value:
                wrong += 1
                print(f"{vector['name']}: {field}: computed {again[field]}, stated {value}")
    if wrong:
        sys.exit(f"{wrong} outputs differ")
    print(f"{len(vectors['games'])} games agree")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: verify.py VECTORS.json")
    main(sys.argv[1])
