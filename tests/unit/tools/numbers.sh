#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# numbers.sh: every option of every verb that is a number takes it as it was said, or refuses it and
# says which option and which number it was.  The options are those that --help lists; one whose
# kind is not known here fails, so that each new one comes by.
set -u
unset WEFT_SWITCH WEFT_FABRIC WEFT_HOST WEFT_CONFIG WEFT_PLANES
python3 - "$WEFT_BUILD/weft" <<'PY'
import re, subprocess, sys

weft = sys.argv[1]
WORDS = {"FILE", "NAME", "FOLDER", "ADDR,...", "DIR", "KIND", "WORLD", "LOAD", "FAULT", "WHERE",
         "NET", "WAY", "FORMAT"}
# What is good of each kind; a unit that it wants; whether it may have a fraction.
KINDS = {"N": ("10", "", False), "S": ("10", "", False), "N[-M]": ("1-3", "", False),
         "MS": ("10", "", False), "US": ("10", "", False), "MIB": ("10", "", False),
         "BYTES": ("4096", "", False), "SECONDS": ("10", "", False), "MBPS": ("10", "", False),
         "PORT": ("10", "", False), "PACKETS": ("10", "", False), "P": ("0.5", "", True),
         "TIME": ("1.5ms", "s", True), "RATE": ("1.5Gb/s", "Gb/s", True)}
BAD = ["", "-", "-1", "+1", " 1", "x", "10x", "1e30", "nan", "inf", "-nan", "0x10", "1..5", "1,5",
       "18446744073709551617", "99999999999999999999999999", "-18446744073709551615"]
# 2^32 + 1 is one of these, and too much of everything else.
NONE = {"bgp-detect", "bgp-converge"} # no time at all is one
HUGE = {"seed", "seeds", "bytes", "max-bytes", "keep-free"}
faults = tried = 0

def run(words):
    p = subprocess.run([weft, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=20)
    return p.returncode, p.stderr

def blame(words, what, said):
    global faults
    faults += 1
    print("weft", *[repr(w) for w in words if w != "no-such"], what, said)

def refuses(words, name, number):
    global tried
    tried += 1
    rc, said = run(words)
    first = said.split("\n")[0]
    if rc != 64 or name not in first or number not in first:
        blame(words, "is not refused:", f"{rc} {first}")

def verbs_of(*verb):
    return re.findall(r"^  weft ((?:[a-z]+ )*[a-z]+) ", run([*verb, "--help"])[1] or
                      subprocess.run([weft, *verb, "--help"], capture_output=True,
                                     text=True).stdout, re.M)

def options_of(verb):
    said = subprocess.run([weft, *verb, "--help"], capture_output=True, text=True).stdout
    return re.findall(r"^ .*?--([a-z-]+)=([^ \n]+)", said, re.M)

all_verbs = []
for verb in verbs_of():
    inner = verbs_of(verb) if verb in ("fabric", "lab", "switch") else []
    all_verbs += [v.split() for v in inner] or [[verb]]
all_verbs += [["demo", v] for v in ("soak", "stalls", "incast", "training")]
assert len(all_verbs) > 30, all_verbs
for verb in all_verbs:
    for name, kind in options_of(verb):
        if kind in WORDS:
            continue
        if kind not in KINDS:
            blame(verb, f"--{name}={kind}:", "is that a number? (tests/unit/tools/numbers.sh)")
            continue
        good, unit, has_fraction = KINDS[kind]
        # More words than any verb takes, so that whatever takes the number does no more.
        more = ["no-such"] * 9
        rc, said = run([*verb, f"--{name}={good}", *more])
        if rc != 64 or f"{name}:" in said or f"--{name} " in said:
            blame(verb, f"--{name}={good} is refused:", said)
        bad = BAD + ([] if has_fraction else ["1.5"])
        if unit:
            bad = bad + [b + unit for b in BAD] + ["10"]
            bad += ["0" + unit] if name not in NONE else []
        if not unit and name not in HUGE:
            bad = bad + ["4294967297"]
        for number in bad:
            refuses([*verb, f"--{name}={number}", *more], name, number)
for number in BAD + ["100.00001", "101", "0.00001"]:
    refuses(["switch", "loss", "h0.p0", "--", number], "loss", number)
    refuses(["switch", "path", "h0", "h1", "0x10000", "--", number], "path", number)
for number in ["", "-1", "+1", " 1", "x", "0x", "0x-1", "0xg", "1e3", "0x100000000", "4294967296",
               "-18446744073709551615", "18446744073709551617", "0x0x1"]:
    refuses(["switch", "path", "h0", "h1", "--", number, "5"], "path", number)
for number in BAD + [b + "Gb/s" for b in BAD]:
    refuses(["switch", "rate", "h0.p0", "--", number], "rate", number)
print(f"{tried} numbers, {faults} faults")
sys.exit(1 if faults or tried < 500 else 0)
PY
