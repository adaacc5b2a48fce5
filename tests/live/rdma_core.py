# SPDX-License-Identifier: BSD-2-Clause
"""rdma_core.py DIR MODULE...: rdma-core's own tests, copied to DIR/tests, on this host's mrc0.

What fails is run once more, for the machine may have been busy.  Exits with 1 if something fails
twice.
"""
import os
import sys
import unittest

directory, *modules = sys.argv[1:]
sys.path.insert(0, directory)
sys.path.insert(0, os.path.join(directory, 'tests'))
sys.argv[1:] = ['--dev', 'mrc0', '--gid', '3']
import args_parser  # noqa: E402, where the tests look for it

args_parser.parser.parse_args()
import tests.base  # noqa: E402


def address(self, dev, port, idx):
    """There is no /sys/class/infiniband to look it up in."""
    self.args.append([dev, port, idx, os.environ['WEFT_IPV4'], '02:00:00:00:00:01'])


tests.base.RDMATestCase._get_ip_mac = address


def run(names):
    suite = unittest.TestLoader().loadTestsFromNames(names)
    return unittest.TextTestRunner(stream=open(os.devnull, 'w')).run(suite)


def failed(result):
    return {case.id(): text for case, text in result.errors + result.failures}


result = run(['tests.test_' + module for module in modules])
print(f'{result.testsRun} tests, {len(result.skipped)} of them skipped')
bad = failed(result)
if bad:
    print('once more:', *bad)
    bad = failed(run(list(bad)))
for name, text in bad.items():
    print(name, text, sep='\n')
sys.exit(bool(bad))
