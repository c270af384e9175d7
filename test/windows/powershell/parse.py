"""Prints each place where a script is no PowerShell; ends with 1 where there is one."""

import sys

import tree_sitter_powershell
from tree_sitter import Language, Parser


def faults(node):
    if node.is_error or node.is_missing:
        yield node
    for child in node.children:
        yield from faults(child)


parser = Parser(Language(tree_sitter_powershell.language()))
found = 0
for path in sys.argv[1:]:
    with open(path, "rb") as script:
        for node in faults(parser.parse(script.read()).root_node):
            found += 1
            print(f"{path}:{node.start_point[0] + 1}: {node.text[:80]!r}")
sys.exit(found > 0)
