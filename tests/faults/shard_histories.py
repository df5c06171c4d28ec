"""Splits the history of a pool with several shards into one per shard. A shard has its own log, sessions, keys and epochs,
so it is judged like a pool with one shard."""

HANDLERS = ("begin", "write", "refused", "end")


def shard_histories(history, testimonies):
    """Puts what is of a shard beside what its witness wrote down: the lines of its tenures, whose epochs leave its number
    when they are divided by the number of shards, and those that name none. What was asked of other shards is not in
    its log, and so of no account to the judge."""
    with open(history, encoding="utf-8", errors="replace") as file:
        lines = [(line.split(), line) for line in file]
    paths = []
    for shard, testimony in enumerate(testimonies):
        path = history.with_name(f"{history.name}-{shard}")
        with open(path, "w", encoding="utf-8") as judged, open(testimony, encoding="utf-8", errors="replace") as said:
            judged.writelines(line for words, line in lines
                              if words[0] not in HANDLERS or int(words[3]) % len(testimonies) == shard)
            judged.writelines(said)
        paths.append(path)
    return paths


def keys_of_two(testimonies):
    """Complaints: a key that two shards deal with could have a holder in each."""
    homes = {}
    for shard, testimony in enumerate(testimonies):
        with open(testimony, encoding="utf-8", errors="replace") as said:
            for words in map(str.split, said):
                if words[0] == "log.dispatch":
                    homes.setdefault(words[3], set()).add(shard)
    return [f"key {key} is in the logs of shards {sorted(shards)}" for key, shards in homes.items() if len(shards) > 1]
