#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that come with upto, as C: tools-source.py OUT FILE.bt…"""
import json
import os
import sys

out, *files = sys.argv[1:]
with open(out, "w") as f:
    f.write('#include "cli/commands/script_tools.h"\n\nconst struct script_tool script_tools[] = {\n')
    for path in sorted(files):
        with open(path, encoding="utf-8") as tool:
            f.write(f"\t{{ {json.dumps(os.path.basename(path))},\n")
            for line in tool:
                f.write(f"\t  {json.dumps(line)}\n")
        f.write("\t},\n")
    f.write("\t{ 0 },\n};\n")
