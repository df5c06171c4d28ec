#!/usr/bin/env python3
"""Shows that text_output.py finds every violation, and reports nothing else."""

import sys
import unittest

sys.dont_write_bytecode = True
import text_output  # noqa: E402


def errors(name, text):
    return "\n".join(text_output.errors_of(name, text))


class TextOutput(unittest.TestCase):
    def test_finds_every_way_to_print(self):
        for text in ('std::cout << key;', 'cerr << key;', 'std::fprintf(stderr, "%s", key);', 'printf("%s", key);',
                     'std::puts(key);', 'fwrite(key, 1, 2, out);', 'dprintf(2, "x");', 'perror(key);', '::write(2, key, 3);',
                     'write(STDERR_FILENO, key, 3);', 'syslog(LOG_ERR, key);', 'std::ofstream out("/dev/tty");',
                     'spdlog::info(key);', 'const char quote = \'"\'; std::puts(key); // "'):
            self.assertIn("src/cli/jobs.cc: ", errors("src/cli/jobs.cc", text), text)

    def test_accepts_what_does_not_print(self):
        for text in ('std::snprintf(text, sizeof text, "%d", 7);', 'print(line);', '// std::cout << key;',
                     'say("std::cout");', 'json.put(key);', 'file.write(bytes);', '::write(wake_.get(), &one, 8);',
                     'std::cin >> key;', 'write(1000, key, 3);'):
            self.assertEqual(errors("src/cli/jobs.cc", text), "", text)

    def test_bytes_go_out_as_they_are_in_few_places(self):
        self.assertIn("write_exact", errors("src/cli/jobs.cc", "write_exact(1, key);"))
        self.assertIn("print_data", errors("src/cli/jobs.cc", "print_data(key);"))
        self.assertEqual(errors("src/cli/dispatch.cc", "print_data(result);"), "")

    def test_sequences_stay_in_one_place(self):
        for text in (r'out += "\x1b[31m";', r'out += "a\033[1m";', r'out += "\e[0m";'):
            self.assertIn("escape sequence", errors("src/cli/jobs.cc", text), text)
        for text in (r"if (key == '\x1b') return;", r'out += "\\x1b";', r'out += "\n";'):
            self.assertEqual(errors("src/cli/jobs.cc", text), "", text)

    def test_the_table_has_no_row_too_many(self):
        self.assertIn("any more", errors("src/demo/terminal.cc", "int nothing;"))
        self.assertIn("any more", errors("src/cli/dispatch.cc", "int nothing;"))


if __name__ == "__main__":
    unittest.main()
