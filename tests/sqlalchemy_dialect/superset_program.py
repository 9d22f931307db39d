"""Superset itself, in an environment of its own: requests to its REST API come by standard input, a line of JSON each.

Its web server is left out: requests go to the application, as those of a browser do.
"""

from __future__ import annotations

import json
import os
import sys
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
    """Answer requests, each by its status and its body."""
    answers, sys.stdout = sys.stdout, sys.stderr  # Superset prints
    client = make_application(Path.cwd()).test_client()
    token = client.post("/api/v1/security/login", json=ADMIN).get_json()["access_token"]
    for line in sys.stdin:
        request = json.loads(line)
        call = getattr(client, request["method"])
        found = call(f"/api/v1/{request['path']}", json=request["body"], headers={"Authorization": f"Bearer {token}"})
        print(json.dumps([found.status_code, found.get_json()]), file=answers, flush=True)


if __name__ == "__main__":
    main()
