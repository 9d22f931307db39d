"""Superset itself, in an environment of its own: requests to its REST API come by standard input, a line of JSON each.

Its web server is left out: requests go to the application, as those of a browser do. Each has a thread of its own, and
is answered by a line with its number.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

CONFIGURATION = """
SECRET_KEY = "of a test"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db"
DATA_DIR = "{folder}"
WTF_CSRF_ENABLED = False
FILTER_STATE_CACHE_CONFIG = {{"CACHE_TYPE": "SimpleCache"}}
EXPLORE_FORM_DATA_CACHE_CONFIG = {{"CACHE_TYPE": "SimpleCache"}}
"""
ADMIN = {"username": "admin", "password": "admin", "provider": "db"}


def make_application(folder: Path) -> Any:
    """Superset with an empty database of its own and an administrator."""
    configuration = folder / "superset_config.py"
    configuration.write_text(CONFIGURATION.format(folder=folder))
    os.environ["SUPERSET_CONFIG_PATH"] = str(configuration)
    from superset.app import create_app

    application = create_app()
    with application.app_context():
        from flask_appbuilder import Model
        from superset import appbuilder, db, security_manager

        Model.metadata.create_all(db.engine)
        appbuilder.add_permissions(update_perms=True)
        security_manager.sync_role_definitions()
        role = security_manager.find_role("Admin")
        security_manager.add_user(ADMIN["username"], "Ada", "Admin", "ada@example.org", role, ADMIN["password"])
    return application


def main() -> None:
    """Answer requests, each by its number, its status and its body."""
    answers, sys.stdout = sys.stdout, sys.stderr  # Superset prints
    application = make_application(Path.cwd())
    token = application.test_client().post("/api/v1/security/login", json=ADMIN).get_json()["access_token"]

    def answer(number: int, line: str) -> None:
        request = json.loads(line)
        path, method = f"/api/v1/{request['path']}", getattr(application.test_client(), request["method"])
        try:
            found = method(path, json=request["body"], headers={"Authorization": f"Bearer {token}"})
        except Exception:
            traceback.print_exc()
            os._exit(1)  # who waits for the answer sees the end
        answers.write(json.dumps([number, found.status_code, found.get_json()]) + "\n")
        answers.flush()

    with ThreadPoolExecutor() as threads:
        for number, line in enumerate(sys.stdin):
            threads.submit(answer, number, line)


if __name__ == "__main__":
    main()
