#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Doxygen's input filter: a header of ours in, the same header with Doxygen's comments out.

The headers carry plain comments, for people with an editor.  What a comment is about is said by
its place, and this turns it into Doxygen's marks, line for line:
  the first block             about the file; kept as it is, for its drawings
  a block before              about all that is declared up to the next empty line or block; inside
                              a struct or an enumeration about the next member only
  behind a declaration        about all names that it declares
  /* ---- words ---- */       a heading over what follows
"""
import re
import sys

HEADING = re.compile(r"/\* -{4} (.*?) -{4} \*/$", re.S)
AGGREGATE = re.compile(r"(typedef )?(struct|union|enum)\b[^;]*\{$")
FIELD = r"\*?\w+(?:\[[^\]]*\])?"
FIELDS = re.compile(r"(\s+(?:const )?(?:struct |enum )?\w+) (%s(?:, %s)+);$" % (FIELD, FIELD))
RESERVED = re.compile(r"([\\@<>&#%])|(::)")


def words(comment):
    """The lines of a comment without the marks around them."""
    first, *rest = comment.strip()[2:-2].split("\n")
    return [first.strip()] + [re.sub(r"^\s*\* ?", "", line).rstrip() for line in rest]


def sentence(comment):
    """The same as one paragraph, with nothing in it that Doxygen takes for its own."""
    return RESERVED.sub(r"\\\g<0>", " ".join(words(comment)).strip())


def each(code):
    """`int a, b;` as a declaration each, so that what is said of both is said of each."""
    fields = FIELDS.match(code)
    return ["%s %s;" % (fields[1], name) for name in fields[2].split(", ")] if fields else [code]


class Filter:
    def __init__(self, name, text):
        self.name, self.lines, self.at = name, text.split("\n"), 0
        self.said, self.inner = "", ""  # before a declaration; before a member of an aggregate
        self.is_inside = self.has_page = self.has_heading = False

    def comment(self):
        """The comment that begins in this line, and how many lines it takes."""
        text, n = self.lines[self.at].split("/*", 1)[1], 1
        while "*/" not in text:
            text += "\n" + self.lines[self.at + n]
            n += 1
        return "/*" + text, n

    def put(self, text, lines):
        """As many lines as it took, so that a warning's line is the header's."""
        print(text + "\n" * (lines - 1 - text.count("\n")))
        self.at += lines

    def page(self, text, n):
        title, *rest = words(text)[1:]
        body = "\n".join(rest[:-1]).strip("\n")
        self.has_page = True
        self.put("/** @file %s\n@brief %s\n@verbatim\n%s\n@endverbatim */"
                 % (self.name, RESERVED.sub(r"\\\g<0>", title.split(" - ", 1)[1]), body), n)

    def block(self):
        text, n = self.comment()
        heading = HEADING.match(text)
        if text.startswith("/* SPDX"):
            self.put("", n)
        elif not self.has_page:
            self.page(text, n)
        elif heading:
            close = "/** @} */ " if self.has_heading else ""
            self.has_heading, self.said = True, ""
            self.put("%s/** @name %s */ /** @{ */" % (close, sentence("/*%s*/" % heading[1])), n)
        else:
            if self.is_inside:
                self.inner = sentence(text)
            else:
                self.said = sentence(text)
            self.put("", n)

    def declaration(self, line, behind, n):
        if self.is_inside and line.startswith("}"):
            self.is_inside = False
            return self.put(line, n)
        if not self.is_inside and (line[0] in "\t#}" or line.startswith('extern "C"')) and not behind:
            return self.put(line, n)
        before = self.inner if self.is_inside else self.said
        text = " ".join(filter(None, [before, behind]))
        self.inner = ""
        if AGGREGATE.match(line):
            self.is_inside = True
        if not text:
            return self.put(line, n)
        return self.put(" ".join("/** %s */ %s" % (text, one) for one in each(line)), n)

    def line(self):
        line = self.lines[self.at]
        if line.lstrip().startswith("/*"):
            return self.block()
        if line == "{":
            while self.lines[self.at] != "}":
                self.put(self.lines[self.at], 1)
            return self.put("}", 1)
        if not line:
            self.inner = ""
            self.said = self.said if self.is_inside else ""
            return self.put("", 1)
        if "/*" in line:
            text, n = self.comment()
            return self.declaration(line[: line.index("/*")].rstrip(), sentence(text), n)
        return self.declaration(line, "", 1)

    def run(self):
        end = max(n for n, line in enumerate(self.lines) if line.startswith("#endif"))
        while self.at < len(self.lines):
            if self.has_heading and self.at == end:
                print("/** @} */", end="")
            self.line()


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        Filter(sys.argv[1].split("include/")[-1], header.read()).run()
