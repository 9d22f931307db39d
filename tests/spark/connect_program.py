"""A client of Spark Connect: runs in another environment, and executes the Python code that each line brings.

A line of input is JSON: the code, whose last line is an expression. A line of output is JSON: its value, or the class
and the message of what was raised. Names last from one line to the next.
"""

from __future__ import annotations

import ast
import json
import sys


def main() -> None:
    names: dict[str, object] = {}
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        code = ast.parse(json.loads(line))
        last = code.body.pop()
        assert isinstance(last, ast.Expr), "the last line is an expression"
        try:
            exec(compile(code, "<client>", "exec"), names)
            answer = {"value": eval(compile(ast.Expression(last.value), "<client>", "eval"), names)}
        except BaseException as error:
            answer = {"error": type(error).__name__, "message": str(error)}
        print(json.dumps(answer, default=str), file=answers, flush=True)


if __name__ == "__main__":
    main()
