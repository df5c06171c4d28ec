"""Orders that a plain producer writes to a topic while faults happen, and the verdict on them: each has exactly one
completion that the pool's log accepted, none is missing, and those of a key were completed in their order."""

import collections
import json
import subprocess
import threading
import time

from pool import PATIENCE_S

KEYS = 40
POISONED = 0.05  # orders that their handler never accepts


class Orders:
    """`brokers` are those of kafka_broker.py."""

    def __init__(self, pool, brokers, topic, dice):
        self.pool, self.brokers, self.topic, self.dice = pool, brokers, topic, dice
        self.numbers = collections.Counter()
        self.sent = 0
        self.acknowledged = set()
        self.producer = None
        self.cuts = 0  # how often the topic lost its end

    def send(self, count):
        """The producer goes on by itself until all are acknowledged."""
        if self.producer is None:
            self.producer = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", self.brokers.program, self.brokers.addresses, "produce", self.topic],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.reader = threading.Thread(target=self.hear, args=(self.producer,), daemon=True)
            self.reader.start()
        for _ in range(count):
            key = f"order-{self.dice.randrange(KEYS)}"
            self.numbers[key] += 1
            self.sent += 1
            kind = "poison" if self.dice.random() < POISONED else "order"
            self.producer.stdin.write(f"{key} {kind}.{key}.{self.numbers[key]}\n")
        self.producer.stdin.flush()

    def hear(self, producer):
        for line in producer.stdout:
            words = line.split()
            if words[0] == "ok":
                self.acknowledged.add(words[2])
            elif words[0] == "lost":
                raise AssertionError(f"the producer could not write {line}")

    def rest(self):
        """Until the producer has nothing to write. The next one is another process."""
        if self.producer is None:
            return
        self.producer.stdin.close()
        if self.producer.wait(2 * PATIENCE_S) != 0:
            raise AssertionError("the producer failed")
        self.reader.join(PATIENCE_S)
        self.producer = None

    def expect_cut(self):
        """The topic is about to lose its end."""
        self.rest()
        self.cuts += 1

    def left(self):
        """What is in the topic, and not in the pool yet."""
        asked = self.pool.ask("source", "list")
        if asked.returncode != 0:
            return asked.stderr + asked.stdout
        found = {of["partition"]: of["position"] for source in json.loads(asked.stdout)["sources"]
                 for of in source.get("partitions", []) if "partition" in of}
        behind = {}
        for number, end in enumerate(self.brokers.ends(self.topic)):
            if end > 0 and found.get(str(number), 0) < end:
                behind[number] = (found.get(str(number), 0), end)
        return f"orders are not taken in yet: {behind}" if behind else ""

    def finish(self):
        self.rest()
        deadline = time.monotonic() + 3 * PATIENCE_S
        while left := self.left():
            if time.monotonic() > deadline:
                raise AssertionError(left)
            time.sleep(0.1)

    def verdict(self, testimonies):
        topic = collections.defaultdict(list)  # by key, in the order of the topic
        for line in self.brokers.ask("dump", self.topic):
            _, _, key, payload = line.split()
            topic[key].append(payload)
        ends = collections.defaultdict(list)  # by key: (position, payload, state) in the log as it stands
        for testimony in testimonies:
            for key, found in completions(testimony).items():
                ends[key] += found
        complaints = []
        there = set().union(*map(set, topic.values())) if topic else set()
        if missing := self.acknowledged - there:
            if not self.cuts:
                complaints.append(f"the topic lost {len(missing)} orders: {sorted(missing)[:5]}")
            print(f"the topic lost {len(missing)} orders that it had acknowledged")
        doubled = 0
        for key, payloads in topic.items():
            counts = collections.Counter(payload for _, payload, _ in ends[key])
            expected = collections.Counter(payloads)
            for payload in expected:
                if counts[payload] == 0:
                    complaints.append(f"order {payload} was never completed")
                elif counts[payload] > expected[payload]:
                    doubled += 1
                    if not self.cuts:
                        complaints.append(f"order {payload} was completed {counts[payload]} times")
            for payload in counts:
                if payload not in expected and not self.cuts:
                    complaints.append(f"order {payload} was completed, and is not in the topic")
            once = {payload for payload in payloads if counts[payload] == 1 and expected[payload] == 1}
            done = [payload for _, payload, _ in sorted(ends[key]) if payload in once]
            if done != [payload for payload in payloads if payload in once]:
                complaints.append(f"the orders of {key} were completed out of order")
            for _, payload, state in ends[key]:
                if (state == "failed") != payload.startswith("poison"):
                    complaints.append(f"order {payload} has {state}")
        print(f"{self.sent} orders, {len(there)} in the topic, {sum(map(len, ends.values()))} completed, {doubled} more "
              f"than once, {sum(payload.startswith('poison') for payload in there)} poisoned")
        return complaints


def completions(testimony):
    """By key: (position, payload, state) of every end of an order that the log has and did not lose again."""
    names, ends = {}, []
    with open(testimony, encoding="utf-8", errors="replace") as lines:
        for words in map(str.split, lines):
            if words[0] == "log.emitted":
                names[words[2]] = (words[3], words[4])
            elif words[0] == "log.settled" and words[4] in ("done", "failed"):
                ends.append((int(words[2]), words[3], words[4]))
            elif words[0] == "log.lost":
                kept = int(words[2])
                ends = [end for end in ends if end[0] <= kept]
    found = collections.defaultdict(list)
    for place, (position, ticket, state) in enumerate(ends):
        if ticket in names:
            key, payload = names[ticket]
            found[key].append(((position, place), payload, state))
    return found
