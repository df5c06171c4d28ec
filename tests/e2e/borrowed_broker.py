"""The Kafka broker that tests share, lent by the program kafka_borrow (tests/kafka/borrow.cc)."""

import subprocess

PATIENCE = 90


class BorrowedBroker:
    """`name` begins the names of all topics that the test makes. They go away at its end."""

    def __init__(self, case, program, name):
        self.process = subprocess.Popen([program, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        case.addCleanup(self.process.stdout.close)
        case.addCleanup(self.process.wait, PATIENCE)
        case.addCleanup(self.process.stdin.close)
        self.url = "kafka://" + self.process.stdout.readline().strip()

    def ask(self, line):
        """The lines before the "ok"."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = []
        while (said := self.process.stdout.readline().rstrip("\n")) != "ok":
            if said in ("what?", ""):
                raise AssertionError(f"{line}: {said} {answer}")
            answer.append(said)
        return answer

    def records(self, topic, partition=0):
        """What a consumer that knows nothing of Tenure gets: (key, value, headers), all as bytes."""
        def part(text):
            return bytes.fromhex(text) if text != "-" else None
        found = []
        for line in self.ask(f"read {topic} {partition}"):
            key, value, *headers = line.split(" ")
            pairs = (header.split("=") for header in headers)
            found.append((part(key), part(value), {bytes.fromhex(name).decode(): part(text) for name, text in pairs}))
        return found
